-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The call graph: each function between its callers and its callees.
----------------------------------------------------------------------------
--
-- First a flat profile: every function's own part of each view (self), and
-- the part of all stacks that it is on (cumulative), by largest self.
--
-- Then a graph for each view. Functions are numbered by cumulative amount and
-- have an entry each: the callers, the function itself (at its index), and its
-- callees. In the function's line % is of the whole view; in the others it is
-- of the function's cumulative amount: the part that came through that caller,
-- or went into that callee. Self is in a caller's line the part of the
-- function's self that came through that caller, in a callee's line the
-- callee's self that came through this function. Samples and objects are
-- cumulative.
--
-- The callers' lines add up to the function's line, and its self and its
-- callees' lines add up to its cumulative amount; but
--
--   (recursive)  marks a function's calls of itself: their amount lies within
--                the other lines, and is not added to them.
--   <cycle n>    marks the members of a cycle: functions that call each other
--                in a ring. Their lines overlap. The cycle as a whole has an
--                entry too, in which each stack counts once and the sums are
--                right: its members stand right below it, then their callees
--                outside of it.
--   (root)       is the caller of the first function of a stack.
--
-- Functions below o.min percent have no entry and no index.
--
-- model/functions.lua defines functions and their names.
--
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")

local callreport = require("jit.mp.text.callreport")
local cumulative = require("jit.mp.model.cumulative")
local empty = require("jit.mp.model.empty")
local flat = require("jit.mp.text.callflat")
local numbers = require("jit.mp.model.numbers")
local terms = require("jit.mp.model.terms")
local views = require("jit.mp.model.views")

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
  if self.layout.amounts then
    t[#t+1] = report:amount(v, sums.cumulative)
    t[#t+1] = report:amount(v, sums.self)
  end
  if v.count and self.layout.counts then
    t[#t+1] = numbers.count(sums.cumulative[v.count])
  end
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

-- Adds an entry's edges, the largest first, by the functions at their other
-- ends.
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
  local t, layout = { "index", "%", "part" }, self.layout
  if self.report.options.raw then t = { "index" } end
  if layout.amounts then t[#t+1], t[#t+2] = "cum.", "self" end
  if layout.counts then t[#t+1] = self.view.counted end
  t.name = "name"
  return t
end

-- The lines of the entries that are shown.
function Graph:lines(shown)
  local lines = { self:heading(), false }
  for _, e in ipairs(shown) do
    self:add_entry(lines, e)
    lines[#lines+1] = false
  end
  return lines
end

-- The widest of these that leaves the names enough room.
local layouts = { { amounts = true, counts = true }, { amounts = true }, {} }

function Graph:fitting(shown)
  local width, lines = self.report.width, nil
  for _, layout in ipairs(layouts) do
    self.layout = layout
    lines = self:lines(shown)
    if self.report.options.raw or callreport.fits(lines, width) then break end
  end
  return lines
end

function Graph:text()
  local shown, report = self:number(), self.report
  local out = { "\ncall graph: ", views.by[self.view.name].title, "\n\n" }
  if #shown == 0 then
    return table.concat(out)..views.nothing("nothing", report.options)
  end
  callreport.write(out, self:fitting(shown), report.width)
  return table.concat(out)
end

-- env: width and bold, as in jit.mp.render.
return function(p, o, env)
  local report = callreport.new(p, o, env or {})
  local out, full = {}, {}
  for _, v in ipairs(report.views) do
    if report:total(v) > 0 then full[#full+1] = v
    else out[#out+1] = cells.wrap(empty(p, v.name).."\n", report.width) end
  end
  if #full == 0 then return table.concat(out) end
  if #out > 0 then out[#out+1] = "\n" end
  out[#out+1] = flat(report, full)
  for _, v in ipairs(full) do out[#out+1] = new_graph(report, v):text() end
  if report.rough then
    out[#out+1] = "\n"..cells.wrap(terms.rough_note.."\n", report.width)
  end
  return table.concat(out)
end
