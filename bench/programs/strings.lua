-- Concatenation, patterns, formatting.
local scale = tonumber((...)) or 1
local sum = 0
for i = 1, 3500000 * scale do
  local s = "key" .. i .. ":" .. (i * 7)
  s = s:gsub("%d", "x", 2)
  sum = sum + #s + #string.format("%d-%s", i, s) + (s:find(":", 1, true) or 0)
end
print(sum)
