-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- .json: the tables of a report with all their rows, the facts about the run,
-- its notes, verdicts and advice, for programs. luajit-mp(5) describes it.
----------------------------------------------------------------------------

local advice = require("jit.mp.model.advice")
local compiler = require("jit.mp.format.report_compiler")
local cumulative = require("jit.mp.model.cumulative")
local estimates = require("jit.mp.model.estimates")
local facts = require("jit.mp.model.facts")
local functions = require("jit.mp.model.functions")
local json = require("jit.mp.format.json")
local kinds = require("jit.mp.heap.kinds")
local leaks = require("jit.mp.model.leaks")
local verdicts = require("jit.mp.model.verdicts")
local views = require("jit.mp.model.views")

local str, num, known = json.string, json.number, json.known
local object, list, strings = json.object, json.list, json.strings

local STACK = 3 -- Frames of a stack that has a verdict.

-- -- The run -----------------------------------------------------------------

local function program(p)
  local i, words = p.info, {}
  for k, word in ipairs(i.command or {}) do words[k] = str(word) end
  return object({ { "script", i.script and str(i.script) },
    { "command", "["..table.concat(words, ",").."]" },
    { "luajit", i.luajit and str(i.luajit) }, { "os", i.os and str(i.os) },
    { "arch", i.arch and str(i.arch) }, { "pid", i.pid and num(i.pid) },
    { "started", i.started and num(i.started) },
    { "seconds", known(i.wall) }, { "cpu_seconds", known(i.cpu) },
    { "options", i.options and str(i.options) },
    { "runs", num(i.runs or 1) } })
end

local function collector(p)
  local h = p.heap
  return object({ { "cycles", known(h.gc_cycles) },
    { "cpu_share", p.cpu.samples > 0 and known(p:state_share("G")) },
    { "stopped_share", (h.gc_looks or 0) > 0 and
      num((h.gc_stopped or 0) / h.gc_looks) } })
end

local function notes(p)
  local t = {}
  t[#t+1] = p.info.capture_why and "capture "..p.info.capture..": "..
    p.info.capture_why or nil
  t[#t+1] = facts.lost(p)
  t[#t+1] = facts.cut(p)
  for _, note in ipairs(p.info.notes or {}) do t[#t+1] = note end
  return strings(t)
end

local function memory(p)
  local t = {}
  if not p.memory.rss then return nil end
  for i, part in ipairs(facts.memory_parts(p.memory)) do
    t[i] = object({ { "name", str(part.name) }, { "bytes", num(part.bytes) } })
  end
  return object({ { "rss", num(p.memory.rss) }, { "parts", list(t) } })
end

local function heap_walk(p)
  local w, t = p.walk, {}
  if not w or w.why then return nil end
  for i, k in ipairs(kinds(w)) do
    t[i] = object({ { "kind", str(k.kind) }, { "name", k.name and str(k.name) },
      { "count", num(k.count) }, { "bytes", num(k.bytes) },
      { "size", k.size > 0 and num(k.size) },
      { "slots", k.slots > 0 and num(k.slots) },
      { "used", k.slots > 0 and num(k.used) } })
  end
  return object({ { "total", num(w.total) }, { "held", num(w.held) },
    { "chains", known(w.chains) }, { "chain_longest", known(w.chain_longest) },
    { "kinds", list(t) } })
end

-- -- Views -------------------------------------------------------------------

-- The views that were measured, as { name, index of the amount, of its variance
-- and, for memory, of the objects among values (functions of a row), factor }.
local function measured(p)
  local all, values = {}, {}
  for _, view in ipairs(views.list) do
    if p:measures(view.name) then
      local v = { name = view.name, amount = #values + 1, factor = 1 }
      values[v.amount] = p.value_of(view.name, false)
      values[v.amount + 1] = estimates.variance(p, view.name, false)
      if view.name ~= "cpu" then
	v.objects = v.amount + 2
	values[v.objects] = p.value_of(view.name, true)
      end
      all[#all+1] = v
    end
  end
  return all, values
end

-- CPU samples are told as seconds.
local function set_totals(p, all, totals)
  for _, v in ipairs(all) do
    v.total = totals[v.amount]
    if v.name == "cpu" then
      v.factor = v.total > 0 and p.info.cpu / v.total or 0
    end
  end
end

local samples_of = {
  cpu = function(p) return p.cpu.samples end,
  alloc = function(p) return p.heap.period > 1 and p.heap.samples end,
  inuse = function(p) return p.heap.period > 1 and p.heap.inuse_samples end,
}

local function view_objects(p, all, totals)
  local t = {}
  for i, v in ipairs(all) do
    local n = samples_of[v.name] and samples_of[v.name](p)
    t[i] = { v.name, object({
      { "unit", str(v.name == "cpu" and "seconds" or "bytes") },
      { "total", num(v.total * v.factor) },
      { "objects", v.objects and num(totals[v.objects]) },
      { "samples", n and num(n) },
      { "with_line", not p.info.no_lines and known(p:line_share(v.name)) } }) }
  end
  return object(t)
end

-- The cells of a row: own and, if given, cumulative sums.
local function cells(all, own, total)
  local t = {}
  for _, v in ipairs(all) do
    local here, below = own[v.amount], total and total[v.amount] or 0
    if here > 0 or below > 0 then
      t[#t+1] = { v.name, object({ { "self", num(here * v.factor) },
	{ "error", num(own[v.amount + 1] ^ 0.5 * v.factor) },
	{ "objects", v.objects and num(own[v.objects]) },
	{ "total", total and num(below * v.factor) } }) }
    end
  end
  return t
end

-- -- Tables ------------------------------------------------------------------

-- Sorted by the first view, then the next ones, and by name.
local function sorted(rows, all)
  table.sort(rows, function(a, b)
    for _, v in ipairs(all) do
      local x, y = a.own[v.amount], b.own[v.amount]
      if x ~= y then return x > y end
    end
    return a.name < b.name
  end)
  return rows
end

local function function_rows(p, all, sums)
  local of = {}
  local rows, out = {}, {}
  for fn, label in pairs((functions.labels((p:functions()), "f"))) do
    of[label] = fn
  end
  for i, f in ipairs(sums.functions) do
    rows[i] = { name = f.name, own = f.self, total = f.cumulative }
  end
  for i, row in ipairs(sorted(rows, all)) do
    local fn, t = of[row.name] or {}, cells(all, row.own, row.total)
    table.insert(t, 1, { "kind", fn.kind and str(fn.kind) })
    table.insert(t, 1, { "line", fn.line and num(fn.line) })
    table.insert(t, 1, { "source", fn.source and str(fn.source) })
    table.insert(t, 1, { "name", str(row.name) })
    out[i] = object(t)
  end
  return list(out)
end

-- Rows by a key, which is nil for those that count for none.
local function sums_by(p, values, key)
  local by, rows = {}, {}
  for _, row in ipairs(p.rows) do
    local name = key(row)
    if name then
      local r = by[name]
      if not r then
	r = { name = name, own = {}, row = row }
	for i = 1, #values do r.own[i] = 0 end
	by[name], rows[#rows+1] = r, r
      end
      for i, value in ipairs(values) do
	r.own[i] = r.own[i] + (value(row) or 0)
      end
    end
  end
  return rows
end

local function line_rows(p, all, values)
  local out = {}
  local rows = sums_by(p, values, function(row)
    local source, line = p:source_line(row)
    return line and source.."\0"..line
  end)
  for i, r in ipairs(sorted(rows, all)) do
    local source, line = p:source_line(r.row)
    local t = cells(all, r.own)
    table.insert(t, 1, { "line", num(line) })
    table.insert(t, 1, { "source", str(source) })
    out[i] = object(t)
  end
  return list(out)
end

local function type_rows(p, all, values)
  local out = {}
  local rows = sums_by(p, values, function(row) return row.type end)
  for i, r in ipairs(sorted(rows, all)) do
    local t = cells(all, r.own)
    table.insert(t, 1, { "name", str(r.name) })
    out[i] = object(t)
  end
  return list(out)
end

-- By sets of labels; rows without any are one of them, unless all are.
local function label_rows(p, all, values)
  local out, any = {}, false
  local rows = sums_by(p, values, function(row)
    local words = {}
    for _, label in ipairs(p:labels(row)) do
      any = true
      words[#words+1] = str(label[1])..":"..str(label[2])
    end
    return "{"..table.concat(words, ",").."}"
  end)
  for i, r in ipairs(sorted(any and rows or {}, all)) do
    local t = cells(all, r.own)
    table.insert(t, 1, { "labels", r.name })
    out[i] = object(t)
  end
  return list(out)
end

-- -- Verdicts and advice -----------------------------------------------------

-- The groups of stacks that have a verdict; nil: none were recorded.
local function verdict_rows(p)
  if not verdicts.known(p) then return nil end
  local namer, out = p:namer("l", true, STACK), {}
  local groups = leaks.groups(p, function(row)
    return table.concat(namer(row), " < ")
  end)
  table.sort(groups, function(a, b)
    if a.held ~= b.held then return a.held > b.held end
    return a.name < b.name
  end)
  for i, g in ipairs(groups) do
    out[i] = object({ { "stack", str(g.name) }, { "verdict", str(g.verdict) },
      { "held", num(g.held) }, { "new", num(g.new) },
      { "objects", num(g.objects) }, { "age_seconds", g.age and num(g.age) } })
  end
  return list(out)
end

local function advice_rows(p, env)
  local out = {}
  for i, a in ipairs(advice.of(p, env)) do
    out[i] = object({ { "source", str(a.source) }, { "line", num(a.line) },
      { "alloc_share", num(a.share) }, { "cpu_share", num(a.cpu) },
      { "text", str(a.text) } })
  end
  return list(out)
end

return function(p, _, env)
  local all, values = measured(p)
  local sums = cumulative.sums(p, values, cumulative.names(p, "f"))
  local totals = sums.root.cumulative
  set_totals(p, all, totals)
  local text = object({ { "format", str("luajit-mp report") },
    { "version", "1" }, { "program", program(p) },
    { "capture", str(p.info.capture) },
    { "views", view_objects(p, all, totals) },
    { "peak_bytes", known(p.heap.peak) },
    { "rss_bytes", known(facts.rss(p)) }, { "collector", collector(p) },
    { "memory", memory(p) }, { "heap_walk", heap_walk(p) },
    { "notes", notes(p) },
    { "functions", function_rows(p, all, sums) },
    { "lines", line_rows(p, all, values) },
    { "types", type_rows(p, all, values) },
    { "labels", label_rows(p, all, values) }, { "verdicts", verdict_rows(p) },
    { "advice", advice_rows(p, env) }, { "compiler", compiler(p) } })
  return text.."\n"
end
