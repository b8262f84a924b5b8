-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The bytes in use over time, as one line of a terminal.
----------------------------------------------------------------------------

local numbers = require("jit.mp.model.numbers")

local bars = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }
local MAX = 1000 -- Points that are kept.

local History = {}
History.__index = History

local function new() return setmetatable({ points = {} }, History) end

function History:add(bytes)
  table.insert(self.points, bytes)
  if #self.points > MAX then table.remove(self.points, 1) end
end

-- The last points, as many as fit into that width, from 0 to the highest.
function History:line(width)
  local points = self.points
  local last = points[#points] or 0
  local words = ("in use %s "):format(numbers.bytes(last))
  local from = math.max(1, #points - (width - #words - 24) + 1)
  local high, out = 1, {}
  for i = from, #points do high = math.max(high, points[i]) end
  for i = from, #points do
    out[#out+1] = bars[math.max(1, math.ceil(points[i] / high * #bars))]
  end
  return ("%s%s  highest %s"):format(words, table.concat(out),
    numbers.bytes(high))
end

return { new = new }
