-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The difference of two profiles: each row before and after, by change.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local empty = require("jit.mp.model.empty")
local estimates = require("jit.mp.model.estimates")
local facts = require("jit.mp.model.facts")
local keys = require("jit.mp.model.keys")
local numbers = require("jit.mp.model.numbers")
local pairing = require("jit.mp.model.pairing")
local terms = require("jit.mp.model.terms")
local views = require("jit.mp.model.views")
local width_of = require("jit.mp.text.width").width

local CHANGE = 3 -- The column of the change.
local NAME = 24 -- Columns that names should have.

-- Memory from before the profile is the remainder of a counted total: it is in
-- as much doubt as all the rows that are estimated.
local function add_doubt(by)
  local before, sum = by[terms.before], 0
  if not before then return end
  for _, e in pairs(by) do sum = sum + e.var end
  before.var = sum
  for _, e in pairs(before.sub) do e.var = sum end
end

-- Sums of one view by name: { number, other, var =, sub = }, where the other
-- number is the bytes if the first is objects, and the other way round, and sub
-- has the same for the second level; and the total.
local function sums(p, o, view)
  local levels = { keys.functions(p, o) }
  local function by_name(list, field, by)
    for _, e in ipairs(list) do
      local t = by[e.name] or { 0, 0, var = 0, sub = {} }
      by[e.name], t[field] = t, e[1]
      if field == 1 then t.var = e.var[1] end
      by_name(e.sub or {}, field, t.sub)
    end
    return by
  end
  local list, totals = p:sums({ view }, o.objects, unpack(levels))
  local by = by_name(list, 1, {})
  if view ~= "cpu" then
    by_name((p:sums({ view }, not o.objects, unpack(levels))), 2, by)
  end
  add_doubt(by)
  return by, totals[1]
end

-- A function from a row of another profile, of which this one has no sample, to
-- the variance that its number would have here. k: the factor between numbers.
local function unseen(p, o, view, k)
  local variance = estimates.variance(p, view, o.objects)
  return function(row)
    local number, other = row[1] * k, row[2] * k
    return variance({ cpu = number,
      [view.."_objects"] = o.objects and number or other,
      [view.."_bytes"] = o.objects and other or number })
  end
end

-- The factor by which numbers are compared: as shares of the total, or as they
-- are, CPU samples in seconds unless raw numbers are wanted.
local function scale(p, o, view, total, by_share)
  if by_share then return total > 0 and 100 / total or 0 end
  return view == "cpu" and not o.raw and total > 0 and p.info.cpu / total or 1
end

local function format(o, view, by_share, v)
  if by_share then return (o.raw and "%.1f" or "%.1f%%"):format(v) end
  if o.raw then return ("%.0f"):format(v) end
  if view == "cpu" then return numbers.seconds(v) end
  return o.objects and numbers.count(v) or numbers.bytes(v, o.kib)
end

-- A change that is rounded to nothing has no sign.
local function signed(text, v)
  local sign = text:find("[1-9]") and (v > 0 and "+" or "-") or ""
  return sign..text
end

-- The totals of a view as one row; those of C memory are estimates, too.
local function whole_of(rows, total, view)
  local sum = { total, 0, var = 0, sub = {} }
  for _, e in pairs(rows) do
    sum.var = sum.var + (view:find("^native") and e.var or 0)
  end
  return sum
end

-- Rows of one view: { name, before, after, size (of the change), noisy (whether
-- samples alone may make such a change), sub (the rows of the second level) },
-- the largest change first; and such a row of all.
local function compare(old, new, o, view, by_share)
  local a, atotal = sums(old, o, view)
  local b, btotal = sums(new, o, view)
  local ka = scale(old, o, view, atotal, by_share)
  local kb = scale(new, o, view, btotal, by_share)
  local in_old = ka > 0 and unseen(old, o, view, kb / ka)
  local in_new = kb > 0 and unseen(new, o, view, ka / kb)
  local none = { 0, 0, var = 0, sub = {} }
  local rows
  local function row(name, x, y)
    local xvar, yvar = x.var, y.var
    if x[1] == 0 and in_old then xvar = in_old(y) end
    if y[1] == 0 and in_new then yvar = in_new(x) end
    local before, after = x[1] * ka, y[1] * kb
    local size = math.abs(after - before)
    return { name = name, before = before, after = after, size = size,
      noisy = size < 2 * (xvar * ka * ka + yvar * kb * kb) ^ 0.5,
      sub = rows(x.sub, y.sub) }
  end
  function rows(x, y)
    local list = {}
    for name, e in pairs(x) do list[#list+1] = row(name, e, y[name] or none) end
    for name, e in pairs(y) do
      if not x[name] then list[#list+1] = row(name, none, e) end
    end
    -- By name: no field.
    return views.sort(list, o.diff_sort ~= "name" and (o.diff_sort or "size") or
      nil)
  end
  return rows(a, b),
    row("(all)", whole_of(a, atotal, view), whole_of(b, btotal, view))
end

-- Growth from a number to another one, in percent, if not by chance.
local function growth(e)
  if e.noisy then return 0 end
  if e.before > 0 then return (e.after - e.before) / e.before * 100 end
  return e.after > 0 and math.huge or 0
end

-- The largest number, at least 0, of the rows that have not changed by chance,
-- and the name of the row that has it, if any.
local function largest(list, number)
  local most, name = 0, nil
  for _, e in ipairs(list) do
    local n = e.noisy and 0 or number(e)
    if n > most then most, name = n, e.name end
  end
  return most, name
end

-- The change of a view, and the row that changes most.
local function change_of(list, all, by_share)
  if by_share then return largest(list, function(e) return e.size end) end
  return growth(all),
    select(2, largest(list, function(e) return e.after - e.before end))
end

-- The rows without the first column, if that leaves more of the room that names
-- need.
local function fitting(rows, width)
  local left, need = 2, 0
  for i = 1, CHANGE do
    local most = 0
    for _, r in ipairs(rows) do most = math.max(most, #r[i]) end
    left = left + most + 3
  end
  for _, r in ipairs(rows) do
    need = math.max(need, math.min(width_of(r[#r]), NAME))
  end
  if not width or left + need <= width then return rows end
  for _, r in ipairs(rows) do
    table.remove(r, 1)
    r.bold = r.bold and r.bold - 1
  end
  return rows
end

-- The reason why a view cannot be compared, or has nothing; nil: it can.
local function reason(old, new, view, all)
  if all.before == 0 and all.after == 0 then return empty(new, view) end
  if not new:measures(view) then return "after: "..empty(new, view) end
  return not old:measures(view) and "before: "..empty(old, view) or nil
end

-- The rows of a view that change enough, as cells; whether there is none of
-- them, and whether one is noisy.
local function table_of(list, all, o, view, by_share)
  local rows = { { "before", "after", "change", views.by[view].title } }
  local noisy, top = false, {}
  local function row(e, lead)
    local change = signed(format(o, view, by_share, e.size), e.after - e.before)
    rows[#rows+1] = { format(o, view, by_share, e.before),
      format(o, view, by_share, e.after),
      (e.noisy and not o.raw and "~" or "")..change, lead..e.name }
    noisy = noisy or e.noisy and not o.raw
    return rows[#rows]
  end
  if not by_share then row(all, "") end
  local whole = by_share and 100 or math.max(all.before, all.after)
  local none = #rows
  local function add(entries, level)
    local lead = level > 0 and cells.arrow(o, o.levels[level+1], level) or ""
    for _, e in ipairs(entries) do
      if views.shows(e.size / whole, o) then
	local r = row(e, lead)
	if level == 0 and not e.noisy and e.size > (top.size or 0) then
	  top = { size = e.size, row = r }
	end
	local sub, below = views.parts(e)
	add(sub, level + below)
      end
    end
  end
  add(list, 0)
  if top.row then top.row.bold = CHANGE end
  return rows, #rows == none, noisy
end

-- Writes a view; returns its change, and the row that changes most.
local function put_view(out, old, new, o, view, by_share, env)
  local list, all = compare(old, new, o, view, by_share)
  local why = reason(old, new, view, all)
  if why then
    out[#out+1] = cells.wrap(why.."\n", env.width).."\n"
    return 0
  end
  local rows, none, noisy = table_of(list, all, o, view, by_share)
  out[#out+1] = cells.rows(fitting(rows, env.width), env.width, env.bold)
  if none then
    out[#out+1] = o.min == 0 and "  (no row changes)\n" or
      ("  (no row changes by %d%%)\n"):format(o.min)
  end
  if noisy then
    out[#out+1] = cells.wrap("  ~ samples alone may make such a difference\n",
      env.width)
  end
  out[#out+1] = "\n"
  return change_of(list, all, by_share)
end

local function head(p, o, title, width)
  return cells.parts({ title.."  "..(facts.script(p) or
    facts.is_sum(p) and "several programs" or "?").."  "..
    numbers.seconds(p.info.cpu).." CPU",
    numbers.bytes(p.heap.alloc_bytes, o.kib).." allocated",
    ("in use %s, peak %s"):format(numbers.bytes(p.heap.inuse, o.kib),
      numbers.bytes(p.heap.peak, o.kib)) }, width, #title + 2)
end

-- by_share: compares shares of each total, for runs of different length. env:
-- width and bold, as in jit.mp.render.
-- Returns the text, and the largest growth: of a view's total in percent, or
-- of a row's share in points, unless samples alone may explain it; with the
-- view's title, and the row's name.
return function(old, new, o, by_share, env)
  local out = { head(old, o, "before", env.width),
    head(new, o, "after ", env.width), "\n" }
  local most, where, row = 0, nil, nil
  if o.collapse then old, new = old:collapsed(), new:collapsed() end
  old.paired, new.paired, old.moved = pairing.labels((old:functions()),
    (new:functions()), o.scope == "F" and "F" or "f", o.path)
  for _, view in ipairs(o.views) do
    local change, name = put_view(out, old, new, o, view, by_share, env)
    if change > most then
      most, where, row = change, views.by[view].title, name
    end
  end
  old.paired, new.paired, old.moved = nil, nil, nil
  return table.concat(out), most, where, row
end
