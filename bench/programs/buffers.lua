-- Pieces collected in tables and joined.
local sum = 0
for i = 1, 200000 do
  local parts = {}
  for k = 1, 100 do parts[k] = "piece" .. (i + k) % 1000 end
  sum = sum + #table.concat(parts, ",")
end
print(sum)
