-- SPDX-License-Identifier: MIT
-- Programs that keep more with each step, to the end: see leak-programs.lua.

local ffi = require("ffi")
local requests = require("work")
local work, compute = requests.work, requests.compute
local random = math.random

local programs = {}

-- -- Beside garbage ----------------------------------------------------------

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

function programs.seldom(n)
  local kept = {}
  for i = 1, n do
    local t = work(i)
    if random(50) == 1 then kept[#kept+1] = t end
  end
  return kept
end

-- Data that is loaded first, and a leak.
function programs.beside_data(n)
  local data, kept = {}, {}
  for i = 1, n * 0.2 do data[i] = { i, i } end
  for i = 1, n do
    local t = work(i)
    if i % 3 == 0 then kept[#kept+1] = t end
  end
  return { data, kept }
end

-- In twenty bursts, with garbage between.
function programs.in_bursts(n)
  local kept, burst = {}, math.max(1, math.floor(n / 20))
  for i = 1, n do
    local t = work(i)
    if i % burst < burst / 4 then kept[#kept+1] = { t[2] } end
  end
  return kept
end

function programs.listeners(n)
  local emitter = { handlers = {} }
  local function subscribe(f) table.insert(emitter.handlers, f) end
  for i = 1, n do
    local t = work(i)
    if i % 8 == 0 then subscribe(function() return t.x end) end
  end
  return emitter
end

-- -- With little garbage, or without -----------------------------------------

function programs.plain(n)
  local k = {}
  for i = 1, n do k[#k+1] = { i, tostring(i) } end
  return k
end

-- Ids that were seen; the answers are garbage.
function programs.seen(n)
  local seen = {}
  local function handle(id)
    if not seen[id] then seen[id] = true end
    return ("response %d"):format(id)
  end
  local sum = 0
  for i = 1, n do sum = sum + #handle(i * 7) end
  return seen, sum
end

function programs.ids(n)
  local seen = {}
  for i = 1, n do
    compute(i)
    seen[i * 7] = true
  end
  return seen
end

function programs.numbers(n)
  local list = {}
  for i = 1, n do
    compute(i)
    list[#list+1] = i
  end
  return list
end

function programs.linked(n)
  local list
  for i = 1, n do
    compute(i)
    list = { next = list, value = i }
  end
  return list
end

function programs.half(n)
  local kept = {}
  for i = 1, n do
    local t = { i, tostring(i) }
    if i % 2 == 0 then kept[#kept+1] = t end
  end
  return kept
end

function programs.lines(n)
  local log = {}
  for i = 1, n do log[#log+1] = "line "..i.." of the log" end
  return log
end

function programs.sessions(n)
  local sessions = {}
  for i = 1, n do
    local user = "user"..random(math.ceil(i / 10))
    local s = sessions[user] or { visits = {} }
    sessions[user] = s
    s.visits[#s.visits+1] = { page = i % 10, at = i }
  end
  return sessions
end

function programs.cdata(n)
  local kept = {}
  for i = 1, n do
    compute(i)
    kept[i] = ffi.new("double[4]", i)
  end
  return kept
end

return programs
