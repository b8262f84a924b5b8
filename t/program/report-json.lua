-- SPDX-License-Identifier: MIT
-- .json: what a report shows, for programs.

local tap = require("tap")
local file = require("jit.mp.format.file")
local unjson = require("unjson")

local function read(name)
  local text = tap.read(name) or ""
  return unjson((text:gsub("\n", ""):gsub("%-?[%d.]+e[+-]%d+", function(n)
    return ("%.20f"):format(n)
  end)))
end

local program = tap.program([[
local keep, text = {}, ""
local function leak(i) keep[#keep+1] = { i } end
local function build(i) text = text..i end
local function work()
  for i = 1, 3000 do leak(i) end
  for i = 1, 1200 do
    text = text..i
    if #text > 2000 then text = "" end
  end
  build(1)
end
for i = 1, 8 do
  work()
  collectgarbage()
end
]])
local name, mp = tap.tmpname(".json"), tap.tmpname(".mp")
local r = tap.luajit(("-jm=Lb1,%s,%s %s"):format(name, mp, program))
tap.is(r.status..r.err, "0", "a run writes it")
local d, p = read(name), assert(file.read(tap.read(mp)))
tap.is(d.format.." "..d.version, "luajit-mp report 1", "format and version")
tap.is(d.program.script, program, "the script")
tap.is(d.program.command[#d.program.command], program, "the command line")
tap.is(d.program.runs, 1, "of one run")
tap.is(d.capture, p.info.capture, "the capture")
tap.is(d.views.alloc.total, p.heap.alloc_bytes, "bytes allocated")
tap.is(d.views.alloc.samples, nil, "which were counted")
tap.is(d.views.cpu.unit, "seconds", "CPU in seconds")
tap.ok(math.abs(d.views.cpu.total - p.info.cpu) < 1e-6 or
  p.cpu.samples == 0, "all of it")
tap.is(d.peak_bytes, p.heap.peak, "the peak")

local function sum(rows, view, field)
  local n = 0
  for _, row in ipairs(rows) do
    n = n + (row[view] and row[view][field] or 0)
  end
  return n
end
local function near(a, b) return math.abs(a - b) <= math.abs(b) * 1e-6 + 1 end
for _, view in ipairs({ "alloc", "inuse" }) do
  tap.ok(near(sum(d.functions, view, "self"), d.views[view].total),
    view..": functions add up to the total")
  local n = sum(d.types, view, "self")
  tap.ok(n > 0 and n <= d.views[view].total + 1, view..": and types a part")
  tap.ok(sum(d.lines, view, "self") <= d.views[view].total + 1,
    view..": lines are a part of it")
end
local by, names = {}, true
for _, f in ipairs(d.functions) do
  names = names and not by[f.name]
  by[f.name] = f
end
tap.ok(names, "no two functions have one name")
tap.is(by["main chunk"].line..by["main chunk"].kind, "0Lua", "the main chunk")
tap.is(by.work.source, program, "a function's source")
tap.is(by.work.line, 4, "and its line")
tap.ok(by.work.alloc.total >= by.work.alloc.self, "with those that it called")
if p.info.capture == "exact" then
  tap.is(by.leak.alloc.error, 0, "no error where all was counted")
  local leaks
  for _, v in ipairs(d.verdicts) do
    leaks = leaks or v.stack:find(":2 < ", 1, true) and v.held > 0 and
      ("grows flat new unclear"):find(v.verdict, 1, true)
  end
  tap.ok(leaks, "a verdict")
  tap.is(d.advice[1] and d.advice[1].line, 7, "advice")
  tap.is(d.advice[1] and d.advice[1].source, program, "and its source")
end

-- Of a profile without lines, types and ages; of several.
local plain = tap.tmpname(".mp")
tap.luajit(("-jm=fjb1,%s %s"):format(plain, program))
r = tap.sh(("%s convert %s %s"):format(tap.mp, plain, name))
tap.is(r.status..r.err, "0", "of a profile without lines")
d = read(name)
tap.is(#d.lines, 0, "it has none")
tap.is(d.verdicts, nil, "nor verdicts")
r = tap.sh(("%s merge -o %s %s %s && %s convert %s %s"):format(tap.mp, plain,
  mp, mp, tap.mp, plain, name))
tap.is(r.status..r.err, "0", "of several")
d = read(name)
tap.is(d.program.runs, 2, "which it says")
tap.is(#d.labels, 0, "no labels are shown where there are none")

-- The compiler's decisions.
local closures = tap.program([[
local t = {}
local function make(n)
  for i = 1, n do t[i % 9] = function() return i end end
end
for i = 1, 200 do make(2000) end
]])
r = tap.luajit(("-jm=J,%s,%s %s"):format(name, mp, closures))
tap.is(r.status..r.err, "0", "a run that looks at the compiler")
local c = read(name).compiler
if tap.knows_layout() then
  tap.like(c.summary, "given up", "what the compiler did")
  tap.like(c.interpreted[1].text, "runs? interpreted$", "what it did not do")
  tap.like(table.concat(c.interpreted[1].reasons, "\n"), "bytecode FNEW", "why")
  tap.like(c.interpreted[1].advice, "^a function is created here each time",
    "and what may help")
  tap.ok(c.interpreted[1].bytes > 1e6, "with its bytes")
  tap.like(c.given_up[1].at, ":3$", "where traces were given up")
  tap.ok(c.given_up[1].times >= 1, "and how often")
  local a = c.allocated[1]
  tap.ok(near(a.compiled + a.interpreted + a.c, a.bytes),
    "bytes by state add up")
end
r = tap.sh(("%s convert %s %s"):format(tap.mp, mp, name))
tap.is(r.status..r.err, "0", "of a profile")
tap.ok(read(name).compiler, "which has it, too")
r = tap.luajit(("-jm=f,%s %s"):format(name, closures))
tap.is(r.status..r.err, "0", "a run that does not")
tap.is(read(name).compiler, nil, "has nothing of it")

-- Labels.
local labelled = tap.program([[
local mp = require("jit.mp")
local t = {}
local function make(n) for i = 1, n do t[i] = {} end end
mp.with({ route = "/a", plugin = "j\255wt" }, make, 3000)
make(1000)
]])
r = tap.luajit(("-jm=b1,%s %s"):format(name, labelled))
tap.is(r.status..r.err, "0", "a run with labels")
d = read(name)
tap.is(#d.labels, 2, "two sets of labels")
-- The set with more CPU is first, which may be either one.
if not d.labels[1].labels.route then
  d.labels[1], d.labels[2] = d.labels[2], d.labels[1]
end
tap.is(d.labels[1].labels.route, "/a", "one: a label")
tap.is(d.labels[1].labels.plugin, "j\\255wt", "another label, spelt out")
tap.is(next(d.labels[2].labels), nil, "the other one is empty")
tap.ok(d.labels[1].alloc.self >= 3000 * 32 and d.labels[1].alloc.self <
  d.views.alloc.total - 1000 * 32 and
  near(sum(d.labels, "alloc", "self"), d.views.alloc.total),
  "and they add up to the total")
tap.done()
