-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A heap walk as folded stacks, for a flame graph: a frame is a label of a
-- path, and the numbers are bytes that no line below has.
----------------------------------------------------------------------------

local paths = require("jit.mp.heap.paths")

local function frame(line)
  local text = line.count > 1 and ("%s (%.0f x %s)"):format(line.label,
    line.count, line.type) or line.label
  text = text:gsub("^ ", ""):gsub(";", ",")
  return text ~= "" and text or "value"
end

-- A trace that another one leads to is a part of that one's frame.
local function add(out, line, above)
  local stack, own = above..frame(line), line.bytes
  local function add_below(l)
    for _, child in ipairs(l.below) do
      if child.first then
	add_below(child)
      else
	own = own - child.bytes
	add(out, child, stack..";")
      end
    end
  end
  add_below(line)
  if own > 0 then out[#out+1] = ("%s %.0f\n"):format(stack, own) end
end

return function(p)
  local why = paths.absent(p.walk)
  if why then return nil, "there is no heap walk: "..why end
  local out, list, roots = {}, paths.lines(p.walk)
  for _, line in ipairs(list) do line.below = {} end
  for _, line in ipairs(list) do
    if line.above then
      line.above.below[#line.above.below+1] = line
    end
  end
  for _, line in ipairs(roots) do add(out, line, "") end
  return table.concat(out)
end
