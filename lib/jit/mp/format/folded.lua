-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Folded stacks: "root;...;top number", one line for each stack, as flame
-- graph tools read them.
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local views = require("jit.mp.model.views")

-- Separators within a name would be taken for the format's own.
local function safe(name)
  return (name:gsub(";", ","))
end

-- A function from a row to its frames: the root first, or where the options
-- split functions from their callers the function.
local function folder(p, o)
  local namer = p:namer(o.scope ~= "" and o.scope or "f", o.path,
    o.depth_given and math.abs(o.depth) or 1000)
  local inverted = o.split == "stack"
  return function(row)
    local names, t = namer(row), {}
    if o.states then t[1] = safe(p:split_name(row, o)) end
    for i = 1, #names do
      t[#t+1] = safe(names[inverted and i or #names + 1 - i])
    end
    return table.concat(t, ";")
  end
end

return function(p, o)
  local list, totals = p:sums({ o.view }, o.objects, folder(p, o))
  if totals[1] == 0 then return nil, empty(p, o.view) end
  table.sort(list, function(a, b) return a.name < b.name end)
  local out = {}
  for _, e in ipairs(list) do
    local n = ("%.0f"):format(e[1])
    if n ~= "0" and (not o.min_given or views.shows(e[1] / totals[1], o)) then
      out[#out+1] = e.name.." "..n.."\n"
    end
  end
  return table.concat(out)
end
