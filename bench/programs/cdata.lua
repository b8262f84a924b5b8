-- FFI structures and boxed numbers.
local scale = tonumber((...)) or 1
local ffi = require("ffi")
ffi.cdef "typedef struct { double x, y, z; } bench_vec;"
local vec = ffi.typeof("bench_vec")
local keep, sum = {}, 0
for i = 1, 60000000 * scale do
  local v = vec(i, i % 5, 1)
  keep[i % 100 + 1] = v
  sum = sum + v.y
end
local n = 0LL
for i = 1, 15000000 * scale do n = n + i keep[i % 100 + 1] = n end
print(sum, tostring(n))
