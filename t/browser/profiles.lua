-- SPDX-License-Identifier: MIT
-- Made-up profiles for the browser test.

local profile = require("jit.mp.model.profile")

-- directory: where the programs' sources lie, set by the user of this module.
local made = {}

-- The same numbers everywhere and always.
local seed = 1
local function random(n)
  seed = (seed * 16807) % 2147483647
  return n and seed % n + 1 or seed / 2147483647
end

-- -- A program that decodes and encodes --------------------------------------

local source = [[
-- A server that reads documents, changes them and writes them again.
local buffer = {}

local function decode_value(text, at)
  local list = {}
  for word in text:gmatch("%w+") do
    list[#list + 1] = { word = word, at = at }
    if word == "nested" then
      list[#list + 1] = decode_value(text, at + 1)
    end
  end
  return list
end

local function encode_string(s)
  return '"' .. s:gsub('[%c"\\]', "?") .. '"'
end

local function encode(list)
  for i = 1, #list do
    buffer[i] = encode_string(list[i].word)
  end
  return table.concat(buffer, ",")
end

local function handle(request)
  local list = decode_value(request.body, 1)
  local answer = encode(list)
  cache[request.id] = list
  return answer
end

local function serve(queue)
  for i = 1, #queue do
    send(handle(queue[i]))
  end
end

serve(read_queue())
]]

-- Stacks are given by their frames; a stack is made once.
local function builder()
  local b = { frames = {}, parent = {}, frame = {}, rows = {}, index = {},
    by_frame = {}, by_row = {} }
  function b.add(parent, f)
    local key = table.concat({ f.kind, f.name or "", f.source or "",
      f.line or "", f.linedefined or "" }, "\0")
    local id = b.by_frame[key]
    if not id then
      id = #b.frames + 1
      b.frames[id], b.by_frame[key] = f, id
    end
    local at = parent..":"..id
    if not b.index[at] then
      b.parent[#b.parent+1], b.frame[#b.frame+1] = parent, id
      b.index[at] = #b.parent
    end
    return b.index[at]
  end
  function b.row(t)
    local key = table.concat({ t.stack, t.zone or 0, t.state, t.type or "" },
      ":")
    local row = b.by_row[key]
    if not row then
      row = { stack = t.stack, zone = t.zone or 0, state = t.state,
	type = t.type, cpu = 0, alloc_objects = 0, alloc_bytes = 0,
	inuse_objects = 0, inuse_bytes = 0, peak_objects = 0, peak_bytes = 0,
	id = #b.rows + 1 }
      b.rows[row.id], b.by_row[key] = row, row
    end
    return row
  end
  return b
end

local function lua(name, line, linedefined, file)
  return { kind = "Lua", name = name, line = line, linedefined = linedefined,
    source = file or "server.lua" }
end

local function new(b, t)
  local cpu, objects, bytes = 0, 0, 0
  for _, row in ipairs(b.rows) do
    cpu, bytes = cpu + row.cpu, bytes + row.alloc_bytes
    objects = objects + row.alloc_objects
    row.id = nil
  end
  local p = profile.new({
    info = { script = t.script or "server.lua", luajit = "LuaJIT 2.1.0-beta3",
      os = "Linux", arch = "x64", options = "W", cwd = made.directory,
      pid = 4242, started = 1700000000, wall = t.wall or cpu * 0.011,
      cpu = cpu / 100,
      capture = "exact", notes = t.notes or {}, command = t.command },
    cpu = { enabled = true, samples = cpu, interval = 10 },
    heap = { enabled = true, alloc_objects = objects, alloc_bytes = bytes,
      free_objects = 0, free_bytes = 0, samples = 5215, dropped = 0,
      period = 1080000, adaptive = true, inuse = t.inuse or 3160000,
      inuse_start = t.start,
      peak = t.peak or 6700000, gc_cycles = t.cycles },
    frames = b.frames, stacks = { parent = b.parent, frame = b.frame },
    zones = t.zones or { parent = {}, name = {} }, rows = b.rows })
  p.course, p.timeline = t.course or {}, t.timeline or {}
  return p
end

-- The frequency of each thing: stack, state, zone, type, and weights.
-- slow: how much more encode_string takes than usual.
local function server(slow)
  local b = builder()
  local main = b.add(0, lua(nil, 39, 0))
  local serve = b.add(main, lua("serve", 35, 33))
  local handle1 = b.add(serve, lua("handle", 27, 26))
  local handle2 = b.add(serve, lua("handle", 28, 26))
  local decode = b.add(handle1, lua("decode_value", 7, 4))
  local decode_for = b.add(handle1, lua("decode_value", 6, 4))
  local gmatch = b.add(decode_for, { kind = "builtin", name = "gmatch_aux" })
  local nested = b.add(handle1, lua("decode_value", 9, 4))
  local deep = b.add(nested, lua("decode_value", 7, 4))
  local deeper = b.add(b.add(nested, lua("decode_value", 9, 4)),
    lua("decode_value", 7, 4))
  local enc = b.add(handle2, lua("encode", 21, 19))
  local str = b.add(enc, lua("encode_string", 16, 15))
  local gsub = b.add(str, { kind = "builtin", name = "string.gsub" })
  local concat = b.add(b.add(handle2, lua("encode", 23, 19)),
    { kind = "builtin", name = "table.concat" })
  local keep = b.add(serve, lua("handle", 29, 26))
  local send = b.add(serve, { kind = "C", source = "socket.so", name = "send" })
  local jit = b.add(deep, { kind = "pseudo", name = "(JIT compiler)" })
  local gc = b.add(decode, { kind = "pseudo", name = "(garbage collector)" })
  local what = {
    { decode, "N", 2, "table", 20, 30, 1 },
    { decode, "N", 2, "string", 6, 8, 1 },
    { decode_for, "I", 2, "string", 5, 6, 0 },
    { gmatch, "C", 2, "string", 9, 11, 0 }, { deep, "N", 2, "table", 9, 12, 1 },
    { deeper, "N", 2, "table", 5, 6, 1 }, { enc, "N", 3, "table", 4, 7, 0 },
    { str, "N", 3, "string", 22 * slow, 20, 0 },
    { gsub, "C", 3, "string", 12 * slow, 18, 0 },
    { concat, "C", 3, "string", 6, 52, 0 }, { keep, "I", 1, "table", 1, 4, 2 },
    { send, "C", 1, "userdata", 7, 1, 0 }, { jit, "J", 0, "trace", 3, 1, 1 },
    { gc, "G", 0, nil, 16, 0, 0 }, { main, "I", 0, "table", 1, 1, 1 }
  }
  return b, what
end

-- A source of 6,000 lines, each of which counts; one does most.
local LINES = 6000
function made.large_source()
  local t = {}
  for i = 1, LINES do t[i] = ("local x%d = f(%d)\n"):format(i, i) end
  return table.concat(t)
end

function made.large()
  local b = builder()
  for i = 1, LINES do
    local stack = b.add(0, lua("f"..math.ceil(i / 10), i,
      math.floor((i - 1) / 10) * 10 + 1, "large.lua"))
    local row = b.row({ stack = stack, state = "N" })
    row.cpu = i == 5555 and 900 or 1
    row.alloc_objects, row.alloc_bytes = i % 3, i % 3 * 40
  end
  return new(b, { script = "large.lua" })
end

-- Adds what one thing counts in one interval to its row; returns the change,
-- or nil.
local function count(b, w, cpu, bytes)
  local size = w[4] == "table" and 72 or w[4] == "string" and 41 or 120
  if cpu <= 0 and bytes <= 0 then return nil end
  local row = b.row({ stack = w[1], state = w[2], zone = w[3],
    type = bytes > 0 and w[4] or nil })
  local objects = bytes / size
  row.cpu = row.cpu + cpu
  row.alloc_bytes = row.alloc_bytes + bytes
  row.alloc_objects = row.alloc_objects + objects
  row.inuse_bytes = row.inuse_bytes + bytes * w[7] * 0.012
  row.inuse_objects = row.inuse_objects + objects * w[7] * 0.012
  row.peak_bytes = row.peak_bytes + bytes * (w[7] * 0.014 + 0.009)
  row.peak_objects = row.peak_objects + objects * (w[7] * 0.014 + 0.009)
  return { row = row.id, cpu = cpu, alloc_objects = objects,
    alloc_bytes = bytes, inuse_bytes = row.inuse_bytes }
end

-- Counts the interval that ends at point k of n. Returns its bytes.
local function interval(b, what, timeline, k, n)
  local t, grown = k / n, 0
  local load = t < 0.08 and 0.25 or t < 0.4 and 0.8 or
    t < 0.55 and 1.5 or t < 0.62 and 0.15 or 1
  for _, w in ipairs(what) do
    local reading = w[3] == 2 and (t < 0.5 and 1.4 or 0.7) or 1
    local cpu = math.floor(w[5] * load * reading * random() / 16 +
      random() * 0.7)
    local bytes = math.floor(w[6] * load * reading * (0.5 + random()) * 900)
    local change = count(b, w, cpu, bytes)
    if change then
      change.point = k
      timeline[#timeline+1] = change
      grown = grown + bytes
    end
  end
  return grown
end

-- Runs it: n points, and what was counted before each.
local function run(slow, n, wall)
  local b, what = server(slow)
  local course, timeline = {}, {}
  local allocated, inuse, cycles, rss = 0, 400000, 0, 4000000
  local limit, kept = 1500000, 0
  for k = 1, n do
    local t, grown = k / n, interval(b, what, timeline, k, n)
    allocated, inuse = allocated + grown, inuse + grown
    kept = kept + grown * 0.012
    local phase = "pause"
    if inuse > limit * 0.95 then phase = "mark" end
    if inuse > limit then
      inuse, cycles, phase = 400000 + kept, cycles + 1, "sweep"
      limit = inuse * 2
    end
    rss = math.max(rss, inuse * 1.25 + 3500000)
    course[k] = { wall = wall * t, cpu = wall * t * 0.93, allocated = allocated,
      inuse = inuse, cycles = cycles, phase = phase, rss = rss }
  end
  return new(b, { course = course, timeline = timeline, cycles = cycles,
    wall = wall, inuse = inuse, peak = limit, start = 400000,
    command = { "luajit", "-jm=W,server.html", "server.lua", "--port", "8080" },
    zones = { parent = { 0, 1, 1 }, name = { "request", "read", "write" } } })
end

-- -- Names that are not nice ------------------------------------------------

local function hostile()
  local b = builder()
  local bad = "</script><img src=x onerror=document.title='broken'>"
  local main = b.add(0, lua(bad, 1, 1, "/nonexistent/"..bad))
  local one = b.add(main, lua("a\"b'c\\d&amp;<!--", 2, 2, "=[C] \0 \1"))
  local two = b.add(one, lua("latin \233\255 \192\128", 3, 3))
  local three = b.add(two, lua("lines \226\128\168 and \226\128\169", 4, 4))
  local four = b.add(three, lua("turn \226\128\174 txet", 5, 5))
  local five = b.add(four, lua("__proto__", 6, 6, "constructor"))
  local six = b.add(five, { kind = "C", source = bad, name = "toString" })
  local seven = b.add(six, lua(("long_"):rep(200), 7, 7, ("dir/"):rep(99)))
  local names = { main, one, two, three, four, five, six, seven }
  for i, stack in ipairs(names) do
    local row = b.row({ stack = stack, state = "N", zone = i % 3, type = bad })
    row.cpu, row.alloc_bytes, row.alloc_objects = 10, 1000 * i, 10
    row.inuse_bytes, row.inuse_objects = 100 * i, 1
  end
  local p = new(b, { script = "/tmp/"..bad, notes = { bad },
    command = { "luajit", bad }, zones = { parent = { 0, 1 },
    name = { bad, "$&{{data}}%1" } } })
  return p
end

-- -- Nothing at all ---------------------------------------------------------

local function nothing()
  local p = new(builder(), { wall = 0.003 })
  p.info.cpu = 0.004
  return p
end

-- A profile without a timeline, types and the peak.
local function plain()
  local p = run(1, 60, 2)
  p.course, p.timeline, p.info.command = {}, {}, nil
  for _, row in ipairs(p.rows) do
    row.type, row.peak_bytes, row.peak_objects = nil, nil, nil
  end
  return p
end

-- -- Many stacks ------------------------------------------------------------

local function many(n)
  local b = builder()
  local stacks = { b.add(0, lua(nil, 1, 0, "big.lua")) }
  local course, timeline = {}, {}
  while #b.parent < n do
    -- Below the last ones, or below any: deep, and wide.
    local parent = stacks[random(6) > 1 and math.max(1, #stacks -
      random(12)) or math.ceil(random() ^ 3 * #stacks)]
    local k = random(3000)
    local s = b.add(parent, lua("fn_"..k, k * 7 + random(5), k * 7,
      "module_"..(k % 60)..".lua"))
    if s > #stacks then stacks[#stacks+1] = s end
  end
  for s = 1, n do
    local row = b.row({ stack = s, state = random(9) == 1 and "G" or "N",
      zone = random(3) - 1, type = random(2) == 1 and "table" or "string" })
    row.cpu = random(3) == 1 and random(4) or 0
    row.alloc_bytes, row.alloc_objects = random(90000), random(50)
    row.inuse_bytes, row.inuse_objects = random(900), 1
    row.peak_bytes, row.peak_objects = random(1900), 2
    timeline[s] = { point = random(512), row = row.id, cpu = row.cpu,
      alloc_objects = row.alloc_objects, alloc_bytes = row.alloc_bytes,
      inuse_bytes = row.inuse_bytes }
  end
  local allocated = 0
  for i = 1, 512 do
    allocated = allocated + 4000000 + random(3000000)
    course[i] = { wall = i / 10, cpu = i / 11, allocated = allocated,
      inuse = 20000000 + (i % 23) * 1500000, cycles = math.floor(i / 23),
      phase = i % 23 > 18 and "mark" or i % 23 < 3 and "sweep" or "pause",
      rss = 60000000 + i * 10000 }
  end
  return new(b, { script = "big.lua", course = course, timeline = timeline,
    wall = 51.2, cycles = 22, inuse = 20000000, peak = 56000000,
    zones = { parent = { 0, 1 }, name = { "batch", "import" } } })
end

-- -- A heap walk ------------------------------------------------------------

-- The run of a server, with a walk of its heap: rows by the lines that they
-- allocated.
local function walked(p)
  local lines = {
    { parent = 0, label = "_G", type = "table", count = 1, bytes = 700000 },
    { parent = 1, label = ".cache", type = "table", count = 1, bytes = 600000 },
    { parent = 2, label = "[*]", type = "table", count = 900, bytes = 560000 },
    { parent = 3, label = ".word", type = "string", count = 4000,
      bytes = 300000 },
    { parent = 0, label = "registry", type = "table", count = 1,
      bytes = 90000 },
    { parent = 5, label = "._LOADED", type = "table", count = 1, bytes = 80000 }
  }
  for _, line in ipairs(lines) do line.self, line.what = 40, line.type end
  local joins = {}
  for i, row in ipairs(p.rows) do
    if (row.inuse_bytes or 0) > 0 then
      joins[#joins+1] = { row = i, line = row.type == "string" and 4 or 3,
	objects = 1, bytes = row.inuse_bytes }
    end
  end
  p.walk = { at = 4.2, seconds = 0.01, total = 1000000, held = 790000,
    adds_up = true, closing = false, references = 9000, memory = 50000,
    own = { strings = 100000, state = 6000, buffer = 100, ctypes = 0,
      rest = 3900 },
    types = { { type = "table", count = 903, bytes = 490000,
      garbage_count = 20, garbage_bytes = 100000 },
      { type = "string", count = 4000, bytes = 300000, garbage_count = 0,
	garbage_bytes = 0 } },
    lines = lines, joins = joins }
  return p
end

-- -- What collections leave alive --------------------------------------------

-- The run of a server with option L: what line 29 keeps grows, the rest stays.
local function leaking(p)
  local n = 40
  p.course, p.timeline = {}, {}
  p.collections, p.held, p.survivors, p.collected = {}, {}, {}, true
  for i = 1, n do
    p.collections[i] = { wall = 4.2 * i / n, cycle = i,
      allocated = p.heap.alloc_bytes * i / n }
  end
  for k, row in ipairs(p.rows) do
    local _, line = p:source_line(row)
    if row.inuse_bytes > 0 then
      p.survivors[#p.survivors+1] = { row = k, objects = 10, births = 21 }
      for i = 1, n do
	local part = line == 29 and i / n or 1
	p.held[#p.held+1] = { collection = i, row = k,
	  objects = row.inuse_objects * part, bytes = row.inuse_bytes * part,
	  variance = 1 }
      end
    end
  end
  return p
end

-- -- The JIT compiler's decisions -------------------------------------------

-- The run of a server with option J+. The second trace begins at an exit of the
-- first one and has no listing; the constant of the first is not nice.
local function compiled(p)
  local function at(line)
    for i, f in ipairs(p.frames) do if f.line == line then return i end end
  end
  p.compiler = { enabled = true, events = true, proved = true, looked = true,
    spelled = true, listed = true, started = 5, made = 2, given_up = 3 }
  p.giveups = { { start = at(6), at = at(7), count = 3, wall = 1.5,
    reason = "NYI: bytecode FNEW", loads = 0 } }
  p.traces = {
    { number = 1, parent = 0, exit = 0, link = 1, ends = "loop", bytes = 300,
      taken = 40, ticks = 9, allocated = 0, start = at(16), state = "live",
      listing = "-- server.lua:15\n0001 16 KSTR 1 0  ; "..
	"\"</script><img src=x onerror=document.title='broken'>\"\n"..
	"-- instructions\n0001    int SLOAD  #1\n" },
    { number = 2, parent = 1, exit = 3, link = 1, ends = "root", bytes = 90,
      taken = 0, ticks = 2, allocated = 700, start = at(21), state = "live" }
  }
  p.blacklisted, p.flushes, p.escapes = {}, {}, {}
  return p
end

-- -- Deep recursion ----------------------------------------------------------

local function deep(n)
  local b, s = builder(), 0
  s = b.add(s, lua(nil, 40, 0))
  for _ = 1, n do s = b.add(s, lua("walk", 9, 8)) end
  s = b.add(s, lua("leaf", 3, 2))
  local row = b.row({ stack = s, state = "N" })
  row.cpu, row.alloc_bytes, row.alloc_objects = 100, 5000, 50
  return new(b, { script = "deep.lua" })
end

made.deep, made.walked, made.compiled = deep, walked, compiled
made.leaking = leaking
made.source, made.run, made.hostile = source, run, hostile
made.nothing, made.plain, made.many = nothing, plain, many

return made
