-- SPDX-License-Identifier: MIT
-- luajit-mp attach on programs in C with a shared libluajit: one state, several
-- in threads, and a library that other objects do not see.

local process = require("attach.process")
local tap = require("tap")

if tap.slow or (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("attached programs run on the bare machine only")
elseif jit.arch ~= "x64" then
  tap.skip("the programs are for x86-64")
end

local dir = tap.tmpdir()
tap.write(dir.."/main.c", [[
#include <dlfcn.h>
int main(int argc, char **argv)
{
  void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
  int (*host)(int, char **) = (int (*)(int, char **))dlsym(plugin, "host");
  return host(argc, argv);
}
]])
local r = tap.sh(([[
  cc -O -o host '%s/t/attach/host.c' $(pkg-config --cflags --libs luajit) \
    -lpthread &&
  cc -O -DPLUGIN -fPIC -shared -o plugin.so '%s/t/attach/host.c' \
    $(pkg-config --cflags --libs luajit) -lpthread &&
  cc -O -o main main.c -ldl]]):format(tap.srcdir, tap.srcdir), { dir = dir })
if r.status ~= 0 then
  tap.skip("no program with a shared libluajit can be built here")
end

-- All of them compute: they are well under way after some ticks of CPU time.
local TICKS = 3
local function start(command)
  tap.write(dir.."/running", "")
  local pid = tap.sh("./"..command:gsub(" ", " running ", 1)..
    " >out 2>&1 & echo $!; sleep 0.3", { dir = dir }).out:match("%d+")
  return process.under_way(pid, TICKS)
end

local function stop(name)
  os.remove(dir.."/running")
  for _ = 1, 100 do
    if tap.read(dir.."/out"):find("\n") then break end
    os.execute("sleep 0.1")
  end
  tap.is(tap.read(dir.."/out"), "right\n", name..": its results")
end

local function attach(args)
  return tap.sh(tap.mp.." attach "..args, { dir = dir })
end

local pid = start("host single")
r = attach("-t 0.5 "..pid)
if r.err:find("not permitted", 1, true) then
  os.remove(dir.."/running")
  tap.skip("processes may not be traced here")
end
tap.is(r.status, 0, "one state: status")
tap.like(r.out, '%[string "single"%]:2', "one state: its function")
tap.unlike(r.out, "blocks SIGURG", "one state: nothing that only we do")
stop("one state")

pid = start("main plugin")
r = attach("-t 0.5 "..pid)
tap.is(r.status, 0, "a library of its own: status")
tap.like(r.out, '%[string "plugin"%]:2', "a library of its own: its function")
stop("a library of its own")

-- A thread that does not stop while the one with the state is looked for is let
-- go when it does.
tap.write(dir.."/held", "")
pid = start("host held single")
r = tap.sh(([[
  : >0.txt
  %s attach %s >1.txt 2>0.txt & attach=$!
  until grep -q 'Ctrl-C ends it' 0.txt || ! kill -0 $attach; do sleep 0.1; done
  rm held
  n=0
  until [ -e released ] || [ $n = 100 ]; do sleep 0.1; n=$((n+1)); done
  [ -e released ] && echo released
  kill -INT $attach
  wait $attach; echo "status $?"]]):format(tap.mp, pid), { dir = dir })
tap.is(r.out, "released\nstatus 0\n", "a thread that is slow to stop goes on")
stop("a thread that is slow to stop")

pid = start("host first second third")
r = attach("-t 0.5 "..pid)
tap.is(r.status, 1, "three states: status")
tap.like(r.err, "process "..pid.." has 3 Lua states: choose one with %-%-state",
  "three states: said")
local met = {}
for i = 1, 3 do
  local name = r.err:match("  "..i.."  (%a+), [%d.]+ .-B\n") or "?"
  local a = attach(("-t 0.5 --state %d %s"):format(i, pid))
  tap.is(a.status, 0, ("state %d: status"):format(i))
  tap.ok(a.out:find('[string "'..name..'"]:2', 1, true), "state "..i..
    ": the function that the list names", a.out..r.err)
  met[name] = true
end
tap.ok(met.first and met.second and met.third, "each state is in the list",
  r.err)
r = tap.sh(([[
  : >0.txt
  %s attach --state 1 %s >1.txt 2>0.txt & first=$!
  until grep -q 'Ctrl-C ends it' 0.txt || ! kill -0 $first; do sleep 0.1; done
  for i in 1 2 3 4; do
    %s attach -t 0.2 --state $i %s >2.txt 2>>3.txt
    echo "status $?"
  done
  sleep 1; kill -INT $first
  wait $first; echo "first $?"]]):format(tap.mp, pid, tap.mp, pid),
  { dir = dir })
tap.is(r.out, ("status 1\n"):rep(3).."status 2\nfirst 0\n",
  "another session, of whatever state, is refused")
local said = tap.read(dir.."/3.txt")
tap.like(said, "process %d+ is being profiled already\n", "the same: said")
tap.is(select(2, said:gsub("another session is profiling the process: "..
  "luajit%-mp, process %d+\n", "")), 2, "others: said")
tap.like(said, "takes a number from 1 to 3;", "the profiler's state is none")
tap.like(tap.read(dir.."/1.txt"), "\n +%d+%% [^\n]*"..'%[string "%a+"%]:2',
  "and takes nothing from the first")
r = attach("-t 1 --state 4 "..pid)
tap.is(r.status, 2, "no such state: status")
tap.like(r.err, "takes a number from 1 to 3", "no such state: said")
stop("three states")

-- -- A LuaJIT that is linked in and exports nothing --------------------------

-- Says at the end whether a library could find its functions.
tap.write(dir.."/seen.c", [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
__attribute__((destructor)) static void end(void)
{
  FILE *f = fopen("seen", "w");
  fprintf(f, "%s\n", dlsym(RTLD_DEFAULT, "lua_gettop") ? "seen" : "hidden");
  fclose(f);
}
]])
r = tap.sh(([[
  archive=$(pkg-config --variable=libdir luajit)/libluajit-5.1.a
  cc -O -Wl,--build-id -o hidden '%s/t/attach/host.c' seen.c \
    $(pkg-config --cflags luajit) "$archive" -lm -ldl -lpthread &&
  objcopy --only-keep-debug hidden stripped.debug &&
  objcopy --strip-all --add-gnu-debuglink=stripped.debug hidden stripped]])
  :format(tap.srcdir), { dir = dir })
for _, name in ipairs(r.status == 0 and { "hidden", "stripped" } or {}) do
  pid = start(name.." single")
  for i = 1, 2 do
    r = attach("-t 0.5 "..pid)
    tap.is(r.status, 0, name..": status "..i, r.err)
    tap.like(r.out, '%[string "single"%]:2', name..": its function "..i)
  end
  stop(name)
  tap.is(tap.read(dir.."/seen"), "hidden\n", name..": nobody else sees them")
end

-- -- No Lua code runs at the end ---------------------------------------------

-- Attaches, and runs a shell command once the command has said something.
local function while_said(pid, what, command)
  return tap.sh(([[
    : >err
    %s attach %s 2>>err & attach=$!
    until grep -q '%s' err || ! kill -0 $attach; do sleep 0.1; done
    %s
    wait $attach; status=$?; cat err >&2; exit $status]]):format(tap.mp, pid,
    what, command), { dir = dir })
end

if tap.sh(("cc -O -o idle '%s/t/attach/idle.c' %s -lpthread"):format(
  tap.srcdir, "$(pkg-config --cflags --libs luajit)"), { dir = dir })
  .status == 0 then
  tap.write(dir.."/busy", "")
  pid = start("idle busy resting")
  r = while_said(pid, "Ctrl-C ends it",
    "sleep 0.3; rm busy; until [ -e resting ]; do sleep 0.1; done; "..
    "kill -INT $attach")
  tap.is(r.status, 0, "idle at the end: status")
  tap.like(r.err, "process "..pid.." runs no Lua code: this is its "..
    "profile so far", "idle at the end: said")
  tap.like(r.out, "^luajit%-mp  ", "idle at the end: the report")
  tap.write(dir.."/busy", "")
  r = attach("-t 0.2 "..pid)
  tap.is(r.status..r.err, "0", "idle at the end: the next one")
  tap.sh("rm busy; until [ -e resting ]; do sleep 0.1; done", { dir = dir })
  r = while_said(pid, "waiting for process", "kill -TERM $attach")
  tap.is(r.status, 1, "idle at the start: status")
  tap.like(r.err, "interrupted", "idle at the start: SIGTERM ends it")
  tap.write(dir.."/busy", "")
  tap.sh("sleep 0.2")
  tap.unlike(tap.sh("ls -l /proc/"..pid.."/fd").out, "memfd",
    "idle at the start: no profile is begun")
  stop("idle")
end

-- Commands that come at the same time: each has a report, or is told why not.
pid = start("host single")
r = tap.sh(([[
  for i in 1 2 3; do
    { %s attach -t 0.1 %s >out.$i 2>err.$i; echo $? >>err.$i; } &
  done
  wait; cat err.1 err.2 err.3]]):format(tap.mp, pid), { dir = dir })
local reports = 0
for i = 1, 3 do
  local out, err = tap.read(dir.."/out."..i), tap.read(dir.."/err."..i)
  -- On a busy machine the command says before that it waits.
  if err:match("(%d+)\n$") == "0" and out:find("^luajit%-mp  ") then
    reports = reports + 1
  else
    tap.like(err, "^luajit%-mp: [^\n]+\n1\n$", "at the same time: refused")
    tap.unlike(err, "not permitted", "at the same time: no other reason")
  end
end
tap.ok(reports > 0, "at the same time: a report", r.out)
r = attach("-t 0.1 "..pid)
tap.is(r.status, 0, "at the same time: the next one", r.err)
stop("at the same time")

-- A command that is killed, or interrupted, while the program loads the
-- profiler: the program ends the call by itself.
local built = tap.sh(([[cc -O -Wl,-E -o loader '%s/t/attach/loader.c' \
  $(pkg-config --cflags --libs luajit) -lpthread -ldl]]):format(tap.srcdir),
  { dir = dir }).status == 0
for _, signal in ipairs(built and { "KILL", "INT" } or {}) do
  tap.write(dir.."/slow", "")
  pid = start("loader slow")
  r = tap.sh(([[
    : >err
    %s attach -t 0.1 %s 2>>err & attach=$!
    until grep -q 'slow to load' err || ! kill -0 $attach; do sleep 0.1; done
    kill -%s $attach; wait $attach; echo "status $?"; cat err; rm slow]])
    :format(tap.mp, pid, signal), { dir = dir })
  tap.like(r.out, signal == "INT" and "^status 1\n" or "^status 137\n",
    signal.." while it loads: status")
  if signal == "INT" then
    tap.like(r.out, "interrupted; process "..pid.." finishes by itself",
      signal.." while it loads: said")
  end
  r = attach("-t 0.1 "..pid)
  tap.is(r.status, 0, signal.." while it loads: the next one", r.err)
  stop(signal.." while it loads")
end

-- Nor does Ctrl-Z stop the program with the command.
if built then
  tap.write(dir.."/slow", "")
  pid = start("loader slow")
  r = tap.sh(([[
    : >err
    %s attach -t 0.1 %s >1.txt 2>>err & attach=$!
    until grep -q 'slow to load' err || ! kill -0 $attach; do sleep 0.1; done
    kill -TSTP $attach
    rm slow
    until grep -q 'State:.[TZ]' /proc/$attach/status || [ -s 1.txt ]; do
      sleep 0.1
    done
    sleep 0.5
    grep -q 'State:.t' /proc/%s/status && echo held
    kill -CONT $attach
    wait $attach; echo "status $?"]]):format(tap.mp, pid, pid), { dir = dir })
  tap.is(r.out, "status 0\n", "TSTP while it loads: the program goes on", r.err)
  stop("TSTP while it loads")
end

tap.done()
