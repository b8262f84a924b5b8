-- SPDX-License-Identifier: MIT
-- luajit-mp attach: profiles of programs that were not prepared for it, which
-- give the same results and are left as they were.
--
-- Argument: how often each program is attached to; default 5.

local process = require("attach.process")
local tap = require("tap")

local rounds = tonumber((arg or {})[1]) or 5
if tap.slow or (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("attached programs run on the bare machine only")
end
if not jit.arch:find("^x") then
  tap.skip("attach is for x86-64 and i386")
end

local dir = tap.tmpdir()

local programs = {}

local function start(command)
  local p = process.start(dir, command)
  programs[#programs+1] = p
  return p
end

local function program(name)
  return ("%s '%s/t/attach/%s.lua'"):format(tap.command, tap.srcdir, name)
end

local function attach(args)
  return tap.sh(tap.mp.." attach "..args, { dir = dir })
end

-- Attaches until interrupted, and runs a shell command as soon as that is under
-- way; $attach is the process that attaches.
local function while_attached(pid, command)
  return tap.sh(([[
    : >err
    %s attach %s 2>>err & attach=$!
    n=0
    until grep -q 'Ctrl-C ends it' err || [ $n = 300 ]; do
      sleep 0.1; n=$((n+1))
    done
    %s
    wait $attach; status=$?
    cat err >&2; exit $status]]):format(tap.mp, pid, command), { dir = dir })
end

-- -- A process that cannot be attached to ----------------------------------

local r = attach("-t 1 999999999")
tap.is(r.status, 1, "no such process: status")
tap.like(r.err, "there is no process 999999999", "no such process: said")
r = attach("-t 1 first")
tap.is(r.status, 2, "no number: status")
tap.like(r.err, '"first" is not a process ID', "no number: said")
r = attach("-t none 1")
tap.like(r.err, "%-t takes seconds", "no seconds: said")
r = attach("-O T 1")
tap.like(r.err, "option T has no effect: luajit%-mp top", "option T: said")
r = attach("-o x.heapsnapshot 1")
tap.like(r.err, "no %.heapsnapshot from outside: mp.heap%(%)",
  "a .heapsnapshot: said")
r = attach("-O Z 1")
tap.is(r.status, 2, "a wrong option: status")
tap.like(r.err, "unknown option 'Z'", "a wrong option: said")

local pid = tap.sh("sleep 60 >/dev/null 2>&1 & echo $!").out:match("%d+")
repeat  -- While it loads its libraries, it is said to have none.
  r = attach("-t 1 "..pid)
until not r.err:find("has not loaded a C library", 1, true)
tap.is(r.status, 1, "a process without LuaJIT: status")
if r.err:find("not permitted", 1, true) then
  tap.skip("processes may not be traced here")
end
tap.ok(r.err:find("no LuaJIT in it", 1, true) or
  jit.arch == "x86" and r.err:find("is for x86-64", 1, true),
  "a process without LuaJIT: said", r.err)
tap.sh(("kill -STOP %s; until grep -q '^State:.T' /proc/%s/status; do "..
  "sleep 0.1; done"):format(pid, pid))
tap.like(attach("-t 1 "..pid).err, "is stopped; continue it", "a stopped one")
tap.sh("kill -KILL "..pid)

-- -- Each program ----------------------------------------------------------

local function attach_often(name, pid)
  local bad
  for i = 1, rounds do
    -- The signals of the CPU clock cut sleeps short: none may come.
    local a = attach(("-t 0.1 -O %s %s"):format(name == "sleep" and
      "fhm0i1000000" or "fm0", pid))
    if a.status ~= 0 then bad = bad or ("round %d: %s"):format(i, a.err) end
    if not a.out:find("^luajit%-mp  ") then bad = bad or a.out end
    -- Only the command does, while it has the program start a profile.
    if a.out:find("blocks SIGURG", 1, true) then bad = bad or a.out end
  end
  tap.ok(not bad, ("%s: %d profiles"):format(name, rounds), bad)
end

for _, name in ipairs({ "loop", "stitched", "alloc", "sleep",
    "coroutines" }) do
  local p = start(program(name))
  local before = process.settled_facts(p.pid)
  attach_often(name, p.pid)
  if name ~= "sleep" then  -- Which has pipes and other signals now and then.
    tap.is(process.facts(p.pid), before, name..": left as it was")
  end
  local out, status = p:stop()
  tap.is(status, 0, name..": its exit status")
  tap.like(out, "^right", name..": its results")
end

-- A loop without a way out that the collector does not disturb.
local p = start(program("collecting"))
tap.wait(function()
  return (tap.read(dir.."/out") or ""):find("begins", 1, true)
end)
r = attach("-t 0.1 "..p.pid)
tap.is(r.status, 0, "between two steps of a collection: status", r.err)
tap.like(p:stop(), "right", "and its results")

-- A thread that sleeps in the kernel does not stop for a while: its child has
-- to go on first.
tap.write(dir.."/held.lua", [[
local ffi = require("ffi")
ffi.cdef("long syscall(long, ...); int usleep(unsigned); void _exit(int);")
local CLONE, VFORK, SIGCHLD = jit.arch == "x64" and 56 or 120, 0x4000, 17
local function exists(name)
  local f = io.open(name)
  return f and f:close()
end
local function long(n) return ffi.cast("long", n) end
if ffi.C.syscall(CLONE, long(VFORK + SIGCHLD), long(0), long(0), long(0),
    long(0)) == 0 then
  while exists("held") do ffi.C.usleep(1000) end
  ffi.C._exit(0)
end
local n = 0
while exists(arg[1]) do n = n + 1 end
print("right")
]])
tap.write(dir.."/held", "")
p = start(tap.command.." held.lua")
r = tap.sh(([[
  until grep -q 'State:.D' /proc/%s/status; do sleep 0.1; done
  %s attach -t 0.1 %s & attach=$!
  until grep -q 'TracerPid:.[1-9]' /proc/%s/status ||
    ! kill -0 $attach 2>/dev/null; do sleep 0.1; done
  sleep 1.5
  rm held
  wait $attach]]):format(p.pid, tap.mp, p.pid, p.pid), { dir = dir })
tap.is(r.status, 0, "a thread that does not stop at once: status", r.err)
tap.like(p:stop(), "^right", "a thread that does not stop at once: its result")

-- -- Outputs, and what is in them ------------------------------------------

p = start(program("alloc"))
r = attach("-t 0.3 -O f "..p.pid)
tap.like(r.out, "functions; option l shows lines\n",
  "lines are for reports that show them")
r = attach("-t 0.5 -O flb1 -o - -o %p.html -o x.mp "..p.pid)
tap.is(r.status, 0, "outputs: status")
local head = "^luajit%-mp  [^\n]*alloc%.lua   process "..p.pid.."   ran "
tap.like(r.out, head, "the report is on standard output, and names both")
tap.like(r.out, "fill", "and has the function")
tap.like(tap.read(dir.."/"..p.pid..".html") or "", "^<!DOCTYPE html>",
  "the page is where the caller stands, %p is the process")
local stored = tap.sh(tap.mp.." report x.mp h", { dir = dir }).out
tap.like(stored, "fill", "so is the profile")
tap.like(stored, head, "which names both, too")
os.execute("mkfifo "..dir.."/fifo.txt")
r = attach("-t 0.1 -o fifo.txt "..p.pid)
tap.is(r.err, "luajit-mp: cannot write 'fifo.txt': nobody reads this FIFO\n",
  "a FIFO that nobody reads: said")
tap.is(r.status, 1, "a FIFO that nobody reads: status")
r = while_attached(p.pid, "sleep 0.5; kill -INT $attach")
tap.like(r.err, "Ctrl%-C ends it", "without -t it is said how it ends")
tap.like(r.out, "^luajit%-mp  .*fill", "SIGINT ends it, with the report")
r = while_attached(p.pid, ("%s attach -t 1 %s; kill -INT $attach"):format(
  tap.mp, p.pid))
tap.like(r.err, "is being profiled already", "two at a time: refused")
tap.like(p:stop(), "^right", "its results are right after all")

-- -- The heap --------------------------------------------------------------

p = start(program("alloc"))
r = attach("-t 0.3 -O W -o - -o heap.mp "..p.pid)
tap.is(r.status, 0, "a heap walk: status")
tap.unlike(r.out, "do not add up", "its sizes add up")
local holder = " keep[^\n]*%[%*%]  %(%d+ x table%)"
tap.like(r.out, "\nHeap walk: .*"..holder, "the holders of an attached process")
tap.like(tap.sh(tap.mp.." report heap.mp W", { dir = dir }).out, holder,
  "its profile has them, too")
r = while_attached(p.pid, "kill -KILL $attach")
tap.is(r.status, 128 + 9, "the next command is killed")
tap.like(attach("-t 0.3 -O L "..p.pid).out, "\n +held by [^\n]* keep",
  "and one after it has its leaks, with their holders")
tap.like(p:stop(), "^right", "its results are right")

-- -- Coroutines -------------------------------------------------------------

p = start(program("coroutines"))
r = attach("-t 0.3 -O I "..p.pid)
tap.like(r.out, "\n +%d+%%~? .* coroutine%.yield < coroutines%.lua:12",
  "where coroutines wait, older ones too")
tap.like(p:stop(), "^right", "and its results are right")

-- So few are all looked at each time: one that waits all the time has waited as
-- long as there was somebody looking, unless it changed while it was read.
p = start(program("waits"))
local function waited(text, place)
  local s, average, now = text:match("%% +(%d+%.%d+) +(%d+%.%d) +(%d+) +"..
    place)
  return tonumber(s or 0), tonumber(average or 0), tonumber(now or 0)
end
local function at(line) return "coroutine%.yield < waits%.lua:"..line.."\n" end
local labels, cart, home
for _, seconds in ipairs { 0.5, 2, 8 } do -- In which they are to have a turn.
  r = attach(("-t %g -O I1rm0 -o - -o waits.mp %s"):format(seconds, p.pid))
  labels = tap.sh(tap.mp.." report waits.mp I1y:route:rm0", { dir = dir }).out
  cart, home = { waited(labels, "/cart\n") }, { waited(labels, "/home\n") }
  if home[1] > 0 and cart[1] > 0 then break end
end
local four, on_average, now = waited(r.out, at(8))
tap.ok(now == 4 and on_average > 3 and on_average < 4.1,
  "four have waited all the time", r.out)
local two, _, both = waited(r.out, at(11))
tap.ok(both == 2 and two > 0.4 * four and two < 0.6 * four,
  "two others, from deeper", r.out)
local rest, _, turns = waited(r.out, at(16))
tap.ok(rest > 0 and rest < 1.1 * four and turns <= 4,
  "four wait from turn to turn", r.out)
tap.ok(cart[1] > 0 and home[1] > 0 and cart[3] <= 3 and home[3] <= 1 and
  cart[1] + home[1] < 1.1 * four, "by the labels that they set", labels)
tap.ok(select(3, waited(labels, "%(no label%)\n")) >= 6, "which others lack",
  labels)
tap.like(p:stop(), "^right", "all of them go on rightly")

-- -- Ends ------------------------------------------------------------------

p = start(program("alloc"))
r = while_attached(p.pid, "sleep 0.5; rm "..p.file)
tap.like(r.out, "^luajit%-mp  .*fill", "the program ends: its profile is there")
tap.like(p:stop(), "^right", "and its results")
-- It ends as soon as the profile does, whose report is still to be written.
tap.write(dir.."/ends.lua", [[
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned); int access(const char *, int);")
repeat ffi.C.usleep(1000) until ffi.C.access("go", 0) == 0
local t = {}
for i = 1, 1000 do t[i] = { i } end
ffi.C.usleep(1000000)
]])
p = start(tap.command.." ends.lua")
r = while_attached(p.pid, ": >go; sleep 0.5; kill -INT $attach")
p:stop()
tap.is(r.status, 0, "it ends with the profile: status", r.err)
tap.like(r.out, "^luajit%-mp  ends.lua", "it ends with the profile: the report")
-- A signal that comes while its profile is written.
tap.write(dir.."/late.c", [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
int ftruncate(int fd, off_t n)
{
  static int (*real)(int, off_t);
  *(void **)&real = dlsym(RTLD_NEXT, "ftruncate");
  kill(getpid(), SIGTERM);
  return real(fd, n);
}
]])
local cc = "cc -shared -fPIC -o late.so late.c -ldl"
if jit.arch == "x64" and tap.sh(cc, { dir = dir }).status == 0 then
  p = start("env LD_PRELOAD="..dir.."/late.so "..program("alloc"))
  r = attach("-t 0.5 "..p.pid)
  tap.is(r.status, 0, "a signal while it is written: status", r.err)
  tap.like(r.out, "^luajit%-mp  .*fill", "and the report")
  local _, status = p:stop()
  tap.is(status, 128 + 15, "of which it dies afterwards")
end
p = start(program("alloc"))
r = while_attached(p.pid, "kill -KILL "..p.pid)
tap.is(r.status, 1, "it is killed: status")
tap.like(r.err, "no profile of process %d+: it has ended without one",
  "it is killed: said")

for _, each in ipairs(programs) do each:kill() end
tap.done()
