-- SPDX-License-Identifier: MIT
-- luajit-mp attach: profiles of programs that know nothing of it, whose results
-- stay what they are and which are left as they were.
--
-- Argument: how often each program is attached to; default 5.

local ffi = require("ffi")
local tap = require("tap")

local rounds = tonumber((arg or {})[1]) or 5
if tap.slow or (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("attached programs run on the bare machine only")
end
if jit.arch ~= "x64" or not ffi.abi("gc64") then
  tap.skip("attach is for x86-64 and GC64")
end

local dir = tap.tmpname()
os.remove(dir)
assert(os.execute("mkdir "..dir) == 0)

local pids = {}

-- Starts a program in the background; it runs until stop().
local function start(name, command)
  local file = dir.."/"..name..".running"
  tap.write(file, "")
  tap.sh(([[
    rm -f status
    { sh -c %s >out 2>&1; echo $? >status; } &
    sleep 0.3]]):format(tap.quote(("echo $$ >pid; exec %s %s"):format(
    command, file))), { dir = dir })
  local pid = tap.read(dir.."/pid"):match("%d+")
  pids[#pids+1] = pid
  return pid, file
end

-- Lets it end. Returns what it said, and its status.
local function stop(file)
  os.remove(file)
  for _ = 1, 300 do
    local status = tap.read(dir.."/status")
    if status then return tap.read(dir.."/out"), tonumber(status) end
    os.execute("sleep 0.1")
  end
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

-- The system's view of a process. Signals from 32 on are the C library's:
-- those of the first thread that is made stay. The programs look for the file
-- that keeps them running now and then.
local function facts(pid)
  return tap.sh(([[
    grep -E 'Sig(Blk|Ign|Cgt)|Threads' /proc/%s/status |
      sed 's/\t.*\(.\{8\}\)$/ \1/'
    ls -l /proc/%s/fd | sed 's/.*fd*[0-9:]* //' | grep -v 'running$' | sort
    cat /proc/%s/timers]]):format(pid, pid, pid)).out
end

-- -- A process that cannot be attached to ----------------------------------

local r = attach("-t 1 999999999")
tap.is(r.status, 1, "no such process: status")
tap.like(r.err, "there is no process 999999999", "no such process: said")
r = attach("-t 1 first")
tap.is(r.status, 2, "no number: status")
tap.like(r.err, '"first" is no process', "no number: said")
r = attach("-t none 1")
tap.like(r.err, "%-t takes seconds", "no seconds: said")
r = attach("-O T 1")
tap.like(r.err, "not with option T: luajit%-mp top", "option T: said")
r = attach("-o x.heapsnapshot 1")
tap.like(r.err, "no heap walk from outside", "a heap walk: said")
r = attach("-O ? 1")
tap.is(r.status, 2, "a wrong option: status")
tap.like(r.err, "unknown option '%?'", "a wrong option: said")

local pid = tap.sh("sleep 20 >/dev/null 2>&1 & echo $!").out:match("%d+")
r = attach("-t 1 "..pid)
tap.is(r.status, 1, "a process without LuaJIT: status")
if r.err:find("not permitted", 1, true) then
  tap.skip("processes may not be traced here")
end
tap.like(r.err, "no LuaJIT in it", "a process without LuaJIT: said")
tap.sh("kill -STOP "..pid)
tap.like(attach("-t 1 "..pid).err, "is stopped; let it go on", "a stopped one")
tap.sh("kill -KILL "..pid)

-- -- Each program ----------------------------------------------------------

local function attach_often(name, pid)
  local bad
  for i = 1, rounds do
    local a = attach("-t 0.1 -O fm0 "..pid)
    if a.status ~= 0 then bad = bad or ("round %d: %s"):format(i, a.err) end
    if not a.out:find("^luajit%-mp  ") then bad = bad or a.out end
  end
  tap.ok(not bad, ("%s: %d profiles"):format(name, rounds), bad)
end

for _, name in ipairs({ "loop", "alloc", "sleep", "coroutines" }) do
  local pid, file = start(name, program(name))
  local before = facts(pid)
  attach_often(name, pid)
  if name ~= "sleep" then  -- Which has pipes and other signals now and then.
    tap.is(facts(pid), before, name..": left as it was")
  end
  local out, status = stop(file)
  tap.is(status, 0, name..": its exit status")
  tap.like(out, "^right", name..": its results")
end

-- -- Outputs, and what is in them ------------------------------------------

local pid, file = start("alloc", program("alloc"))
r = attach("-t 0.5 -O flb1 -o - -o %p.html -o x.mp "..pid)
tap.is(r.status, 0, "outputs: status")
tap.like(r.out, "^luajit%-mp  .*alloc%.lua", "the report is on standard output")
tap.like(r.out, "fill", "and has the function")
tap.like(tap.read(dir.."/"..pid..".html") or "", "^<!DOCTYPE html>",
  "the page is where the caller stands, %p is the process")
tap.like(tap.sh(tap.mp.." report x.mp h", { dir = dir }).out, "fill",
  "so is the profile")
r = while_attached(pid, "sleep 0.5; kill -INT $attach")
tap.like(r.err, "Ctrl%-C ends it", "without -t it is said how it ends")
tap.like(r.out, "^luajit%-mp  .*fill", "SIGINT ends it, with the report")
r = while_attached(pid, ("%s attach -t 1 %s; kill -INT $attach"):format(tap.mp,
  pid))
tap.like(r.err, "is being profiled already", "two at a time: refused")
tap.like(stop(file), "^right", "its results are right after all")

-- -- Ends ------------------------------------------------------------------

pid, file = start("alloc", program("alloc"))
r = while_attached(pid, "sleep 0.5; rm "..file)
tap.like(r.out, "^luajit%-mp  .*fill", "the program ends: its profile is there")
tap.like(stop(file), "^right", "and its results")
pid = start("alloc", program("alloc"))
r = while_attached(pid, "kill -KILL "..pid)
tap.is(r.status, 1, "it is killed: status")
tap.like(r.err, "no profile of process %d+: it has ended without one",
  "it is killed: said")

for _, p in ipairs(pids) do tap.sh("kill -KILL "..p.." 2>/dev/null") end
os.execute("rm -r "..dir)
tap.done()
