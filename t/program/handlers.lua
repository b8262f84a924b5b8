-- SPDX-License-Identifier: MIT
-- A program with handlers for the signals that the profiler and LuaJIT use, as
-- Go's runtime has for every signal: it is profiled, its signals reach its
-- handlers and no other does, and they are its own again at the end.

local tap = require("tap")
if tap.is_foreign() then tap.skip("the C module is for Debian's LuaJIT") end

local dir = tap.tmpdir()
tap.write(dir.."/handlers.c", [[
#define _GNU_SOURCE
#include <lauxlib.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static char stack[65536];
static volatile int urgent, timed, strange, elsewhere, first;

static void on_signal(int sig, siginfo_t *info, void *context)
{
  char here;
  (void)context;
  if (&here < stack || &here >= stack + sizeof(stack)) elsewhere++;
  if (info->si_code != SI_TKILL && info->si_code != SI_KERNEL) strange++;
  if (sig == SIGURG) urgent++;
  else timed++;
}

/* The first handler, which the other one replaces. */
static void on_first(int sig) { (void)sig; first++; }

static int handle(lua_State *L)
{
  stack_t alternate;
  struct sigaction sa;
  memset(&alternate, 0, sizeof(alternate));
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, NULL);
  memset(&sa, 0, sizeof(sa));
  sigfillset(&sa.sa_mask);
  if (lua_toboolean(L, 1)) {
    sa.sa_flags = SA_RESTART;
    sa.sa_handler = on_first;
  } else {
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sa.sa_sigaction = on_signal;
  }
  sigaction(SIGURG, &sa, NULL);
  sigaction(SIGPROF, &sa, NULL);
  return 0;
}

static int is_handled(int sig)
{
  struct sigaction sa;
  sigaction(sig, NULL, &sa);
  return (sa.sa_flags & SA_SIGINFO) && sa.sa_sigaction == on_signal;
}

static int handled(lua_State *L)
{
  lua_pushboolean(L, is_handled(SIGURG));
  lua_pushboolean(L, is_handled(SIGPROF));
  return 2;
}

static int send(lua_State *L)
{
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), luaL_checkint(L, 1));
  return 0;
}

static int set_timer(lua_State *L)
{
  int ms = luaL_checkint(L, 1);
  struct itimerval tm = { { 0, 1000 * ms }, { 0, 1000 * ms } };
  setitimer(ITIMER_PROF, &tm, NULL);
  return 0;
}

static int counts(lua_State *L)
{
  lua_pushinteger(L, urgent);
  lua_pushinteger(L, timed);
  lua_pushinteger(L, strange);
  lua_pushinteger(L, elsewhere);
  lua_pushinteger(L, first);
  return 5;
}

int luaopen_handlers(lua_State *L)
{
  lua_register(L, "handle", handle);
  lua_register(L, "handled", handled);
  lua_register(L, "send", send);
  lua_register(L, "set_timer", set_timer);
  lua_register(L, "counts", counts);
  return 0;
}
]])
local r = tap.sh((os.getenv("CC") or "cc").." -shared -fPIC -o handlers.so "..
  "handlers.c $(pkg-config --cflags luajit)", { dir = dir })
if r.status ~= 0 then
  tap.skip("no C compiler that makes a module")
end

local head = [[
require("handlers")
local mp = require("jit.mp")
local core = require("jit.mp.core")
local URG, PROF = 23, 27
local function work(samples)
  local keep, stop = {}, os.clock() + 20
  while core.snapshot().cpu.samples < samples and os.clock() < stop do
    for i = 1, 100000 do keep[i % 100] = { i } end
  end
  return core.snapshot().cpu.samples
end
]]

local function run(name, program)
  tap.write(dir.."/app.lua", head..program)
  local o = tap.luajit("app.lua", { dir = dir,
    env = { LUA_CPATH = dir.."/?.so;"..(os.getenv("LUA_CPATH") or ";") } })
  tap.is(o.status, 0, name, o.err)
  return o
end

local exact = tap.knows_layout()
r = run("a program that handles both signals", [[
handle()
assert(mp.start("fi1"))
print("samples", work(20) >= 20)
for i = 1, 10 do send(URG) send(PROF) end
print(counts())
print(handled())
mp.stop()
print(counts())
print(handled())
]])
if exact then
  tap.like(r.out, "^samples\ttrue\n", "has CPU samples")
  tap.like(r.out, "\n10\t10\t0\t0\t0\nfalse\ttrue\n.*\n10\t10\t0\t0\t0\n"..
    "true\ttrue\n", "and gets its own signals, on its own stack")
  tap.unlike(r.out, "no CPU samples", "nothing is missing")
end

-- Such a profiler has its timer at the end, too.
r = run("the program's own profiler", [[
handle()
assert(mp.start("fi1", "/dev/null"))
work(5)
set_timer(1)
local function busy()
  local _, n = counts()
  local stop = os.clock() + 20
  while select(2, counts()) < n + 10 and os.clock() < stop do end
  return select(2, counts()) >= n + 10
end
print(busy())
mp.stop()
print(busy(), (select(3, counts())))
set_timer(0)  -- The end of the state unloads the handler.
]])
tap.is(r.out, "true\ntrue\t0\n", "goes on beside ours, and after it")

r = run("the program's own profiler comes first", [[
handle()
set_timer(1)
print(mp.start("c", "/dev/null"))
set_timer(0)
]])
tap.like(r.out, "the profiling timer is in use", "it keeps the timer")

r = run("the handlers are set anew meanwhile", [[
handle(true)
assert(mp.start("fi1", "/dev/null"))
work(5)
handle()
work(10)
for i = 1, 10 do send(URG) send(PROF) end
print((select(5, counts())))
mp.stop()
print(handled())
]])
if exact then tap.is(r.out, "0\ntrue\ttrue\n", "they stay") end

tap.done()
