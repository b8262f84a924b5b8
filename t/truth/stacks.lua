-- SPDX-License-Identifier: MIT
-- Stacks as the Lua functions in them: builtins have frames in the interpreter
-- alone.

-- A function from a row of a profile to its stack, or nil: it has none.
return function(p)
  return function(row)
    local t, s = {}, row.stack
    while s ~= 0 do
      local f = p.frames[p.frame[s]]
      if f.kind == "pseudo" then return nil end
      if f.kind == "Lua" then
	t[#t+1] = f.source:match("[^/]*$")..":"..f.linedefined
      end
      s = p.parent[s]
    end
    return t[1] and table.concat(t, " < ")
  end
end
