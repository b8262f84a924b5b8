-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The default report: a table with a group of columns for each view, in one or
-- more levels. Where rows of the first are single functions or lines, a group
-- has their own amount and, as a percentage, the cumulative one: of all stacks
-- that they are on. Rows are ordered and chosen by their own amounts.
----------------------------------------------------------------------------

local advice = require("jit.mp.model.advice")
local cells = require("jit.mp.text.cells")
local cumulative = require("jit.mp.model.cumulative")
local empty = require("jit.mp.model.empty")
local estimates = require("jit.mp.model.estimates")
local keys = require("jit.mp.model.keys")
local numbers = require("jit.mp.model.numbers")
local style = require("jit.mp.text.style")
local terms = require("jit.mp.model.terms")
local views = require("jit.mp.model.views")
local width_of = require("jit.mp.text.width").width

local pad = cells.pad

local NAME = 32 -- Columns that a name should have before amounts are left out.
local SHIFT = 2 -- Columns that further levels are to the right.
local TOP = 20  -- Rows on the first level that are shown although option m
		-- would leave them out, unless it was given,
local LEAST = 1 -- with as many percent of the view that is sorted by.

-- -- Rows --------------------------------------------------------------------

-- A report: profile, options, totals by view, the indices of the views that
-- are not empty, cumulative sums by name (or nil), rows to be shown as { level,
-- e = entry of sums }, the sums of those that are not, and whether the largest
-- numbers are bold.
local Report = {}
Report.__index = Report

-- Cumulative sums by name, or nil: rows are not single functions or lines. The
-- raw table of states, zones and types has none, as programs know it.
local function cumulate(p, o)
  if o.levels[1] ~= "name" or math.abs(o.depth) ~= 1 or
      o.raw and o.states then
    return nil
  end
  local values = {}
  for i, view in ipairs(o.views) do
    values[i] = p.value_of(view, o.objects)
  end
  return cumulative.sums(p, values,
    cumulative.names(p, o.scope, o.path)).by
end

-- Adds an entry to the sum of those that are not shown; returns the sum.
local function hide(sum, e)
  sum = sum or { count = 0, var = {} }
  sum.count = sum.count + 1
  for i, v in ipairs(e) do
    sum[i] = (sum[i] or 0) + v
    sum.var[i] = (sum.var[i] or 0) + (e.var[i] or 0)
  end
  return sum
end

-- The view that rows are ordered by, as its index: that of --sort, or the one
-- that was asked for first, or the first that is not empty; nil: they are
-- ordered by name.
function Report:sorted()
  local o = self.options
  if o.sort == "name" then return nil end
  return o.sort or self.totals[o.first] > 0 and o.first or self.full[1]
end

-- Sorts entries, those that are alike in the view by their largest share of
-- any, and what was there before the profile behind them all.
function Report:sort(entries)
  local i = self:sorted()
  for _, e in ipairs(entries) do
    e.share = views.largest(e, self.totals)
    e.weight = e.name == terms.before and 0 or views.weight(e, self.totals)
    e.first = i and e.name ~= terms.before and e[i] or 0
  end
  if not i then return views.sort(entries) end
  return views.sort(entries, "first", "weight", "share")
end

-- Whether an entry has a row, where so many of its level have one before it: a
-- row has at least one part.
function Report:shows(e, level, before)
  local o, i = self.options, self:sorted()
  if views.shows(e.share, o) then return true end
  if o.min_given or o.raw then return false end
  if level > 0 then return before == 0 and views.reaches(e.share, LEAST) end
  return i and self.totals[i] > 0 and before < TOP and
    views.reaches(e[i] / self.totals[i], LEAST)
end

-- The row for the parts of another one that are not shown.
function Report:add_rest(hidden, level)
  local o = self.options
  if not hidden or o.raw then return end
  if not views.shows(views.largest(hidden, self.totals), o) then return end
  hidden.name = "and "..(o.levels[level + 1] == "lines" and
    numbers.counted(hidden.count, "line") or hidden.count.." more")
  self.rows[#self.rows+1] = { level = level, e = hidden }
end

function Report:choose(entries, level)
  local before, hidden = 0, nil
  for _, e in ipairs(self:sort(entries)) do
    if self:shows(e, level, before) then
      before = before + 1
      self.rows[#self.rows+1] = { level = level, e = e }
      if level > 0 then self.levels = 2 end
      local sub, below = views.parts(e)
      if sub then self:choose(sub, level + below) end
    elseif e.share > 0 then
      hidden = hide(hidden, e)
    end
  end
  if level == 0 then
    self.hidden = hidden
  elseif before > 0 then
    self:add_rest(hidden, level)
  end
end

-- -- Columns -----------------------------------------------------------------

-- Cells of a row in a view: percentage, amount, cumulative percentage. A number
-- that rests on few samples is marked, at its amount if it has one.
function Report:cells(row, i, layout)
  local o, total, e = self.options, self.totals[i], row.e
  local v, share, amount, all = e[i], "", "", ""
  local f = layout.cum and row.level == 0 and self.by[e.name]
  local sum = f and f.cumulative[i] or 0
  if sum > 0 then
    all = o.raw and ("%.0f"):format(sum) or numbers.share(sum, total)
  end
  if v <= 0 then return "", "", all end
  if o.raw then return "", views.amount(self.profile, o, o.views[i], v), all end
  share = numbers.share(v, total)
  local mark = estimates.mark(v, e.var[i], total)
  if mark ~= "" then self.rough = true end
  if layout.amounts and (row.level == 0 or #o.views == 1) then
    amount = mark..views.amount(self.profile, o, o.views[i], v, total)
  else
    share = mark..share
  end
  return share, amount, all
end

-- Widths of the three parts of a column.
function Report:widths(i, layout)
  local w = { 0, 0, layout.cum and #"cum." or 0 }
  for _, row in ipairs(self.rows) do
    local t = { self:cells(row, i, layout) }
    for k = 1, 3 do w[k] = math.max(w[k], #t[k]) end
  end
  return w
end

-- The cells of a row as one text of the column's width. A second level has no
-- amounts beside those of the first, but for a view alone.
local function join(row, t, w, shift, gap, bold)
  local text
  if row.level == 0 then
    text = pad(t[1], w[1])..(" "):rep(shift + gap)..pad(t[2], w[2])
  else
    text = pad(t[1], w[1] + shift)..(" "):rep(gap)..pad(t[2], w[2])
  end
  if bold then text = style.bold(text) end
  return text..(w[3] > 0 and "  "..pad(t[3], w[3]) or "")
end

-- The number of the row on the first level with most of a view; nil where
-- nothing is to be bold.
function Report:top(i)
  local most, top = 0, nil
  for k, row in ipairs(self.bold and self.rows or {}) do
    if row.level == 0 and row.e[i] > most then most, top = row.e[i], k end
  end
  return top
end

-- The title of a view's column, marked if rows are ordered by it.
function Report:mark(i, title)
  if self.options.raw or #self.full == 1 then return title end
  return i == self:sorted() and "["..title.."]" or title
end

-- A column: its title, and the texts of all rows, equally wide on the screen.
function Report:column(i, layout)
  local raw, w = self.options.raw, self:widths(i, layout)
  local view = views.by[self.options.views[i]]
  local gap = raw and 0 or w[2] > 0 and 2 or 0
  local shift = self.levels and not raw and SHIFT or 0
  if #self.options.views > 1 and w[2] >= shift then shift = 0 end
  local title = self:mark(i, layout.amounts and view.title or view.short)
  local own = w[1] + shift + gap + w[2]
  w[2] = w[2] + math.max(#title - own, 0)
  own = math.max(own, #title)
  local out = { title = pad(title, own)..(w[3] > 0 and
    "  "..pad("cum.", w[3]) or "") }
  local top = self:top(i)
  for k, row in ipairs(self.rows) do
    local t = { self:cells(row, i, layout) }
    if row.level > 0 and shift == 0 and not raw then
      -- Into the room of the amounts, which this level does not have.
      local text = pad(t[1], w[1] + SHIFT)
      out[k] = text..(" "):rep(#out.title - #text)
    else
      out[k] = join(row, t, w, shift, gap, k == top)
    end
  end
  return out
end

-- The left sides of all lines by a layout, the heading's as number 0.
function Report:left(layout)
  local left, columns = {}, {}
  for _, i in ipairs(self.full) do
    columns[#columns+1] = self:column(i, layout)
  end
  for k = 0, #self.rows do
    local t = {}
    for j, c in ipairs(columns) do t[j] = k == 0 and c.title or c[k] end
    left[k] = "  "..table.concat(t, "   ")
  end
  return left
end

-- -- Names -------------------------------------------------------------------

function Report:name(row, width)
  local o = self.options
  local lead = row.level > 0 and
    cells.arrow(o, o.levels[row.level + 1], row.level) or ""
  local name = row.e.name
  if width then name = cells.cut_levels(name, width - #lead) end
  return lead..name
end

-- The left sides by the widest layout that leaves the names enough room, and
-- whether names stand above them, since no layout does.
function Report:fitting(width)
  local by = self.by ~= nil
  local layouts = { { amounts = true, cum = by }, { cum = by }, {} }
  if not width or self.options.raw then return self:left(layouts[1]) end
  local longest, left = 0, nil
  for _, row in ipairs(self.rows) do
    longest = math.max(longest, width_of(self:name(row)))
  end
  for _, layout in ipairs(layouts) do
    self.rough = false
    left = self:left(layout)
    if width - #left[0] - 3 >= math.min(longest, NAME) then break end
  end
  return left, cells.above(width - #left[0] - 3, longest)
end

-- -- Lines -------------------------------------------------------------------

-- The line for the rows that are not shown.
function Report:rest()
  local h, o, t = self.hidden, self.options, {}
  for _, i in ipairs(self.full) do
    t[#t+1] = views.by[o.views[i]].title.." "..
      numbers.share(h[i], self.totals[i])
  end
  return ("  and %s%s: %s (m0 shows all)\n"):format(
    numbers.counted(h.count, "row"),
    o.min_given and (" below %d%%"):format(o.min) or "", table.concat(t, ", "))
end

function Report:write(out, width)
  local left, above = self:fitting(width)
  out[#out+1] = left[0].."\n"
  for k, row in ipairs(self.rows) do
    if above then
      local indent = (" "):rep(SHIFT * (row.level + 1))
      out[#out+1] = indent..self:name(row, width - #indent).."\n"..
	left[k]:gsub(" +$", "").."\n"
    else
      out[#out+1] = left[k].."   "..
	self:name(row, width and width - #left[0] - 3).."\n"
    end
  end
  if self.options.raw then return end
  if self.hidden then
    out[#out+1] = cells.wrap(self:rest(), width)
  end
  if self.rough then
    out[#out+1] = cells.wrap("  "..terms.rough_note.."\n", width)
  end
end

-- Adds what the figures and the source of lines prove.
function Report:advise(out, env)
  local o = self.options
  if o.raw or env.live or not o.shows_lines then return end
  for _, a in ipairs(advice.of(self.profile, env)) do
    local shares = numbers.share(a.share, 1).." of allocated"
    if a.cpu >= 0.01 then
      shares = numbers.share(a.cpu, 1).." of CPU, "..shares
    end
    out[#out+1] = cells.wrap(("  advice: %s (%s): %s\n"):format(a.place, shares,
      a.text), env.width)
  end
end

return function(p, o, env)
  local out = {}
  local list, totals = p:sums(o.views, o.objects, keys.functions(p, o))
  local report = setmetatable({ profile = p, options = o, totals = totals,
    full = {}, rows = {}, bold = env.bold and not o.raw }, Report)
  for i, view in ipairs(o.views) do
    if totals[i] > 0 then report.full[#report.full+1] = i
    else out[#out+1] = cells.wrap(empty(p, view).."\n", env.width) end
  end
  report:choose(list, 0)
  if #report.rows == 0 then
    if #report.full > 0 then out[#out+1] = views.nothing("nothing", o) end
    return table.concat(out)
  end
  if #out > 0 then out[#out+1] = "\n" end
  report.by = cumulate(p, o)
  report:write(out, env.width)
  report:advise(out, env)
  return table.concat(out)
end
