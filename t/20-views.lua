-- SPDX-License-Identifier: MIT
-- The views: a made-up profile, and what each option shows of it.
-- The expected texts are in golden/views.txt; after a change that is meant,
-- MP_GOLDEN=new writes them anew.

local tap = require("tap")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")

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

local format_id = 0  -- Of string.format, in this build of LuaJIT.
local has, vmdef = pcall(require, "jit.vmdef")
if not has then tap.skip("this LuaJIT has no module jit.vmdef") end
for id, name in pairs(vmdef.ffnames) do
  if name == "string.format" then format_id = id end
end

local function frame(t)
  t.kind = t.kind or "Lua"
  if t.kind == "Lua" then t.source = t.source or source end
  return t
end

local function snapshot()
  return {
    version = 1,
    info = { script = source, luajit = "LuaJIT 2.1", os = "Linux", arch = "x64",
      options = "f", pid = 1, started = 0, wall = 2.5, cpu = 2, cwd = "/",
      capture = "exact", notes = {} },
    cpu = { enabled = true, samples = 200, interval = 10 },
    heap = { enabled = true, alloc_objects = 50000, alloc_bytes = 12340000,
      free_objects = 40000, free_bytes = 9000000, samples = 700,
      inuse_samples = 250, dropped = 0, period = 16384, adaptive = true,
      inuse = 4000000, peak = 5500000,
      gc_cycles = 12 },
    frames = {
      frame({ line = 14, linedefined = 0 }),                      -- 1: main
      frame({ name = "load", line = 3, linedefined = 1 }),        -- 2
      frame({ name = "work", line = 9, linedefined = 6 }),        -- 3
      frame({ kind = "builtin", builtin = format_id, name = "format" }),  -- 4
      frame({ kind = "C", source = "cjson.so", name = "decode" }),  -- 5
      frame({ kind = "pseudo", name = "(JIT compiler)" }),        -- 6
      frame({ name = "load", linedefined = 1 }),                  -- 7: no line
      frame({ name = "odd;name\n", line = 13, linedefined = 13,
	source = "@weird" }),                                      -- 8
    },
    stacks = {
      parent = { 0, 1, 1, 3, 1, 2, 1, 1 },
      frame = { 1, 2, 3, 4, 5, 6, 7, 8 },
    },
    zones = { parent = { 0, 1 }, name = { "boot", "cache" } },
    rows = {
      { stack = 1, zone = 0, state = "I", cpu = 2, alloc_objects = 10,
	alloc_bytes = 1000, inuse_objects = 10, inuse_bytes = 1000,
	type = "string", peak_objects = 20, peak_bytes = 2000 },
      { stack = 2, zone = 2, state = "N", cpu = 30, alloc_objects = 20000,
	alloc_bytes = 8000000, inuse_objects = 9000, inuse_bytes = 3600000,
	type = "table", peak_objects = 18000, peak_bytes = 7200000 },
      { stack = 3, zone = 1, state = "N", cpu = 120, alloc_objects = 25000,
	alloc_bytes = 900000, inuse_objects = 0, inuse_bytes = 0,
	type = "string", peak_objects = 0, peak_bytes = 0 },
      { stack = 4, zone = 1, state = "C", cpu = 30, alloc_objects = 5000,
	alloc_bytes = 600000, inuse_objects = 1, inuse_bytes = 48,
	type = "table hash", peak_objects = 2, peak_bytes = 96 },
      { stack = 5, zone = 0, state = "C", cpu = 10, alloc_objects = 30,
	alloc_bytes = 2500000, inuse_objects = 4, inuse_bytes = 120000,
	type = "string", peak_objects = 8, peak_bytes = 240000 },
      { stack = 6, zone = 0, state = "J", cpu = 0, alloc_objects = 40,
	alloc_bytes = 90000, inuse_objects = 20, inuse_bytes = 45000,
	type = "trace", peak_objects = 40, peak_bytes = 90000 },
      { stack = 7, zone = 0, state = "G", cpu = 6, alloc_objects = 0,
	alloc_bytes = 0, inuse_objects = 0, inuse_bytes = 0,
	peak_objects = 0, peak_bytes = 0 },
      { stack = 8, zone = 0, state = "N", cpu = 2, alloc_objects = 1,
	alloc_bytes = 24, inuse_objects = 1, inuse_bytes = 24,
	type = "function", peak_objects = 2, peak_bytes = 48 },
    },
  }
end

local cases = { "f", "F", "l", "fl", "Fl", "F3", "3", "-3", "s", "-2s", "v",
  "vf", "fv", "z", "zf", "lz", "c", "h", "u", "ho", "cr", "r", "rho", "lhm0",
  "m30", "x", "ux", "xo", "t", "tf", "ft", "ct", "k", "hk", "pl", "a", "am0",
  "A", "Ar", "G", "Gh", "Guo", "lG", "zG" }

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

tap.done()
