-- SPDX-License-Identifier: MIT
-- Option I: what blocks the thread. How long that is depends on the machine:
-- sums must lie below what the program's own clock knows; that a place is seen
-- at all has tries, in which the program sleeps for longer.

local tap = require("tap")
local clock = require("clock")

if not tap.knows_layout() then
  tap.skip("the layout is not known, so that there is no option I")
end

local profile = tap.tmpname(".mp")
local function report(options)
  return tap.sh(tap.mp.." report "..profile.." "..options).out
end

-- The seconds of a place in a raw report.
local function at(out, place)
  return tonumber(out:match("\n +%d+%%~? +(%d+%.%d+) +"..place) or 0)
end

-- Runs the program with the seconds of its sleeps, until its report has all of
-- these. Returns the report, raw, and the seconds that the program had.
local function run(program, options, ...)
  local r, out
  for _, seconds in ipairs { 0.2, 1, 5 } do
    r = tap.sh(("%s -jm=I,%s %s %g"):format(tap.command, profile, program,
      seconds))
    out = report(options.."r")
    local all = true
    for _, place in ipairs { ... } do all = all and out:match(place) end
    if all then break end
  end
  tap.is(r.status, 0, "the program has its own status", r.err)
  for _, place in ipairs { ... } do tap.like(out, place, "is seen") end
  return out, tonumber(r.out:match("[%d.]+")) or 0, r
end

if tap.luajit("-jm=I -e 'os.execute(\"sleep 0.3\")'").out:find(
    "blocks the thread is not known") then
  tap.skip("the kernel does not tell when threads sleep")
end

-- -- Places ------------------------------------------------------------------

local program = tap.program(clock..[[
local ffi = require("ffi")
ffi.cdef("int poll(void *, unsigned long, int);")
local seconds = tonumber(...)
local mp = require("jit.mp")
local function ffi_call(s) ffi.C.poll(nil, 0, s * 1000) end -- POLL
local function child(s) os.execute("sleep "..s) end -- EXECUTE
local from = now()
ffi_call(seconds) -- FIRST
mp.with({ route = "/slow" }, function() child(seconds) end) -- CHILD
local co = coroutine.wrap(function()
  ffi_call(seconds) -- INNER
  coroutine.yield()
end)
co()
-- Coroutines wait now, and the main one is in poll: a loop of events.
ffi_call(seconds)
ffi_call(seconds)
print(now() - from)
]])
local name = program:match("[^/]+$"):gsub("%p", "%%%0")
-- The number of the line that has that mark.
local function line(mark)
  local n = 1
  for one in assert(tap.read(program)):gmatch("(.-)\n") do
    if one:find("-- "..mark, 1, true) then return n end
    n = n + 1
  end
end
local poll, execute = line("POLL"), line("EXECUTE")
local first = ("p?poll < .-%s:%d < %s:%d\n"):format(name, poll, name,
  line("FIRST"))
local inner = ("p?poll < .-%s:%d < %s:%d\n"):format(name, poll, name,
  line("INNER"))
local wait = ("wait%%w+ < os%%.execute < %s:%d < %s:%d"):format(name, execute,
  name, line("CHILD"))
local loop = "Event loops that Lua code has called have waited [%d.]+ m?s of"
local out, most, r = run(program, "I3", first, inner, wait, loop)
local sum = at(out, first) + at(out, inner) + at(out, wait)
-- The thread may have slept before, too, as when it read files.
tap.ok(sum > 0 and sum <= most * 1.5, "no more than the program has slept",
  out..sum.." of "..most)
tap.like(out, "Lua code has blocked the thread for [%d.]+ m?s of [%d.]+ m?s\n",
  "in all")
tap.unlike(out:match("Event loops.*") or "", "os%.execute",
  "a child that is waited for is no loop")

out = report("Iym0")
tap.like(out, "\n +%d+%%~? +[%d.]+ m?s +route=/slow\n +%d+%%~? +[%d.]+ m?s +"..
  "%-%- wait%w+ < os%.execute", "below its label")

local twice = tap.tmpname(".mp")
tap.sh(("%s merge -o %s %s %s"):format(tap.mp, twice, profile, profile))
out = report("I3r")
local once = at(out, wait)
local double = at(tap.sh(tap.mp.." report "..twice.." I3r").out, wait)
tap.ok(math.abs(double - 2 * once) < 0.002, "a sum of profiles has the sums",
  once.." "..double)

-- -- Compiled code -----------------------------------------------------------

program = tap.program(clock..[[
local ffi = require("ffi")
ffi.cdef("int poll(void *, unsigned long, int);")
local from = now()
local function nap(ms)
  local n = ffi.C.poll(nil, 0, ms)
  return n
end
for i = 1, 200 do nap(0) end
for i = 1, 20 do nap(tonumber((...)) * 50) end
print(now() - from)
]])
name = program:match("[^/]+$"):gsub("%p", "%%%0")
local n = 0
for one in assert(tap.read(program)):gmatch("(.-)\n") do
  n = n + 1
  if one:match("n = ffi") then break end
end
-- On a processor whose calls save no return address the line is not known.
local _
_, _, r = run(program, "I1", "p?poll < .-"..name..":%(?%w")
tap.is(r.status, 0, "compiled code", r.err)
out = report("I1r")
if jit.arch == "x64" then
  tap.like(out, "poll < .-"..name..":"..n.."\n", "on its line")
end

-- -- The program is as it was ------------------------------------------------

-- Its descriptors are nobody else's: the reader sees the end of a pipe.
program = tap.program([[
local ffi = require("ffi")
ffi.cdef("int pipe(int *); int close(int); int read(int, void *, int);")
local fd = ffi.new("int[2]")
local a, b
for i = 1, 50 do
  assert(ffi.C.pipe(fd) == 0)
  a, b = a or fd[0], b or fd[1]
  assert(fd[0] == a and fd[1] == b, fd[0])
  ffi.C.close(fd[1])
  assert(ffi.C.read(fd[0], ffi.new("char[1]"), 1) == 0)
  ffi.C.close(fd[0])
end
print("done")
]])
r = tap.luajit("-jm=I "..program)
tap.like(r.out, "^done\n", "the numbers of descriptors", r.err)

-- No sleep is cut short: there is no signal.
program = tap.program(clock..[[
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned);")
for i = 1, 10 do assert(ffi.C.usleep(30000) == 0) end
print("done")
]])
r = tap.luajit("-jm=Ii1000 "..program)
tap.like(r.out, "^done\n", "sleeps are whole", r.err)

-- In a child of a fork nobody looks, until the child starts a profile.
program = tap.program([[
local ffi = require("ffi")
ffi.cdef("int fork(void); int waitpid(int, int *, int); int usleep(unsigned);")
local mp = require("jit.mp")
mp.start("I", "/dev/null")
for i = 1, 5 do
  ffi.C.usleep(20000)
  local pid = ffi.C.fork()
  if pid == 0 then
    mp.stop()
    mp.start("I", "/dev/null")
    ffi.C.usleep(20000)
    mp.stop()
    os.exit(7)
  end
  local status = ffi.new("int[1]")
  ffi.C.waitpid(pid, status, 0)
  assert(status[0] == 7 * 256, status[0])
end
mp.stop()
print("done")
]])
r = tap.luajit(program)
tap.is(r.out, "done\n", "children of forks", r.err)

-- -- A process that is stopped -----------------------------------------------

program = tap.program(clock..[[
os.execute("(sleep 0.2; kill -STOP $PPID; sleep 2; kill -CONT $PPID) &")
local from, gap = now(), 0
local last = from
while gap < 1 and last - from < 30 do
  local t = now()
  gap, last = math.max(gap, t - last), t
end
rest(0.3)
print(gap)
]])
_, _, r = run(program, "I", "Lua code has blocked")
local gap = tonumber(r.out:match("[%d.]+")) or 0
local slept, unit =
  report("I"):match("blocked the thread for ([%d.]+) (m?s) of")
slept = tonumber(slept or 1e9) / (unit == "ms" and 1000 or 1)
tap.ok(gap > 1 and slept < 1, "it does not sleep", slept.." of "..gap.." s")

tap.done()
