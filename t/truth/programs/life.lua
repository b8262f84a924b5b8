-- SPDX-License-Identifier: MIT
-- Cells that live and die: generations are tables keyed by strings.

-- Whether a string is made again depends on when the collector takes it.
collectgarbage("stop")

local function key(x, y) return x..","..y end

local function step(cells)
  local count = {}
  for _, c in pairs(cells) do
    for dx = -1, 1 do
      for dy = -1, 1 do
	if dx ~= 0 or dy ~= 0 then
	  local k = key(c.x + dx, c.y + dy)
	  local n = count[k]
	  if n then
	    n.n = n.n + 1
	  else
	    count[k] = { x = c.x + dx, y = c.y + dy, n = 1 }
	  end
	end
      end
    end
  end
  local alive = {}
  for k, n in pairs(count) do
    if n.n == 3 or n.n == 2 and cells[k] then
      alive[k] = { x = n.x, y = n.y }
    end
  end
  return alive
end

local cells = {}
for _, c in ipairs { { 1, 0 }, { 2, 0 }, { 0, 1 }, { 1, 1 }, { 1, 2 } } do
  cells[key(c[1], c[2])] = { x = c[1], y = c[2] }
end
for _ = 1, 60 do cells = step(cells) end
local n = 0
for _ in pairs(cells) do n = n + 1 end
print(n)
