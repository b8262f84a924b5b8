-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The call graph: each function between its callers and what it calls.
----------------------------------------------------------------------------
--
-- First a flat profile: every function's own part of each view (self), and
-- the part of all stacks that it is on (cumulative), by largest self.
--
-- Then a graph for each view. Functions are numbered by cumulative amount and
-- have an entry each: the callers, the function itself (at its index), and
-- what it calls. In the function's line % is of the whole view; in the others
-- it is of the function's cumulative amount: what came through that caller,
-- or went into that callee. Self is in a caller's line the part of the
-- function's self that came through that caller, in a callee's line the
-- callee's self that came through this function. Samples and objects are
-- cumulative.
--
-- The callers' lines add up to the function's line, and its self and its
-- callees' lines add up to its cumulative amount; but
--
--   (recursive)  marks what a function calls of itself: this lies within the
--                other lines, and is not added to them.
--   <cycle n>    marks the members of a cycle: functions that call each other
--                in a ring. Their lines overlap. The cycle as a whole has an
--                entry too, in which each stack counts once and the sums are
--                right: its members stand right below it, then what they call
--                outside of it.
--   (root)       is the caller of what begins a stack.
--
-- Functions below o.min percent have no entry and no index.
--
-- model/functions.lua says what a function is, and what it is called.
--
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local cumulative = require("jit.mp.model.cumulative")
local empty = require("jit.mp.model.empty")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

local cut, pad = cells.cut, cells.pad

local NAME = 24 -- Columns that names should have.
local RULER = 79 -- Dashes between entries, unless the terminal is narrower.

-- -- Lines -------------------------------------------------------------------

-- Writes lines of cells, aligned to the right, with a name behind them. A
-- line is { cells..., name = text, mark = text, indent = columns } where the
-- mark is never cut; or false: a ruler.
-- Returns the columns' widths.
local function write(out, lines, width)
  local w = {}
  for _, line in ipairs(lines) do
    for i, cell in ipairs(line or {}) do w[i] = math.max(w[i] or 0, #cell) end
  end
  for _, line in ipairs(lines) do
    if line then
      local t = {}
      for i, cell in ipairs(line) do t[i] = pad(cell, w[i]) end
      local left = table.concat(t, "  ").."  "..(" "):rep(line.indent or 0)
      local name, mark = line.name, line.mark or ""
      if width then name = cut(name, math.max(width - #left - #mark, 8)) end
      out[#out+1] = left..name..mark.."\n"
    else
      out[#out+1] = ("-"):rep(math.min(width or RULER, RULER)).."\n"
    end
  end
  return w
end

-- -- The report's data -------------------------------------------------------

-- A report: the profile and its options, the columns (see below), the sums of
-- all stacks by function.
local Report = {}
Report.__index = Report

-- The numbers that are summed: each view's amount, and the count that stands
-- beside it.
-- Returns a list of { name, amount, count, counted }, where amount and count
-- are indices of the second, a list of functions from a row to a number.
local function columns(p, o)
  local list, values = {}, {}
  for k, name in ipairs(o.views) do
    local v = { name = name }
    values[#values+1] = p.value_of(name, o.objects)
    v.amount = #values
    if not o.raw and name == "cpu" then
      v.count, v.counted = v.amount, "samples"
    elseif not o.raw and not o.objects then
      values[#values+1] = p.value_of(name, true)
      v.count, v.counted = #values, "objects"
    end
    list[k] = v
  end
  return list, values
end

local function new_report(p, o, width)
  local r = setmetatable({ profile = p, options = o, width = width }, Report)
  local scope = (o.scope == "F" or o.scope == "l") and o.scope or "f"
  r.views, r.values = columns(p, o)
  r.name_of = cumulative.names(p, scope, o.path)
  r.sums = cumulative.sums(p, r.values, r.name_of)
  return r
end

function Report:total(v) return self.sums.root.cumulative[v.amount] end

-- An amount of a view for people; empty where there is none.
function Report:amount(v, n)
  if n <= 0 then return "" end
  return views.amount(self.profile, self.options, v.name, n, self:total(v))
end

local function percent(n, total)
  return n > 0 and numbers.share(n, total) or ""
end

-- -- Flat profile ------------------------------------------------------------

-- Largest share of a function in any view, by "self" or "cumulative".
function Report:largest(f, field, full)
  local max = 0
  for _, v in ipairs(full) do
    max = math.max(max, f[field][v.amount] / self:total(v))
  end
  return max
end

-- Adds the cells of a function in a view: its self, and how much is
-- cumulative.
function Report:flat_cells(cells, v, f)
  local self_n, all = f.self[v.amount], f.cumulative[v.amount]
  local gap = #cells == 0 and "  " or " "
  if self.options.raw then
    cells[#cells+1] = gap..self:amount(v, self_n)
    cells[#cells+1] = self:amount(v, all)
  else
    cells[#cells+1] = gap..percent(self_n, self:total(v))
    if not self.narrow then cells[#cells+1] = self:amount(v, self_n) end
    cells[#cells+1] = percent(all, self:total(v))
  end
end

-- The line of the views' titles, each amid its columns.
local function flat_title(full, w)
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

-- The headings of the columns.
function Report:flat_head(full)
  local head = { name = "name" }
  for k in ipairs(full) do
    local own = (k == 1 and "  " or " ").."self"
    if not self.options.raw and not self.narrow then head[#head+1] = "" end
    head[#head+1] = own
    head[#head+1] = "cum."
  end
  return head
end

-- The functions worth a line, by largest self.
function Report:flat_list(full)
  local list = {}
  for _, f in ipairs(self.sums.functions) do
    local all = self:largest(f, "cumulative", full)
    if views.shows(all, self.options) then
      list[#list+1] = { f = f, name = f.name, all = all,
	own = self:largest(f, "self", full) }
    end
  end
  return views.sort(list, "own", "all")
end

function Report:flat_lines(list, full)
  local lines = { self:flat_head(full) }
  for i, e in ipairs(list) do
    local row = { name = e.name }
    for _, v in ipairs(full) do self:flat_cells(row, v, e.f) end
    lines[i+1] = row
  end
  return lines
end

-- The flat profile of the views that are not empty. On a narrow terminal the
-- amounts give way to the names.
function Report:flat(full)
  local list, out = self:flat_list(full), {}
  if #list == 0 then return views.nothing("nothing", self.options) end
  local w = write({}, self:flat_lines(list, full))
  local left = 2 * #w
  for _, n in ipairs(w) do left = left + n end
  self.narrow = self.width and self.width - left < NAME
  w = write(out, self:flat_lines(list, full), self.width)
  return flat_title(full, w)..table.concat(out)
end

-- -- Graphs ------------------------------------------------------------------

-- The graph of a view: its report, the view, all entries by key, and those in
-- a list. An entry is a function or a cycle: { f = function (the sums), label =
-- text, ring = key of its cycle if it is in one, members = those of a cycle }.
local Graph = {}
Graph.__index = Graph

local function cycle_key(n) return "\0cycle"..n end

local function new_graph(report, v)
  local g = setmetatable({ report = report, view = v, list = {}, by = {} },
    Graph)
  local ring = {}
  local cycles = cumulative.cycles(report.sums, v.amount)
  for n, members in ipairs(cycles) do
    for _, f in ipairs(members) do ring[f.name] = cycle_key(n) end
  end
  for _, f in ipairs(report.sums.functions) do
    local e = { f = f, label = f.name, ring = ring[f.name] }
    g.by[f.name], g.list[#g.list+1] = e, e
  end
  if #cycles > 0 then g:add_cycles(cycles, ring) end
  return g
end

-- Entries of cycles: the sums once more, with each cycle as one function.
function Graph:add_cycles(cycles, ring)
  local report = self.report
  local whole = cumulative.sums(report.profile, report.values, function(stack)
    local key = report.name_of(stack)
    return ring[key] or key
  end)
  for n, members in ipairs(cycles) do
    local key = cycle_key(n)
    local e = { f = whole.by[key], members = {},
      label = ("%d functions"):format(#members) }
    for i, f in ipairs(members) do e.members[i] = self.by[f.name] end
    self.by[key], self.list[#self.list+1] = e, e
  end
end

-- Sorts by cumulative amount; where that is equal the outer function goes
-- before the inner one, and a cycle before its members.
function Graph:sort(list)
  local i = self.view.amount
  table.sort(list, function(a, b)
    local x, y = a.f.cumulative[i], b.f.cumulative[i]
    if x ~= y then return x > y end
    x, y = a.f.depth, b.f.depth
    if x ~= y then return x < y end
    if not a.members ~= not b.members then return a.members ~= nil end
    return a.label < b.label
  end)
end

-- Numbers the entries that are shown, and the cycles. Returns the former.
function Graph:number()
  local shown, cycles, i = {}, 0, self.view.amount
  local total, o = self.report:total(self.view), self.report.options
  self:sort(self.list)
  for _, e in ipairs(self.list) do
    if views.shows(e.f.cumulative[i] / total, o) then
      shown[#shown+1] = e
      e.index = ("[%d]"):format(#shown)
    end
    if e.members then
      cycles = cycles + 1
      e.cycle = (" <cycle %d>"):format(cycles)
      self:sort(e.members)
    end
  end
  for _, e in ipairs(self.list) do
    local cycle = e.ring and self.by[e.ring].cycle or e.cycle or ""
    e.mark = cycle..(e.index and " "..e.index or "")
  end
  return shown
end

-- Cells of a line; sums is a function's or an edge's, share a percentage.
function Graph:cells(sums, index, share, part)
  local report, v = self.report, self.view
  local t = { ("%-5s"):format(index) }
  if not report.options.raw then t[2], t[3] = share, part end
  t[#t+1] = report:amount(v, sums.cumulative[v.amount])
  t[#t+1] = report:amount(v, sums.self[v.amount])
  if v.count then t[#t+1] = numbers.count(sums.cumulative[v.count]) end
  return t
end

-- Adds the line of a part of an entry: a caller, a member, a callee.
function Graph:add_part(lines, e, sums, name, mark)
  local i = self.view.amount
  local line = self:cells(sums, "", "",
    numbers.share(sums.cumulative[i], e.f.cumulative[i]))
  line.name, line.mark, line.indent = name, mark, 4
  lines[#lines+1] = line
end

-- Adds an entry's edges, the largest first, by what is at their other ends.
function Graph:add_edges(lines, e, list, other)
  local found = {}
  for _, edge in ipairs(list) do
    if edge[other] ~= e.f and edge.cumulative[self.view.amount] > 0 then
      local to = self.by[edge[other].name] or { label = "(root)", mark = "" }
      found[#found+1] = { f = edge, label = to.label, mark = to.mark }
    end
  end
  self:sort(found)
  for _, x in ipairs(found) do self:add_part(lines, e, x.f, x.label, x.mark) end
end

-- The lines of one entry.
function Graph:add_entry(lines, e)
  local i = self.view.amount
  self:add_edges(lines, e, e.f.callers, "caller")
  local line = self:cells(e.f, e.index,
    numbers.share(e.f.cumulative[i], self.report:total(self.view)), "")
  line.name, line.mark = e.label, e.mark
  lines[#lines+1] = line
  for _, m in ipairs(e.members or {}) do
    self:add_part(lines, e, m.f, m.label, m.mark)
  end
  local again = e.f.to[e.f]
  if again and not e.members and again.cumulative[i] > 0 then
    self:add_part(lines, e, again, e.label, " (recursive)"..e.mark)
  end
  self:add_edges(lines, e, e.f.callees, "callee")
end

-- Headings of the columns.
function Graph:heading()
  local t = { "index", "%", "part", "cum.", "self", self.view.counted }
  if self.report.options.raw then t = { "index", "cum.", "self" } end
  t.name = "name"
  return t
end

function Graph:text()
  local shown, report = self:number(), self.report
  local out = { "\ncall graph: ", views.by[self.view.name].title, "\n\n" }
  if #shown == 0 then
    return table.concat(out)..views.nothing("nothing", report.options)
  end
  local lines = { self:heading(), false }
  for _, e in ipairs(shown) do
    self:add_entry(lines, e)
    lines[#lines+1] = false
  end
  write(out, lines, report.width)
  return table.concat(out)
end

-- env.width: columns of the terminal that the report goes to, if any.
return function(p, o, env)
  local report, out, full = new_report(p, o, env and env.width), {}, {}
  for _, v in ipairs(report.views) do
    if report:total(v) > 0 then full[#full+1] = v
    else out[#out+1] = empty(p, v.name).."\n" end
  end
  if #full == 0 then return table.concat(out) end
  if #out > 0 then out[#out+1] = "\n" end
  out[#out+1] = report:flat(full)
  for _, v in ipairs(full) do out[#out+1] = new_graph(report, v):text() end
  return table.concat(out)
end
