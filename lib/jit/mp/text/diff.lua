-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The difference of two profiles: each row before and after, by change.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local estimates = require("jit.mp.model.estimates")
local facts = require("jit.mp.model.facts")
local keys = require("jit.mp.model.keys")
local numbers = require("jit.mp.model.numbers")
local pairing = require("jit.mp.model.pairing")
local views = require("jit.mp.model.views")
local width_of = require("jit.mp.text.width").width

local CHANGE = 3 -- The column of the change.
local NAME = 24 -- Columns that names should have.

-- Sums of one view by the first level's key, by name: { number, other, var },
-- where the other number is the bytes if the first is objects, and the other
-- way round; and the total.
local function sums(p, o, view)
  local key, by = (keys(p, o)), {}
  local list, totals = p:sums({ view }, o.objects, key)
  for _, e in ipairs(list) do by[e.name] = { e[1], 0, var = e.var[1] } end
  if view ~= "cpu" then
    for _, e in ipairs((p:sums({ view }, not o.objects, key))) do
      by[e.name][2] = e[1]
    end
  end
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
-- are, CPU samples in seconds.
local function scale(p, o, view, total, by_share)
  if by_share then return total > 0 and 100 / total or 0 end
  return view == "cpu" and total > 0 and p.info.cpu / total or 1
end

local function format(o, view, by_share, v)
  if by_share then return ("%.1f%%"):format(v) end
  if view == "cpu" then return numbers.seconds(v) end
  return o.objects and numbers.count(v) or numbers.bytes(v, o.kib)
end

local function signed(text, v)
  return (v > 0 and "+" or v < 0 and "-" or "")..text
end

-- Rows of one view: { name, before, after, change, size (of the change), noisy
-- (whether samples alone may make such a change) }, the largest change first.
local function compare(old, new, o, view, by_share)
  local a, atotal = sums(old, o, view)
  local b, btotal = sums(new, o, view)
  local ka = scale(old, o, view, atotal, by_share)
  local kb = scale(new, o, view, btotal, by_share)
  local in_old = ka > 0 and unseen(old, o, view, kb / ka)
  local in_new = kb > 0 and unseen(new, o, view, ka / kb)
  local list, seen, none = {}, {}, { 0, 0, var = 0 }
  local function add(name)
    if seen[name] then return end
    seen[name] = true
    local x, y = a[name] or none, b[name] or none
    local before, after = x[1] * ka, y[1] * kb
    local xvar, yvar = x.var, y.var
    if x[1] == 0 and in_old then xvar = in_old(y) end
    if y[1] == 0 and in_new then yvar = in_new(x) end
    local error = (xvar * ka * ka + yvar * kb * kb) ^ 0.5
    list[#list+1] = { name = name, before = before, after = after,
      change = after - before, size = math.abs(after - before),
      noisy = math.abs(after - before) < 2 * error }
  end
  for name in pairs(a) do add(name) end
  for name in pairs(b) do add(name) end
  -- By name: no field.
  return views.sort(list, o.diff_sort ~= "name" and (o.diff_sort or "size") or
    nil), atotal * ka, btotal * kb
end

-- Growth from a number to another one, in percent.
local function growth(before, after)
  if before > 0 then return (after - before) / before * 100 end
  return after > 0 and math.huge or 0
end

-- The name of the row that grew most, or nil.
local function most_grown(list)
  local most, name = 0, nil
  for _, e in ipairs(list) do
    local change = e.after - e.before
    if change > most then most, name = change, e.name end
  end
  return name
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

-- Writes the rows of a view that change enough; returns the change of the view,
-- and the row that changes most.
local function put_view(out, old, new, o, view, by_share, env)
  local list, before, after = compare(old, new, o, view, by_share)
  if before == 0 and after == 0 then return 0 end
  local rows = { { "before", "after", "change", views.by[view].title } }
  local function row(name, a, b, mark)
    local change = signed(format(o, view, by_share, math.abs(b - a)), b - a)
    rows[#rows+1] = { format(o, view, by_share, a),
      format(o, view, by_share, b), mark..change, name }
    return rows[#rows]
  end
  if not by_share then row("(all)", before, after, "") end
  local largest = by_share and 100 or math.max(before, after)
  local n, noisy, top = 0, false, {}
  for _, e in ipairs(list) do
    if views.shows(e.size / largest, o) then
      local r = row(e.name, e.before, e.after, e.noisy and "~" or "")
      if not e.noisy and e.size > (top.size or 0) then
	top = { size = e.size, row = r }
      end
      n, noisy = n + 1, noisy or e.noisy
    end
  end
  if top.row then top.row.bold = CHANGE end
  out[#out+1] = cells.rows(fitting(rows, env.width), env.width, env.bold)
  if n == 0 then
    out[#out+1] = ("  (no row changes by %d%%)\n"):format(o.min)
  end
  if noisy then
    out[#out+1] = cells.wrap("  ~ samples alone may make such a difference\n",
      env.width)
  end
  out[#out+1] = "\n"
  if by_share and list[1] then return list[1].size, list[1].name end
  return by_share and 0 or growth(before, after), most_grown(list)
end

local function head(p, title, width)
  return cells.parts({ title.."  "..(facts.script(p) or "?").."  "..
    numbers.seconds(p.info.cpu).." CPU",
    numbers.bytes(p.heap.alloc_bytes).." allocated",
    ("in use %s, peak %s"):format(numbers.bytes(p.heap.inuse),
      numbers.bytes(p.heap.peak)) }, width, #title + 2)
end

-- by_share: compares shares of each total, for runs of different length. env:
-- width and bold, as in jit.mp.render.
-- Returns the text, and the largest growth: of a view's total in percent, or
-- of a row's share in points; with the view's title, and the row's name.
return function(old, new, o, by_share, env)
  local out = { head(old, "before", env.width), head(new, "after ", env.width),
    "\n" }
  local most, where, row = 0, nil, nil
  if o.collapse then old, new = old:collapsed(), new:collapsed() end
  old.paired, new.paired = pairing.labels(old:functions(), new:functions(),
    o.scope == "F" and "F" or "f", o.path)
  for _, view in ipairs(o.views) do
    local change, name = put_view(out, old, new, o, view, by_share, env)
    if change > most then
      most, where, row = change, views.by[view].title, name
    end
  end
  old.paired, new.paired = nil, nil
  if #out == 3 then out[4] = "both profiles are empty\n" end
  return table.concat(out), most, where, row
end
