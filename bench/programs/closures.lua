-- Closures that are made, called and forgotten.
local scale = tonumber((...)) or 1
local function adder(n)
  local calls = 0
  return function(x) calls = calls + 1 return x + n, calls end
end
local sum, keep = 0, {}
for i = 1, 12000000 * scale do
  local f = adder(i % 7)
  keep[i % 64 + 1] = f
  sum = sum + f(i % 10)
end
print(sum)
