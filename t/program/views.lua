-- SPDX-License-Identifier: MIT
-- The views: a made-up profile, and what each option shows of it.
-- The expected texts are in golden/views.txt; after a change that is meant,
-- MP_GOLDEN=new writes them anew.

local tap = require("tap")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")
local snapshots = require("snapshots")

-- An app with a loader, a worker that calls a builtin, and a C function.
local source = tap.tmpname(".lua")
tap.write(source, [[
local function load(n)
  local t = {}
  for i = 1, n do t[i] = { i } end
  return t
end
local function work(t)
  local s = ""
  for i = 1, #t do
    s = string.format("%d", i)
  end
  return s
end
local function idle() end
print(work(load(1000)))
]])
local module = source:match("[^/]+$")

local format_id = snapshots.format_id()
if not format_id then tap.skip("this LuaJIT has no module jit.vmdef") end

local function frame(t)
  t.kind = t.kind or "Lua"
  if t.kind == "Lua" then t.source = t.source or source end
  return t
end

local function frames()
  return {
    frame({ line = 14, linedefined = 0 }), -- 1: main
    frame({ name = "load", line = 3, linedefined = 1 }), -- 2
    frame({ name = "work", line = 9, linedefined = 6 }), -- 3
    frame({ kind = "builtin", builtin = format_id, name = "format" }), -- 4
    frame({ kind = "C", source = "cjson.so", name = "decode" }), -- 5
    frame({ kind = "pseudo", name = "(JIT compiler)" }), -- 6
    frame({ name = "load", linedefined = 1 }), -- 7: no line
    frame({ name = "odd;name\n", line = 13, linedefined = 13,
      source = "@weird" }), -- 8
  }
end

-- A row, whose peak was twice what is in use at the end.
local function row(stack, zone, state, kind, cpu, alloc, inuse)
  return snapshots.row({ stack = stack, zone = zone, state = state,
    type = kind }, cpu, alloc, inuse, { 2 * inuse[1], 2 * inuse[2] })
end

local function rows()
  return {
    row(1, 0, "I", "string", 2, { 10, 1000 }, { 10, 1000 }),
    row(2, 2, "N", "table", 30, { 20000, 8000000 }, { 9000, 3600000 }),
    row(3, 1, "N", "string", 120, { 25000, 900000 }, { 0, 0 }),
    row(4, 1, "C", "table hash", 30, { 5000, 600000 }, { 1, 48 }),
    row(5, 0, "C", "string", 10, { 30, 2500000 }, { 4, 120000 }),
    row(6, 0, "J", "trace", 0, { 40, 90000 }, { 20, 45000 }),
    row(7, 0, "G", nil, 6, { 0, 0 }, { 0, 0 }),
    row(8, 0, "N", "function", 2, { 1, 24 }, { 1, 24 }),
  }
end

local function snapshot()
  return snapshots.with({
    info = { script = source, luajit = "LuaJIT 2.1", os = "Linux",
      arch = "x64", options = "f", pid = 1, started = 0, wall = 2.5 },
    cpu = { samples = 200 },
    heap = { alloc_objects = 50000, alloc_bytes = 12340000,
      free_objects = 40000, free_bytes = 9000000, samples = 700,
      inuse_samples = 250, period = 16384, adaptive = true, inuse = 4000000,
      peak = 5500000, gc_cycles = 12 },
    frames = frames(),
    stacks = {
      parent = { 0, 1, 1, 3, 1, 2, 1, 1 },
      frame = { 1, 2, 3, 4, 5, 6, 7, 8 },
    },
    zones = { parent = { 0, 1 }, name = { "boot", "cache" } },
    rows = rows()
  })
end

local cases = { "f", "F", "l", "fl", "Fl", "F3", "3", "-3", "s", "-2s", "v",
  "vf", "fv", "z", "zf", "lz", "c", "h", "u", "ho", "cr", "r", "rho", "lhm0",
  "m30", "x", "flx", "ux", "xo", "t", "tf", "ft", "ct", "k", "hk", "pl", "a",
  "am0", "A", "Ar", "G", "Gh", "Guo", "lG", "zG", "chzfl", "cflz", "vs", "csv",
  "cfls", "-cfls", "hflzr", "cav", "2ca", "c3lAm0", "acsz", "2cG", "scG",
  "3vsG", "cGm20" }

local function clean(text)
  return (text:gsub(source:gsub("%p", "%%%0"), "/app.lua")
    :gsub(module:gsub("%p", "%%%0"), "app.lua"))
end

local function show(text, env, change)
  local s = snapshot()
  if change then change(s) end
  local o = assert(options.parse(text))
  local out, msg = render.render(profile.new(s), o, env or {})
  return clean(out or "ERROR "..tostring(msg).."\n")
end

local got = {}
local function add(name, text) got[#got+1] = { name = name, text = text } end
for _, text in ipairs(cases) do add(text, show(text)) end
add("width 60", show("F3", { width = 60 }, function(s)
  for _, f in ipairs(s.frames) do
    if f.source == source then f.source = "lib/application_server.lua" end
  end
  s.info.script = nil
end))
add("no samples", show("f", {}, function(s)
  s.cpu.samples, s.heap.samples = 0, 0
  s.info.cpu = 0.004
  s.rows = {}
end))
add("too few samples for the collector's share", show("c", {}, function(s)
  s.cpu.samples, s.rows = 8, { s.rows[1] }
  s.rows[1].cpu = 8
end))
add("exact", show("h", {}, function(s) s.heap.period = 1 end))
add("safepoint, notes, losses", show("f", {}, function(s)
  s.info.capture, s.info.capture_why = "safepoint", "not a GC64 build"
  s.info.notes = { "a note" }
  s.heap.dropped = 3
  s.info.cut = 12
  s.heap.gc_cycles = nil
end))
add("no source", show("a", {}, function(s)
  for _, f in ipairs(s.frames) do
    if f.source == source then f.source = "/nonexistent.lua" end
  end
end))

local file = tap.srcdir.."/t/golden/views.txt"
if os.getenv("MP_GOLDEN") == "new" then
  local t = {}
  for _, g in ipairs(got) do t[#t+1] = "#### "..g.name.."\n"..g.text end
  tap.write(file, table.concat(t))
end
-- Splits the golden file at its headings.
local golden = {}
local name, lines
for line in ((tap.read(file) or "").."#### \n"):gmatch("(.-)\n") do
  local heading = line:match("^#### (.*)$")
  if heading then
    if name then golden[name] = table.concat(lines) end
    name, lines = heading, {}
  elseif lines then
    lines[#lines+1] = line.."\n"
  end
end

for _, g in ipairs(got) do
  tap.is(g.text, golden[g.name], "-jm="..g.name)
end

-- The collector and the compiler, if the program does without them.
local function idle(looks, stopped)
  return function(s)
    s.heap.gc_looks, s.heap.gc_stopped = looks, stopped
    for _, r in ipairs(s.rows) do r.state = "I" end
  end
end
tap.like(show("f", {}, idle(100, 100)),
  "%(100/s%)   100%% interpreted, nothing compiled   GC 12 cycles, "..
  "0%% of CPU, stopped\n",
  "nothing was compiled, and the collector was stopped")
tap.like(show("f", {}, idle(100, 40)), ", stopped 40%% of the time\n",
  "it was stopped for a while")
tap.unlike(show("f", {}, idle(100, 4)), "stopped", "but not in finalizers")
tap.unlike(show("f"), "interpreted", "code was compiled")
-- One row of ten samples in a hundred is of compiled code.
local function little(compiled)
  return function(s)
    s.rows = { s.rows[1], s.rows[2] }
    s.rows[1].state, s.rows[2].state = "I", "N"
    s.rows[1].cpu, s.rows[2].cpu = 100 - compiled, compiled
  end
end
tap.like(show("f", {}, little(10)), "   90%% interpreted; option J says why   ",
  "little was compiled")
tap.unlike(show("f", {}, little(30)), "interpreted", "enough was compiled")
-- One row of so many samples in a hundred is of the compiler itself.
local function busy(own)
  return function(s)
    little(100 - own)(s)
    s.rows[1].state = "J"
  end
end
tap.like(show("f", {}, busy(48)), "   48%% compiling; option J says why   ",
  "the compiler itself is busy")
tap.like(show("f", {}, busy(87)), "   87%% compiling, 13%% in compiled code: "..
  "compare with luajit %-joff; option J says why   ",
  "the compiler takes far more than what it compiles")
tap.unlike(show("f", {}, busy(60)), "joff", "not where it takes a little more")
tap.unlike(show("f", {}, busy(10)), "compiling", "it is not")
tap.like(show("f", {}, function(s)
  s.walk = { total = 4000000, held = 1e6, lines = {}, joins = {}, own = {},
    types = { { type = "table", count = 1, bytes = 1e6, garbage_count = 2,
      garbage_bytes = 3000000 } } }
end), "\nin use +4.00 MB +250 samples   75%% garbage   peak",
  "a walk tells how much of the heap is garbage")

-- The rows of a table add up to the whole: nothing is lost or counted twice.
local function sum(text, pattern)
  local n = 0
  for v in show(text):gmatch(pattern) do n = n + tonumber(v) end
  return n
end
for _, scope in ipairs({ "f", "F", "l", "3", "v", "z" }) do
  tap.is(sum(scope.."crm0", "\n +(%d+)[ %d]*   %S"), 200,
    "CPU samples add up in "..scope)
  tap.is(sum(scope.."hrm0", "\n +(%d+)[ %d]*   %S"), 12091024,
    "bytes add up in "..scope)
end
tap.is(sum("G", " (%d+)\n"), 200, "samples add up in folded stacks")
tap.is(sum("Gh", " (%d+)\n"), 12091024, "bytes add up in folded stacks")

-- A profile for which there was no memory is not one of a program that
-- allocated nothing.
local poor = snapshots.of({})
poor.heap.dropped = 7
local text, msg = render.render(profile.new(poor), assert(options.parse("Gh")),
  { name = "x.folded" })
tap.is(text or msg, "not enough memory: 7 samples lost",
  "all samples lost: says so")

-- -- The last part of a run --------------------------------------------------

local livekeys = require("jit.mp.livekeys")
local function long_run()
  local s = snapshots.of({ { "main > early", cpu = 50, alloc_objects = 10,
    alloc_bytes = 1e6 }, { "main > late", cpu = 30, alloc_objects = 30,
    alloc_bytes = 3e6, inuse_objects = 1, inuse_bytes = 5e5 } })
  s.info.wall, s.info.cpu, s.heap.samples = 100, 80, 40
  s.course, s.timeline = {}, {}
  for i = 1, 100 do
    s.course[i] = { wall = i, cpu = 0.8 * i, allocated = i < 93 and 1e6 or
      1e6 + (i - 92) * 375e3, inuse = 5e5, cycles = i, rss = 0 }
  end
  s.timeline = {
    { point = 50, row = 1, cpu = 50, alloc_objects = 10, alloc_bytes = 1e6,
      inuse_bytes = 0 },
    { point = 80, row = 2, cpu = 10, alloc_objects = 0, alloc_bytes = 0,
      inuse_bytes = 0 },
    { point = 95, row = 2, cpu = 20, alloc_objects = 30, alloc_bytes = 3e6,
      inuse_bytes = 5e5 } }
  return profile.new(s)
end
local keys = livekeys.new("fchum0")
local function live()
  local p = livekeys.window(keys, long_run())
  return render.render(p, livekeys.options(keys), { name = "-", live = true })
end
tap.like(live(), "\n +63%%[^\n]* early\n", "a live view has all of the run")
livekeys.press(keys, "t")
local last = live()
tap.like(last, "^luajit%-mp[^\n]* window of 10%.0 s, from 90%.0 s on\n",
  "key t: the last ten seconds")
tap.like(last, "\nCPU +8%.00 s +20 samples", "with their CPU time")
tap.like(last, "\nallocated +3%.00 MB ", "and bytes allocated")
tap.like(last, "\n +100%%[^\n]* 3%.00 MB [^\n]* 500 kB [^\n]* late\n",
  "by function, with what is in use now")
tap.unlike(last, "early", "and nothing from before")
livekeys.press(keys, "t")
tap.like(live(), "\n +63%%[^\n]* early\n", "key t again: all of the run")
livekeys.press(keys, "z")
tap.unlike(live(), "early", "key z: nothing yet")
keys.zero = 70
tap.like(live(), "from 70%.0 s on\nCPU +24%.0 s +30 samples",
  "and then all since")
keys = livekeys.new("e")
livekeys.press(keys, "t")
tap.is(livekeys.window(keys, long_run()).info.wall, 100,
  "other reports show all of the run")

tap.done()
