-- SPDX-License-Identifier: MIT
-- exec replaces the program, and _exit ends it: the report is written before,
-- after luajit-mp run and with option -jm.

local tap = require("tap")

local head = [[
local ffi = require("ffi")
ffi.cdef [=[
  int execl(const char *, const char *, ...);
  int execlp(const char *, const char *, ...);
  int execle(const char *, const char *, ...);
  int execv(const char *, char *const *);
  int execvp(const char *, char *const *);
  int execvpe(const char *, char *const *, char *const *);
  int execve(const char *, char *const *, char *const *);
  int fexecve(int, char *const *, char *const *);
  int execveat(int, const char *, char *const *, char *const *, int);
  int open(const char *, int, ...);
  int fork(void); int vfork(void); int getpid(void); void _exit(int);
  void _Exit(int); long syscall(long, ...);
  int waitpid(int, int *, int); int pause(void); int kill(int, int);
  int wait(int *);
]=]
local C, null = ffi.C, ffi.cast("char *", nil)
local function list(...)
  local t = { ... }
  local a = ffi.new("const char *[?]", #t + 1)
  for i, s in ipairs(t) do a[i-1] = s end
  return ffi.cast("char *const *", a), a, t
end
local args, a1, a2 = list("sh", "-c", "echo replaced $X; exit 7")
local envp, e1, e2 = list("X=x")
local keep = {}
local function work()
  for i = 1, 50000 do keep[i % 100 + 1] = { i } end
end
local function later()
  for i = 1, 50000 do keep[i % 100 + 1] = { i } end
end
work()
]]

local cpath = tap.builddir.."/.uninstalled/?.so;;"

local function report(out)
  local text = tap.read(out) or ""
  os.remove(out)
  return text
end

-- Option -jm does the same: r is of the command, whose report has been written.
local function compare(letters, out, body, r)
  local own = out:gsub("%.txt$", ".jm.txt")
  local o = tap.luajit(("-jm=%s,%s %s"):format(letters, own,
    tap.program(head..body:gsub(out:gsub("%p", "%%%0"), (own:gsub("%%", "%%%%"))
    ))))
  local name = "-jm="..letters.." "..body:sub(1, 60)
  tap.is(o.status..o.out..o.err, r.status..r.out..r.err,
    name..": as with the command")
  local text, other = tap.read(out) or "", report(own)
  for _, word in ipairs { "^luajit%-mp", "work", "later" } do
    tap.is(other:match(word) or "", text:match(word) or "",
      name..": its report, too: "..word)
  end
end

local function run(options, body, once)
  local r = tap.sh(("exec %s run %s %s"):format(tap.mp, options,
    tap.program(head..body)), { env = { LUA_CPATH = cpath } })
  local letters, out = options:match("^%-O (%S+) %-o (%S+)$")
  if out and out ~= "/dev/null" and not once then
    compare(letters, out, body, r)
  end
  return r
end

-- Whether the C library has a function; where it has not, only the command's
-- library does.
local function has(name)
  local ffi = require("ffi")
  ffi.cdef("int "..name.."();")
  return (pcall(function() return ffi.C[name] end))
end

-- -- Each function -----------------------------------------------------------

for name, call in pairs {
  execl = "C.execl('/bin/sh', 'sh', '-c', 'echo replaced $X; exit 7', null)",
  execlp = "C.execlp('sh', 'sh', '-c', 'echo replaced $X; exit 7', null)",
  execle = "C.execle('/bin/sh', 'sh', '-c', 'echo replaced $X; exit 7', "..
    "null, envp)",
  execv = "C.execv('/bin/sh', args)",
  execvp = "C.execvp('sh', args)",
  execvpe = "C.execvpe('sh', args, envp)",
  execve = "C.execve('/bin/sh', args, envp)",
  fexecve = "C.fexecve(C.open('/bin/sh', 0), args, envp)",
  execveat = "C.execveat(-100, '/bin/sh', args, envp, 0)"
} do
  local out = tap.tmpname(".txt")
  local r = run("-O f -o "..out, "io.write('buffered') "..call,
    not has(name) and "once")
  tap.is(r.status, 7, name..": the other program's status", r.err)
  tap.is(r.out, call:find("envp") and "replaced x\n" or "replaced\n",
    name..": its output alone")
  tap.is(r.err, "", name..": no message")
  tap.like(report(out), "work", name..": the report is written")
end

-- -- A failure: the program goes on, and so does its profile -----------------

for name, call in pairs {
  ["a file that does not exist"] = "C.execvp('/nonexistent/x', args)",
  ["a directory"] = "C.execv('/tmp', args)",
  ["no program"] = "C.execv(arg[0]..'.bad', args)",
  ["too large arguments"] =
    "C.execv('/bin/sh', (list('sh', ('x'):rep(2^22))))",
} do
  local out = tap.tmpname(".txt")
  local r = run("-O f -o "..out, [[
    local f = io.open(arg[0]..'.bad', 'w') f:write('\127ELF bad') f:close()
    os.execute("chmod +x "..arg[0]..'.bad')
    local status = ]]..call..[[
    os.remove(arg[0]..'.bad')
    io.write(status, " ", C.wait(nil), "\n")
    later()]])
  tap.is(r.status, 0, name..": exit status", r.err)
  tap.is(r.out, "-1 -1\n", name..": exec fails, and there is no child")
  local text = report(out)
  tap.like(text, "later", name..": the profile goes on")
  tap.like(text, "work", name..": with what was before")
end

-- A daemon after a failure: its report is still to be made.
local out = tap.tmpname(".txt")
local r = run("-O f -o "..out, [[
  C.execv('/bin/sh', (list('sh', ('x'):rep(2^22))))
  local pid = C.fork()
  if pid ~= 0 then C._exit(0) end
  local t = os.time() + 2
  while os.time() < t do later() end]], "once")
tap.ok(tap.wait(function()
  return (tap.read(out) or ""):find("continued the profile")
end), "a daemon after a failure inherits the profile")

-- -- Children, outputs and options -------------------------------------------

out = tap.tmpname(".txt")
r = run("-O f -o "..out, [[
  local pid = C.fork()
  if pid == 0 then C.execv('/bin/true', args) C._exit(9) end
  local st = ffi.new("int[1]")
  C.waitpid(pid, st, 0)
  local before = io.open("]]..out..[[")
  print(st[0], before and before:read(1))
  os.execute("exit 0") io.popen("true"):close()
  later()]])
tap.is(r.out, "0\tnil\n", "a forked child that calls exec has no report", r.err)
tap.like(report(out), "later", "its parent has one")

local here = tap.tmpname("")
os.remove(here)
r = run("-O f -o "..here..".%p.txt", [[
  local pid = C.fork()
  if pid == 0 then later() C.execv('/bin/true', args) end
  C.waitpid(pid, nil, 0)]], "once")
r = tap.sh("cat "..here..".*.txt; rm -f "..here..".*.txt")
local _, n = r.out:gsub("luajit%-mp", "")
tap.ok(n >= 2, "but a child with a profile of its own has", r.out)

r = run("-O f", "io.write('lost') C.execv('/bin/sh', args)")
tap.like(r.out, "work.*\nreplaced\n$",
  "standard output: the report comes first")
tap.unlike(r.out, "lost", "what the program had not written is not written")

for _, options in ipairs { "L", "e", "W", "n", "fb1w1" } do
  out = tap.tmpname(".txt")
  r = run("-O "..options.." -o "..out, "C.execv('/bin/sh', args)")
  tap.is(r.status, 7, options..": exit status", r.err)
  tap.like(report(out), "luajit%-mp", options..": a report", r.err)
end

-- In a handler of a signal; and while other signals come.
out = tap.tmpname(".txt")
r = run("-O f -o "..out, [[
  os.execute("(sleep 0.3; kill -USR1 "..C.getpid()..") &")
  ffi.cdef "void (*signal(int, void (*)(int)))(int);"
  C.signal(10, ffi.cast("void (*)(int)", function()
    C.execv('/bin/sh', args)
  end))
  C.pause()]])
tap.is(r.status, 7, "exec in a handler", r.err)
tap.like(report(out), "work", "has its report")

-- -- _exit -------------------------------------------------------------------

local exit_group = ({ x86 = 252, arm64 = 94 })[jit.arch] or 231
for name, call in pairs { _exit = "C._exit(3)", _Exit = "C._Exit(3)",
    exit_group = "C.syscall("..exit_group..", ffi.cast('long', 3))" } do
  out = tap.tmpname(".txt")
  r = run("-O f -o "..out, "io.write('buffered') "..call)
  tap.is(r.status..r.out..r.err, "3", name..": the status alone")
  tap.like(report(out), "work", name..": the report is written")
end

r = run("-O f", "io.write('lost') C._exit(3)")
tap.like(r.out, "work", "_exit: a report on standard output")
tap.unlike(r.out, "lost", "and nothing that the program had not written")

out = tap.tmpname(".txt")
r = run("-O f -o "..out, [[
  local pid = C.fork()
  if pid == 0 then C._exit(9) end
  local st = ffi.new("int[1]")
  C.waitpid(pid, st, 0)
  local before = io.open("]]..out..[[")
  print(st[0] / 256, before and before:read(1))
  io.flush()
  local t = os.clock() + 0.1
  while os.clock() < t do later() end
  C._exit(4)]])
tap.is(r.status..r.out, "49\tnil\n", "a forked child has no report", r.err)
tap.like(report(out), "later", "its parent has one after that")

out = tap.tmpname(".txt")
r = run("-O f -o "..out, [[
  ffi.cdef "void (*signal(int, void (*)(int)))(int); int raise(int);"
  C.signal(10, ffi.cast("void (*)(int)", function() C._exit(5) end))
  C.raise(10)]])
tap.is(r.status..r.err, "5", "_exit in a handler")
tap.like(report(out), "work", "has its report")

local dir = tap.tmpdir()
tap.write(dir.."/host.c", [[
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static volatile int ready[2];

static int set_ready(lua_State *L)
{
  ready[lua_tointeger(L, 1)] = 1;
  return 0;
}

static void *run(void *which)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_register(L, "ready", set_ready);
  lua_pushinteger(L, which != NULL);
  lua_setglobal(L, "which");
  if (luaL_dostring(L, "local function first() local t = {} for i = 1, 1e5 do "
		       "t[i % 9] = { i } end end\n"
		       "local function second() local t = {} for i = 1, 1e5 do "
		       "t[i % 9] = { i } end end "
		       "while true do if which == 0 then first() else second() "
		       "end ready(which) end"))
    _exit(9);
  return NULL;
}

static void leave(int sig) { _exit(sig); }

int main(void)
{
  pthread_t a, b;
  pthread_create(&a, NULL, run, NULL);
  pthread_create(&b, NULL, run, &a);
  while (!ready[0] || !ready[1]) usleep(1000);
  signal(SIGTERM, leave);
  raise(SIGTERM);
  return 8;
}
]])
if not tap.is_foreign() and not tap.slow and (os.getenv("LIBASAN") or "") == ""
    and tap.sh("cc -O -o host host.c $(pkg-config --cflags --libs luajit) "..
      "-lpthread", { dir = dir }).status == 0 and
    tap.sh("exec ./host", { dir = dir }).status == 15 then
  r = tap.sh("exec "..tap.mp.." run -O f -o r.txt -- ./host", { dir = dir,
    env = { LUA_CPATH = cpath } })
  tap.is(r.status..r.out..r.err, "15", "_exit while two threads run Lua")
  local text = tap.read(dir.."/r.txt") or ""
  tap.ok(text:find("in 2 profiles\n") and text:find("first") and
    text:find("second"), "has the report of both", text)
end

-- -- What the program and its children see -----------------------------------

r = run("-O f -o /dev/null", [[print(os.getenv("LD_PRELOAD") or "")
  io.flush() os.execute("echo ${LD_PRELOAD-}")
  io.flush() os.execute("ls -l /proc/"..C.getpid().."/fd")]])
tap.unlike(r.out, "mp%-exec", "the library is not passed on, nor open")
tap.unlike(r.out, "/proc/self/fd", "nor under its other name")
if (os.getenv("LIBASAN") or "") == "" then
  r = tap.sh(("LD_PRELOAD=libm.so.6 exec %s run -O f -o /dev/null %s"):format(
    tap.mp, tap.program("print(os.getenv('LD_PRELOAD'))")),
    { env = { LUA_CPATH = cpath } })
  tap.is(r.out:match("libm.so.6\n$"), "libm.so.6\n", "others stay")
end
r = run("-O f -o /dev/null", "print(package.loaded['jit.mp'] ~= nil)")
tap.is(r.out, "true\n", "in any directory")

-- Standard output.
r = tap.luajit("-jm=f "..tap.program(head..
  "io.write('lost') C.execv('/bin/sh', args)"))
tap.like(r.out, "work.*\nreplaced\n$", "-jm=f, exec: the report comes first")
tap.unlike(r.out, "lost", "nor is what the program had not written")

tap.done()
