-- SPDX-License-Identifier: MIT
-- FFI: structures, arrays, 64-bit numbers, and methods of them. No constructor
-- is called in a return statement: interpreted, that is a tail call, which
-- counts for the line that called the method.

local ffi = require("ffi")

ffi.cdef [[
typedef struct { double x, y, z; } truth_point;
typedef struct { int count; truth_point items[8]; } truth_group;
]]

local point
local methods = {}

function methods:scaled(k)
  local p = point(self.x * k, self.y * k, self.z * k)
  return p
end

point = ffi.metatype("truth_point", {
  __index = methods,
  __add = function(a, b)
    local sum = point(a.x + b.x, a.y + b.y, a.z + b.z)
    return sum
  end,
})

local kept = {}

for i = 1, 6000 do
  local p = point(i, i, i)
  kept[i % 64 + 1] = p
  kept[i % 64 + 65] = p:scaled(0.5)
  kept[i % 64 + 129] = p + kept[i % 64 + 65]
end

for i = 1, 2000 do
  local g = ffi.new("truth_group")
  g.count = 3
  g.items[0] = kept[i % 64 + 1]
  kept[200] = g
  kept[201] = ffi.new("uint8_t[?]", 100 + i % 10)
  kept[202] = ffi.new("int[16]")
end

local total = 0LL
for i = 1, 6000 do
  local wide = ffi.cast("int64_t", i)
  kept[i % 64 + 300] = wide * 2
  total = total + wide
end

local refs = {}
for i = 1, 2000 do
  local array = ffi.new("truth_point[4]")
  array[0].x = i
  refs[i % 10 + 1] = { array, array[0].x }
end
print(tostring(total), #refs)
