-- SPDX-License-Identifier: MIT
-- The flat profile above the call graphs: every function's own part of each
-- view, and the part of all stacks that it is on.

local cells = require("jit.mp.text.cells")
local numbers = require("jit.mp.model.numbers")
local report = require("jit.mp.text.callreport")
local views = require("jit.mp.model.views")

local pad, write = cells.pad, report.write

local NAME = 24 -- Columns that names should have.

local function percent(n, total)
  return n > 0 and numbers.share(n, total) or ""
end

-- The largest share of a function in any view, by "self" or "cumulative".
-- full: the views that are not empty.
local function largest(r, f, field, full)
  local max = 0
  for _, v in ipairs(full) do
    max = math.max(max, f[field][v.amount] / r:total(v))
  end
  return max
end

-- The functions that have a line, by largest self.
local function shown(r, full)
  local list = {}
  for _, f in ipairs(r.sums.functions) do
    local all = largest(r, f, "cumulative", full)
    if views.shows(all, r.options) then
      list[#list+1] = { f = f, name = f.name, all = all,
	own = largest(r, f, "self", full) }
    end
  end
  return views.sort(list, "own", "all")
end

-- The line of the views' titles, each amid its columns.
local function title_line(full, w)
  local n, t = #w / #full, {}
  for k, v in ipairs(full) do
    local width = 2 * (n - 1)
    for i = (k - 1) * n + 1, k * n do width = width + w[i] end
    local title = views.by[v.name].title
    local left = pad(title, math.ceil((width + #title) / 2))
    t[k] = left..(" "):rep(width - #left)
  end
  return (table.concat(t, "  "):gsub(" +$", "")).."\n"
end

-- The headings of the columns. narrow: there are no amounts.
local function headings(r, full, narrow)
  local head = { name = "name" }
  for k in ipairs(full) do
    local own = (k == 1 and "  " or " ").."self"
    if not r.options.raw and not narrow then head[#head+1] = "" end
    head[#head+1] = own
    head[#head+1] = "cum."
  end
  return head
end

-- Adds the cells of a function in a view: its self, and its cumulative amount.
local function add_cells(r, row, v, f, narrow)
  local own, all = f.self[v.amount], f.cumulative[v.amount]
  local gap = #row == 0 and "  " or " "
  if r.options.raw then
    row[#row+1] = gap..r:amount(v, f.self)
    row[#row+1] = r:amount(v, f.cumulative)
  else
    row[#row+1] = gap..percent(own, r:total(v))
    if not narrow then row[#row+1] = r:amount(v, f.self) end
    row[#row+1] = percent(all, r:total(v))
  end
end

local function lines_of(r, list, full, narrow)
  local lines = { headings(r, full, narrow) }
  for i, e in ipairs(list) do
    local row = { name = e.name }
    for _, v in ipairs(full) do add_cells(r, row, v, e.f, narrow) end
    lines[i+1] = row
  end
  return lines
end

-- The flat profile of a report (text/callreport). On a narrow terminal the
-- amounts give way to the names.
return function(r, full)
  local list, out = shown(r, full), {}
  if #list == 0 then return views.nothing("nothing", r.options) end
  local w = write({}, lines_of(r, list, full))
  local left = 2 * #w
  for _, n in ipairs(w) do left = left + n end
  local narrow = r.width and r.width - left < NAME
  w = write(out, lines_of(r, list, full, narrow), r.width)
  return title_line(full, w)..table.concat(out)
end
