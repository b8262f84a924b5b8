-- Generators: a coroutine made for each short sequence.
local scale = tonumber((...)) or 1
local function range(n)
  return coroutine.wrap(function()
    for i = 1, n do coroutine.yield({ i }) end
  end)
end
local sum = 0
for k = 1, 1500000 * scale do
  local next = range(10)
  for _ = 1, 10 do sum = sum + next()[1] end
end
print(sum)
