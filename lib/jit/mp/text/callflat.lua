-- SPDX-License-Identifier: MIT
-- The flat profile above the call graphs: every function's own part of each
-- view, and the part of all stacks that it is on.

local cells = require("jit.mp.text.cells")
local numbers = require("jit.mp.model.numbers")
local report = require("jit.mp.text.callreport")
local views = require("jit.mp.model.views")

local pad = cells.pad

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

-- The view that functions are ordered by: as in text/table.
local function sorted_by(r, full)
  local o = r.options
  if o.sort == "name" then return nil end
  local v = r.views[o.sort or o.first]
  return (o.sort or r:total(v) > 0) and v or full[1]
end

-- The functions that have a line, in their order.
local function shown(r, full)
  local list, v = {}, sorted_by(r, full)
  for _, f in ipairs(r.sums.functions) do
    local all = largest(r, f, "cumulative", full)
    if views.shows(all, r.options) then
      list[#list+1] = { f = f, name = f.name, all = all,
	first = v and f.self[v.amount] or 0,
	own = largest(r, f, "self", full) }
    end
  end
  if not v then return views.sort(list) end
  return views.sort(list, "first", "own", "all")
end

-- The line of the views' titles, each amid its columns. sorted: the view that
-- the functions are ordered by.
local function title_line(full, w, sorted)
  local n, t = #w / #full, {}
  for k, v in ipairs(full) do
    local width = 2 * (n - 1)
    for i = (k - 1) * n + 1, k * n do width = width + w[i] end
    local title = views.by[v.name].title
    if v == sorted and #full > 1 then title = "["..title.."]" end
    local left = pad(title, math.ceil((width + #title) / 2))
    t[k] = left..(" "):rep(width - #left)
  end
  return (table.concat(t, "  "):gsub(" +$", "")).."\n"
end

-- The headings of the columns. narrow: there are no amounts, or if it is "self"
-- nothing but the shares by themselves.
local function headings(r, full, narrow)
  local head = { name = "name" }
  for k in ipairs(full) do
    local own = (k == 1 and "  " or " ").."self"
    if not r.options.raw and not narrow then head[#head+1] = "" end
    head[#head+1] = own
    if narrow ~= "self" then head[#head+1] = "cum." end
  end
  return head
end

-- The functions with the most of each view.
local function tops(list, full)
  local top = {}
  for _, v in ipairs(full) do
    for _, e in ipairs(list) do
      local best = top[v]
      if not best or e.f.self[v.amount] > best.self[v.amount] then
	top[v] = e.f
      end
    end
  end
  return top
end

-- Adds the cells of a function in a view: its self, and its cumulative amount.
-- bold: the former is.
local function add_cells(r, row, v, f, narrow, bold)
  local own, all = f.self[v.amount], f.cumulative[v.amount]
  local gap, from = #row == 0 and "  " or " ", #row + 1
  if r.options.raw then
    row[#row+1] = gap..r:amount(v, f.self)
    row[#row+1] = r:amount(v, f.cumulative)
  else
    row[#row+1] = gap..percent(own, r:total(v))
    if not narrow then row[#row+1] = r:amount(v, f.self) end
    row.bold[from] = bold
    row.bold[from+1] = bold and not narrow
    if narrow ~= "self" then row[#row+1] = percent(all, r:total(v)) end
  end
end

local function lines_of(r, list, full, narrow)
  local lines, top = { headings(r, full, narrow) }, tops(list, full)
  for i, e in ipairs(list) do
    local row = { name = e.name, bold = {} }
    for _, v in ipairs(full) do
      add_cells(r, row, v, e.f, narrow, r.bold and top[v] == e.f)
    end
    lines[i+1] = row
  end
  return lines
end

-- The flat profile of a report (text/callreport). On a narrow terminal the
-- amounts give way to the names.
return function(r, full)
  local list, out = shown(r, full), {}
  if #list == 0 then return views.nothing("nothing", r.options) end
  local lines
  for _, narrow in ipairs({ false, "no amounts", "self" }) do
    lines = lines_of(r, list, full, narrow)
    if r.options.raw or report.fits(lines, r.width) then break end
  end
  report.write(out, lines, r.width)
  local sorted = not r.options.raw and sorted_by(r, full)
  return title_line(full, report.widths(lines), sorted)..table.concat(out)
end
