-- SPDX-License-Identifier: MIT
-- The HTML page, as a text: all of the profile is in it, and adds up; names
-- cannot break out of it; it asks for nothing from elsewhere. What it shows
-- and does is for a browser to tell: browser/test.mjs.

local tap = require("tap")
local html = require("jit.mp.format.html")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local snapshots = require("snapshots")
local decode = require("unjson")

-- -- A profile --------------------------------------------------------------

local source = tap.tmpname(".lua")
local text = "local function work(s)\n  -- Seen in no other place\n"..
  "  return s..'</script>'\nend\nprint(work('x'))\n"
tap.write(source, text)
local bytecode = tap.tmpname(".lua")
tap.write(bytecode, "\027LJ\2")

local bad = "</script><img src=x onerror=alert(1)>"

local function lua(name, line, file, linedefined)
  return snapshots.lua(name, file or source, line, linedefined or 1)
end

local function snapshot()
  return snapshots.with({
    info = { script = "dir/"..bad, luajit = "LuaJIT 2.1", os = "Linux",
      arch = "x64", options = "W", pid = 7, started = 86400, wall = 2.5,
      capture = "safepoint", capture_why = "not a GC64 build",
      notes = { "a note & more" } },
    cpu = { samples = 200 },
    heap = { alloc_objects = 50000, alloc_bytes = 12340000,
      free_objects = 40000, free_bytes = 9000000, samples = 700, dropped = 3,
      period = 16384, adaptive = true, inuse = 4000000, peak = 5500000,
      gc_cycles = 12 },
    frames = { lua("work", 2), lua("work", 4), lua(nil, 4), lua(bad, 1, bad),
      { kind = "C", source = "c.so", name = "f" },
      { kind = "builtin", name = "concat" },
      { kind = "pseudo", name = "(JIT compiler)" },
      lua("latin \233", 1, bytecode),
      lua("two \226\128\168 lines", 9, bytecode, 8),
      lua("turn \226\128\174 back\0", nil, "=stdin"),
      lua("größe €", 20, bytecode, 20),
      lua("wave 👋", 30, bytecode, 30) },
    stacks = { parent = { 0, 1, 2, 2, 4, 5, 6, 1, 8, 9, 10, 11 },
      frame = { 3, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12 } },
    zones = { parent = { 0, 1, 0 }, name = { "boot", "<b>&\n", "<i>" },
      key = { [3] = "</script>" } }
  })
end

local fields = { "alloc_objects", "alloc_bytes", "inuse_objects",
  "inuse_bytes", "peak_objects", "peak_bytes" }

local function made()
  local s = snapshot()
  local states, types = { "N", "I", "C", "G", "J" }, { "table", "string" }
  for i = 1, 30 do
    local row = { stack = (i - 1) % 12 + 1, zone = i % 3,
      state = states[i % 5 + 1], type = types[i % 3], cpu = i % 4 }
    for k, field in ipairs(fields) do row[field] = i * k * 1.3717 + 1 / i end
    s.rows[i] = row
  end
  local p = profile.new(s)
  p.course, p.timeline = {}, {}
  for i = 1, 20 do
    p.course[i] = { wall = i / 8, cpu = i / 10, allocated = i * 1000.4,
      inuse = 5000 + i, cycles = math.floor(i / 4), phase = i % 2 == 0 and
      "pause" or "mark", rss = 1e6 }
  end
  for i, row in ipairs(p.rows) do
    -- Not in order of time, and twice.
    for part = 1, 2 do
      p.timeline[#p.timeline+1] = { point = (i * 7 + part * 5) % 20 + 1,
	row = i, cpu = part == 1 and row.cpu or 0,
	alloc_objects = row.alloc_objects / 2,
	alloc_bytes = row.alloc_bytes / 2 }
    end
  end
  return p
end

local function opts(s) return assert(options.parse(s or "f")) end

-- -- Reading the page -------------------------------------------------------

local function json(page)
  return page:match('<script type="application/json" id="profile">(.-)</')
end
local function data(page)
  local ok, v = pcall(decode, json(page) or "")
  tap.ok(ok, "the data are JSON", v)
  return ok and v or {}
end

local function sum(list, field)
  local n = 0
  for _, v in ipairs(list) do n = n + (field and v[field] or v) end
  return n
end
local function near(got, want, by, name)
  return tap.ok(math.abs(got - want) <= by, name, got.." for "..want)
end

-- -- Complete, and adding up ------------------------------------------------

local p = made()
local page = assert(html(p, opts()))
local d = data(page)
local got = d.profiles[1]

tap.is(#d.profiles, 1, "one profile")
tap.is(#got.rows.stack, #p.rows, "all rows")
near(sum(got.rows.cpu), sum(p.rows, "cpu"), 0, "CPU samples add up")
for _, field in ipairs(fields) do
  near(sum(got.rows[field]), sum(p.rows, field), 0.5, field.." add up")
  local whole = true
  for i, v in ipairs(got.rows[field]) do
    whole = whole and math.abs(v - p.rows[i][field]) <= 1
  end
  tap.ok(whole, field.." of each row are those of the profile")
end
for _, field in ipairs({ "cpu", "alloc_objects", "alloc_bytes" }) do
  tap.is(#got.changes[field], #p.timeline, field..": all of the timeline")
  near(sum(got.changes[field]), sum(p.timeline, field), 0.5,
    field.." add up over time")
end
-- Each row's part of the timeline, and the order of time.
local by_row, ordered = {}, true
for i, row in ipairs(got.changes.row) do
  by_row[row] = (by_row[row] or 0) + got.changes.alloc_bytes[i]
  ordered = ordered and
    (i == 1 or got.changes.point[i] >= got.changes.point[i-1])
end
tap.ok(ordered, "the timeline is in order of time")
for i = 1, #p.rows do
  if math.abs(by_row[i] - p.rows[i].alloc_bytes) > 2 then
    tap.ok(false, "timeline of row "..i, by_row[i])
  end
end
tap.is(table.concat(got.stacks.parent, " "), table.concat(p.parent, " "),
  "stacks: callers")
tap.is(table.concat(got.stacks.frame, " "), table.concat(p.frame, " "),
  "stacks: frames")
tap.is(#got.timeline.wall, 20, "the whole timeline")
tap.is(got.timeline.wall[20], 2.5, "its time")
near(got.timeline.allocated[20], 20008, 1, "its bytes")
tap.is(got.timeline.phases[got.timeline.phase[1] + 1], "mark", "its phases")

-- The names behind the numbers of a row.
local function row_of(i)
  local r, frame = got.rows, got.stacks.frame[got.rows.stack[i]]
  local f = got.frames.func[frame] + 1
  return d.strings[d.functions.name[f] + 1], got.frames.line[frame],
    r.states[r.state[i] + 1], r.type[i] < 0 and "-" or r.types[r.type[i] + 1]
end
tap.is(table.concat({ row_of(2) }, " "), "work 2 C code string", "a row")
tap.is(table.concat({ row_of(3) }, " "), "work 4 Garbage Collector -",
  "the same function at another line")
tap.is(got.frames.func[1], got.frames.func[2], "they are one function")
tap.is(d.strings[d.functions.module[got.frames.func[1] + 1] + 1],
  source:match("[^/]+$"), "of that module")

-- Temporary objects are a view where they are known.
local function view_names(v)
  local names = {}
  for i, view in ipairs(v) do names[i] = view.name end
  return table.concat(names, " ")
end
tap.is(view_names(d.views), "cpu alloc inuse peak", "the views")
tap.is(got.rows.temp_bytes, nil, "temporary objects are not known")
local exact = made()
for i, row in ipairs(exact.rows) do
  row.temp_objects, row.temp_bytes = i % 3, i % 3 * 40
end
local of_exact = data(assert(html(exact, opts())))
tap.is(view_names(of_exact.views), "cpu alloc inuse peak temp",
  "they are a view where they are")
tap.is(sum(of_exact.profiles[1].rows.temp_bytes), sum(exact.rows, "temp_bytes"),
  "and add up")

-- Wall times are views where they were measured.
local waits = made()
waits.waits = { enabled = true }
for i, row in ipairs(waits.rows) do
  row.waited, row.waited_variance = i / 64, i / 1024
  row.blocked, row.blocked_variance = i % 2 / 8, i % 2 / 64
end
local of_waits = data(assert(html(waits, opts())))
tap.is(view_names(of_waits.views), "cpu alloc inuse peak waiting blocked "..
  "event_loop", "wall times are views where they are known")
local wall = of_waits.profiles[1].rows
tap.is(sum(wall.waiting), sum(waits.rows, "waited"), "coroutines that wait")
tap.is(sum(wall.blocked), sum(waits.rows, "blocked"), "a blocked thread")
tap.is(sum(wall.blocked_variance), sum(waits.rows, "blocked_variance"),
  "with the variance")
tap.is(sum(wall.event_loop), 0, "no event loop")

-- -- The header -------------------------------------------------------------

local header = require("jit.mp.text.header")(p, opts("f"), {})
for _, fact in ipairs(got.info.facts) do
  for part in (fact[2]..", "..fact[3]..", "):gmatch("(.-), ") do
    if part ~= "" then
      tap.ok(header:find(part, 1, true), fact[1]..": "..part.." as in text")
    end
  end
end
tap.is(#got.info.facts, 5, "facts")
tap.is(got.info.notes[1], "capture safepoint: not a GC64 build",
  "why safepoint")
tap.is(got.info.notes[2], "3 samples lost: the run ended before a safepoint, "..
  "or no memory for them", "losses")
tap.is(got.info.notes[3], "a note & more", "notes")

-- -- Names ------------------------------------------------------------------

tap.ok(not json(page):find("[<>&]"),
  "nothing in the data means a thing to HTML")
tap.ok(not json(page):find("%c"), "no control characters in the data")
tap.ok(not page:find("[\128-\255]"), "the page is ASCII")
tap.ok(not json(page):lower():find("\\u202[8-e]"),
  "nothing turns text or breaks lines")
local known = {}
for _, s in ipairs(d.strings) do known[s] = true end
tap.ok(known[bad], "a name that is markup is kept")
tap.ok(known["latin \\233"], "a byte that is not UTF-8 is shown as an escape")
tap.ok(known["two \\u{2028} lines"], "a line separator is shown as an escape")
tap.ok(known["turn \\u{202E} back\\000"],
  "what turns text is shown as an escape")
tap.ok(known["größe €"], "characters of two and of three bytes")
tap.ok(known["wave 👋"], "a character of four bytes")
tap.is(got.zones.name[2], "<b>&\\n", "zones")
tap.is(got.zones.key[1]..got.zones.key[3]..got.zones.name[3], "</script><i>",
  "labels")
tap.is(page:match("<title>([^<]*)</title>"), "script&#x3e;&#x3c;img src=x "
  .."onerror=alert(1)&#x3e; &#x2013; luajit-mp", "the title")
local _, opened = page:gsub("<script", "")
local _, closed = page:gsub("</script", "")
tap.is(opened.." "..closed, "3 3", "three scripts, as meant")

-- Each byte and pair: always UTF-8, and what is UTF-8 stays.
local function shown(s)
  local q = made()
  q.frames[1] = lua(s, 2, "/nonexistent.lua")
  local v = decode(json(html(q, opts("f"))))
  return v.strings[v.functions.name[v.profiles[1].frames.func[1] + 1] + 1]
end
for _, s in ipairs({ "\195\169", "\226\130\172", "\240\159\152\128",
    "a\195\169b" }) do
  tap.is(shown(s), s, "UTF-8 stays")
end
for s, want in pairs({ ["\128"] = "\\128", ["\192\128"] = "\\192\\128",
    ["\237\160\128"] = "\\237\\160\\128", ["\195"] = "\\195",
    ["\244\144\128\128"] = "\\244\\144\\128\\128", ["\224\128\128x"] =
    "\\224\\128\\128x", ["\226\130"] = "\\226\\130",
    ["\195\169\255"] = "\195\169\\255", ["\240\143\191\191"] =
    "\\240\\143\\191\\191", ["\245\128\128\128"] = "\\245\\128\\128\\128" }) do
  tap.is(shown(s), want, "not UTF-8: "..want)
end

-- -- Alone ------------------------------------------------------------------

-- A name of a standard is all that looks like an address.
local alone = page:gsub("http://www%.w3%.org/2000/svg", "")
for _, pattern in ipairs({ "https?:", "//%w+%.%w", "@import", "url%(",
    "fetch%(", "XMLHttpRequest", "WebSocket", "import%(", "sendBeacon",
    "src=[\"']",
    "innerHTML", "insertAdjacentHTML", "document%.write", "eval%(" }) do
  tap.ok(not alone:find(pattern), "no "..pattern)
end
tap.ok(page:find("default-src 'none'", 1, true),
  "the page forbids itself the network")
tap.ok(html(made(), opts()) == page, "the same profile gives the same page")

-- -- Source -----------------------------------------------------------------

local function file(v, name)
  for _, f in ipairs(v.files) do
    if v.strings[f.source + 1] == name then return f end
  end
  return {}
end
tap.is(file(d, source).text, text, "source is in the page")
tap.is(file(d, bytecode).error, "a bytecode file", "bytecode is not")
tap.like(file(d, bad).error, "No such file", "nor is a file that is not there")
local q = made()
q.info.cwd = source:match("^(.*)/")
for _, f in ipairs(q.frames) do
  if f.source == source then f.source = source:match("[^/]+$") end
end
tap.is(file(decode(json(html(q, opts()))), source:match("[^/]+$")).text, text,
  "a relative name is looked for where the program was")
local o = opts()
o.nosource = true
local without = html(made(), o)
tap.is(file(decode(json(without)), source).error, "left out of this page",
  "source can be left out")
tap.ok(page:find("Seen in no other place", 1, true) and
  not without:find("Seen in no other place", 1, true),
  "none of it is in the page then")

-- -- More and less than one profile -----------------------------------------

local two = decode(json(html(made(), opts(), { before = q })))
tap.is(#two.profiles, 2, "a comparison has two profiles")
tap.is(two.profiles[2].frames.func[5], two.profiles[1].frames.func[5],
  "which share functions")
tap.is(two.profiles[2].frames.func[1], two.profiles[1].frames.func[1],
  "also where a file has another name")
-- As it was when "work" had that name, began ten lines later, and was in
-- another file.
local function moved(name)
  local p = made()
  for _, f in ipairs(p.frames) do
    if f.source == source and f.linedefined == 1 then
      f.name, f.source, f.line, f.linedefined = name, "other.lua", f.line + 10,
	f.linedefined + 10
    end
  end
  return p
end
two = decode(json(html(made(), opts(), { before = moved("work") })))
tap.is(two.profiles[2].frames.func[1], two.profiles[1].frames.func[1],
  "and where a function began on another line in another file")
tap.is(two.profiles[2].frames.line[1], two.profiles[1].frames.line[1],
  "whose lines have moved with it")
two = decode(json(html(made(), opts(), { before = moved("gone") })))
tap.ok(two.profiles[2].frames.func[1] ~= two.profiles[1].frames.func[1],
  "but not those of different names")

local function walked(bytes)
  local p = made()
  p.walk = { at = 1, seconds = 0.01, total = 2000, held = 1000, types = {},
    own = {}, joins = {}, least = 30,
    kinds = { { kind = "hash", count = 2, bytes = 768, size = 16, slots = 32,
      used = 8 } },
    lines = {} }
  for i, b in ipairs(bytes) do
    p.walk.lines[i] = { parent = 0, label = "_G.line"..i, type = "table",
      count = 1, self = 40, bytes = b }
  end
  return p
end
local alone = decode(json(html(walked({ 500, 400 }), opts()))).heap
tap.is(alone.lines.was, nil, "a walk alone is not compared")
local traces = walked({ 500, 400, 300 })
for i, line in ipairs(traces.walk.lines) do
  line.parent, line.type = i - 1, i < 3 and "trace" or "table"
end
traces = decode(json(html(traces, opts()))).heap.lines
tap.is(table.concat(traces.first, " ").." "..table.concat(traces.count, " ")..
  " "..table.concat(traces.self, " "), "0 1 0 2 1 1 80 40 40",
  "a trace is a part of the one that leads to it")
local grown = decode(json(html(walked({ 500, 400 }), opts(),
  { before = walked({ 100 }) })))
tap.is(table.concat(grown.heap.lines.was, " "), "100 -1",
  "of two walks the lines have what they held before")
tap.is(grown.strings[grown.heap.kinds.text[1] + 1],
  "hash parts of 16 slots, 25% used", "and there are kinds of objects")

-- With option L: lines with ages and verdicts; nothing without.
tap.is(decode(json(html(made(), opts()))).leaks, nil, "no leak data")
local alive = made()
alive.collections, alive.held, alive.survivors = {}, {}, {}
alive.course, alive.timeline = {}, {}
for i = 1, 20 do
  alive.collections[i] = { wall = i / 8, allocated = 1000 * i, cycle = i }
  for row = 1, 30 do
    alive.held[#alive.held+1] = { collection = i, row = row, objects = 1,
      bytes = 2 * i, variance = 1 }
  end
end
alive.survivors[1] = { row = 2, objects = 4, births = 2 }
alive = decode(json(html(alive, opts("L"))))
local leaks = alive.leaks.heap
tap.is(leaks.collections, 20, "with option L: collections")
local at = {}
for i, line in ipairs(leaks.line) do at[line] = i end
tap.ok(at[4] and at[2] and at[20] and at[30], "lines of the source")
tap.is(leaks.age[at[2] ], 2, "the mean age of a line's objects")
tap.is(leaks.age[at[20] ], -1, "or none, where that is not known")
tap.is(#leaks.course[at[2] ], 5, "what it held, by fifths of the run")
tap.like(alive.strings[leaks.verdict[at[2] ] + 1], "^%l+$", "a verdict")
tap.ok(leaks.held[at[2] ] > 0, "bytes")

local bare = snapshot()
bare.rows = {}
bare.info.cpu = 0.004
local e = decode(json(html(profile.new(bare), opts())))
tap.is(e.profiles[1].info.empty.cpu,
  "no CPU samples: 4 ms of CPU is too short for a timer of 10 ms; "..
  "i1 samples more often",
  "an empty view says why")
tap.is(#e.profiles[1].timeline.wall + #e.profiles[1].changes.point, 0,
  "a profile without a timeline")
tap.is(e.profiles[1].info.empty.timeline, "This profile has no timeline.",
  "which says so")
bare.info.runs = 2
e = decode(json(html(profile.new(bare), opts()))).profiles[1].info.empty
tap.like(e.timeline, "^A sum of several profiles has no timeline",
  "a sum says why")
tap.is(e.cpu, "no CPU samples: 4 ms of CPU in 2 profiles, each of them too "..
  "short for a timer of 10 ms; i1 samples more often",
  "of a sum, each is too short")
bare.rows = { { stack = 0, zone = 0, state = "N", cpu = 1, alloc_objects = 1,
  alloc_bytes = 2, inuse_objects = 0, inuse_bytes = 0/0 } }
e = decode(json(html(profile.new(bare), opts("l"))))
tap.is(e.profiles[1].rows.peak_bytes, nil, "a profile without a peak")
tap.like(e.profiles[1].info.empty.peak, "does not have", "which says so")
tap.is(e.profiles[1].rows.inuse_bytes[1], 0, "what is not a number is none")
tap.is(e.profiles[1].rows.type[1], -1, "types that are not known")
local start = decode(json(html(made(), opts("lvou")))).start
tap.is(table.concat({ start.view, tostring(start.objects),
  tostring(start.lines), start.group, tostring(start.kib) }, " "),
  "inuse true true state false", "options say how the page opens")
local waiting = made()
waiting.waits = { enabled = true }
waiting.rows[1].blocked = 0.5
tap.is(decode(json(html(waiting, opts("I")))).start.view, "blocked",
  "with option I: the first time that there is")
tap.is(decode(json(html(waiting, opts("f")))).start.view, "cpu", "else CPU")
e = decode(json(html(made(), opts("hk"))))
tap.is(e.profiles[1].info.facts[2][2], "11.8 MiB", "KiB, MiB and GiB")

-- -- From another directory -------------------------------------------------

local program = tap.program([[
local html = require("jit.mp.format.html")
local ffi = require("ffi")
ffi.cdef("int chdir(const char *);")
assert(ffi.C.chdir("/") == 0)
local snapshot = { info = { cpu = 1, capture = "exact", notes = {} },
  cpu = { enabled = false, samples = 0, interval = 10 },
  heap = { alloc_bytes = 0, samples = 0, dropped = 0, period = 1, inuse = 0,
    peak = 0 }, frames = {}, stacks = { parent = {}, frame = {} },
  zones = { parent = {}, name = {} }, rows = {} }
print(#html(require("jit.mp.model.profile").new(snapshot), {}) > 30000)
]])
local r = tap.luajit(program, { dir = tap.srcdir.."/lib",
  env = { LUA_PATH = "./?.lua;;" } })
tap.is(r.err, "", "no error in another directory")
tap.is(r.out, "true\n", "the page's parts are read when the view is loaded")

tap.done()
