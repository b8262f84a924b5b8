-- SPDX-License-Identifier: MIT
-- A ray tracer: small vectors with operators, closures for the materials.

local V = {}
V.__index = V
local function vec(x, y, z) return setmetatable({ x = x, y = y, z = z }, V) end
V.__add = function(a, b) return vec(a.x + b.x, a.y + b.y, a.z + b.z) end
V.__sub = function(a, b) return vec(a.x - b.x, a.y - b.y, a.z - b.z) end
V.__mul = function(a, k) return vec(a.x * k, a.y * k, a.z * k) end
V.__unm = function(a) return vec(-a.x, -a.y, -a.z) end
function V.dot(a, b) return a.x * b.x + a.y * b.y + a.z * b.z end
function V:unit() return self * (1 / math.sqrt(self:dot(self))) end

local function sphere(centre, radius, shade)
  return { shade = shade, hit = function(from, way)
    local to = centre - from
    local b = to:dot(way)
    local d = b * b - to:dot(to) + radius * radius
    if d < 0 then return nil end
    local t = b - math.sqrt(d)
    if t < 1e-3 then return nil end
    local at = from + way * t
    return t, at, (at - centre):unit()
  end }
end

local light = vec(3, 5, -4):unit()
local function matt(r)
  return function(n) return math.max(0, n:dot(light)) * r end
end
local world = { sphere(vec(0, 0, 4), 1, matt(0.9)),
  sphere(vec(1.5, 0.5, 5), 0.8, matt(0.6)),
  sphere(vec(0, -101, 5), 100, matt(0.4)) }

local function trace(from, way, depth)
  local near, what, at, normal
  for _, s in ipairs(world) do
    local t, p, n = s.hit(from, way)
    if t and (not near or t < near) then near, what, at, normal = t, s, p, n end
  end
  if not near then return 0.1 end
  local colour = what.shade(normal)
  if depth == 0 then return colour end
  local mirrored = way - normal * (2 * way:dot(normal))
  return colour * 0.8 + trace(at, mirrored, depth - 1) * 0.2
end

local rows = {}
for y = 1, 40 do
  local row = {}
  for x = 1, 60 do
    local way = vec((x - 30) / 30, (20 - y) / 20, 1.5):unit()
    local colour = trace(vec(0, 0, 0), way, 2)
    local i = 1 + math.floor(colour * 9) % 10
    row[x] = (" .:-=+*#%@"):sub(i, i)
  end
  rows[y] = table.concat(row)
end
print(#table.concat(rows, "\n"))
