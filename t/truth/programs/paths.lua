-- SPDX-License-Identifier: MIT
-- Shortest ways in a graph: a heap of entries, lists of neighbours.

local Heap = {}
Heap.__index = Heap
function Heap:push(cost, node)
  local i = #self + 1
  self[i] = { cost = cost, node = node }
  while i > 1 do
    local up = math.floor(i / 2)
    if self[up].cost <= self[i].cost then break end
    self[up], self[i] = self[i], self[up]
    i = up
  end
end
function Heap:pop()
  local first, last = self[1], table.remove(self)
  if #self == 0 then return first end
  self[1] = last
  local i = 1
  while true do
    local child = i * 2
    if child > #self then return first end
    if self[child + 1] and self[child + 1].cost < self[child].cost then
      child = child + 1
    end
    if self[i].cost <= self[child].cost then return first end
    self[i], self[child] = self[child], self[i]
    i = child
  end
end

local function grid(n)
  local nodes = {}
  for i = 1, n * n do
    local near = {}
    if i % n ~= 0 then near[#near+1] = { to = i + 1, cost = i * 7 % 10 + 1 } end
    if i + n <= n * n then
      near[#near+1] = { to = i + n, cost = i * 13 % 10 + 1 }
    end
    nodes[i] = near
  end
  return nodes
end

local function shortest(nodes, from)
  local cost, heap = { [from] = 0 }, setmetatable({}, Heap)
  heap:push(0, from)
  while #heap > 0 do
    local e = heap:pop()
    if e.cost == cost[e.node] then
      for _, edge in ipairs(nodes[e.node]) do
	local c = e.cost + edge.cost
	if not cost[edge.to] or c < cost[edge.to] then
	  cost[edge.to] = c
	  heap:push(c, edge.to)
	end
      end
    end
  end
  return cost
end

local sum = 0
for n = 10, 30, 5 do
  local cost = shortest(grid(n), 1)
  sum = sum + cost[n * n]
end
print(sum)
