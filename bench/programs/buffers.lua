-- Pieces collected in tables and joined.
local scale = tonumber((...)) or 1
local sum = 0
for i = 1, 200000 * scale do
  local parts = {}
  for k = 1, 100 do parts[k] = "piece" .. (i + k) % 1000 end
  sum = sum + #table.concat(parts, ",")
end
print(sum)
