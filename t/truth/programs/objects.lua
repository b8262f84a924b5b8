-- SPDX-License-Identifier: MIT
-- Classes, inheritance and operators.

local Vector = {}
Vector.__index = Vector

function Vector.new(x, y)
  return setmetatable({ x = x, y = y }, Vector)
end

function Vector.__add(a, b)
  return Vector.new(a.x + b.x, a.y + b.y)
end

function Vector.__mul(a, k)
  local x, y = a.x * k, a.y * k
  return Vector.new(x, y)
end

function Vector:copy()
  local v = Vector.new(self.x, self.y)
  return v
end

local Body = {}
Body.__index = Body

function Body:create(...)
  local o = setmetatable({}, self)
  o:init(...)
  return o
end

function Body:init(x, y)
  self.at = Vector.new(x, y)
  self.speed = Vector.new(1, 2)
  self.trail = {}
end

function Body:move(dt)
  self.at = self.at + self.speed * dt
  self.trail[#self.trail+1] = self.at:copy()
end

local Heavy = setmetatable({}, { __index = Body })
Heavy.__index = Heavy

function Heavy:init(x, y)
  Body.init(self, x, y)
  self.parts = { {}, {}, { weight = x } }
end

function Heavy:move(dt)
  Body.move(self, dt)
  self.parts[1] = { dt, self.at.x }
end

local world = {}
for i = 1, 200 do
  local class = i % 3 == 0 and Heavy or Body
  world[i] = class:create(i, -i)
end
for step = 1, 60 do
  for i = 1, #world do
    local body = world[i]
    body:move(0.1)
  end
end
print(#world, #world[1].trail)
