-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Verdicts on the memory of a profile: does it grow, from collection to
-- collection?
----------------------------------------------------------------------------
--
-- The evidence is a series: the bytes of a group of rows that each collection
-- left alive. Garbage that waits for the next collection is not included, and
-- the age of a block plays no part: a table that grows is a new block each
-- time. Garbage that is made while a collection marks is left alive, however,
-- so that such a record is an upper bound. Only the full collections at the end
-- leave no garbage at all: they tell what is held at last, and are compared
-- with upper bounds alone.
--
-- A group grows if it holds more at the end of the series than in the middle of
-- the run, by more than DOUBT standard errors of the difference and by more
-- than RISE of what it holds, and if more of the later records rise than fall.
-- Growth at the start is not evidence: programs warm up and caches fill. Nor is
-- growth of what was emptied before, or was larger before: a cache that is
-- emptied when it is full grows, too, until it is. Nor is growth of what is
-- replaced, whose objects are from late in the run. One step is not growth: the
-- program may have made permanent data at that moment.
--
-- A program that makes little garbage is collected only each time its heap has
-- doubled, or never. Then the curve of what was in use is evidence, which is an
-- upper bound at any time: a group grows if more is held at the end than was
-- ever in use in the first part of the run, by the bytes that the program
-- allocated and by its CPU time, and if it has come to that gradually.
--
-- A group is flat if such growth can be excluded: because its samples have been
-- the same ones since early in the run, because it has hardly allocated
-- anything since, or because the collections left as much in the middle of the
-- run as at its end, even without the garbage that they may have left.
-- Otherwise, and without enough collections, it is unclear.
--
-- C memory has records of its own: of all that is in use, at moments spread
-- over what is allocated. The collector does not count that memory, but
-- finalizers may free it, so that a part of a record may be garbage. If there
-- were two full collections at the end, no record counts for more than they
-- left; else only the lowest record between two collections counts, and few of
-- these prove nothing. What was freed by the end of the run is not a leak: no
-- record counts for more than is in use then.
--
-- The clock is the number of bytes that the program has allocated, which stands
-- still while the program waits. Where the CPU time is known, the records have
-- to tell the same by that clock: data that is loaded at the start of a long
-- computation may be all that is allocated.
--
-- Where a profile began in the middle of a run, memory from before it may only
-- have been replaced: nothing grows if the whole heap does not.
--
-- The collector's own memory, such as its table of strings, grows with that of
-- the program, and has no verdict of growth.
--
----------------------------------------------------------------------------

local EARLY = 0.35 -- Before this part of the series it is too early to judge.
local MIDDLE = 0.6 -- The middle of the run ends there,
local LATE = 0.8 -- and its end begins there.
local RECENT = 0.5 -- Of the run: the last collection must be after it.
local FIRST = 0.45 -- The first part of the run: a table that grows steadily
  -- has doubled for the last time after the half of it.
local POINTS = 3 -- Of the timeline in that part,
local MANY = 6 -- and if most of what was allocated has been freed.
local GRADUAL = 0.15 -- Part of the run in which growth goes from
local LITTLE = 0.3 -- this part of what is held
local MOST = 0.9 -- to that one.
local BORN = 0.3 -- Of a steady leak, half of the run is the mean time of birth.
local SEVERAL = 30 -- Objects whose mean time of birth tells something.
local KEPT = 0.95 -- A group with so much of what it allocated keeps it all.
local DOUBT = 2.5 -- Standard errors that chance seldom makes.
local RISE = 0.15 -- Smallest growth, as a part of what is held.
local LEAK = 0.35 -- A steady leak grows by more from the middle to the end.
local TREND = 0.3 -- Smallest part of pairs that rise, less those that fall.
local DENSE = 4 -- Records after EARLY at least,
local ENOUGH = math.ceil(DENSE / (1 - EARLY)) -- which so many have, if evenly
  -- spread.
local SAME = 0.001 -- Of the run: records as close are of one moment.
local CHANCE = 0.05 -- A leak whose samples are all from early on is rarer.

-- -- Records of collections --------------------------------------------------

local function median(list)
  table.sort(list)
  local n = #list
  return (list[math.ceil(n / 2)] + list[math.floor(n / 2) + 1]) / 2
end

-- Median of the values of a series from one time to another, and the largest
-- variance among them; nil: there is no value.
local function level(times, series, from, to)
  local bytes, variance = {}, 0
  for i, t in ipairs(times) do
    if t >= from and t <= to then
      bytes[#bytes+1] = series.bytes[i]
      variance = math.max(variance, series.variance[i])
    end
  end
  if #bytes > 0 then return median(bytes), variance end
end

-- Kendall's tau: pairs of records that rise less those that fall, as a part of
-- all pairs that differ.
local function trend(times, series, from)
  local n, unequal, first = #times, 0
  for i, t in ipairs(times) do
    if t >= from then first = first or i end
  end
  local sum = 0
  for i = first, n do
    for k = i + 1, n do
      local d = series.bytes[k] - series.bytes[i]
      sum = sum + (d > 0 and 1 or d < 0 and -1 or 0)
      if d ~= 0 then unequal = unequal + 1 end
    end
  end
  return unequal > 0 and sum / unequal or 0
end

-- Whether there is more at the end of a series than before; nil: there may be.
local function rises(low, low_variance, high, high_variance)
  local rise = high - low
  local doubt = DOUBT * math.sqrt(low_variance + high_variance)
  if rise > RISE * high and rise > doubt then return true end
  if rise + doubt < LEAK * high then return false end
end

-- Whether a leak can be excluded since the objects have been the same ones from
-- early on, through several collections. Of a steady leak all k samples are
-- from the first part f of the run with probability f^k. A sample that is
-- certain counts for one, too: a block that grows is replaced each time.
local function unchanged(times, series)
  local n = #times
  local held, first = series.bytes[n], n
  while first > 1 and math.abs(series.bytes[first-1] - held) < 1e-6 * held do
    first = first - 1
  end
  local early = times[first] / times[n]
  if n - first + 1 < DENSE or early > EARLY then return false end
  local last = series.last
  if last and math.abs(last.bytes - held) > 1e-6 * held then return false end
  local samples = math.min(series.count[n],
    held ^ 2 / math.max(series.variance[n], 1))
  return early ^ samples < CHANCE
end

-- Whether a series rises more than once.
local function climbs(series)
  local n = 0
  for i = 2, #series.bytes do
    if series.bytes[i] > series.bytes[i-1] * (1 + 1e-6) then n = n + 1 end
  end
  return n > 1
end

-- Whether the program has emptied it once: it held half of what it had held, or
-- less.
local function was_emptied(series)
  local most, most_variance = 0, 0
  for i, bytes in ipairs(series.bytes) do
    local doubt = DOUBT * math.sqrt(most_variance + series.variance[i])
    if bytes < most / 2 and most - bytes > doubt then return true end
    if bytes > most then most, most_variance = bytes, series.variance[i] end
  end
  return false
end

-- Whether a record is smaller than an earlier one by more than RISE, or what is
-- held is. Of small ones, as a part of what is held, that does not count.
local function has_fallen(series, held)
  local most = 0
  for _, bytes in ipairs(series.bytes) do
    if bytes < (1 - RISE) * most and most > RISE * held then return true end
    most = math.max(most, bytes)
  end
  return held < (1 - RISE) * most
end

-- Whether it held more than that at that time, or before.
local function held_more(times, series, time, bytes)
  for i, t in ipairs(times) do
    if t <= time and series.bytes[i] > bytes * (1 + 1e-6) then return true end
  end
  return false
end

-- Whether a series that does not rise tells that nothing grows; `low` and
-- `high` are its levels in the middle and at the end.
local function stays(series, low, low_variance, high)
  local last, left = series.last, series.left or 0
  if last then
    if rises(low, low_variance, last.bytes, last.variance) ~= false then
      return false
    end
    left, high = math.max(high - last.bytes, 0), last.bytes
  end
  return low - left > (1 - LEAK) * high
end

-- Whether `low` bytes that were held in the middle have been replaced since:
-- the objects that are held are from late in the run, which ends at time `n`.
-- Of a few objects that tells nothing: a block that grows is a new one each
-- time.
local function is_replaced(series, n, low)
  local last = #series.bytes
  return series.born and series.born > (1 - BORN) * n and
    series.count[last] >= SEVERAL and low > LITTLE * series.bytes[last]
end

local function grows_dense(times, series)
  local n = times[#times]
  local low, low_variance = level(times, series, EARLY * n, MIDDLE * n)
  local high, high_variance = level(times, series, LATE * n, n)
  if not low then return nil end
  local up = rises(low, low_variance, high, high_variance)
  if up == false and stays(series, low, low_variance, high) then
    return false
  elseif not up or trend(times, series, EARLY * n) <= TREND or
      not climbs(series) or was_emptied(series) or
      held_more(times, series, MIDDLE * n, high) or
      is_replaced(series, n, low) or
      series.last and series.last.bytes <= low then
    return nil
  end
  return true
end

local function count_from(times, from)
  local n = 0
  for _, t in ipairs(times) do
    if t >= from then n = n + 1 end
  end
  return n
end

-- -- The curve of what was in use --------------------------------------------

-- The most that was in use in the first part of the run, by the curve and by
-- the records; clock and times: theirs, from 0 to 1.
local function most_before(curve, clock, first, series, times)
  local before = 0
  for i, bytes in ipairs(curve.inuse) do
    if clock[i] <= first then before = math.max(before, bytes) end
  end
  for i, t in ipairs(times) do
    if t <= FIRST then before = math.max(before, series.bytes[i]) end
  end
  return before
end

-- Whether so much was reached gradually, by CPU time.
local function is_gradual(curve, held)
  local little, most = 0, 0
  for i, t in ipairs(curve.by_cpu) do
    local till = math.min(curve.till[i] or t, 1)
    if curve.inuse[i] <= LITTLE * held then little = till end
    if curve.inuse[i] < MOST * held then most = till end
  end
  return most - little >= GRADUAL
end

-- Whether hardly anything was allocated after the first part of the run.
local function rests(curve, clock, held)
  local by_then, all = 0, curve.allocated[#curve.allocated]
  for i, bytes in ipairs(curve.allocated) do
    if clock[i] <= FIRST then by_then = bytes end
  end
  return all - by_then < RISE * held
end

-- Whether the first part of the run has enough points. Where much is freed,
-- more of it may have been held between two of them.
local function has_points(curve, held)
  local allocated = curve.allocated[#curve.allocated]
  return curve.points >= (held < allocated / 2 and MANY or POINTS)
end

-- Whether at no collection up to the middle of the run so much was held as is
-- at the end, whose objects are from all of the run: a cache that was emptied
-- or is replaced has later ones, and data for all of the run earlier ones.
local function outlives(series)
  local last, born, seen = series.last, series.born, false
  if not (last and born and born >= BORN and born <= 1 - BORN) or
      series.curve and not has_points(series.curve, last.bytes) or
      has_fallen(series, last.bytes) then
    return false
  end
  for i, t in ipairs(series.by_bytes) do
    local rise = last.bytes - series.bytes[i]
    local doubt = DOUBT * math.sqrt(last.variance + series.variance[i])
    if t <= MIDDLE then
      if rise <= RISE * last.bytes or rise <= doubt then return false end
      seen = seen or t >= BORN
    end
  end
  return seen
end

-- -- The rule ----------------------------------------------------------------

-- Whether the curve of a group tells that it grows; nil: it does not tell.
local function grows_by_curve(series)
  local curve, n = series.curve, #series.bytes
  local last = series.last or series.kept or { bytes = series.bytes[n],
    variance = series.variance[n] }
  if not (curve and last.bytes and last.bytes > 0) then return nil end
  local before = math.max(
    most_before(curve, curve.by_bytes, FIRST, series, series.by_bytes),
    most_before(curve, curve.by_cpu, curve.first, series, series.by_cpu))
  local rise = last.bytes - before
  local least = (series.last and RISE or LEAK) * last.bytes
  if has_points(curve, last.bytes) and rise > least and
      rise > DOUBT * math.sqrt(last.variance) and
      is_gradual(curve, last.bytes) and not has_fallen(series, last.bytes) then
    return true
  elseif series.last and rests(curve, curve.by_bytes, last.bytes) and
      rests(curve, curve.by_cpu, last.bytes) then
    return false
  end
end

-- Whether there are enough records, and the last one is late enough.
local function are_enough(times)
  local n = #times
  return n > 0 and times[n] >= RECENT and
    count_from(times, EARLY * times[n]) >= DENSE
end

-- Whether the records tell that a series grows; nil: they do not tell.
local function grows_by_records(times, series)
  local n = #times
  if n == 0 or times[n] < RECENT then return nil end
  if unchanged(times, series) then return false end
  if are_enough(times) then return grows_dense(times, series) end
end

-- Whether a series grows; nil: that is unclear. The series has bytes, variance
-- and count (of objects), lists of one number for each record, by_bytes, the
-- times of records from 0 to 1, by the bytes allocated, and, if known:
--   by_cpu    the times by CPU time,
--   last      bytes and variance of what is held at the end, without garbage,
--   kept      the same, if nothing has ever been freed,
--   born      the mean of the times when what is held was allocated,
--   left      most garbage that a collection may have left,
--   curve     inuse and allocated, lists of bytes, and by_bytes and by_cpu,
--             their times; till: the last CPU time before the next point;
--             first: the end of the first part by CPU time, and points: how
--             many points of the timeline that part has.
local function grows(series)
  local times, cpu = series.by_bytes, series.by_cpu
  local n, answer = #times, nil
  if series.last or series.kept or n > 0 and times[n] >= RECENT then
    answer = grows_by_curve(series)
  end
  if answer == nil and outlives(series) then answer = true end
  if answer ~= nil then return answer end
  answer = grows_by_records(times, series)
  if cpu and answer ~= grows_by_records(cpu, series) then return nil end
  return answer
end

-- -- Groups of rows ----------------------------------------------------------

local function new_group(name, n)
  local g = { name = name, inuse = 0, objects = 0, births = 0,
    survivors = 0, bytes = {}, variance = {}, count = {} }
  for i = 1, n do g.bytes[i], g.variance[i], g.count[i] = 0, 0, 0 end
  return g
end

-- Adds to each group the bytes that its rows have in use, and the ages of their
-- objects that a collection has left alive. Of memory from before the profile
-- nothing is known but its size.
local function add_inuse(p, group)
  for _, row in ipairs(p.rows) do
    if row.inuse_bytes > 0 and not p:is_before(row) then
      local g = group(row)
      g.inuse = g.inuse + row.inuse_bytes
      g.of_program = g.of_program or row.state ~= "G"
      g.objects = g.objects + row.inuse_objects
    end
  end
  for _, s in ipairs(p.survivors) do
    local g = group(p.rows[s.row])
    g.births = g.births + s.births
    g.survivors = g.survivors + s.objects
  end
end

-- The collections that the program made itself: all but those at the end.
local function own_records(p)
  local list = p.collections
  local n = #list
  while p.collected and not p.is_native and n > 0 and
      list[n].allocated > (1 - SAME) * list[#list].allocated do
    n = n - 1
  end
  return n
end

-- The end of the first part of the run by CPU time; where the timeline has no
-- point shortly before, that of its next point. Returns also how many points
-- the part has.
local function first_part(p, cpu)
  local seen = false
  for i, point in ipairs(p.course) do
    local t = point.cpu / cpu
    if t > FIRST then return seen and FIRST or t, i - 1 end
    seen = t > FIRST - GRADUAL
  end
  return FIRST, #p.course
end

-- The curve of each group of a profile.
local function add_curves(p, by, name)
  local key_of, now = {}, {}
  local cpu, stop = p.collected_after or p.info.cpu, p.heap.alloc_bytes
  if cpu <= 0 or stop <= 0 then return end
  local first, points = first_part(p, cpu)
  for i, row in ipairs(p.rows) do
    key_of[i], now[i] = name(row), 0
  end
  for _, change in ipairs(p.timeline) do
    local g, point = by[key_of[change.row]], p.course[change.point]
    if g then
      local c = g.curve or { at = {}, inuse = {}, allocated = {},
	by_bytes = {}, by_cpu = {}, till = {}, first = first, points = points }
      local n = #c.at
      if c.at[n] ~= point then
	n = n + 1
	c.at[n], c.inuse[n] = point, c.inuse[n-1] or 0
	c.allocated[n] = c.allocated[n-1] or 0
	c.by_bytes[n], c.by_cpu[n] = point.allocated / stop, point.cpu / cpu
	local before = p.course[change.point-1]
	c.till[n-1] = before and before.cpu / cpu
      end
      c.inuse[n] = c.inuse[n] + change.inuse_bytes - now[change.row]
      c.allocated[n] = c.allocated[n] + change.alloc_bytes
      now[change.row], g.curve = change.inuse_bytes, c
    end
  end
end

-- The most garbage that a group's last record may have: as much as it allocated
-- since the record before.
local function most_left(p, curve, n)
  if not curve or n < 2 then return 0 end
  local function allocated(time)
    local bytes = 0
    for i, point in ipairs(curve.at) do
      if point.allocated <= time then bytes = curve.allocated[i] end
    end
    return bytes
  end
  return allocated(p.collections[n].allocated) -
    allocated(p.collections[n-1].allocated)
end

-- Whether the last collection was the first one to leave anything.
local function came_last(g)
  for i = 1, #g.bytes - 1 do
    if g.bytes[i] > 0 then return false end
  end
  return true
end

-- No record counts for more bytes than this.
local function cap(g, most)
  for i, bytes in ipairs(g.bytes) do g.bytes[i] = math.min(bytes, most) end
end

-- The times of the first n records, from 0 to 1: by the bytes allocated, and by
-- CPU time.
local function times_of(p, n)
  local by_bytes, by_cpu, k = {}, {}, 1
  local cpu = p.collected_after or p.info.cpu
  local stop = p.allocated or p.heap.alloc_bytes
  for i = 1, n do
    local record = p.collections[i]
    while k < #p.course and p.course[k].wall < record.wall do k = k + 1 end
    by_bytes[i] = record.allocated / stop
    by_cpu[i] = p.course[k] and math.min(p.course[k].cpu / cpu, 1)
  end
  return by_bytes, not p.is_native and #p.course > 0 and cpu > 0 and by_cpu or
    nil
end

-- The mean of the times when the objects of a group were allocated, from 0 to
-- 1, by CPU time or by the clock on the wall: the one that is farther from the
-- middle. nil: it is not known.
local function born(p, g)
  local stop = p.collected_after or p.info.cpu
  if g.survivors <= 0 or stop <= 0 then return nil end
  local wall, last, cpu = g.births / g.survivors, { wall = 0, cpu = 0 }, nil
  for _, point in ipairs(p.course) do
    if point.cpu > stop then break end
    if not cpu and point.wall >= wall then
      local part = (wall - last.wall) / math.max(point.wall - last.wall, 1e-9)
      cpu = (last.cpu + part * (point.cpu - last.cpu)) / stop
    end
    last = point
  end
  local share = last.wall > 0 and wall / last.wall
  if not (cpu and share) then return nil end
  return math.abs(cpu - 0.5) > math.abs(share - 0.5) and cpu or share
end

-- All that is in use at the end, if the group has most of what it has ever
-- allocated, and several collections have freed nothing.
local function kept(g, n)
  local curve = g.curve
  local last = curve and #curve.at
  if not last or n < DENSE or curve.inuse[last] < KEPT *
      curve.allocated[last] then
    return nil
  end
  return { bytes = curve.inuse[last], variance = g.variance[n] *
    (curve.inuse[last] / math.max(g.bytes[n], 1)) ^ 2 }
end

-- The series of a group as the rule takes it: the first n of its records.
local function evidence(p, g, n)
  local all = #p.collections
  local s = { bytes = {}, variance = {}, count = {}, curve = g.curve }
  s.by_bytes, s.by_cpu = times_of(p, n)
  s.born = born(p, g)
  for i = 1, n do
    s.bytes[i], s.variance[i], s.count[i] = g.bytes[i], g.variance[i],
      g.count[i]
  end
  if n < all then
    s.last = { bytes = g.bytes[all], variance = g.variance[all] }
  elseif not p.is_native then
    s.left, s.kept = most_left(p, g.curve, n), kept(g, n)
  end
  return s
end

-- The verdict, and where it is unclear, why.
local function verdict(p, g, own)
  if p.is_native and g.inuse == 0 then return "flat" end
  if g.held < 0.1 * g.inuse then return "new" end
  local series = evidence(p, g, own)
  local answer = grows(series)
  if answer and g.of_program then return "grows" end
  if #p.collections >= DENSE and came_last(g) then return "new" end
  if answer == false then return "flat" end
  return "unclear", answer and "own" or
    not (are_enough(series.by_bytes) and
      are_enough(series.by_cpu or series.by_bytes)) and "few" or "doubt"
end

-- Whether groups may only have taken the place of memory from before the
-- profile, since the whole heap did not grow by half of what they hold.
local function have_replaced(p, list)
  local start, held = p.heap.inuse_start or 0, 0
  local low, last = math.huge, math.huge
  for _, g in ipairs(list) do
    if g.verdict == "grows" then held = held + g.held end
  end
  if start < RISE * held then return false end
  local cpu = p.collected_after or p.info.cpu
  for _, point in ipairs(p.course) do
    if point.cpu <= FIRST * cpu then low = math.min(low, point.inuse) end
    if point.cpu >= LATE * cpu then last = math.min(last, point.inuse) end
  end
  if p.collected then last = p.heap.inuse end
  return last - math.min(low, start) < held / 2
end

-- Groups the rows of a profile by name(row). Returns a list of groups:
--   name; inuse, objects: bytes and objects in use,
--   held: bytes in use that the last collection left alive,
--   new: bytes in use that no collection has come to yet,
--   age: mean age in seconds of objects that a collection left alive, or nil,
--   bytes, variance, count: the series, one number for each of p.collections,
--   verdict: "grows", "flat", "new" or "unclear",
--   why: where it is unclear: "few" collections; there is "doubt" of the
--        amounts; memory from "before" the profile may only have been replaced;
--        or it is the collector's "own" memory.
-- Returns besides how many collections the program has made itself.
local function groups(p, name)
  local list, by, n = {}, {}, #p.collections
  local function group(row)
    local key = name(row)
    if not by[key] then
      by[key] = new_group(key, n)
      list[#list+1] = by[key]
    end
    return by[key]
  end
  add_inuse(p, group)
  for _, h in ipairs(p.held) do
    local g, i = group(p.rows[h.row]), h.collection
    g.bytes[i] = g.bytes[i] + h.bytes
    g.variance[i] = g.variance[i] + h.variance
    g.count[i] = g.count[i] + h.objects
  end
  local own = own_records(p)
  if not p.is_native then add_curves(p, by, name) end
  for _, g in ipairs(list) do
    if p.capped then cap(g, g.bytes[#g.bytes] or 0) end
    if p.is_native then cap(g, g.inuse) end
    g.held = math.min(g.bytes[n] or 0, g.inuse)
    g.new = g.inuse - g.held
    if g.survivors > 0 then
      g.age = math.max(0, p.info.wall - g.births / g.survivors)
    end
    g.verdict, g.why = verdict(p, g, own)
  end
  if not p.is_native and have_replaced(p, list) then
    for _, g in ipairs(list) do
      if g.verdict == "grows" then g.verdict, g.why = "unclear", "before" end
    end
  end
  return list, own
end

-- -- C memory ----------------------------------------------------------------

-- The records that are the lowest between two collections: a table from their
-- numbers to new ones.
local function lowest_records(p)
  local total, best, k = {}, {}, 0
  for i = 1, #p.native_records do total[i] = 0 end
  for _, h in ipairs(p.native_held) do
    total[h.collection] = total[h.collection] + h.bytes
  end
  for i, record in ipairs(p.native_records) do
    local next = p.collections[k+1]
    while next and next.wall <= record.wall do
      k = k + 1
      next = p.collections[k+1]
    end
    if k > 0 and not (best[k] and total[best[k]] <= total[i]) then
      best[k] = i
    end
  end
  local number, n = {}, 0
  for c = 1, k do
    if best[c] then
      n = n + 1
      number[best[c]] = n
    end
  end
  return number
end

-- The records that have a new number, and what they hold.
local function chosen(p, number)
  local records, held = {}, {}
  for i, record in ipairs(p.native_records) do
    if number[i] then records[number[i]] = record end
  end
  for _, h in ipairs(p.native_held) do
    local to = number[h.collection]
    if to then
      held[#held+1] = { collection = to, row = h.row, bytes = h.bytes,
	objects = h.objects, variance = h.variance }
    end
  end
  return records, held
end

-- The C memory of a profile as a profile for `groups`; nil: there is none.
local function native(p)
  if not (p.native_records and p.native_held and p.collections) then return end
  local rows, records, held = {}, p.native_records, p.native_held
  for i, row in ipairs(p.rows) do
    rows[i] = setmetatable({ inuse_bytes = row.native_inuse_bytes or 0,
      inuse_objects = row.native_inuse_objects or 0 }, { __index = row })
  end
  if not p.collected then records, held = chosen(p, lowest_records(p)) end
  local last = p.native_records[#p.native_records]
  return setmetatable({ rows = rows, collections = records, held = held,
    survivors = {}, capped = p.collected, allocated = last and last.allocated,
    is_native = true }, { __index = p })
end

return { groups = groups, grows = grows, native = native, ENOUGH = ENOUGH }
