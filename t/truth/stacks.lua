-- SPDX-License-Identifier: MIT
-- Stacks as the Lua functions in them: builtins have frames in the interpreter
-- alone.

local M = {}

-- From a profile to a function from a row to its stack, or nil: it has none.
local function namer(collapse)
  return function(p)
    return function(row)
      local t, s = {}, row.stack
      while s ~= 0 do
	local f = p.frames[p.frame[s]]
	if f.kind == "pseudo" then return nil end
	if f.kind == "Lua" then
	  local name = f.source:match("[^/]*$")..":"..f.linedefined
	  if not collapse or t[#t] ~= name then t[#t+1] = name end
	end
	s = p.parent[s]
      end
      return t[1] and table.concat(t, " < ")
    end
  end
end

M.whole = namer(false)

-- Of a function that calls itself there is one frame: a profile without lines
-- may miss one where compiled code does that.
M.collapsed = namer(true)

return M
