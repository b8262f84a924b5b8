-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Folded stacks: "root;...;top number", one line for each stack, as flame
-- graph tools read them.
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")

-- Separators within a name would be taken for the format's own.
local function safe(name)
  return (name:gsub(";", ","))
end

return function(p, o)
  local namer = p:namer(o.scope, o.path, 1000)
  local list, totals = p:sums(o.views, o.objects, function(row)
    local names, t = namer(row), {}
    for i = #names, 1, -1 do t[#t+1] = safe(names[i]) end
    if o.states then
      table.insert(t, 1, safe(p:split_name(row, o.states)))
    end
    return table.concat(t, ";")
  end)
  if totals[1] == 0 then return nil, empty(p, o.views[1]) end
  table.sort(list, function(a, b) return a.name < b.name end)
  local out = {}
  for _, e in ipairs(list) do
    local n = ("%.0f"):format(e[1])
    if n ~= "0" then out[#out+1] = e.name.." "..n.."\n" end
  end
  return table.concat(out)
end
