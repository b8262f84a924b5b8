-- SPDX-License-Identifier: MIT
-- A profile and its reports take bounded memory, and say so where that matters.

local tap = require("tap")

local function report(options, body)
  local out = tap.tmpname(".txt")
  local r = tap.luajit(("-jm=%s,%s %s"):format(options, out,
    tap.program(body)))
  tap.is(r.status, 0, options..": exit status", r.err)
  return tap.read(out) or "", r
end

local function said(text, name)
  tap.like(text, "the memory limit was reached", name..": a note")
  tap.like(text, "(other)", name..": the rest has a row", true)
end

-- Each chunk has a name of its own. All that is allocated is in some row.
local names = [[
  local kept = {}
  for i = 1, 20000 do
    kept[i % 10] = loadstring("return { "..i.." }", "=chunk"..i)()
  end
]]
local text = report("fm0b1C1m", names)
said(text, "names of chunks")
local function allocated(s)
  return tonumber((s:match("allocated +([%d.]+) MB")))
end
local whole = report("fb1", names)
tap.unlike(whole, "limit of memory", "20,000 names are within the usual limit")
tap.ok(math.abs(allocated(text) - allocated(whole)) < 0.5,
  "the total is that without a limit")

-- Of a stack that there is no room for, the function on top remains.
local stacks = [[
  local kept = {}
  local function work(i) kept[i % 10] = { i } end
  work(1)
  local f, source = {}, { "local f, work = ...\n" }
  for i = 1, 4000 do
    source[i + 1] = "f["..i.."] = function(i) work(i) return i end\n"
  end
  loadstring(table.concat(source), "=many")(f, work)
  local function nest(n, i)
    if n == 0 then return f[1 + i % 4000](i) end
    local r = nest(n - 1, i)
    return r
  end
  for i = 1, 40000 do nest(i % 20, i) end
]]
text = report("fm0b1C1m", stacks)
said(text, "stacks")
local function of_work(s)
  return s:match("%% +(%d[%d.]+ %a?B) +%d+%% [^\n]* work\n")
end
if tap.knows_layout() then
  tap.is(of_work(text), of_work(report("fm0b1C1g", stacks)) or "",
    "all bytes of a function")
end

-- So do zones, stacks and events.
said(report("zfm0b1C1m", [[
  local zone = require("jit.zone")
  local kept = {}
  for i = 1, 20000 do
    zone("zone"..i)
    kept[i % 10] = { i }
    zone()
  end
]]), "zones")
said(report("m0eC1m", names), "events")

-- Rows that there is room for still count.
text = report("fm0b1C1m", [[
  local function early(n)
    local t = {}
    for i = 1, n do t[i % 10] = { i } end
  end
  for round = 1, 2 do
    early(round == 1 and 10 or 100000)
    if round == 1 then]]..names..[[end
  end
]])
tap.like(text, "MB[^\n]+early", "what was there before goes on")

-- The core's own tables.
local r = tap.luajit(tap.program([[
  local core = require("jit.mp.core")
  assert(require("jit.mp").start { options = "fb1", outputs = "/dev/null",
    memory = "1m" })
]]..names..[[
  local s = core.snapshot()
  print(#s.frames < 10000, #s.stacks.frame < 10000, #s.rows < 10000)
]]))
tap.is(r.out, "true\ttrue\ttrue\n", "the tables are small", r.err)

-- A report that takes too much is not made, and that is said.
local out = tap.tmpname(".heapsnapshot")
r = tap.luajit(("-jm=fC1m,%s %s"):format(out, tap.program([[
  keep = {}
  for i = 1, 600000 do keep[i] = { i } end]])))
tap.is(r.status, 0, "a large heap: exit status")
if tap.knows_layout() then
  tap.like(r.err, "it needs more memory than its limit of 16 MiB",
    "the message names the limit")
  tap.like(r.err, "option C", "so is what would help")
else
  tap.like(r.err, "there is no heap walk: .*known", "there is none")
end

for _, wrong in ipairs { "C", "C0", "C1", "C1000k", "C9999999m" } do
  r = tap.luajit("-jm="..wrong.." -e 'os.exit(0)'")
  tap.is(r.status, 1, wrong..": is refused")
  tap.like(r.err, "needs a number of bytes from 1m", wrong..": why")
end

tap.done()
