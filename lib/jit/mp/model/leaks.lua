-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Verdicts on the memory of a profile: does it grow, from collection to
-- collection?
----------------------------------------------------------------------------
--
-- The evidence is a series: the bytes of a group of rows that each collection
-- left alive. Garbage that waits for the next collection is not included, and
-- the age of a block plays no part: a table that grows is a new block each
-- time.
--
-- A group grows if it holds more at the end of the series than in the middle of
-- the run, by more than DOUBT standard errors of the difference and by more
-- than RISE of what it holds, and if more of the later records rise than fall.
-- Growth at the start is no evidence: programs warm up and caches fill. Nor is
-- growth of what was emptied before, or was larger before: a cache that is
-- emptied when it is full grows, too, until it is. A program that makes no
-- garbage is collected only each time its heap has doubled; then every one of
-- the last records has to be higher than the one before. One step is no growth:
-- the program may have made permanent data at that moment. A group is flat if
-- such growth can be excluded, for instance because its samples have been the
-- same ones since early in the run. Otherwise, and without enough collections,
-- it is unclear.
--
-- C memory has records of its own: of all that is in use, at moments spread
-- over what is allocated. The collector does not count that memory, but
-- finalizers may free it, so that a part of a record may be garbage. If there
-- were two full collections at the end, no record counts for more than they
-- left; else only the lowest record between two collections counts, and few of
-- these prove nothing. What was freed by the end of the run is no leak: no
-- record counts for more than is in use then.
--
-- The clock is the number of bytes that the program has allocated, which stands
-- still while the program waits.
--
----------------------------------------------------------------------------

local EARLY = 0.35 -- Before this part of the series it is too early to judge.
local MIDDLE = 0.6 -- The middle of the run ends there,
local LATE = 0.8 -- and its end begins there.
local RECENT = 0.5 -- Of the run: the last collection must be after it.
local DOUBT = 2.5 -- Standard errors that chance seldom makes.
local RISE = 0.15 -- Smallest growth, as a part of what is held.
local LEAK = 0.35 -- A steady leak grows by more from the middle to the end.
local TREND = 0.3 -- Smallest part of pairs that rise, less those that fall.
local DENSE = 4 -- Records after EARLY for the first rule,
local SPARSE = 5 -- and in all for the second.
local CHANCE = 0.05 -- A leak whose samples are all from early on is rarer.

-- -- The rule ----------------------------------------------------------------

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

-- Whether it held more than that at that time, or before.
local function held_more(times, series, time, bytes)
  for i, t in ipairs(times) do
    if t <= time and series.bytes[i] > bytes * (1 + 1e-6) then return true end
  end
  return false
end

local function grows_dense(times, series)
  local last = times[#times]
  local low, low_variance = level(times, series, EARLY * last, MIDDLE * last)
  local high, high_variance = level(times, series, LATE * last, last)
  if not low then return nil end
  local up = rises(low, low_variance, high, high_variance)
  if up then up = trend(times, series, EARLY * last) > TREND end
  if up and (not climbs(series) or was_emptied(series) or
      held_more(times, series, MIDDLE * last, high)) then
    return nil
  end
  return up
end

local function grows_sparse(times, series)
  local answer = true
  for i = #times - 2, #times do
    local up = rises(series.bytes[i-1], series.variance[i-1], series.bytes[i],
      series.variance[i])
    if up == false then return false end
    answer = answer and up
  end
  return answer and not was_emptied(series) or nil
end

local function count_from(times, from)
  local n = 0
  for _, t in ipairs(times) do
    if t >= from then n = n + 1 end
  end
  return n
end

-- Whether a series grows; nil: that is unclear.
-- times: when the records were made, ascending, by any clock; series: bytes,
-- variance and count (of objects), lists of one number for each, and
-- has_garbage, if a part of the bytes may be garbage; stop: the end of the run.
local function grows(times, series, stop)
  local n = #times
  if n == 0 or times[n] < RECENT * stop then return nil end
  if unchanged(times, series) then return false end
  if count_from(times, EARLY * times[n]) >= DENSE then
    return grows_dense(times, series)
  elseif n >= SPARSE and not series.has_garbage then
    return grows_sparse(times, series)
  end
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
      g.objects = g.objects + row.inuse_objects
    end
  end
  for _, s in ipairs(p.survivors) do
    local g = group(p.rows[s.row])
    g.births = g.births + s.births
    g.survivors = g.survivors + s.objects
  end
end

-- Whether the last collection was the first one to leave anything.
local function came_last(g)
  for i = 1, #g.bytes - 1 do
    if g.bytes[i] > 0 then return false end
  end
  return true
end

-- No record counts for more than so many bytes.
local function cap(g, most)
  for i, bytes in ipairs(g.bytes) do g.bytes[i] = math.min(bytes, most) end
end

local function verdict(p, times, g)
  if p.is_native and g.inuse == 0 then return "flat" end
  if g.held < 0.1 * g.inuse or #times >= DENSE and came_last(g) then
    return "new"
  end
  local answer = grows(times, g, p.allocated or p.heap.alloc_bytes)
  if answer == nil then return "unclear" end
  return answer and "grows" or "flat"
end

-- Groups the rows of a profile by name(row). Returns a list of groups:
--   name; inuse, objects: bytes and objects in use,
--   held: bytes in use that the last collection left alive,
--   new: bytes in use that no collection has come to yet,
--   age: mean age in seconds of objects that a collection left alive, or nil,
--   bytes, variance, count: the series, one number for each of p.collections,
--   verdict: "grows", "flat", "new" or "unclear".
local function groups(p, name)
  local list, by, times = {}, {}, {}
  for i, c in ipairs(p.collections) do times[i] = c.allocated end
  local function group(row)
    local key = name(row)
    if not by[key] then
      by[key] = new_group(key, #times)
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
  for _, g in ipairs(list) do
    if p.capped then cap(g, g.bytes[#g.bytes] or 0) end
    if p.is_native then cap(g, g.inuse) end
    g.has_garbage = p.is_native and not p.capped
    g.held = math.min(g.bytes[#times] or 0, g.inuse)
    g.new = g.inuse - g.held
    if g.survivors > 0 then
      g.age = math.max(0, p.info.wall - g.births / g.survivors)
    end
    g.verdict = verdict(p, times, g)
  end
  return list
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

return { groups = groups, grows = grows, native = native }
