----------------------------------------------------------------------------
-- The default report: a table with a group of columns for each view, in one
-- or two levels. Where rows are single functions or lines, a group has what
-- is their own and, as a percentage, what is cumulative: of all stacks that
-- they are on. Rows are chosen and sorted by what is their own.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local cumulative = require("jit.mp.model.cumulative")
local empty = require("jit.mp.model.empty")
local keys = require("jit.mp.model.keys")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

local cut, pad = cells.cut, cells.pad

-- Rows to be shown: { level, entry }.
local function visible(list, totals, o)
  local rows = {}
  local function add(entries, level)
    for _, e in ipairs(entries) do e.share = views.largest(e, totals) end
    views.sort(entries, "share")
    for _, e in ipairs(entries) do
      if views.shows(e.share, o) then
	rows[#rows+1] = { level = level, e = e }
	if e.sub then add(e.sub, level + 1) end
      end
    end
  end
  add(list, 0)
  return rows
end

-- Cells of an entry in a view: percentage, and amount.
local function entry_cells(p, o, view, v, total)
  if v <= 0 or total <= 0 then return "", "" end
  if o.raw then return "", ("%.0f"):format(v) end
  return numbers.share(v, total), views.amount(p, o, view, v, total)
end

-- Cumulative sums by name, or nil: rows are not single functions or lines.
local function cumulate(p, o)
  if o.scope == "" or o.states or o.split == "stack" or
      math.abs(o.depth) ~= 1 then
    return nil
  end
  local values = {}
  for i, view in ipairs(o.views) do
    values[i] = p.value_of(view, o.objects)
  end
  return cumulative.sums(p, values,
    cumulative.names(p, o.scope, o.path)).by
end

-- The column of a view's cumulative percentages.
local function cumulative_column(o, rows, i, total, by)
  local out, w = {}, #"cum."
  for k, row in ipairs(rows) do
    local f = row.level == 0 and by[row.e.name]
    local v = f and f.cumulative[i] or 0
    out[k] = ""
    if v > 0 then
      out[k] = o.raw and ("%.0f"):format(v) or
	numbers.share(v, total)
    end
    w = math.max(w, #out[k])
  end
  for k in ipairs(rows) do out[k] = pad(out[k], w) end
  out.title = pad("cum.", w)
  return out
end

-- Columns of one view: its title and the cells of all rows, equally wide.
local function column(p, o, rows, i, view, total)
  local pcts, amounts, wp, wa = {}, {}, 0, 0
  for k, row in ipairs(rows) do
    local pct, amount = entry_cells(p, o, view, row.e[i], total)
    if row.level > 0 and not o.raw and #o.views > 1 then amount = "" end
    pcts[k], amounts[k] = pct, amount
    wp, wa = math.max(wp, #pct), math.max(wa, #amount)
  end
  local title = views.by[view].title
  local gap = o.raw and 0 or 2
  local width = math.max(wp + gap + wa, #title)
  wa = width - wp - gap
  local out = { title = pad(title, width) }
  for k, row in ipairs(rows) do
    -- The second level is a little to the right of the first.
    local shift = row.level > 0 and #o.views > 1 and not o.raw and 2 or 0
    local text = pad(pcts[k], wp + shift)..(" "):rep(gap)..amounts[k]
    if shift == 0 then text = pad(pcts[k], wp)..(" "):rep(gap)..
      pad(amounts[k], wa) end
    out[k] = text..(" "):rep(width - #text)
  end
  return out
end

-- The columns of all views that are not empty; by: cumulative sums, if any.
local function all_columns(p, o, rows, totals, by)
  local columns = {}
  for i, view in ipairs(o.views) do
    if totals[i] > 0 then
      local c = column(p, o, rows, i, view, totals[i])
      columns[#columns+1] = c
      if by then
	local all = cumulative_column(o, rows, i, totals[i], by)
	c.title = c.title.."  "..all.title
	for k in ipairs(rows) do c[k] = c[k].."  "..all[k] end
      end
    end
  end
  return columns
end

local function write(out, rows, columns, width)
  local head = {}
  for k, c in ipairs(columns) do head[k] = c.title end
  out[#out+1] = "  "..table.concat(head, "   ").."\n"
  for k, row in ipairs(rows) do
    local line = {}
    for j, c in ipairs(columns) do line[j] = c[k] end
    local left = "  "..table.concat(line, "   ").."   "..("  "):rep(row.level)
    local name = row.e.name
    if width then name = cut(name, math.max(width - #left, 8)) end
    out[#out+1] = left..name.."\n"
  end
end

return function(p, o, env)
  local out, full = {}, false
  local list, totals = p:sums(o.views, o.objects, keys(p, o))
  for i, view in ipairs(o.views) do
    if totals[i] > 0 then full = true
    else out[#out+1] = empty(p, view).."\n" end
  end
  local rows = visible(list, totals, o)
  if #rows == 0 then
    if full then out[#out+1] = views.nothing("nothing", o) end
    return table.concat(out)
  end
  if #out > 0 then out[#out+1] = "\n" end
  write(out, rows, all_columns(p, o, rows, totals, cumulate(p, o)), env.width)
  return table.concat(out)
end
