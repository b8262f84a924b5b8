-- SPDX-License-Identifier: MIT
-- Shares of the places where the thread sleeps, beside those that the program
-- itself, or strace, has seen:
--   make check-truth TRUTH="'blocked RUNS SECONDS SEED'"
--
-- The program asks how long the thread has neither run nor waited for a
-- processor in a call; strace knows how long the call was, and has the shares
-- only: it counts the time, too, in which the thread waits for a processor
-- before it goes on. It stops the thread for each signal, too:
-- there are none of the profiler's. The program sleeps in shares of 1:3:6, for
-- shorter and for longer than the profiler's interval, and works in between.

local tap = require("tap")
local places = require("truth.places")

local runs = tonumber(arg[1] or 3)
local seconds = tonumber(arg[2] or 2)
local seed = tonumber(arg[3] or 1)

local text = require("clock")..[[
local seconds, unit, work, seed = tonumber(arg[1]), tonumber(arg[2]),
  tonumber(arg[3]), tonumber(arg[4])
ffi.cdef("int poll(void *, unsigned long, int);"..
  "int select(int, void *, void *, void *, long *);")
math.randomseed(seed)
local known, tv = { 0, 0, 0 }, ffi.new("long[2]")
local sleeps = {
  function(s)
    ts.s, ts.ns = 0, s * 1e9
    local n = ffi.C.nanosleep(ts, nil) -- AT 1
    return n
  end,
  function(s)
    local n = ffi.C.poll(nil, 0, s * 1000) -- AT 2
    return n
  end,
  function(s)
    tv[0], tv[1] = 0, s * 1e6
    local n = ffi.C.select(0, nil, nil, nil, tv) -- AT 3
    return n
  end }
local function queued()
  local file = io.open("/proc/thread-self/schedstat")
  local _, ns = file:read("*n", "*n")
  file:close()
  return ns
end
-- Seconds that the thread has slept: it has neither run nor waited for a
-- processor. All is read again if the thread had to wait meanwhile.
local function slept()
  local waited, wall, cpu
  repeat
    waited = queued()
    wall = now()
    ffi.C.clock_gettime(3, ts)
    cpu = tonumber(ts.s) + tonumber(ts.ns) * 1e-9
  until queued() == waited
  return wall - cpu - waited * 1e-9
end
local shares = { 1, 3, 6 }
require("jit.mp").start("Ii1000", assert(os.getenv("PROFILE")))
local stop = now() + seconds
repeat
  for i = 1, 3 do
    local s = math.ceil(shares[i] * unit * (0.5 + math.random()) * 1000) / 1000
    local before = slept()
    sleeps[i](s)
    known[i] = known[i] + slept() - before
    local till = now() + s * work * math.random()
    while now() < till do end
  end
until now() >= stop
require("jit.mp").stop()
for i = 1, 3 do print(known[i]) end
]]

local program = tap.program(text)

-- The places by their system calls, which are all that strace knows.
local calls = { nanosleep = 1, clock_nanosleep = 1, poll = 2, select = 3,
  pselect6 = 3 }

-- The seconds that strace has seen in each of the three system calls.
local function traced(profile)
  local known = { 0, 0, 0 }
  for line in assert(tap.read(profile..".trace")):gmatch("[^\n]+") do
    local i = line:find("nanosleep", 1, true) and 1 or
      line:find("poll(", 1, true) and 2 or line:find("select", 1, true) and 3
    local s = line:match("<([%d.]+)>$")
    if i and s then known[i] = known[i] + s end
  end
  return known
end

-- Of other system calls, strace is to hear nothing.
local STRACE = "strace -f --seccomp-bpf -T -o PROFILE.trace -e trace="..
  "clock_nanosleep,nanosleep,poll,select,pselect6 "

local function try(name, unit, work, strace)
  places.try({ name = name, text = text, field = "blocked",
    known = strace and traced, calls = strace and calls, command = function(n)
      return ("%s%s %s %g %g %g %d"):format(strace and STRACE or "",
        tap.command, program, seconds, unit, work, seed + n)
    end }, runs, (strace or work > 0.1) and 1 or 4)
end

try("long sleeps", 0.02, 0.1)
try("short sleeps", 0.002, 0.5)
try("with much work", 0.005, 2)
if tap.sh("strace -f --seccomp-bpf true").status == 0 then
  try("long sleeps, by strace", 0.02, 0.1, true)
  try("short sleeps, by strace", 0.004, 0.5, true)
end
places.done()
