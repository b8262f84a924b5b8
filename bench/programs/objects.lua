-- Classes with metatables, operators and methods.
local scale = tonumber((...)) or 1
local Point = {}
Point.__index = Point
local function new(x, y) return setmetatable({ x = x, y = y }, Point) end
function Point.__add(a, b) return new(a.x + b.x, a.y + b.y) end
function Point:length() return math.sqrt(self.x * self.x + self.y * self.y) end
local Named = setmetatable({}, { __index = Point })
Named.__index = Named
local sum, keep = 0, {}
for i = 1, 20000000 * scale do
  local p = new(i % 100, i % 7) + new(1, 2)
  local q = setmetatable({ x = i % 3, y = 4, name = "q" }, Named)
  keep[i % 128 + 1] = p
  keep[i % 128 + 129] = q
  sum = sum + p:length() + q:length()
end
print(("%.3f"):format(sum))
