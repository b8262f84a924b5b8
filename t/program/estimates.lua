-- SPDX-License-Identifier: MIT
-- One number for one quantity: rows add up to what was counted, and say how
-- far they may be off. Differences of profiles.

local tap = require("tap")
local diff = require("jit.mp.text.diff")
local estimates = require("jit.mp.model.estimates")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")
local snapshots = require("snapshots")

local function report(snapshot, text, width)
  return (assert(render.render(profile.new(snapshot),
    assert(options.parse(text)), { width = width })))
end

-- A profile by samples, of rows that are estimated 10% too low.
local function sampled(change)
  local s = snapshots.of({
    { "main > load", cpu = 60, alloc_objects = 900, alloc_bytes = 900e3,
      inuse_objects = 400, inuse_bytes = 400e3, peak_objects = 800,
      peak_bytes = 800e3 },
    { "main > work", cpu = 40, alloc_objects = 900, alloc_bytes = 90e3,
      inuse_objects = 20, inuse_bytes = 20e3, peak_objects = 20,
      peak_bytes = 20e3 } })
  local h = s.heap
  h.period, h.samples, h.inuse_samples = 10e3, 99, 42
  h.alloc_bytes, h.alloc_objects = 1100e3, 2000
  h.inuse, h.inuse_start, h.peak = 560e3, 60e3, 900e3
  if change then change(s) end
  return s
end

-- The last view of the table, which has a second column, cum.
local function sum(text, option)
  local n = 0
  for v in report(sampled(), option.."rm0"):gmatch("(%d+) +%d+   [%a(]") do
    n = n + tonumber(v)
  end
  return tap.is(("%.0f"):format(n), text, option..": rows add up")
end
sum("1100000", "h")
sum("2000", "ho")
sum("560000", "u")
sum("900000", "x")
sum("100", "c")

local function inuse(change)
  local p, t = profile.new(sampled(change)), {}
  for _, row in ipairs(p.rows) do t[#t+1] = ("%.0f"):format(row.inuse_bytes) end
  return table.concat(t, " ")
end
tap.is(inuse(), "476190 23810 60000", "at most what was there is still there")
tap.is(inuse(function(s) s.heap.inuse = 450e3 end), "400000 20000 30000",
  "estimates between the bounds stay")
tap.is(inuse(function(s) s.heap.inuse = 210e3 end), "200000 10000 0",
  "estimates are not above what was counted")
tap.is(inuse(function(s)
  for _, row in ipairs(s.rows) do row.inuse_bytes, row.inuse_objects = 0, 0 end
end), "0 0 500000 60000", "without samples there is a row for that")
local s = sampled()
profile.new(s)
tap.is(inuse(function(t) for k, v in pairs(s) do t[k] = v end end),
  "476190 23810 60000", "done again it changes nothing")
tap.like(report(sampled(), "fum0"), "\n +11%% +60.0 kB +11%%   "..
  "%(before the profile%)\n", "what was there before is a row")
tap.like(report(sampled(), "vum0"), "11%% +60.0 kB   %(before the profile%)\n",
  "in no state")
tap.like(report(sampled(function(t) t.heap.alloc_bytes = 0 end), "h"),
  "load", "a total that is not known")

-- Weights of CPU samples, whose interval was 1 ms, and later 10 ms.
local function weighted()
  local t = snapshots.of({ { "short", cpu = 100 }, { "long", cpu = 900 } })
  t.cpu = { enabled = true, samples = 190, interval = 10, adaptive = true }
  t.info.cpu = 1
  t.rows[1].cpu_variance, t.rows[2].cpu_variance = 100, 9000
  return t
end
local p = profile.new(weighted())
tap.is(("%.4g %.4g"):format(p.rows[1].cpu, p.rows[2].cpu), "19 171",
  "all weights are as many as there were samples")
tap.is(("%.4g"):format(p.rows[1].cpu ^ 2 / p.rows[1].cpu_variance), "100",
  "a row rests on its own samples: many,")
tap.is(("%.4g"):format(p.rows[2].cpu ^ 2 / p.rows[2].cpu_variance), "90",
  "or few of great weight")
tap.like(report(weighted(), "fcm0"), "\n +90%% +900 ms +90%% +long\n +10%% +"..
  "100 ms +10%% +short\n", "none of them is marked")
local few = weighted()
few.rows[1].cpu, few.rows[1].cpu_variance = 80, 800
tap.like(report(few, "fcm0"), "~82 ms", "eight of great weight are few")

-- Samples of two runs with different intervals count for their time.
local function fixed(name, ms, samples)
  local t = snapshots.of({ { name, cpu = samples } })
  t.cpu.samples, t.cpu.interval = samples, ms
  t.info.cpu = samples * ms / 1000
  return profile.new(t)
end
local both = require("jit.mp.model.merge")({ fixed("a", 1, 1000),
  fixed("b", 10, 100), profile.new(weighted()) })
local third = 1290 / 3
for i, want in ipairs({ third, third, third / 10, third * 9 / 10 }) do
  tap.is(("%.3f"):format(both.rows[i].cpu), ("%.3f"):format(want),
    "merged: row "..i)
end
tap.is(("%.1f"):format(both.rows[1].cpu ^ 2 / both.rows[1].cpu_variance),
  "1000.0", "merged: the doubt of each stays")

-- Records of what collections left are of the same memory.
s = sampled(function(t)
  t.held = { { collection = 1, row = 1, objects = 400, bytes = 400e3,
    variance = 1e9 }, { collection = 1, row = 2, objects = 10, bytes = 10e3,
    variance = 1e8 } }
end)
for _ = 1, 2 do
  profile.new(s)
  tap.is(("%.0f %.0f %.0f"):format(s.held[1].bytes, s.held[1].objects,
    s.held[2].bytes), "476190 476 11905", "records are scaled, too")
  s.calibrated = nil
end

-- Large blocks are all sampled: what is missing belongs to small ones.
local large = snapshots.of({ { "a", alloc_objects = 3, alloc_bytes = 3e6 },
  { "b", alloc_objects = 1000, alloc_bytes = 1e5 } })
large.heap.period, large.heap.samples = 10e3, 13
large.heap.alloc_bytes, large.heap.alloc_objects = 312e4, 1203
profile.new(large)
tap.is(("%.0f %.0f %.0f"):format(large.rows[1].alloc_bytes,
  large.rows[1].alloc_objects, large.rows[2].alloc_bytes), "3000000 3 120000",
  "small blocks are scaled, large ones are not")

-- -- Doubt -------------------------------------------------------------------

-- The variance against samples drawn many times.
local function variance_of(size, blocks, period)
  local q, mean, squares, runs = 1 - math.exp(-size / period), 0, 0, 4000
  for _ = 1, runs do
    local n = 0
    for _ = 1, blocks do if math.random() < q then n = n + size / q end end
    mean, squares = mean + n / runs, squares + n * n / runs
  end
  return squares - mean * mean
end
math.randomseed(7)
for _, case in ipairs({ { 100, 200, 1000 }, { 1000, 40, 1000 },
    { 3000, 40, 1000 } }) do
  local size, blocks, period = unpack(case)
  local p = profile.new(snapshots.of({ { "a", alloc_objects = blocks,
    alloc_bytes = size * blocks } }))
  p.heap.period = period
  p.heap.samples = blocks * (1 - math.exp(-size / period))
  local got = estimates.variance(p, "alloc")(p.rows[1])
  local want = variance_of(size, blocks, period)
  tap.ok(math.abs(got / want - 1) < 0.1, ("doubt of %d blocks of %d bytes")
    :format(blocks, size), got.." "..want)
end

-- Recorded doubt: most samples are from when they were close together.
local adaptive = snapshots.of({
  { "early", alloc_objects = 1000, alloc_bytes = 100e3 },
  { "late", alloc_objects = 9000, alloc_bytes = 900e3 } })
adaptive.heap.period, adaptive.heap.samples = 300e3, 1003
adaptive.heap.alloc_bytes, adaptive.heap.alloc_objects = 1000e3, 10000
adaptive.rows[2].alloc_variance = 3 * 300e3^2
local p = profile.new(adaptive)
local doubt = estimates.variance(p, "alloc")
tap.is(("%.0f %.3g"):format(doubt(p.rows[1]), doubt(p.rows[2])), "0 2.7e+11",
  "doubt as it was recorded")
tap.like(report(adaptive, "fhm0"), "~900 kB[^\n]*late\n[^\n]*  100 kB"..
  "[^\n]*early\n", "only the late row is rough")

local text = report(sampled(), "fhu")
tap.like(text, "91%%  1.00 MB   91%% +85%%    476 kB   85%%   load\n",
  "many samples: no mark")
tap.like(text, "9%%   100 kB    9%% +4%%  ~23.8 kB    4%%   work\n",
  "few samples: a mark")
tap.like(text, "\n  ~ fewer than nine samples", "which is explained")
text = report(sampled(), "gu")
tap.like(text, "~23%.8 kB +~23%.8 kB [^\n]* work", "a call graph has the mark")
tap.unlike(text, "~[%d. ]+kB [^\n]* load", "where there are few")
tap.like(text, "\n~ fewer than nine samples[^\n]*\n$", "and explains it")
tap.unlike(report(sampled(), "gur"), "~", "raw numbers have no mark")
tap.unlike(report(sampled(), "fhb1"), "~ fewer", "no mark, no words")
tap.unlike(report(snapshots.of({ { "a", alloc_objects = 1, alloc_bytes = 9 } }),
  "h"), "~", "what was counted has no doubt")
tap.like(report(sampled(), "fchm50"), "\n  and 1 row below 50%%: CPU 40%%, "..
  "allocated 9%% %(m0 shows all%)\n", "what is not shown is summed")

-- A distance of samples has no exponent.
tap.like(report(sampled(function(t)
  t.heap.adaptive, t.heap.period = false, 1000 * 1024
end), "f"), "every 1000 KiB\n", "a distance of four digits")

-- One stray sample does not head the table.
text = report(sampled(function(t)
  t.heap.inuse_samples, t.heap.inuse, t.heap.inuse_start = 1, 17e3, 0
  t.rows[1].inuse_bytes, t.rows[1].inuse_objects = 0, 0
  t.rows[2].inuse_bytes, t.rows[2].inuse_objects = 10e3, 20
end), "f")
tap.like(text, "load\n.*100%%  ~17.0 kB +100%%   work\n", "one stray sample")

-- -- The width ---------------------------------------------------------------

local function widest(out)
  local w = 0
  for line in out:gmatch("[^\n]+") do w = math.max(w, #line) end
  return w
end
local long = { load = snapshots.lua("a_function_with_a_rather_long_name",
  "lib/application_server.lua", 3, 2) }
local function wide(option, width)
  local t = snapshots.of({ { "main > load > work", cpu = 9, alloc_objects = 9,
    alloc_bytes = 900, inuse_objects = 9, inuse_bytes = 900 } }, long)
  t.rows[2] = { stack = 2, zone = 0, state = "I", cpu = 20,
    alloc_objects = 1, alloc_bytes = 10, inuse_objects = 0, inuse_bytes = 0 }
  return report(t, option, width)
end
for _, option in ipairs({ "f", "fl", "F3", "-s", "vf", "c", "g", "l" }) do
  for _, width in ipairs({ 80, 60 }) do
    local out = wide(option, width)
    tap.ok(widest(out) <= width, ("-jm=%s in %d columns"):format(option, width),
      out)
  end
end
tap.like(wide("f", 80), "   a_function_with_a_rather_long_name\n",
  "amounts give way to names")
tap.unlike(wide("f", 80), "620 ms", "that is, they are gone")
tap.like(wide("f", 120), "1.38 s", "where there is room they stay")
tap.like(wide("f", 60), "a_function_with[%w_.]+long_name\n",
  "a name in 60 columns")
tap.like(wide("F3", 60), " < ", "names of several levels keep them")

-- -- Levels ------------------------------------------------------------------

tap.like(wide("s"), "   <%- main\n", "s: who calls")
tap.like(wide("-s"), "   %-> work\n", "-s: what is called")
tap.like(wide("fl"), "   %-%- application_server.lua:3\n", "fl: parts")

-- -- Recursion ---------------------------------------------------------------

local deep = { f1 = snapshots.lua("walk", "w.lua", 3, 1),
  f2 = snapshots.lua("walk", "w.lua", 4, 1) }
local function recursive(option)
  return report(snapshots.of({ { "main > f1 > f2 > f1 > leaf", cpu = 6 },
    { "main > f1", cpu = 3 }, { "main > f2 > f2", cpu = 1 } }, deep), option)
end
tap.like(recursive("GcR"), "^main;walk 4\nmain;walk;leaf 6\n$", "R: stacks")
tap.like(recursive("lcRm0r"), "\n +3 +9   w.lua:3\n +1 +1   w.lua:4\n",
  "R: the last line")
tap.unlike(recursive("gcR"), "recursive", "R: the graph")
tap.like(recursive("gc"), "walk %(recursive%)", "without it there is recursion")

-- -- Headers -----------------------------------------------------------------

tap.unlike(wide("c"), "in use", "CPU alone: nothing of the heap")
tap.like(wide("c"), "with a line CPU 100%%\n",
  "but how many samples have a line")
text = report(sampled(function(t)
  t.course = { { wall = 1, cpu = 1, allocated = 1, inuse = 1, cycles = 0,
    rss = 12.5e6 } }
end), "f")
tap.like(text, "peak 900 kB   RSS 12.5 MB\n", "the process's memory")

-- -- Differences -------------------------------------------------------------

local function compare(a, b, option, by_share)
  return diff(profile.new(a), profile.new(b), assert(options.parse(option)),
    by_share, {})
end
local out, most, where = compare(sampled(), sampled(function(t)
  t.rows[1].alloc_bytes = 1200e3
end), "h")
tap.is(most, 0, "estimates differ, what was counted does not")
tap.like(out, "1.10 MB   1.10 MB +0 B   %(all%)\n", "it says so")
out, most, where = compare(sampled(), sampled(function(t)
  t.heap.alloc_bytes = 2200e3
  t.rows[1].alloc_bytes = 2000e3
end), "ch")
tap.is(("%.3g %s"):format(most, where), "100 allocated", "which view grew")
tap.like(out, "  %+1.1[%d.]* MB   load\n", "a change that samples show")
out = compare(sampled(), sampled(function(t) t.rows[2].cpu = 49 end), "c")
tap.like(out, "~%+[%d.]+ ms   work\n", "a change that may be noise is marked")
tap.like(out, "~ samples alone may make such a difference", "and explained")
-- Of memory from before, the rest of a counted sum, the samples tell, too.
local function from_before(other)
  return sampled(function(t)
    t.heap.inuse_start = 300e3
    t.rows[1].inuse_bytes = t.rows[1].inuse_bytes + other
  end)
end
tap.like(compare(from_before(0), from_before(40e3), "um0"),
  "~%-40.0 kB   %(before the profile%)\n", "memory from before: a change of it")
tap.like(compare(from_before(0), from_before(-400e3), "um0"),
  " %+[%d.]+ kB   %(before the profile%)\n", "and one that samples show")
-- A row without a sample may have had as much as the other profile shows.
local function vanished(cpu)
  return compare(sampled(function(t) t.rows[2].cpu = cpu end),
    sampled(function(t) t.rows[2].cpu = 0 end), "cm0")
end
tap.like(compare(sampled(), sampled(function(t)
  t.rows[2].cpu = 40.01
end), "cm0"), " 800 ms   800 ms +~0 ms   work\n", "nearly no change: no sign")
tap.like(vanished(3), "   ~%-[%d.]+ ms   work\n", "few samples, and none")
tap.like(vanished(30), "   %-[%d.]+ ms   work\n", "many samples, and none")
out, most, where = compare(sampled(), sampled(function(t)
  t.rows[2].cpu = 140
end), "c", true)
tap.like(out, "%+30.0%%   work\n", "shares")

-- The same function at another place.
local lua = snapshots.lua
local function functions(n, ...)
  local t, frames = {}, {}
  for i, f in ipairs({ ... }) do
    t[i], frames["f"..i] = { "f"..i, cpu = n * i }, f
  end
  local made = snapshots.of(t, frames)
  made.info.cpu = made.cpu.samples / 100
  return made
end
local function same(a, b, want, name, option)
  local rows = {}
  local text_ = compare(a, b, option or "cm0"):match("   CPU\n(.*)")
  for row in text_:gmatch(" s   ([^\n]*)\n") do
    if not row:find("(all)", 1, true) then
      rows[#rows+1] = row:match("^.* m?s   (.*)$") or row
    end
  end
  table.sort(rows)
  tap.is(table.concat(rows, ", "), want, name)
end
same(functions(100, lua("get", "a.lua", 2, 1)),
  functions(200, lua("get", "b.lua", 9, 8),
  lua("put", "b.lua", 2, 1)), "get, put", "a function that moved")
same(functions(100, lua("get", "a.lua", 2, 1), lua("get", "b.lua", 2, 1)),
  functions(200, lua("get", "a.lua", 9, 8), lua("get", "b.lua", 2, 1)),
  "get (a.lua:8), get (b.lua:1)", "one of two of a name that moved")
same(functions(100, lua("get", "a.lua", 2, 1), lua("get", "a.lua", 5, 4)),
  functions(200, lua("get", "a.lua", 3, 2), lua("get", "a.lua", 6, 5),
    lua("get", "a.lua", 9, 8)),
  "get (a.lua:2), get (a.lua:5), get (a.lua:8)", "all of them moved")

local old, new = "/old/app/", "/new/app/"
same(functions(100, lua("get", old.."a.lua", 2, 1),
    lua("get", old.."b.lua", 5, 4), lua("run", old.."a.lua", 9, 8)),
  functions(100, lua("get", new.."b.lua", 6, 5), lua("get", new.."a.lua", 3, 2),
    lua("get", new.."c.lua", 2, 1)),
  "get (a.lua:2), get (b.lua:5), get (c.lua:1), run", "another directory")
same(functions(100, lua("get", "a.lua", 2, 1)),
  functions(100, lua("put", "a.lua", 2, 1), lua("get", "a.lua", 4, 3)),
  "get, put", "a name is the same whatever stands where it was")
same(functions(100, lua(nil, "a.lua", 2, 1), lua(nil, "a.lua", 5, 4)),
  functions(200, lua(nil, "a.lua", 4, 3), lua(nil, "a.lua", 7, 6)),
  "a.lua:3, a.lua:6", "functions without a name, by their order")
same(functions(100, lua(nil, "a.lua", 2, 1), lua(nil, "a.lua", 5, 4)),
  functions(100, lua(nil, "a.lua", 4, 3)),
  "a.lua:1, a.lua:3, a.lua:4", "but not if one is new")
same(functions(100, lua("get", old.."a.lua", 2, 1)),
  functions(200, lua("get", new.."b.lua", 12, 11)), "b.lua:12",
  "lines move with their functions", "clm0")

-- -- The timeline ------------------------------------------------------------

-- Whatever the number of stacks, the timeline adds up to the header's counts.
local file = require("jit.mp.format.file")
local path = tap.tmpname(".mp")
local many = tap.program([[
local leaf = function(i) return { i } end
local f, sum = {}, 0
for i = 1, 1500 do
  f[i] = loadstring("local leaf = ... return function(i) return leaf(i) end",
    "=chunk"..i)(leaf)
end
for round = 1, 40 do
  for i = 1, #f do sum = sum + #f[i](i) end
end
os.exit(0)
]])
for opts, name in pairs({ ["-jm=b1,"] = "every allocation",
    ["-jm=b1k,"] = "samples", ["-joff -jm=f,"] = "interpreted" }) do
  os.remove(path)
  local r = tap.luajit(opts..tap.quote(path).." "..many)
  tap.is(r.status..r.err, "0", name..": the program")
  local p = assert(file.read(tap.read(path)))
  local sum = { cpu = 0, alloc_objects = 0, alloc_bytes = 0 }
  local want = { cpu = p.cpu.samples, alloc_objects = p.heap.alloc_objects,
    alloc_bytes = p.heap.alloc_bytes }
  for _, e in ipairs(p.timeline) do
    for field, n in pairs(sum) do sum[field] = n + e[field] end
  end
  for field, n in pairs(sum) do
    tap.ok(math.abs(n - (want[field] or 0)) <= 1e-6 * (want[field] or 0),
      ("%s: %s of the timeline: %.10g"):format(name, field, n),
      tostring(want[field]))
  end
  local last = p.course[#p.course]
  tap.is(last.allocated, p.heap.alloc_bytes, name..": bytes at its last point")
  tap.is(last.cycles, p.heap.gc_cycles or 0, name..": collections until then")
  tap.ok(last.wall <= p.info.wall, name..": the end")
end
os.remove(path)

tap.done()
