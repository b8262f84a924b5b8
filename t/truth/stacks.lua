-- SPDX-License-Identifier: MIT
-- Stacks as the Lua functions in them: builtins have frames in the interpreter
-- alone. Of a function that calls itself there is one frame: a profile without
-- lines may miss one where compiled code does that.

-- A function from a row of a profile to its stack, or nil: it has none.
return function(p)
  return function(row)
    local t, s = {}, row.stack
    while s ~= 0 do
      local f = p.frames[p.frame[s]]
      if f.kind == "pseudo" then return nil end
      if f.kind == "Lua" then
	local name = f.source:match("[^/]*$")..":"..f.linedefined
	if t[#t] ~= name then t[#t+1] = name end
      end
      s = p.parent[s]
    end
    return t[1] and table.concat(t, " < ")
  end
end
