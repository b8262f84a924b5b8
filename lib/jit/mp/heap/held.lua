-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The holders of the objects that a stack allocated: paths of a heap walk, by
-- rows of the profile.
----------------------------------------------------------------------------

local paths = require("jit.mp.heap.paths")

-- The line that a reader looks for: a line of many objects tells enough about
-- the lines below it, and the first lines of a chain about the others.
local function telling(line)
  local best, l = line.first or line, line
  while l do
    if l.count > 1 then best = l end
    l = l.above
  end
  return best
end

-- A function from a set of rows to the path that holds most of what these
-- allocated, and its part of it, from 0 to 1; or nil.
return function(p)
  local w = p.walk
  if not w or w.why then return function() end end
  local list = paths.lines(w)
  return function(rows)
    local by, total, most = {}, 0, nil
    for _, j in ipairs(w.joins) do
      local line = rows[j.row] and list[j.line]
      if line then
	local path = telling(line).path
	by[path] = (by[path] or 0) + j.bytes
	total = total + j.bytes
      end
    end
    for path, bytes in pairs(by) do
      if not most or bytes > by[most] or bytes == by[most] and path < most then
	most = path
      end
    end
    if most then return most, by[most] / total end
  end
end
