-- SPDX-License-Identifier: MIT
-- Verdicts on series whose truth is known. Whole programs: heap.lua, and
-- t/truth/leaks.lua for the statistics.

local tap = require("tap")
local leaks = require("jit.mp.model.leaks")
local options = require("jit.mp.options")
local report = require("jit.mp.text.leaks")

-- The verdict on value(t) for t in 0 to 1, seen by n collections up to `last`;
-- noise: a function that gives a relative error, sd: what it is said to be;
-- count: of objects, otherwise one.
local function verdict(value, n, last, noise, sd, count)
  local series = { by_bytes = {}, bytes = {}, variance = {}, count = {} }
  for i = 1, n do
    local t = i / n * (last or 1)
    series.by_bytes[i] = t
    series.bytes[i] = value(t) * (1 + (noise and noise() or 0))
    series.variance[i] = (series.bytes[i] * (sd or 0)) ^ 2
    series.count[i] = count or 1
  end
  return leaks.grows(series)
end

local function line(t) return 1e6 * t end
local function doubling(t)
  return 2 ^ math.ceil(math.log(1e6 * t) / math.log(2))
end
local function cache(t) return 1e6 * math.min(1, t / 0.3) end
local function constant() return 1e6 end
local function from_nothing(t) return t < 0.7 and 0 or 1e6 * (t - 0.7) end

tap.is(verdict(line, 20), true, "a line grows")
tap.is(verdict(math.sqrt, 20), true, "so does what slows down")
tap.is(verdict(from_nothing, 20), true, "and what begins late")
tap.is(verdict(constant, 20), false, "a constant is flat")
tap.is(verdict(cache, 20), false, "so is a cache that was filled")
tap.is(verdict(function(t) return 1e6 * (2 - t) end, 20), false,
  "and what shrinks")
tap.is(verdict(function(t) return 1e6 + 1e5 * math.sin(t * 40) end, 20), false,
  "and what goes up and down")

-- A table's size doubles; wherever the run ends, it grows.
local all = true
for k = 0, 19 do
  local scale = 2 ^ (k / 20)
  all = all and verdict(function(t) return doubling(t * scale) end, 20)
end
tap.ok(all, "a table that doubles grows, wherever the run ends")

-- A cache that is emptied when it is full, wherever the run ends.
local function emptied(period)
  return function(t) return 1e6 * (t / period % 1) + 1e5 end
end
local found = 0
for period = 0.15, 0.9, 0.01 do
  found = found + (verdict(emptied(period), 20) and 1 or 0)
end
tap.is(found, 0, "a cache that is emptied does not grow")
tap.is(verdict(function(t) return t < 0.3 and 2e6 or 1e6 * (1 + t) end, 20),
  nil, "what was larger before is unclear")

tap.is(verdict(line, 3), nil, "three collections are too few")
tap.is(verdict(line, 0), nil, "and so are none")
tap.is(verdict(line, 20, 0.4), nil, "all of them long ago are too few")
tap.is(verdict(line, 20, 1, nil, 0.5), nil, "a line in much doubt is unclear")

-- Memory that was all there early on and has not changed is not a leak, however
-- few samples it has: a leak would have had some later.
tap.is(verdict(constant, 50, 1, nil, 1), false,
  "one sample from the very beginning is flat")
local function later(t) return t < 0.1 and 0 or 1e6 end
tap.is(verdict(later, 50, 1, nil, 1), nil, "a later one may be the first")
tap.is(verdict(later, 50, 1, nil, 0.5, 99), false,
  "and four of them are flat")
tap.is(verdict(constant, 3, 1, nil, 0), nil,
  "but three collections are too few")
local wrong = 0
for _, most in ipairs({ 1, 2, 4, 8 }) do
  math.randomseed(most)
  for _ = 1, 1000 do  -- A leak of which samples are rare.
    local born, t = {}, 0
    repeat
      t = t - math.log(1 - math.random()) / most
      born[#born+1] = t
    until t > 1
    local n = #born - 1
    local function held(at)
      local sum = 0
      for i = 1, n do sum = sum + (born[i] <= at and 1 or 0) end
      return sum
    end
    if n > 0 and verdict(held, 50, 1, nil, n ^ -0.5, 99) == false then
      wrong = wrong + 1
    end
  end
end
tap.ok(wrong <= 120, ("rare samples: %d of 4000 leaks are flat"):format(wrong))

-- Something large that is made for good at the end of a run is not a leak.
for from = 0.7, 0.99, 0.01 do
  local v = verdict(function(t) return t < from and 0 or 1e6 end, 20)
  if v then tap.ok(false, "one step at "..from.." grows") end
end
tap.is(verdict(function(t) return t < 1 and 0 or 48 end, 20), nil,
  "what is new in the last record is unclear")

-- A heap without garbage is collected whenever it has doubled, and twice at the
-- end. value(t): bytes held, by CPU time; alloc(t): the bytes that the program
-- has allocated by then, from 0 to 1; inuse(t): what is in use, with garbage.
local function sparse(value, alloc, inuse, born)
  alloc, inuse = alloc or function(t) return t end, inuse or value
  local curve = { inuse = {}, allocated = {}, by_bytes = {}, by_cpu = {},
    till = {}, first = 0.45, points = 45 }
  local series = { by_bytes = {}, by_cpu = {}, bytes = {}, variance = {},
    count = {}, curve = curve, born = born,
    last = { bytes = value(1), variance = 0 } }
  for i = 1, 100 do
    local t = i / 100
    curve.inuse[i] = inuse(t)
    curve.allocated[i] = math.max(inuse(t), curve.allocated[i-1] or 0)
    curve.by_bytes[i], curve.by_cpu[i] = alloc(t), t
    local n = #series.bytes
    if t > 1.8 * (series.by_cpu[n] or 0) then
      series.bytes[n+1], series.variance[n+1] = value(t), 0
      series.count[n+1] = 99
      series.by_bytes[n+1], series.by_cpu[n+1] = alloc(t), t
    end
  end
  return leaks.grows(series), series
end

local grow, flat = 0, 0
for k = 0, 49 do
  local scale = 2 ^ (k / 50)
  local function table_of(t) return doubling(t * scale) end
  for _, value in ipairs({ line, table_of, math.sqrt }) do
    local v = sparse(function(t) return value(t * scale) end)
    grow, flat = grow + (v and 1 or 0), flat + (v == false and 1 or 0)
  end
end
tap.is(grow, 150, "without garbage: what grows, grows, wherever the run ends")
tap.is(flat, 0, "and none of it is flat")

-- By the bytes allocated, what was loaded in a moment grows to the end.
for part = 0.05, 0.4, 0.05 do
  local function load(t) return 1e6 * math.min(1, t / part) end
  local v = sparse(load, function(t) return math.min(1, t / part) end)
  tap.is(v, nil, "data for a computation without garbage: "..part)
end
tap.is(sparse(cache), false, "a cache that was filled, and rests, is flat")

-- Emptied whenever it is full: garbage goes at the next collection.
found = 0
for period = 0.1, 0.44, 0.01 do
  local function held(t) return 1e6 * (t / period % 1) + 1e4 end
  if sparse(held, nil, function(t) return held(t) + 5e5 end, 0.8) then
    found = found + 1
  end
end
tap.is(found, 0, "without garbage: what is emptied does not grow")
for from = 0.5, 0.99, 0.01 do
  local v = sparse(function(t) return t < from and 2e5 or 1e6 end)
  if v then tap.ok(false, "one step at "..from.." grows") end
end

-- A third of it is kept: the objects that are held are from all of the run.
local function with_garbage(t) return 3e6 * t end
tap.is(sparse(line, nil, with_garbage, 0.5), true, "a third of it is kept")
local _, third = sparse(line, nil, with_garbage, 0.5)
third.curve.points = 5
tap.is(leaks.grows(third), nil, "unless the timeline has few points")
local _, whole = sparse(line)
whole.curve.points = 5
tap.is(leaks.grows(whole), true, "which are enough if nothing was freed")
tap.is(sparse(line, nil, with_garbage, 0.9), nil,
  "unless the objects are from the end")
tap.is(sparse(line, nil, with_garbage, 0.1), nil, "or the beginning")
local function replaced(t)
  return t < 0.6 and 2e5 or t < 0.95 and 4.3e5 or 3e5
end
tap.is(sparse(replaced, nil, with_garbage, 0.5), nil,
  "or more was held, which was replaced")

-- Collections leave garbage, which full ones at the end do not.
local function judged(value, last, garbage, left)
  local series = { by_bytes = {}, bytes = {}, variance = {}, count = {},
    last = last and { bytes = last, variance = 0 }, left = left }
  for i = 1, 20 do
    local t = i / 21
    series.by_bytes[i], series.bytes[i] = t, value(t) + garbage(t)
    series.variance[i], series.count[i] = 0, 99
  end
  return leaks.grows(series)
end
local function always(t) return 5e5 + 1e3 * math.sin(99 * t) end
local function ten_times(t) return 10 * always(t) end
tap.is(judged(line, 1e6, always), true, "what grows with some garbage")
tap.is(judged(line, 9e5, line), nil, "it may be the garbage that grows")
tap.is(judged(line, 1e6, ten_times), nil, "garbage hides growth")
tap.is(judged(constant, 1e6, always), false, "what is flat with some garbage")
tap.is(judged(constant, 3e6, always), nil, "much more at last is not flat")
tap.is(judged(constant, nil, always, 1e5), false,
  "without a full collection, with little garbage: flat")
tap.is(judged(constant, nil, always, 1e6), nil, "with much: unclear")

-- A list that is swapped for a new one again and again, as 11 collections of a
-- short run saw it: by chance they met it longer and longer. The objects that
-- it has at the end are from late in the run.
local function swapped(born, count, last)
  local series = { born = born, variance = {}, count = {},
    last = last and { bytes = last, variance = 3.3e9 },
    by_bytes = { 0.003, 0.012, 0.026, 0.050, 0.090, 0.158, 0.275, 0.424, 0.554,
      0.744, 0.902 },
    by_cpu = { 0.052, 0.052, 0.052, 0.123, 0.123, 0.176, 0.261, 0.477, 0.584,
      0.692, 0.869 },
    bytes = { 0, 33765, 67518, 111746, 167889, 293384, 552091, 375673, 652842,
      656590, 756702 } }
  for i, bytes in ipairs(series.bytes) do
    series.variance[i], series.count[i] = bytes * 5e3, count
  end
  return leaks.grows(series)
end
tap.is(swapped(0.874, 6926, 491969), nil, "what was replaced does not grow")
tap.is(swapped(0.874, 6926), nil, "nor if nothing was collected at the end")
tap.is(swapped(0.45, 6926, 491969), true, "objects from all of the run do")
tap.is(swapped(0.874, 1, 491969), true,
  "and a block, which is a new one when it grows")

-- Sampling noise: of 1,000 series no more than 1 in 100 gets a wrong verdict.
math.randomseed(42)
local function noise()  -- About normal, with deviation 0.1.
  local sum = 0
  for _ = 1, 12 do sum = sum + math.random() end
  return (sum - 6) * 0.1
end
for name, case in pairs({ line = { line, true }, cache = { cache, false } }) do
  local wrong = 0
  for _ = 1, 1000 do
    local v = verdict(case[1], 20, 1, noise, 0.1)
    if v ~= nil and v ~= case[2] then wrong = wrong + 1 end
  end
  tap.ok(wrong <= 10, ("%s with noise: %d of 1000 verdicts are wrong"):format(
    name, wrong))
end

-- Memory that is freed by the end is not a leak, whatever the records say.
local function native(inuse)
  local row = { native_inuse_bytes = inuse, native_inuse_objects = inuse / 10 }
  local p = { rows = { row }, collections = {}, native_records = {},
    native_held = {}, info = { wall = 1 }, heap = {}, course = {},
    timeline = {}, collected = true }
  function p:is_before() return false end
  for i = 1, 20 do
    p.native_records[i] = { wall = i / 20, allocated = i }
    p.native_held[i] = { collection = i, row = 1, bytes = i * 100,
      objects = i * 10, variance = 0 }
  end
  return leaks.groups(leaks.native(p), function() return "row" end)[1].verdict
end
tap.is(native(2000), "grows", "C memory that is in use at the end grows")
tap.is(native(0), "flat", "C memory of which none is left does not")
tap.is(native(300), "flat", "nor if as much was in use early on")

-- A cache that was full when the profile began: its entries are replaced.
local function began_late(start, last)
  local p = { rows = { { state = "I", inuse_bytes = 2000, inuse_objects = 99,
      alloc_bytes = 2000 } }, collections = {}, held = {}, survivors = {},
    course = {}, timeline = {}, info = { wall = 20, cpu = 20 },
    heap = { inuse = last, inuse_start = start, alloc_bytes = 2000 },
    collected = true }
  function p:is_before() return false end
  for i = 1, 20 do
    p.collections[i] = { wall = i, allocated = i * 100 }
    p.held[i] = { collection = i, row = 1, bytes = i * 100, objects = i,
      variance = 0 }
    p.course[i] = { wall = i, cpu = i, allocated = i * 100,
      inuse = start + (last - start) * i / 20 }
  end
  local g = leaks.groups(p, function() return "row" end)[1]
  return g.verdict..(g.why and " "..g.why or "")
end
tap.is(began_late(0, 2000), "grows", "a profile of all the run: it grows")
tap.is(began_late(5000, 7000), "grows", "of its last part: so does the heap")
tap.is(began_late(5000, 5300), "unclear before",
  "if not, it may have been replaced")

-- The reason of a verdict that is unclear: n collections by the time `last` of
-- 20 s, with that standard error; collected: and the full ones at the end.
local function reason(n, last, sd, collected)
  local p = { rows = { { state = "I", inuse_bytes = 2000, inuse_objects = 99,
      alloc_bytes = 2000 } }, collections = {}, held = {}, survivors = {},
    course = {}, timeline = {}, info = { wall = 20, cpu = 20 },
    heap = { inuse = 2000, inuse_start = 0, alloc_bytes = 2000,
      gc_cycles = n }, collected = collected }
  function p:is_before() return false end
  function p:namer() return function() return { "app.lua:7" } end end
  local function record(allocated, bytes)
    p.collections[#p.collections+1] = { wall = allocated / 100,
      allocated = allocated }
    p.held[#p.held+1] = { collection = #p.collections, row = 1, bytes = bytes,
      objects = 9, variance = (bytes * sd) ^ 2 }
  end
  for i = 1, n do record(i / n * last * 2000, i / n * last * 2000) end
  if collected then record(2000, 2000); record(2000, 2000) end
  return report(p, assert(options.parse("L")), {}):match("unclear:[^\n]*")
end
tap.is(reason(3, 0.75, 0), "unclear: in 20.0 s the program made 3 "..
  "collections, and most verdicts take 7 or more, which at this rate are "..
  "there after 46.7 s: profile for longer, or end the program by os.exit or "..
  "mp.stop, which collect all garbage first",
  "too few collections: how long it takes to have more")
tap.is(reason(0, 1, 0, true), "unclear: in 20.0 s the program made no "..
  "collection, and most verdicts take 7 or more: profile for longer",
  "none: no rate is known")
tap.like(reason(9, 0.4, 0), "^unclear: in 20.0 s the program made 9 "..
  "collections, too few of them in the last two thirds: profile for longer",
  "many, but too early")
tap.like(reason(20, 1, 1), "^unclear: what collections left rests on too few "..
  "samples, or rose and fell", "few samples")
tap.is(reason(20, 1, 0), nil, "a verdict needs no reason")

tap.done()
