-- SPDX-License-Identifier: MIT
-- Programs that do not leak: see leak-programs.lua. What they hold stops to
-- grow in the first two fifths of the run, or goes up and down.

local requests = require("work")
local work, compute = requests.work, requests.compute
local random = math.random

local programs = {}

-- Of the steps of the run; at least one.
local function part(n, share) return math.max(1, math.floor(n * share)) end

-- A share that differs from run to run.
local function between(low, high) return low + random() * (high - low) end

-- -- Caches ------------------------------------------------------------------

-- Fills up for 30% of the run; then each new entry takes a random one's place.
function programs.replacing_cache(n)
  local cache, size = {}, part(n, 0.3)
  for i = 1, n do
    local t = work(i)
    local slot = i <= size and i or random(size)
    cache[slot] = { t[2], i }
  end
  return cache
end

function programs.ring(n)
  local ring, size = {}, part(n, 0.1)
  for i = 1, n do
    local t = work(i)
    ring[i % size + 1] = { t[2], i }
  end
  return ring
end

-- The same without other garbage.
function programs.bare_ring(n)
  local ring, size = {}, part(n, between(0.05, 0.4))
  for i = 1, n do ring[i % size + 1] = { i, tostring(i) } end
  return ring
end

-- A hash with a list in order of use; keys are asked for unevenly.
function programs.least_recently_used(n)
  local size = math.max(2, math.floor(n * 0.05))
  local by_key, first, last, count = {}, {}, {}, 0
  first.next, last.prev = last, first
  local function unlink(e) e.prev.next, e.next.prev = e.next, e.prev end
  local function put_first(e)
    e.next, e.prev = first.next, first
    first.next.prev, first.next = e, e
  end
  for i = 1, n do
    local t = work(i)
    local key = math.floor(random() ^ 2 * size * 4)
    local e = by_key[key]
    if e then
      unlink(e)
    else
      e = { key = key, value = t[2] }
      by_key[key] = e
      count = count + 1
      if count > size then
	local old = last.prev
	unlink(old)
	by_key[old.key] = nil
	count = count - 1
      end
    end
    put_first(e)
  end
  return by_key
end

-- Entries leave in the order in which they came.
function programs.expiring(n)
  local queue, first, age = {}, 1, part(n, between(0.05, 0.3))
  for i = 1, n do
    queue[i] = { value = tostring(i), at = i }
    if i - first >= age then
      queue[first] = nil
      first = first + 1
    end
  end
  return queue
end

-- Results for a few thousand keys, asked for at random.
function programs.memoized(n)
  local cache, keys = {}, part(n, 0.02)
  for i = 1, n do
    local t, key = work(i), "key"..random(keys)
    cache[key] = cache[key] or { t[2] }
  end
  return cache
end

function programs.weak_cache(n)
  local cache = setmetatable({}, { __mode = "v" })
  for i = 1, n do cache[i % 5000] = work(i) end
  return cache
end

-- -- What is emptied ---------------------------------------------------------

function programs.cleared(n)
  local list, size = {}, part(n, between(0.03, 0.3))
  for i = 1, n do
    if #list == size then list = {} end
    list[#list+1] = { i, tostring(i) }
  end
  return list
end

function programs.cleared_set(n)
  local seen, count, size = {}, 0, part(n, between(0.03, 0.3))
  for i = 1, n do
    if count == size then seen, count = {}, 0 end
    compute(i)
    seen[i * 7] = true
    count = count + 1
  end
  return seen
end

function programs.bursts(n)
  local kept, period = {}, part(n, between(0.05, 0.2))
  for i = 1, n do
    local t, at = work(i), i % period
    if at == 0 then kept = {} end
    if at < period / 3 then kept[#kept+1] = { t[2], i } end
  end
  return kept
end

function programs.swapped(n)
  local front, back, size = {}, {}, part(n, between(0.02, 0.15))
  for i = 1, n do
    back[#back+1] = { work(i)[2] }
    if #back == size then front, back = back, {} end
  end
  return { front, back }
end

function programs.built_text(n)
  local parts, size, text = {}, part(n, between(0.03, 0.2)), nil
  for i = 1, n do
    parts[#parts+1] = "a line "..i
    if #parts == size then
      text, parts = #table.concat(parts, "\n"), {}
    end
  end
  return { parts, text }
end

-- Documents are made and dropped; the last ten stay.
function programs.documents(n)
  local last, size = {}, part(n, 0.005)
  for i = 1, n / size do
    local tree = {}
    for k = 1, size do
      compute(k)
      tree[k] = { name = "node"..k, i }
    end
    last[i % 10 + 1] = tree
  end
  return last
end

-- Objects that are used again; how many are out at a time goes up and down.
function programs.pool(n)
  local free, out, size = {}, {}, math.max(4, math.floor(n * 0.05))
  for i = 1, n do
    work(i)
    local wanted = size * (0.5 + 0.5 * math.sin(i / n * 40))
    if #out < wanted then
      out[#out+1] = table.remove(free) or { i, buffer = {} }
    elseif #out > 0 then
      free[#free+1] = table.remove(out)
    end
  end
  return { free, out }
end

-- A queue whose length goes up and down at random.
function programs.queue(n)
  local queue, most = {}, part(n, 0.05)
  for i = 1, n do
    local t = work(i)
    if random(most) > #queue then
      queue[#queue+1] = { t[2], i }
    else
      queue[#queue] = nil
    end
  end
  return queue
end

-- -- What was made at the start ----------------------------------------------

function programs.warm_up(n)
  local built, size = {}, part(n, between(0.1, 0.35))
  for i = 1, n do
    local t = work(i)
    if i <= size then built[#built+1] = { t[2], i } end
  end
  return built
end

-- Data for a computation that allocates nothing.
function programs.computation(n)
  local data, sum = {}, 0
  for i = 1, part(n, 0.3) do data[i] = { i, tostring(i) } end
  for k = 1, 150 do
    for i = 1, #data do sum = sum + math.sin(data[i][1] * k) end
  end
  return { data, sum }
end

-- Data for one that makes a little garbage.
function programs.with_garbage(n)
  local data, sum, text = {}, 0, nil
  for i = 1, part(n, 0.3) do data[i] = { i, tostring(i) } end
  for k = 1, 150 do
    for i = 1, #data do
      sum = sum + math.sin(data[i][1] * k)
      if i % 30 == 0 then text = { i } end
    end
  end
  return { data, sum, text }
end

function programs.working_set(n)
  local set, size = {}, part(n, 0.02)
  for i = 1, size do set[i] = { i } end
  for i = 1, n do set[random(size)][1] = work(i)[1] end
  return set
end

function programs.histogram(n)
  local counts, keys = {}, part(n, between(0.01, 0.05))
  for i = 1, n do
    local key = (work(i).x * 7919) % keys
    counts[key] = (counts[key] or 0) + 1
  end
  return counts
end

return programs
