-- SPDX-License-Identifier: MIT
-- A program that interferes with the timer and its signal: the profiler mends
-- it or says what is missing, and the program sees nothing of it.

local tap = require("tap")
local ffi = require("ffi")

if not tap.knows_layout() then
  tap.skip("safepoints alone: LuaJIT's timer may be all there is")
end

local common = [[
local ffi = require("ffi")
ffi.cdef [=[
int kill(int, int); int getpid(void); int close(int); int raise(int);
int sigfillset(void *); int sigwait(const void *, int *);
int pthread_sigmask(int, const void *, void *);
void *signal(int, void *); int abs(int);
long syscall(long, ...);
int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);
]=]
local C = ffi.C
local core = require("jit.mp.core")
local keep = {}
local function allocate(seconds)
  local stop = os.clock() + seconds
  while os.clock() < stop do
    for i = 1, 1000 do keep[i] = { i } end
  end
end
-- Uses CPU until there are that many samples, for 20 seconds at most.
local function compute(samples)
  local stop = os.clock() + 20
  while core.snapshot().cpu.samples < samples and os.clock() < stop do
    local s = 0
    for i = 1, 1e6 do s = s + i % 7 end
  end
  return core.snapshot().cpu.samples
end
local all, old = ffi.new("char[256]"), ffi.new("char[256]")
C.sigfillset(all)
local function block() C.pthread_sigmask(0, all, old) end
local function unblock() C.pthread_sigmask(2, old, nil) end
]]

local function run(name, program, opts)
  local r = tap.luajit((opts or "").." "..tap.program(common..program))
  tap.is(r.status, 0, name..": exit status", r.err)
  return r
end

-- -- Signals that are blocked -------------------------------------------------

local r = run("all signals are blocked, and waited for", [[
block()
assert(require("jit.mp").start("fi1"))
allocate(0.3)
C.kill(C.getpid(), 12)
local sig = ffi.new("int[1]")
C.sigwait(all, sig)
assert(sig[0] == 12, sig[0])
require("jit.mp").stop()
]])
tap.like(r.out, "\nCPU +[1-9][%d.]* m?s +0 samples", "its CPU time is known")
tap.like(r.out, "no CPU samples while the program blocks SIGURG",
  "the reason why it has no samples is said")
tap.unlike(r.out, "too short", "no other is")
tap.unlike(r.out, "another profiler", "nor another one")

run("signals are unblocked", [[
assert(require("jit.mp").start("fi1", "/dev/null"))
block()
allocate(0.05)
unblock()
allocate(0.05)
assert(compute(20) >= 20)
]])

-- A program that has no sample between that and its wait: the call is seen. The
-- program prints what it finds.
local waits = {
  sigwait = "C.kill(C.getpid(), 12) C.sigwait(all, sig) print(sig[0])",
  sigwaitinfo = "C.kill(C.getpid(), 12) print(C.sigwaitinfo(all, nil))",
  sigtimedwait = "print(C.sigtimedwait(all, nil, none))",
  sigpending = "C.sigpending(set) print(set[2])",
  signalfd = "local fd = C.signalfd(-1, all, 2048) print(C.read(fd, set, 128))",
  ppoll = "print(C.ppoll(nil, 0, none, old))",
  pselect = "print(C.pselect(0, nil, nil, nil, none, old))",
  sigsuspend = "C.signal(12, ffi.cast('void *', C.abs)) "..
    "C.kill(C.getpid(), 12) C.sigsuspend(old) C.sigpending(set) print(set[2])",
}
local cpath = tap.builddir.."/.uninstalled/?.so;;"
for name, body in pairs(waits) do
  local program = tap.program(common..([[
ffi.cdef [=[
int sigpending(void *); int sigsuspend(const void *);
int sigwaitinfo(const void *, void *);
int sigtimedwait(const void *, void *, const void *);
int signalfd(int, const void *, int); long read(int, void *, size_t);
int ppoll(void *, unsigned long, const void *, const void *);
int pselect(int, void *, void *, void *, const void *, const void *);
]=]
local sig, set = ffi.new("int[1]"), ffi.new("unsigned char[128]")
local none = ffi.new("long[2]")
block()
local stop = os.clock() + 0.1
while os.clock() < stop do end
]])..body)
  local plain = tap.luajit(program)
  r = tap.sh(("exec %s run -O fi1 -o /dev/null %s"):format(tap.mp, program),
    { env = { LUA_CPATH = cpath } })
  tap.is(r.status..r.out..r.err, plain.status..plain.out..plain.err,
    name.." finds what it would without a profile")
  r = tap.luajit("-jm=fi1,/dev/null "..program)
  tap.is(r.status..r.out..r.err, plain.status..plain.out..plain.err,
    name.." does so with option -jm, too")
end

-- -- An interval that adapts --------------------------------------------------

run("the interval adapts", [[
assert(require("jit.mp").start("f", "/dev/null"))
assert(compute(120) >= 120)
local s, weight, squares = core.snapshot(), 0, 0
for _, row in ipairs(s.rows) do
  weight, squares = weight + row.cpu, squares + (row.cpu_variance or 0)
end
assert(s.cpu.adaptive and s.cpu.interval >= 1 and s.cpu.interval <= 10)
assert(weight >= s.cpu.samples and squares >= weight, weight)
require("jit.mp").stop()
assert(require("jit.mp").start("fi2", "/dev/null"))
assert(compute(20) >= 20)
s = core.snapshot()
assert(not s.cpu.adaptive and s.cpu.interval == 2)
for _, row in ipairs(s.rows) do assert(not row.cpu_variance) end
]])

-- -- Interpreted code ---------------------------------------------------------

-- The stack of the interpreter ends at the frame that LuaJIT notes.
r = run("interpreted code that calls nothing", [[
local used = { 0, 0 }
local function timed(i, f, n)
  local t = os.clock()
  f(n)
  used[i] = used[i] + os.clock() - t
end
local function silent(n) local s = 0 for i = 1, n do s = s + i end end
local function calling(n) for i = 1, n do tostring(i) end end
for _ = 1, 4 do
  timed(1, silent, 1e7)
  timed(2, calling, 2e4)
end
print(("silent %.0f"):format(100 * used[1] / (used[1] + used[2])))
]], "-joff -jm=cfi1")
local want = tonumber(r.out:match("silent (%d+)"))
local got = tonumber(r.out:match("(%d+)%% [^\n]*   silent\n"))
tap.ok(want and got and math.abs(got - want) < 12, "has its own CPU time",
  ("%s%%, and it was %s%%\n"):format(got, want)..r.out)

-- -- Descriptors that are closed ----------------------------------------------

r = run("all descriptors are closed", [[
assert(require("jit.mp").start("fi1", "/dev/null"))
for i = 3, 1023 do C.close(i) end
assert(compute(50) >= 50)
allocate(0.05)
assert(compute(100) >= 100)
assert(#core.snapshot().info.notes == 0, core.snapshot().info.notes[1])
]])

-- -- Signals of others, and handlers ------------------------------------------

run("the program's own signals are no ticks", [[
assert(require("jit.mp").start("fi100", "/dev/null"))
for i = 1, 20000 do C.kill(C.getpid(), 23) end
local s = core.snapshot()
assert(s.cpu.samples <= s.info.cpu * 20 + 2, s.cpu.samples)
]])

-- A function without effect is the handler.
r = run("the program sets a handler", [[
local handler = ffi.cast("void *", C.abs)
assert(require("jit.mp").start("fi1"))
C.signal(23, handler)
allocate(0.3)
C.raise(23)
assert(compute(20) >= 20)
assert(core.snapshot().cpu.clock == "process, kernel tick")
require("jit.mp").stop()
assert(C.signal(23, nil) == handler)
]])
tap.like(r.out, "the program has set a handler of SIGURG", "it is said")
tap.unlike(r.out, "another profiler", "and nothing else")

run("the program ignores the signal", [[
assert(require("jit.mp").start("fi1", "/dev/null"))
local ignore = ffi.cast("void *", 1)
C.signal(23, ignore)
allocate(0.05)
assert(compute(20) >= 20)
require("jit.mp").stop()
assert(C.signal(23, nil) == ignore)
]])

-- -- Systems that permit no timers --------------------------------------------

local numbers = ({
  x64 = { 298, 222, 38 }, arm64 = { 241, 107, 103 }  -- perf_event_open,
})[jit.arch]                             -- timer_create, setitimer.

-- A filter of system calls that refuses these.
local forbid = numbers and ([[
ffi.cdef "typedef struct { uint16_t code; uint8_t jt, jf; uint32_t k; } insn;"
ffi.cdef "typedef struct { uint16_t len; insn *filter; } filter;"
local program = ffi.new("insn[6]", {
  { 0x20, 0, 0, 0 }, { 0x15, 3, 0, %d }, { 0x15, 2, 0, %d },
  { 0x15, 1, 0, %d }, { 0x06, 0, 0, 0x7fff0000 }, { 0x06, 0, 0, 0x50001 } })
local f = ffi.new("filter", 6, program)
if C.prctl(38, 1, 0, 0, 0) ~= 0 or
  C.prctl(22, 2, ffi.cast("unsigned long", ffi.cast("filter *", f)), 0,
  0) ~= 0 then
  print("no filters")
  os.exit(0)
end
local function threads()
  local p = io.popen("ls /proc/"..C.getpid().."/task | wc -l")
  local n = p:read("*n")
  p:close()
  return n
end
]]):format(unpack(numbers))

if forbid then
  r = run("no timers", forbid..[[
assert(require("jit.mp").start("fi1"))
assert(threads() == 2)
assert(compute(200) >= 200)
assert(core.snapshot().cpu.clock == "thread, watched")
require("jit.mp").stop()
assert(threads() == 1)
assert(require("jit.mp").start("fi1b100m", "/dev/null"))
-- A thread that has just begun may have a lock of the sanitizers, which the
-- child of a fork would wait for.
assert(threads() == 2)
ffi.cdef "int fork(void); int waitpid(int, int *, int);"
local pid = C.fork()
if pid == 0 then
  if threads() ~= 1 then os.exit(1) end
  require("jit.mp").stop()
  assert(require("jit.mp").start("fi1", "/dev/null"))
  assert(compute(20) >= 20)
  os.exit(7)
end
local status = ffi.new("int[1]")
C.waitpid(pid, status, 0)
assert(status[0] == 7 * 256, status[0])
]])
  if r.out:find("^no filters") then tap.skip("no filters of system calls") end
  tap.like(r.out, "samples %([%d]+/s, no timers: watched by a thread%)",
    "the report says so")
end

-- -- The start itself ---------------------------------------------------------

-- Its own work is no row of the program, however slow it is: here that of a
-- thread, which option I starts once there is the timer.
local library = tap.tmpname(".so")
local source = tap.tmpname(".c")
tap.write(source, [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
int pthread_create(pthread_t *t, const pthread_attr_t *attr,
		   void *(*f)(void *), void *arg)
{
  clock_t stop = clock() + CLOCKS_PER_SEC / 10;
  int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  while (clock() < stop) ;
  *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
  return next(t, attr, f, arg);
}
]])
r = tap.sh(("%s -shared -fPIC -o %s %s -ldl"):format(os.getenv("CC") or "cc",
  library, source))
if r.status == 0 then
  local asan = os.getenv("LIBASAN") or ""
  local profile = tap.tmpname(".mp")
  tap.sh(("LD_PRELOAD=%s%s %s -jm=Ii1,%s %s"):format(
    asan ~= "" and asan..":" or "", library, tap.command, profile,
    tap.program([[
      local stop, x = os.clock() + 0.2, 0
      while os.clock() < stop do x = x + 1 end]])))
  r = tap.sh(tap.mp.." report "..profile.." fm0")
  local ms = tonumber(r.out:match("CPU +(%d+) ms"))
  tap.ok(ms and ms > 150 and ms < 260, "what a slow start does has none",
    r.out..r.err)
  tap.unlike(r.out, " start\n", "nor has the function that starts")
end
os.remove(library)

tap.done()
