-- SPDX-License-Identifier: MIT
-- Profiles for the tests of the formats: by hand, from numbers drawn by lot,
-- and from a program that is run.
--
-- As a program it writes them in all formats to a directory, with what a
-- reader should find in them:
--   luajit profiles.lua DIRECTORY

local export = require("jit.mp.format.export")
local json = require("jit.mp.format.json")
local profile = require("jit.mp.model.profile")
local snapshots = require("snapshots")

local profiles = {}

-- -- By hand ----------------------------------------------------------------

local source = [[
local function load(n)
  local t = {}
  for i = 1, n do t[i] = { i } end
  return t
end
local function work(t)
  local s = ""
  for i = 1, #t do
    s = string.format("%d", i)
    s = s .. i
  end
  return s
end
print(work(load(1000)))
table.sort({}, function(a, b)
  return a < b
end)
]]

-- The parts that all profiles have.
local function snapshot(dir)
  return snapshots.with({
    info = { script = dir.."/app.lua", luajit = "LuaJIT 2.1.0-test",
      os = "Linux", arch = "x64", options = "fl", pid = 1, cwd = dir,
      started = 1790000000, wall = 2.5, cpu = 2.0071,
      notes = { "a note" } },
    heap = { alloc_objects = 50000, alloc_bytes = 12340000,
      free_objects = 40000, free_bytes = 9000000, samples = 700,
      period = 16384, adaptive = true, inuse = 4000000, peak = 5500000 }
  })
end

local function row(stack, zone, state, kind, cpu, alloc, inuse, peak)
  return snapshots.row({ stack = stack, zone = zone, state = state,
    type = kind }, cpu, { alloc / 32.7, alloc }, { inuse / 48.3, inuse },
    { peak / 48.3, peak })
end

-- Names that are not text, lines that are not known, two functions of one
-- name, functions without a name.
local function frames(dir)
  local lua = snapshots.lua
  return {
    lua(nil, "app.lua", 14, 0), -- 1
    lua("load", "app.lua", 3, 1), -- 2
    lua("work", "app.lua", 9, 6), -- 3
    lua("work", "app.lua", 10, 6), -- 4
    { kind = "builtin", name = "a_builtin" }, -- 5
    { kind = "C", source = "cjson.so", name = "decode" }, -- 6
    { kind = "pseudo", name = "(JIT compiler)" }, -- 7
    lua("load", "app.lua", nil, 1), -- 8
    lua("odd\255\"na;me\\\n\1\195\164", dir.."/a #%\128.lua", 13, 13), -- 9
    lua("work", "lib/other.lua", 8, 6), -- 10
    lua(nil, "app.lua", 16, 15), -- 11
    lua("chunk", "[string]", 1, 1), -- 12
    lua("a_builtin", "./lib/other.lua", 30, 29), -- 13
  }
end

-- Stacks of these frames, the last one 121 deep, with recursion. Returns its
-- number.
local function push_stacks(stacks)
  stacks.parent = { 0, 1, 1, 1, 3, 1, 2, 1, 1, 3, 1, 1, 1 }
  stacks.frame = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 }
  local parent, frame = stacks.parent, stacks.frame
  local deep = 1
  for i = 1, 120 do
    parent[#parent+1], frame[#frame+1] = deep, i % 2 == 0 and 2 or 3
    deep = #parent
  end
  return deep
end

-- A profile of these stacks, and of one without a frame. `more' is added to the
-- numbers of other.lua's work.
function profiles.by_hand(dir, more)
  local s = snapshot(dir)
  s.frames = frames(dir)
  local deep = push_stacks(s.stacks)
  s.zones = { parent = { 0, 1, 0, 3 }, key = { [3] = "route" },
    name = { "boot", "cache\255", "/cart\255", "boot" } }
  more = more or 0
  s.rows = {
    row(1, 0, "I", "string", 2, 1000.4, 1000.3, 500.1),
    row(2, 2, "N", "table", 30, 8000000.5, 3600000.25, 4000000.5),
    row(3, 4, "N", "string", 70, 900000.2, 0, 1000.7),
    row(4, 1, "N", "string", 40, 70000.9, 20.6, 40.4),
    row(4, 0, "G", nil, 3, 0, 0, 0),
    row(5, 1, "C", "string", 24, 600000.3, 48.2, 90000.8),
    row(6, 0, "C", "userdata", 10, 2500000.7, 120000.9, 120000.9),
    row(7, 0, "J", nil, 1, 90000.1, 45000.5, 60000.3),
    row(8, 0, "G", nil, 6, 0, 0, 0),
    row(9, 0, "N", "table", 5, 24.4, 24.4, 24.4),
    row(10, 0, "N", "function", 13 + more, 300000.3 + more * 1e5,
      7000.7 + more * 1e5, 7000.7),
    row(11, 0, "I", "cdata", 4, 400.3, 9.1, 9.2),
    row(12, 0, "I", "string", 7, 5000.6, 5000.5, 5000.4),
    row(13, 0, "I", "thread", 8, 2048.2, 2048.2, 2048.2),
    row(deep, 0, "N", "upvalue", 9, 1234.5, 12.5, 77.7),
    row(0, 0, "C", nil, 11, 3333.3, 333.3, 4444.4),
  }
  for _, r in ipairs(s.rows) do s.cpu.samples = s.cpu.samples + r.cpu end
  return profile.new(s)
end

-- -- By lot -----------------------------------------------------------------

-- A generator of its own, so that a seed always means the same numbers.
local function lot(seed)
  local x = seed
  return function(n)
    x = (x * 16807) % 2147483647
    return x % n + 1
  end
end

-- A profile with `stacks' stacks of a certain depth, some with common callers.
function profiles.by_lot(seed, stacks, depth)
  local draw = lot(seed)
  local s = snapshot("/srv/app")
  for i = 1, 200 do
    local line = draw(300)
    s.frames[i] = { kind = "Lua", name = "f"..draw(80), source = "m"..
      draw(9)..".lua", line = line + draw(20), linedefined = line }
  end
  s.zones = { parent = { 0 }, name = { "z" } }
  local parent, frame, roots = s.stacks.parent, s.stacks.frame, {}
  local states, types = { "N", "I", "C", "G", "J" }, { "table", "string" }
  for i = 1, stacks do
    local stack, from = 0, 1
    if #roots > 0 and draw(3) > 1 then
      stack, from = roots[draw(#roots)], math.floor(depth / 2) + 1
    end
    for d = from, depth do
      parent[#parent+1], frame[#frame+1] = stack, draw(#s.frames)
      stack = #parent
      if d == math.floor(depth / 2) then roots[#roots+1] = stack end
    end
    local alloc = draw(1e6) / 7
    s.rows[i] = row(stack, draw(2) - 1, states[draw(5)], types[draw(3)],
      draw(4) - 1, alloc, draw(2) == 1 and 0 or alloc / 3, alloc / 2)
    s.cpu.samples = s.cpu.samples + s.rows[i].cpu
  end
  return profile.new(s)
end

-- -- By running -------------------------------------------------------------

local kept = {}

local function make_strings(n)
  for i = 1, n do kept[i % 100] = "string "..i end
end

local function make_tables(n)
  for i = 1, n do kept[i % 100 + 100] = { i, { i } } end
end

local function sort(n)
  local t = {}
  for i = 1, n do t[i] = i * 7919 % n end
  table.sort(t, function(a, b) return a > b end)
end

-- Whether a snapshot has all that it refers to. To take one allocates, and that
-- may be sampled while it is taken.
local function complete(s)
  local stacks = s.stacks
  for _, f in ipairs(stacks.frame) do
    if not s.frames[f] then return false end
  end
  for _, r in ipairs(s.rows) do
    if r.stack > #stacks.frame or r.zone > #s.zones.name then return false end
  end
  for _, e in ipairs(s.timeline or {}) do
    if not s.rows[e.row] then return false end
  end
  return true
end

-- Runs until both samplers have something.
function profiles.by_running()
  local mp, core = require("jit.mp"), require("jit.mp.core")
  assert(mp.start("fb4k", "/dev/null"))
  local snap
  for _ = 1, 1000 do
    make_strings(20000)
    make_tables(20000)
    sort(2000)
    snap = core.snapshot()
    if snap.cpu.samples >= 5 and snap.heap.samples >= 100 and
	complete(snap) then
      assert(mp.stop())
      return profile.new(snap)
    end
  end
  error("no samples, or no snapshot that is complete")
end

-- -- What readers should find -----------------------------------------------

-- Sums of a field of the rows by the name of the stack's top, the numbers of
-- rows that they are sums of, and the sum of all.
local function sums(p, field)
  local namer = p:namer("f", false, 1)
  local by, rows, total = {}, {}, 0
  for _, r in ipairs(p.rows) do
    local name = namer(r)[1]
    by[name] = (by[name] or 0) + r[field]
    rows[name] = (rows[name] or 0) + 1
    total = total + r[field]
  end
  return by, rows, total
end

-- They as JSON: { field: { total, self: { name: [sum, rows] } } }.
local function expected(p)
  local out = {}
  for _, field in ipairs({ "cpu", "alloc_bytes", "alloc_objects",
      "inuse_bytes", "inuse_objects", "peak_bytes" }) do
    if p.rows[1][field] then
      local by, rows, total = sums(p, field)
      local t = {}
      for name, n in pairs(by) do
	t[#t+1] = ("%s:[%s,%d]"):format(json.string(name), json.number(n),
	  rows[name])
      end
      out[#out+1] = ('"%s":{"total":%s,"self":{%s}}'):format(field,
	json.number(total), table.concat(t, ","))
    end
  end
  return ('{"seconds":%s,%s}\n'):format(json.number(p.info.cpu),
    table.concat(out, ","))
end

-- The functions' own numbers that pprof should show: "number name" lines. The
-- numbers of rows are made whole as pprof.lua does it.
local function flats(p, field, factor)
  local namer, whole = p:namer("f", false, 1), export.rounder(factor)
  local by, out = {}, {}
  for _, r in ipairs(p.rows) do
    local name = namer(r)[1]
    by[name] = (by[name] or 0) + whole(r[field])
  end
  for name, n in pairs(by) do
    if n > 0 then out[#out+1] = ("%.0f %s\n"):format(n, name) end
  end
  return table.concat(out)
end

-- -- As a program -----------------------------------------------------------

local function write(name, text)
  local f = assert(io.open(name, "wb"))
  f:write(text)
  f:close()
end

local function write_all(dir, name, p, views)
  local base = dir.."/"..name
  for _, kind in ipairs({ "cpu", "heap", "all" }) do
    write(base.."."..kind..".pb.gz",
      assert(require("jit.mp.format.pprof")(p, { pprof = kind })))
  end
  for format, suffix in pairs({ speedscope = ".speedscope.json",
      cpuprofile = ".cpuprofile", heapprofile = ".heapprofile",
      dhat = ".dhat.json", firefox = ".firefox.json" }) do
    write(base..suffix,
      assert(require("jit.mp.format."..format)(p, { views = views })))
  end
  local o = require("jit.mp.options").parse("fG")
  write(base..".folded", assert(require("jit.mp.format.folded")(p, o)))
  write(base..".alloc.heapprofile",
    assert(require("jit.mp.format.heapprofile")(p, { views = { "alloc" } })))
  local speedscope = require("jit.mp.format.speedscope")
  write(base..".objects.speedscope.json", assert(speedscope(p,
    { views = { "alloc", "inuse" }, objects = true })))
  write(base..".expected.json", expected(p))
  local _, _, samples = sums(p, "cpu")
  write(base..".samples.flat", flats(p, "cpu", 1))
  write(base..".cpu.flat",
    flats(p, "cpu", math.floor(p.info.cpu * 1e9 + 0.5) / samples))
  for _, view in ipairs({ "alloc", "inuse" }) do
    write(base.."."..view.."_objects.flat", flats(p, view.."_objects", 1))
    write(base.."."..view.."_space.flat", flats(p, view.."_bytes", 1))
  end
end

if ... ~= "readers.profiles" then
  local dir = assert((...), "usage: luajit profiles.lua DIRECTORY")
  local three = { "cpu", "alloc", "inuse" }
  write(dir.."/app.lua", source)
  write_all(dir, "hand", profiles.by_hand(dir),
    { "cpu", "alloc", "inuse", "peak" })
  write_all(dir, "more", profiles.by_hand(dir, 90), three)
  write_all(dir, "lot", profiles.by_lot(7, 3000, 40), three)
  write_all(dir, "run", profiles.by_running(), three)
end

return profiles
