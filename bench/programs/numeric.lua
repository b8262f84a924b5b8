-- SPDX-License-Identifier: MIT
-- Numbers alone: a loop of four short lines over an array of integers.
local scale = tonumber((...)) or 1
local n = 4096
local a = require("ffi").new("int32_t[?]", n)
for i = 0, n - 1 do a[i] = i % 251 end
local even, odd, sum = 0, 0, 0
for _ = 1, 60000 * scale do
  for i = 0, n - 1 do
    local x = a[i]
    even = even + x % 2
    odd = odd + x
    sum = sum + even % 3
  end
end
print(even, odd, sum)
