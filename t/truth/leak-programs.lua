-- SPDX-License-Identifier: MIT
-- Twelve programs whose memory is known to leak or not to leak:
--   luajit leak-programs.lua NAME STEPS [SEED]
-- A step is a request: it makes some garbage and does what the name says. At
-- 200,000 steps a program runs for about a second.

local name, steps, seed = arg[1], tonumber(arg[2]), tonumber(arg[3] or 1)
math.randomseed(seed)
local random = math.random

-- Garbage of a request: a table, a string, a closure.
local sink
local function work(i)
  local t = { i, tostring(i * 7), x = i }
  sink = function() return t end
  return t
end

local programs = {}

-- -- Leaks -----------------------------------------------------------------

function programs.keyed_cache(n)
  local cache = {}
  for i = 1, n do
    local t = work(i)
    if i % 4 == 0 then cache["key"..i] = { t[2] } end
  end
  return cache
end

function programs.closure_chain(n)
  local chain
  local function link(previous)
    return function() return previous end
  end
  for i = 1, n do
    work(i)
    if i % 4 == 0 then chain = link(chain) end
  end
  return chain
end

function programs.coroutines(n)
  local parked = {}
  for i = 1, n do
    work(i)
    if i % 50 == 0 then
      local co = coroutine.create(function(a) coroutine.yield(a) end)
      coroutine.resume(co, i)
      parked[#parked+1] = co
    end
  end
  return parked
end

function programs.key_set(n)
  local seen = {}
  for i = 1, n do
    work(i)
    seen[i * 7919] = true
  end
  return seen
end

function programs.array(n)
  local log = {}
  for i = 1, n do
    work(i)
    log[#log+1] = i
  end
  return log
end

function programs.appended_string(n)
  local text = ""
  for i = 1, n do
    work(i)
    if i % 40 == 0 then text = text.."a line of the log, as it is kept\n" end
  end
  return text
end

function programs.userdata(n)
  local proxies = {}
  for i = 1, n do
    work(i)
    if i % 4 == 0 then proxies[#proxies+1] = newproxy() end
  end
  return proxies
end

-- -- No leaks --------------------------------------------------------------

-- Fills up for 30% of the run; then each new entry takes a random one's place.
function programs.replacing_cache(n)
  local cache, size = {}, math.max(1, math.floor(n * 0.3))
  for i = 1, n do
    local t = work(i)
    local slot = i <= size and i or random(size)
    cache[slot] = { t[2], i }
  end
  return cache
end

function programs.ring(n)
  local ring, size = {}, math.max(1, math.floor(n * 0.1))
  for i = 1, n do
    local t = work(i)
    ring[i % size + 1] = { t[2], i }
  end
  return ring
end

function programs.warm_up(n)
  local built = {}
  for i = 1, n do
    local t = work(i)
    if i <= n * 0.25 then built[#built+1] = { t[2], i } end
  end
  return built
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

local kept = programs[name](steps)
if arg[4] == "exit" then os.exit(0) end
return kept
