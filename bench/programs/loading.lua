-- Small texts that are compiled, run and dropped, as templates are.
local scale = tonumber((...)) or 1
local sum = 0
for i = 1, 500000 * scale do
  local text = "local t = {} local function g"..i.."() return {t, "..i..
    "} end return g"..i.."()[2]"
  sum = sum + assert(loadstring(text, "=text"..i))() % 7
end
print(sum)
