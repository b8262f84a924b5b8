-- SPDX-License-Identifier: MIT The profile file: a written profile is read
-- back, a damaged one is refused with the place of the damage, and every view
-- can show an accepted one. Merged profiles are profiles.

local tap = require("tap")
local columns = require("jit.mp.format.columns")
local core = require("jit.mp.core")
local fields = require("jit.mp.model.fields")
local file = require("jit.mp.format.file")
local gzip = require("jit.mp.format.gzip")
local merge = require("jit.mp.model.merge")
local mp = require("jit.mp")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")
local slow = os.getenv("MP_TEST_SLOW")

local why = columns.missing()
if why then tap.skip(why) end
if jit.opt then jit.opt.start("-fwd") end -- As the command does.

-- -- Columns -----------------------------------------------------------------

-- The bits of a double that is not a number are those of other values in a slot
-- of LuaJIT's: from a stranger's file they must never become one.
do
  local forged = {}
  for tag = 0xf0, 0xff do
    forged[#forged+1] = "\8\7\6\5\4\3"..string.char(tag).."\255"
    forged[#forged+1] = "\8\7\6\5\4\3"..string.char(tag).."\127"
  end
  local text = table.concat(forged)
  local a = columns.unpack(text, 1, "f8", #forged)
  local nans = 0
  for i = 0, #forged - 1 do
    if type(a[i]) == "number" and a[i] ~= a[i] then nans = nans + 1 end
  end
  tap.is(nans, #forged, "bits that are no number are read as NaN")
  local numbers = { 0, -0.5, 1e308, -1/0, 1/0, 2^-1074 }
  a = columns.unpack(columns.pack(numbers, 6), 1, "f8", 6)
  local same = true
  for i, v in ipairs(numbers) do same = same and a[i-1] == v end
  tap.ok(same, "numbers are read as they were written")
end

-- -- A profile of this process -----------------------------------------------

local function work()
  local keep = {}
  for i = 1, 20000 do keep[i % 500 + 1] = { tostring(i), i } end
  collectgarbage()  -- Leaves some alive.
  return keep
end

local function profiled(opts)
  assert(mp.start(opts, "/dev/null"))
  local keep = work()
  local snapshot = core.snapshot()
  mp.stop()
  return profile.new(snapshot), keep
end

local function text_of(p, opts)
  return assert(render.render(p, assert(options.parse(opts)), { name = "-" }))
end

-- First difference between two values, as a path; nil: none.
local function difference(a, b, path)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a ~= b and path or nil
  end
  a.from_file, b.from_file = nil, nil
  a.definition, b.definition = nil, nil -- The writer adds it.
  for k, v in pairs(a) do
    local d = difference(v, b[k], path.."."..tostring(k))
    if d then return d end
  end
  for k in pairs(b) do
    if a[k] == nil then return path.."."..tostring(k) end
  end
end

for _, opts in ipairs({ "l", "tflb1", "e", "te", "L", "fb4kl" }) do
  local p = profiled(opts)
  local text = file.write(p)
  local q, msg = file.read(text)
  tap.is(msg, nil, opts..": a profile is read back")
  tap.is(q and difference(p, q, "profile"), nil, opts..": nothing is lost")
  tap.ok(q and file.write(q) == text, opts..": and written the same again")
  for _, view in ipairs({ "fl", p.info.no_types and "zf" or "tf", "v", "a", "g",
      "x", p.events and "e" or "s", p.survivors and "L" or "F" }) do
    tap.is(q and text_of(q, view), text_of(p, view),
      opts..": the same report "..view)
  end
end

-- A file may say what nobody has seen.
local p = profiled("L")
p.info.wall = 0
for _, c in ipairs(p.collections or {}) do c.wall = 0 end
tap.like(text_of(assert(file.read(file.write(p))), "L"),
  tap.knows_layout() and "\nBy stack:\n" or "\nno leak data: ",
  "leaks of a run of no length at all")

-- Names hold any byte.
p = profiled("flb1")
p.frames[1].name = "\n\t\\x41-\0\255"
p.frames[2].name = "-"
p.frames[3].name = ""
p.zones.name[1], p.zones.parent[1], p.zones.key[1] = "\r\n", 0, "\0y\255"
p.info.notes[1] = "\\e"
p.info.script = "\t\n\\"
local q = assert(file.read(file.write(p)))
tap.is(difference(p, q, "profile"), nil, "names hold any byte")

-- -- Damage ------------------------------------------------------------------

local packed = file.write(profiled("L"))
local good = assert(gzip.unpack(packed, 1e9))
tap.ok(file.read(good), "an unpacked file is read as well")

local function refused(text, what)
  local q_, msg = file.read(text)
  tap.ok(q_ == nil, what..": refused")
  tap.ok(msg and not msg:find("[%c\127-\255]") and #msg < 200,
    what..": in one line", msg)
  return msg
end

-- The text with what matches replaced, once.
local function changed(pattern, by)
  local text, n = good:gsub(pattern, by, 1)
  assert(n == 1, pattern)
  return text
end

tap.like(refused("", "an empty file"), "is empty", "an empty file: said")
tap.like(refused("GIF89a", "a foreign file"), "is not a profile",
  "a foreign file: said")
tap.like(refused(gzip.pack("GIF89a"), "a packed foreign file"),
  "is not a profile", "a packed foreign file: said")
tap.like(refused(changed("profile 2", "profile 7"), "another version"),
  "version 7; this luajit%-mp reads version 2", "another version: said")
tap.like(refused(good:sub(1, -2), "no last line end"), "at byte "..#good - 4 ..
  ": it is cut off", "where it is cut off")
tap.like(refused(packed:sub(1, -100), "half of it, packed"), "is damaged",
  "half of it, packed: said")
tap.like(refused(good.."more", "more behind the end"),
  "something follows its end", "more behind the end: said")
-- zlib takes memory for a window, and says so where it gets none.
local zlib = require("jit.mp.format.zlib")
local gunzip = zlib.gunzip
zlib.gunzip = function() return nil, "cannot be decompressed: no memory" end
tap.like(refused(packed, "no memory"), "cannot be decompressed: no memory",
  "no memory: the file is not called damaged")
zlib.gunzip = gunzip
local at = good:find("\nheap\tpeak", 1, true)
tap.like(refused(changed("\nheap\tpeak\t[^\n]*", ""), "a line less"),
  "heap peak is missing", "which one")
tap.like(refused(changed("\nheap\tpeak\t", "\nhoop\tpeak\t"),
  "an unknown line"), "damaged at byte "..at..": an unknown line",
  "where the unknown line is")
for _, bad in ipairs({ "n-1", "n1e308", "nnan", "ninf", "n", "s1", "btrue" }) do
  tap.like(refused(changed("\nheap\tpeak\t[^\n]*", "\nheap\tpeak\t"..bad), bad),
    "heap peak is not valid", bad..": what is not valid")
end
tap.ok(file.read(changed("\nheap\tpeak", "\nheap\tlater\tn-1%0")),
  "a field of a later version is passed over")
for _, name in ipairs({ "script", "started", "options", "luajit", "pid", "cwd",
    "os", "arch" }) do
  tap.ok(file.read((good:gsub("\ninfo\t"..name.."\t[^\n]*", "", 1))),
    name.." may be missing")
end

-- -- Damage in a table -------------------------------------------------------

-- The profile with one value that is written as it is; refused with a message.
local function wrong_value(key, i, name, value, want)
  local p_ = assert(file.read(good))
  local t = p_[key]
  if key == "stacks" then
    p_[name][i] = value
  elseif key == "zones" then
    t.parent[i], t.name[i] = value, "zone"
  else
    t[i][name] = value
  end
  local text = file.write(p_)
  tap.like(refused(text, name.." "..tostring(value)), want,
    name.." "..tostring(value)..": said")
end
local huge = math.huge
for _, v in ipairs({ -1, 1e308, huge, -huge }) do
  wrong_value("rows", 2, "cpu", v, "the cpu of row 2 is not valid")
  wrong_value("course", 1, "wall", v, "the wall of point 1 is not valid")
end
wrong_value("rows", 1, "native_objects", 5, "the table row has no native_bytes")
tap.like(render.render(assert(file.read((good:gsub(
  "\ninfo\tcpu\t[^\n]*", "\ninfo\tcpu\tn1e-320"):gsub(
  "\ncpu\tsamples\t[^\n]*", "\ncpu\tsamples\tn5")))), options.parse("f"),
  { name = "-" }), "5 samples %(5000/s", "samples in next to no time")
wrong_value("rows", 1, "alloc_bytes", 0/0, "the alloc_bytes of row 1 is not")
local rows = #assert(file.read(good)).rows
for _, bad in ipairs({ { "stack", 1e6 }, { "stack", 0.5 },
    { "state", "X" } }) do
  wrong_value("rows", rows, bad[1], bad[2],
    ("the %s of row %d is not valid"):format(bad[1], rows))
end
wrong_value("stacks", 2, "parent", 2, "the parent of stack 2 is not valid")
wrong_value("stacks", 2, "frame", 0, "the frame of stack 2 is not valid")
wrong_value("zones", 1, "parent", 1, "the parent of zone 1 is not valid")
wrong_value("frames", 1, "kind", "other", "the kind of frame 1 is not valid")
wrong_value("frames", 1, "line", 2^40, "the line of frame 1 is not valid")
wrong_value("course", 1, "phase", "x", "the phase of point 1 is not valid")
if tap.knows_layout() then
  wrong_value("survivors", 1, "row", 0, "the row of survivor 1 is not valid")
end
for _, t in ipairs(fields.tables) do
  if not t.recorded then
    tap.like(refused(changed("\ntable\t"..t.name.."\t", "\ntable\tother\t"),
      "no table "..t.name), "", t.name)
  end
end
tap.like(refused(changed("\ntable\trow\t%d+", "\ntable\trow\t99999999"),
  "very many rows"), "more than", "very many rows: said")
tap.like(refused(changed("\nstrings\t%d+", "\nstrings\t9999999"),
  "very many strings"), "cut off", "very many strings: said")

-- -- A heap walk -------------------------------------------------------------

-- The good profile with a heap walk.
local function walked(change)
  local p_ = assert(file.read(good))
  p_.walk = { at = 1, seconds = 0.5, total = 1000, held = 900, adds_up = true,
    closing = false, references = 5, memory = 100,
    own = { strings = 50, state = 30, buffer = 10, ctypes = 0, rest = 10 },
    arena = { system = 4096, free = 100, largest = 60 },
    types = { { type = "table", count = 4, bytes = 900, garbage_count = 0,
      garbage_bytes = 0 } },
    lines = { { parent = 0, count = 1, self = 100, bytes = 900,
      type = "table", label = "_G", what = "table" },
      { parent = 1, count = 3, self = 800, bytes = 800, type = "table",
	label = ".cache" } },
    joins = { { row = 1, line = 2, objects = 1, bytes = 700, first = 0.1,
      last = 0.2 }, { row = 2, line = 1, objects = 1, bytes = 50 } } }
  if change then change(p_.walk) end
  return p_
end
local as_walk = assert(options.parse("Wm0"))
local function walk_report(p_)
  local text, msg = render.render(p_, as_walk, {})
  return text or msg
end

local with_walk = file.write(walked())
tap.is(walk_report(assert(file.read(with_walk))), walk_report(walked()),
  "a heap walk is read back as it was")
tap.is(assert(file.read(with_walk)).walk.joins[2].first, nil,
  "with what is not known")
tap.like(walk_report(assert(file.read(with_walk))), "cache", "and has paths")
tap.like(walk_report(assert(file.read(good))), "no heap walk: ", "or none")
tap.like(walk_report(assert(file.read(file.write(walked(function(w)
  for k in pairs(w) do w[k] = nil end
  w.at, w.seconds, w.why = 0, 0, "not a GC64 build"
end))))), "no heap walk: not a GC64 build", "a reason is read back, too")

local function wrong_walk(name, want, change)
  tap.like(refused(file.write(walked(change)), name), want, name..": said")
end
wrong_walk("a line below itself", "the parent of walk_line 2 is not valid",
  function(w) w.lines[2].parent = 2 end)
wrong_walk("a join without a line", "the line of walk_join 1 is not valid",
  function(w) w.joins[1].line = 3 end)
wrong_walk("a walk without types", "a part of the heap walk is missing",
  function(w) w.types = nil end)
wrong_walk("a walk without a total", "a part of the heap walk is missing",
  function(w) w.total = nil end)
wrong_walk("very deep lines", "the paths of the heap walk are too long",
  function(w)
    for i = 3, 100 do
      w.lines[i] = { parent = i - 1, count = 1, self = 1, bytes = 1,
	type = "table", label = ".x" }
    end
  end)
wrong_walk("very long paths", "the paths of the heap walk are too long",
  function(w)
    for i = 3, 90 do
      w.lines[i] = { parent = 1, count = 1, self = 1, bytes = 1,
	type = "table", label = ("x"):rep(2^20) }
    end
  end)
tap.is(merge({ walked(), walked() }).walk, nil,
  "merged profiles have no heap walk")
good, packed = assert(gzip.unpack(with_walk, 1e9)), with_walk

-- -- Mutations ---------------------------------------------------------------

math.randomseed(20261121)
local random = math.random
local mutations = {
  function(t, i) return t:sub(1, i - 1)..string.char(random(0, 255))..
    t:sub(i + 1) end,
  function(t, i) return t:sub(1, i) end,
  function(t, i) return t:sub(1, i - 1)..t:sub(i + random(40)) end,
  function(t, i)
    local k = random(#t)
    return t:sub(1, i)..t:sub(k, k + random(200))..t:sub(i + 1)
  end,
  function(t, i) return t:sub(1, i)..("9"):rep(random(30))..t:sub(i + 1) end,
  function(t, i)
    return t:sub(1, i - 1)..("\255"):rep(random(8))..t:sub(i + 8)
  end,
}

-- Half of the times in the packed file, else in what it holds.
local raised, silent, accepted = 0, 0, 0
for i = 1, slow and 300 or 4000 do
  local t = i % 2 == 0 and good or packed
  for _ = 1, random(3) do
    t = mutations[random(2) == 1 and 1 or random(#mutations)](t, random(#t))
  end
  local ok, r, msg = pcall(file.read, t)
  if not ok then
    raised = raised + 1
    tap.diag(r)
  elseif not r and type(msg) ~= "string" then
    silent = silent + 1
  elseif r then
    accepted = accepted + 1
    local list = { "fl", "L", "t", "g", "G", "e", "a", "W" }
    local view = list[i / 2 % 8 + 1] or "s"
    local shown, err = pcall(render.render, r, assert(options.parse(view)),
      { name = "-" })
    if not shown then
      raised = raised + 1
      tap.diag(err)
    end
  end
end
tap.is(raised, 0, "mutated files: no error is raised")
tap.is(silent, 0, "mutated files: each is refused with a message")
tap.ok(accepted > 0, "some of them are accepted", accepted)

-- -- Merge -------------------------------------------------------------------

local function totals(p_)
  local t = {}
  for _, field in ipairs(fields.merged("row", "sum")) do
    t[field] = 0
    for _, row in ipairs(p_.rows) do t[field] = t[field] + (row[field] or 0) end
  end
  return t
end
local a, b = profiled("fb1"), profiled("b64k")
local m = merge({ a, b, a })
local ta, tb, tm = totals(a), totals(b), totals(m)
tm.cpu_variance = nil  -- As the samples of one stand for more time, or less.
for field, sum in pairs(tm) do
  tap.ok(math.abs(sum - 2 * ta[field] - tb[field]) <= 1e-6 * sum,
    "merged: "..field)
end
for _, field in ipairs(fields.merged("heap", "sum")) do
  tap.is(m.heap[field] or 0, 2 * (a.heap[field] or 0) + (b.heap[field] or 0),
    "merged: heap "..field)
end
tap.is(m.info.runs, 3, "merged: three runs")
tap.is(merge({ m, a }).info.runs, 4, "merged again: four")
tap.is(m.info.options, nil, "merged: the options differ")
tap.is(m.info.script, a.info.script, "merged: the script is the same")
tap.is(m.info.started, math.min(a.info.started, b.info.started),
  "merged: the earliest start")
tap.is(m.heap.period, math.max(a.heap.period, b.heap.period),
  "merged: the coarsest period")
a.info.capture, b.info.capture = "exact", "safepoint"
tap.is(merge({ a, b }).info.capture, "mixed", "merged: captures differ")
local most = profiled("f")
most.heap.inuse_start, most.info.wall = 2^53, 1e9
for _, row in ipairs(most.rows) do row.alloc_bytes = 2^53 end
tap.ok(file.read(file.write(merge({ most, most, a }))),
  "merged: sums stay in bounds")
tap.is(difference(m, assert(file.read(file.write(m))), "profile"), nil,
  "a merged profile is a profile")

-- Every view can do without each value that a file may lack.
local whole = profiled("Mb1")
whole.native = { enabled = true, samples = 9, dropped = 1, inuse_samples = 4,
  period = 4096, adaptive = true }
for _, row in ipairs(whole.rows) do
  row.native_bytes, row.native_objects = 1e4, 10
  row.native_inuse_bytes, row.native_inuse_objects = 1e3, 1
end
for _, name in ipairs({ "pinned", "pinned_free", "pinned_used", "segments",
    "largest_free" }) do
  whole.memory[name] = whole.memory[name] or 1e5
end
for _, group in ipairs(fields.groups) do
  local t = group.key == "" and whole or whole[group.key]
  for _, field in ipairs(t and group.fields or {}) do
    local value, wrong = t[field.name], {}
    if field.optional and value ~= nil then
      t[field.name] = nil
      local p = assert(file.read(file.write(whole)))
      for _, option in ipairs({ "f", "fYU", "M", "g", "r" }) do
	for _, name in ipairs({ "-", "x.html", "x.prom", "x.pb.gz" }) do
	  local ok, msg = pcall(render.render, p,
	    assert(options.parse(option)), { name = name })
	  if not ok then wrong[#wrong+1] = option.." "..name..": "..msg end
	end
      end
      t[field.name] = value
    end
    if field.optional then
      tap.is(table.concat(wrong, "\n"), "", ("without %s %s"):format(
	group.name, field.name))
    end
  end
end

tap.done()
