-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Lines of source with their shares, as compilers write errors: editors such
-- as vim go from one to the next.
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local estimates = require("jit.mp.model.estimates")
local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

-- "34% CPU 2.15 s" for each view that has something.
local function shares(p, o, entry, totals)
  local t = {}
  for i, name in ipairs(o.views) do
    local v, total = entry[i], totals[i]
    if v > 0 and total > 0 then
      t[#t+1] = ("%s %s %s%s"):format(numbers.share(v, total),
	views.by[name].title, o.raw and "" or
	estimates.mark(v, entry.var[i], total),
	views.amount(p, o, name, v, total))
    end
  end
  return table.concat(t, ", ")
end

return function(p, o)
  local list, totals = p:sums(o.views, o.objects, function(row)
    local file, line = p:source_line(row)
    local path = line and p:source_path(file)
    return path and names.printable(path)..":"..line or ""
  end)
  local shown, any = {}, false
  for i in ipairs(o.views) do any = any or totals[i] > 0 end
  if not any then return nil, empty(p, o.views[1]) end
  for _, entry in ipairs(list) do
    entry.size = views.largest(entry, totals)
    if entry.name ~= "" and views.shows(entry.size, o) then
      shown[#shown+1] = entry
    end
  end
  local out = {}
  for i, entry in ipairs(views.sort(shown, "size")) do
    out[i] = entry.name..": "..shares(p, o, entry, totals).."\n"
  end
  return table.concat(out)
end
