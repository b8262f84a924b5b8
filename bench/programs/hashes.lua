-- Hash tables that grow and are thrown away.
local scale = tonumber((...)) or 1
local sum = 0
for i = 1, 30000 * scale do
  local t = {}
  for k = 1, 300 do t["k" .. (k * i) % 5000] = k end
  for _, v in pairs(t) do sum = sum + v end
end
print(sum)
