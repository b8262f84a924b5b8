-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A program that watches itself while it is attached to: how long its thread
-- stood still, and whether its allocator, signal handlers and timers are what
-- they were.
----------------------------------------------------------------------------
--
--   luajit witness.lua KIND FILE
--
-- KIND is loop, alloc, sleep or coroutines. It runs until the file has gone,
-- and prints "right", the longest time in milliseconds between two looks at
-- the clock, and how much of that it did not wait for a processor.
--
-- In a host the module has `tick`, which is to be called very often, and
-- `result`.
--
----------------------------------------------------------------------------

local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long s, ns; } mp_time;
  typedef struct { mp_time every, left; } mp_timer;
  int clock_gettime(int, mp_time *);
  int getitimer(int, mp_timer *);
  int nanosleep(const mp_time *, mp_time *);
  int sigaction(int, const void *, void *);
  void *lua_getallocf(void *, void **);
]]
local C = ffi.C

local MONOTONIC = 1
local GAP = 2e-3           -- Seconds; a longer one is looked at.
local REFRESH = 5e-3       -- Seconds until the time of waiting is read again.
local SIGNALS = 64

local now = ffi.new("mp_time")
local function clock()
  C.clock_gettime(MONOTONIC, now)
  return tonumber(now.s) + tonumber(now.ns) * 1e-9
end

-- Seconds that the thread has waited for a processor so far.
local function waited()
  local f = io.open("/proc/thread-self/schedstat")
  if not f then return 0 end
  local text = f:read("*a")
  f:close()
  return tonumber(text:match("%d+ (%d+)")) * 1e-9
end

-- -- How long it stood still -------------------------------------------------

local last, last_read, last_waited
local longest, stopped = 0, 0

local function look(t)
  local w = waited()
  longest = math.max(longest, t - last)
  stopped = math.max(stopped, t - last - (w - last_waited))
  last_read, last_waited = t, w
end

local facts, before

local function tick()
  local t = clock()
  before = before or facts()
  if not last then
    last_read, last_waited = t, waited()
  elseif t - last > GAP or t - last_read > REFRESH then
    look(t)
  end
  -- Reading takes its time, too.
  last = last_read == t and clock() or t
end

-- -- What it is --------------------------------------------------------------

function facts()
  local data, action = ffi.new("void *[1]"), ffi.new("unsigned long[32]")
  local state = coroutine.create(function() end)
  local f = C.lua_getallocf(ffi.cast("void *", tonumber(tostring(state)
    :match("0x%x+"))), data)
  local list = { ("allocator %s %s"):format(tostring(f), tostring(data[0])) }
  for i = 1, SIGNALS do
    ffi.fill(action, ffi.sizeof(action))
    if C.sigaction(i, nil, action) == 0 then
      list[#list+1] = ("signal %d: %s"):format(i, tostring(action[0]))
    end
  end
  local timer = ffi.new("mp_timer")
  for i = 0, 2 do
    C.getitimer(i, timer)
    list[#list+1] = ("timer %d: %s %s"):format(i, tostring(timer.every.s),
      tostring(timer.every.ns))
  end
  return list
end

-- The first fact that is not as it was at the first tick, or nil.
local function compare()
  local after = facts()
  for i, fact in ipairs(before) do
    if after[i] ~= fact then return fact.." -> "..tostring(after[i]) end
  end
end

local function result()
  return ("%s %.2f %.2f"):format(compare() or "right", longest * 1e3,
    stopped * 1e3)
end

-- -- The programs ------------------------------------------------------------

local kinds = {}

function kinds.loop()
  local x = 0
  for i = 1, 2000 do x = x + i % 7 end
  assert(x == 6000, "another sum")
end

local keep = {}
function kinds.alloc()
  for i = 1, 50 do keep[i] = { i, name = "n"..i } end
  assert(keep[50].name == "n50", "another content")
end

local time = ffi.new("mp_time", 0, 1e5)
function kinds.sleep()
  assert(C.nanosleep(time, nil) == 0, "a sleep was cut short")
end

local tasks = {}
local function task(n)
  for i = 1, 20 do assert(coroutine.yield(i) == n, "another value") end
end
function kinds.coroutines()
  for n = 1, 20 do
    local co = tasks[n] or coroutine.create(task)
    tasks[n] = coroutine.status(co) ~= "dead" and co or nil
    if tasks[n] then assert(coroutine.resume(co, n)) end
  end
end

local function run(kind, name)
  local work, t0 = kinds[kind], clock()
  repeat
    local until_time = clock() + 0.2
    repeat
      for _ = 1, 10 do
	work()
	tick()
      end
    until last > until_time
    local file = io.open(name)
    if file then file:close() end
    last = nil
  until not file
  print(result(), clock() - t0)
end

if arg and arg[0] and arg[0]:find("witness%.lua$") then run(arg[1], arg[2]) end
return { tick = tick, result = result }
