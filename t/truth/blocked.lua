-- SPDX-License-Identifier: MIT
-- Shares of the places where the thread sleeps, beside those that the program
-- itself, or strace, has seen. The program takes the time of a call, less what
-- the thread has run or waited for a processor; strace does not, and is to be
-- compared on a quiet machine alone.
--   ./run luajit t/truth/blocked.lua [RUNS [SECONDS [SEED]]]
--
-- A program sleeps at three places, in shares of 1:3:6, for shorter and for
-- longer than the profiler's interval, and works in between. A share is right
-- if it is off by no more than twice the doubt that its row has, which may be
-- wrong in one of twenty; or by one percent of all.

local tap = require("tap")
local file = require("jit.mp.format.file")

local runs = tonumber(arg[1] or 3)
local seconds = tonumber(arg[2] or 2)
local seed = tonumber(arg[3] or 1)

local text = require("clock")..[[
local seconds, unit, work, seed = tonumber(arg[1]), tonumber(arg[2]),
  tonumber(arg[3]), tonumber(arg[4])
ffi.cdef("int poll(void *, unsigned long, int);"..
  "int select(int, void *, void *, void *, long *);"..
  "int pipe(int *);")
math.randomseed(seed)
local known, tv = { 0, 0, 0 }, ffi.new("long[2]")
local sleeps = {
  function(s) rest(s) return 1 end, -- AT 1
  function(s) local n = ffi.C.poll(nil, 0, s * 1000) return n end, -- AT 2
  function(s)
    tv[0], tv[1] = math.floor(s), s % 1 * 1e6
    local n = ffi.C.select(0, nil, nil, nil, tv) -- AT 3
    return n
  end }
local function awake()
  ffi.C.clock_gettime(3, ts)
  local queue = io.open("/proc/thread-self/schedstat")
  local _, waited = queue:read("*n", "*n")
  queue:close()
  return tonumber(ts.s) + (tonumber(ts.ns) + waited) * 1e-9
end
local shares = { 1, 3, 6 }
require("jit.mp").start("I", assert(os.getenv("PROFILE")))
local stop = now() + seconds
repeat
  for i = 1, 3 do
    local s = math.ceil(shares[i] * unit * (0.5 + math.random()) * 1000) / 1000
    local before = awake()
    local from = now()
    sleeps[i](s)
    known[i] = known[i] + now() - from - (awake() - before)
    local till = now() + s * work * math.random()
    while now() < till do end
  end
until now() >= stop
require("jit.mp").stop()
for i = 1, 3 do print(known[i]) end
]]

local program = tap.program(text)
local profile = tap.tmpname(".mp")

-- The seconds of each place, and their variance, as profiled.
local function profiled()
  local p = assert(file.read(assert(tap.read(profile))))
  local blocked, var = { 0, 0, 0 }, { 0, 0, 0 }
  local lines, n = {}, 0
  for line in (text.."\n"):gmatch("(.-)\n") do
    n = n + 1
    lines[n] = tonumber(line:match("%-%- AT (%d)")) or
      line:find("nanosleep(ts", 1, true) and 1 or nil
  end
  for _, row in ipairs(p.rows) do
    local _, line
    if row.blocked then
      _, line = p:source_line({ stack = (p:asleep_at(row)) })
    end
    local place = line and lines[line]
    if place then
      blocked[place] = blocked[place] + row.blocked
      var[place] = var[place] + row.blocked_variance
    end
  end
  return blocked, var
end

-- The seconds that strace has seen in each of the three system calls.
local function traced(trace)
  local known = { 0, 0, 0 }
  for line in assert(tap.read(trace)):gmatch("[^\n]+") do
    local i = line:find("clock_nanosleep", 1, true) and 1 or
      line:find("poll(", 1, true) and 2 or line:find("select", 1, true) and 3
    local s = line:match("<([%d.]+)>$")
    if i and s then known[i] = known[i] + s end
  end
  return known
end

local function sum(t) return t[1] + t[2] + t[3] end

-- One run; strace: seen by that. Returns how many shares are right, and by how
-- much the sum is off.
local function run(unit, work, number, strace)
  local trace = tap.tmpname(".strace")
  local r = tap.sh(("PROFILE=%s %s%s %s %g %g %g %d"):format(profile, strace and
    "strace -f -T -e trace=clock_nanosleep,nanosleep,poll,select,pselect6 -o "..
    trace.." " or "", tap.command, program, seconds, unit, work, number))
  assert(r.status == 0, r.err)
  local known = {}
  for s in r.out:gmatch("[%d.]+") do known[#known+1] = tonumber(s) end
  if strace then known = traced(trace) end
  local blocked, var = profiled()
  local right, all = 0, sum(blocked)
  for i = 1, 3 do
    local d = math.abs(blocked[i] / all - known[i] / sum(known))
    if d <= 2 * var[i]^0.5 / all or d <= 0.01 then right = right + 1 end
  end
  return right, math.abs(all / sum(known) - 1)
end

local function try(name, unit, work, strace)
  local right, off = 0, 0
  for i = 1, runs do
    local n, o = run(unit, work, seed + i, strace)
    right, off = right + n, math.max(off, o)
  end
  tap.ok(right >= 0.95 * 3 * runs - 1, ("%s: %d of %d shares right"):format(
    name, right, 3 * runs))
  tap.diag(("the sum of all is off by %.2f%% at most"):format(off * 100))
end

try("long sleeps", 0.02, 0.1)
try("short sleeps", 0.002, 0.5)
try("with much work", 0.005, 2)
if tap.sh("strace -V").status == 0 then
  try("long sleeps, by strace", 0.02, 0.1, true)
  try("short sleeps, by strace", 0.004, 0.5, true)
end
tap.done()
