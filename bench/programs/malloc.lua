-- C memory from malloc: lists of blocks of many sizes, and texts in them.
local scale = tonumber((...)) or 1
local ffi = require("ffi")
ffi.cdef "void *malloc(size_t); void free(void *);"
local C = ffi.C
local chars = ffi.typeof("char *")
local ring, sum = {}, 0
for i = 1, 12000000 * scale do
  local k, size = i % 1000, 16 + i * 7 % 600
  if ring[k] then
    sum = sum + ring[k][0]
    C.free(ring[k])
  end
  local p = ffi.cast(chars, C.malloc(size))
  ffi.fill(p, size, k % 100)
  ring[k] = p
end
print(sum)
