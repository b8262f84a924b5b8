-- SPDX-License-Identifier: MIT
-- A profile by the environment alone: LUA_INIT, signals, the preloaded
-- library.

local tap = require("tap")

local dir = tap.tmpdir()

local init = "require'jit.mp.env'"

local function run(program, env)
  tap.write(dir.."/app.lua", program)
  env.LUA_INIT = init
  return tap.luajit("app.lua", { dir = dir, env = env })
end

local function take(name)
  local text = tap.read(dir.."/"..name)
  os.remove(dir.."/"..name)
  return text
end

local work = [[
local function work()
  local keep = {}
  for i = 1, 30000 do keep[i % 100] = { i } end
end
work()
print("result")
]]

-- LUAJIT_MP alone.
local r = run(work, { LUAJIT_MP = "lb1,out.txt,out.mp" })
tap.is(r.status..r.out..r.err, "0result\n", "the program does what it does")
tap.like(take("out.txt"), "app.lua:3", "and is profiled")
tap.ok(take("out.mp"), "with both outputs")
for _, what in ipairs({ false, "" }) do
  r = run(work.."print(package.loaded['jit.mp'])", { LUAJIT_MP = what })
  tap.is(r.out..r.err, "result\nnil\n", "nothing is loaded without")
end
for what, why in pairs({ Z = "unknown option 'Z'", ["f,/no/x"] = "cannot open",
    ["f,a.doc"] = "unknown output format" }) do
  r = run(work, { LUAJIT_MP = what })
  tap.is(r.status..r.out, "0result\n", "the program runs with "..what)
  tap.like(r.err, "^luajit%-mp: [^\n]*"..why.."[^\n]*\n$", "which is said")
end

-- LUA_PATH without LuaJIT's own directories, as luarocks path prints it: that
-- zones cannot be had is said to those who ask for them, and jit.vmdef is found
-- where LuaJIT has it.
do
  local env = { LUA_PATH = tap.srcdir.."/lib/?.lua" }
  local out = tap.luajit("-jm=f app.lua", { dir = dir, env = env }).out
  tap.like(out, "work", "a path of the modules alone: a report")
  tap.unlike(out, "zone", "which does not speak of zones")
  out = tap.luajit("-jm=fz,-,z.html,z.mp app.lua", { dir = dir, env = env }).out
  tap.like(out, "\nno zones: the module jit%.zone was not found when the "..
    "profile began\n", "option z does")
  tap.unlike(out, "no zones: the program", "and gives one reason")
  tap.unlike(take("z.html"), "no zones: the module", "the page does not")
  tap.like(tap.sh(tap.mp.." report "..dir.."/z.mp z").out, "no zones: the mod",
    "a report of the profile does")
  local bare = { LUA_PATH = "" }
  if tap.luajit("-e 'require([[jit.vmdef]])'", { env = bare }).status == 0 then
    out = tap.luajit("-jm=J app.lua", { dir = dir, env = env }).out
    tap.like(out, "\nJIT compiler: ", "option J: a report")
    tap.unlike(out, "jit%.vmdef", "whose reasons have names")
  end
end

-- A signal begins, a signal ends.
local signalled = [[
local function kill() os.execute("kill -USR2 $PPID") end
local keep = {}
local function before() for i = 1, 30000 do keep[i % 100] = { i } end end
local function during() for i = 1, 30000 do keep[i % 100] = { i } end end
local function after() for i = 1, 30000 do keep[i % 100] = { i } end end
local function read()
  local f = io.open("out.txt")
  if f then f:close() end
  return f
end
before() kill() during() kill() after()
print(read() ~= nil)
assert(os.rename("out.txt", "first.txt"))
after() kill() during() kill() before()
print((debug.gethook()))
]]
r = run(signalled, { LUAJIT_MP = "lb1,out.txt", LUAJIT_MP_SIGNAL = "USR2" })
tap.is(r.status..r.out..r.err, "0true\nnil\n", "a program with signals")
for _, name in ipairs({ "first.txt", "out.txt" }) do
  local text = take(name)
  tap.like(text, "app.lua:4", "what was done between them")
  tap.unlike(text, "app.lua:3", "not what was done before")
  tap.unlike(text, "app.lua:5", "nor after")
end
r = run(signalled:gsub("print%(%(debug", "kill() %0"),
  { LUAJIT_MP = "lb1,out.txt", LUAJIT_MP_SIGNAL = "SIGUSR2" })
tap.is(r.err, "", "three signals")
tap.ok(take("out.txt"), "the end of the program writes what was begun")
os.remove(dir.."/first.txt")

-- The program's own hook is there all the same.
r = run([[
jit.off()
local n = 0
debug.sethook(function() n = n + 1 end, "", 100)
os.execute("kill -USR2 $PPID")
for i = 1, 1e5 do end
os.execute("kill -USR2 $PPID")
for i = 1, 1e5 do end
local f, mask, count = debug.gethook()
print(f ~= nil, mask, count, n > 100)
]], { LUAJIT_MP = "f,out.txt", LUAJIT_MP_SIGNAL = "12" })
tap.is(r.out..r.err, "true\t\t100\ttrue\n", "a hook of the program's")
tap.ok(take("out.txt"), "and the report")

-- In coroutines, and in a compiled loop, which the profile interrupts.
r = run([[
local function busy(t) while os.clock() < t do for i = 1, 100 do end end end
os.execute("(sleep 0.3; kill -USR2 $PPID) &")
coroutine.wrap(function()
  os.execute("kill -USR2 $PPID")
  busy(os.clock() + 0.2)
end)()
local n = 0
while not io.open("out.txt") and os.clock() < 5 do n = n + 1 end
print(os.clock() < 5)
]], { LUAJIT_MP = "f,out.txt", LUAJIT_MP_SIGNAL = "USR2" })
tap.is(r.out..r.err, "true\n", "a coroutine's and a loop's signals")
take("out.txt")

for name, why in pairs({ USR9 = "unknown signal 'USR9'",
    KILL = "unknown signal", ["9"] = "signal 9 cannot be handled",
    ["11"] = "signal 11 cannot be handled",
    ["RTMIN+99"] = "unknown signal", ["RTMIN+1"] = false }) do
  r = run(work, { LUAJIT_MP = "f,out.txt", LUAJIT_MP_SIGNAL = name })
  tap.is(r.status..r.out, "0result\n", "the program runs with signal "..name)
  if why then tap.like(r.err, "^luajit%-mp: "..why, "which is said")
  else tap.is(r.err, "", "which will do") end
end

-- A child of fork that is told has its own report.
r = run([[
local ffi = require("ffi")
ffi.cdef"int fork(void); int wait(int *); int getpid(void);"
local pid = ffi.C.fork()
if pid == 0 then
  os.execute("kill -USR2 $PPID")
  local t = {} for i = 1, 30000 do t[i % 100] = { i } end
  os.execute("kill -USR2 $PPID")
  for i = 1, 100 do end
  os.exit(0)
end
ffi.C.wait(nil)
print(pid)
]], { LUAJIT_MP = "lb1,out.%p.txt", LUAJIT_MP_SIGNAL = "USR2" })
tap.like(take(("out.%s.txt"):format(r.out:match("%d+"))), "app.lua:6",
  "a child's profile")

-- The preloaded library, in a program that knows nothing of it.
if tap.is_foreign() then return tap.done() end
tap.write(dir.."/host.c", [[
#include <lauxlib.h>
#include <lualib.h>
static void run(const char *file)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_dofile(L, file) != 0) puts(lua_tostring(L, -1));
  lua_close(L);
}
int main(int argc, char **argv)
{
  int i;
  for (i = 1; i < argc; i++) run(argv[i]);
  return 0;
}
]])
r = tap.sh(("cd %s && %s host.c -include stdio.h $(pkg-config --cflags "..
  "--libs luajit) -o host"):format(dir, os.getenv("CC") or "cc"))
if not tap.is(r.status, 0, "a host program") then
  tap.diag(r.err)
  tap.done()
end
tap.write(dir.."/app.lua", work)
local asan = os.getenv("LIBASAN") or ""
local library = tap.loadable().."/.libs/libluajit-mp-preload.so"
local function host(args, env)
  env.LD_PRELOAD = (asan ~= "" and asan..":" or "")..library
  return tap.sh(args, { dir = dir, env = env })
end
r = host("./host app.lua app.lua", { LUAJIT_MP = "lb1,out.%s.txt" })
tap.is(r.status..r.out..r.err, "0result\nresult\n", "with the library")
for i = 1, 2 do
  local text = take(("out.%d.txt"):format(i)) or ""
  tap.like(text, "app.lua:3", "report of state "..i)
  tap.is(text:match("^luajit%-mp  (%S+)"), "host", "it has the program's name")
end
tap.is(take("out.3.txt"), nil, "none of the state that makes reports")
-- States in threads, each with a profile, and one of all.
tap.write(dir.."/threads.c", [[
#include <pthread.h>
#include <stdio.h>
#include <lauxlib.h>
#include <lualib.h>
static void *run(void *file)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_dofile(L, file) != 0) puts(lua_tostring(L, -1));
  lua_close(L);
  return NULL;
}
int main(int argc, char **argv)
{
  pthread_t t[16];
  int i;
  for (i = 1; i < argc; i++) pthread_create(&t[i], NULL, run, argv[i]);
  for (i = 1; i < argc; i++) pthread_join(t[i], NULL);
  return 0;
}
]])
r = tap.sh(("cd %s && %s threads.c -pthread "..
  "$(pkg-config --cflags --libs luajit) -o threads"):format(dir,
  os.getenv("CC") or "cc"))
tap.is(r.status, 0, "a program with threads")
tap.write(dir.."/other.lua", (work:gsub("30000", "60000")))
r = host("./threads app.lua other.lua app.lua other.lua",
  { LUAJIT_MP = "fb1,out.%s.mp" })
tap.is(r.status..r.err, "0", "runs")
r = tap.sh("cd "..dir.." && "..tap.mp.." merge -o all.mp out.[1-4].mp && "..
  tap.mp.." report all.mp lo")
tap.is(r.status..r.err, "0", "its profiles are merged")
local function objects(name)
  return tonumber(r.out:match("([%d.]+) k[^\n]* "..name.."\n")) or 0
end
tap.ok(objects("other.lua:3") >= 120 and objects("app.lua:3") >= 60,
  "into the sum of them", r.out)
os.execute("rm "..dir.."/out.*.mp")
r = host("./host app.lua", { LUAJIT_MP = "Z" })
tap.is(r.status..r.out, "0result\n", "with a wrong option")
tap.like(r.err, "^luajit%-mp: unknown option 'Z'", "which is said")
r = host("./host app.lua", { LUAJIT_MP = false })
tap.is(r.status..r.out..r.err, "0result\n", "without the variable")
r = host("./host app.lua", { LUAJIT_MP = "f", LUA_PATH = "/none/?.lua",
  LUA_CPATH = "/none/?.so" })
tap.is(r.status..(r.err ~= "" and "result\n" or r.out), "0result\n",
  "without the modules")
-- Another Lua.
tap.write(dir.."/lua.c", "void luaL_openlibs(void *L) { (void)L; }\n")
tap.write(dir.."/user.c", "void luaL_openlibs(void *);\n"..
  "int main(void) { luaL_openlibs(0); luaL_openlibs(0); return 0; }\n")
r = tap.sh(("cd %s && %s -shared -fPIC lua.c -o liblua.so && "..
  "%s user.c -L. -llua -Wl,-rpath,. -o user"):format(dir,
  os.getenv("CC") or "cc", os.getenv("CC") or "cc"))
tap.is(r.status..r.err, "0", "a program with another Lua")
r = host("./user", { LUAJIT_MP = "f" })
tap.is(r.status..r.out..r.err,
  "0luajit-mp: no profile of user: its Lua is not LuaJIT\n", "which is said")
r = host("./user", { LUAJIT_MP = false })
tap.is(r.status..r.out..r.err, "0", "only where a profile was asked for")
r = host("sh -c 'echo shell'", { LUAJIT_MP = "f" })
tap.is(r.status..r.out..r.err, "0shell\n", "a program without Lua")

tap.write(dir.."/other.lua", [[
local jit = jit
_G.jit = nil
print(select(2, pcall(require, "jit.mp")))
_G.jit, package.loaded["jit.mp"] = jit, nil
package.preload["jit.mp.core"] = function()
  error("core.so: undefined symbol: luaJIT_profile_start", 0)
end
print((select(2, pcall(require, "jit.mp")):gsub("LuaJIT 2[^ ]*", "LuaJIT")))
]])
tap.is(tap.luajit("other.lua", { dir = dir }).out, "jit.mp: this is Lua 5.1, "..
  "not LuaJIT\njit.mp: LuaJIT has no function luaJIT_profile_start that a "..
  "module can call\n", "the module in another Lua, and in another LuaJIT")

-- luajit-mp run sets all of that for a program.
local path = tap.builddir.."/.uninstalled/?.so;;"
local function run_program(args, env)
  env = env or {}
  env.LUA_CPATH = path
  return tap.sh("exec "..tap.mp.." run "..args, { dir = dir, env = env })
end
r = run_program("-O lb1 -o out.txt -o out.mp -- ./host app.lua")
tap.is(r.status..r.out..r.err, "0result\n", "run, with a host")
tap.like(take("out.txt"), "app.lua:3", "and its report")
tap.ok(take("out.mp"), "and another one")
tap.write(dir.."/start", "#!/bin/sh\nexec ./host \"$@\"\n")
r = run_program("-O lb1 -o out.txt ./start app.lua")
tap.is(r.status..r.out..r.err, "1luajit-mp: cannot run ./start: Permission "..
  "denied\n", "a file that may not be executed")
os.execute("chmod +x "..dir.."/start")
r = run_program("-O lb1 -o out.txt ./start app.lua")
tap.is(r.status..r.out..r.err, "0result\n", "a shell script")
tap.like(take("out.txt"), "app.lua:3", "that becomes the host")
tap.write(dir.."/init.lua", "y = 7\n")
for code, what in pairs({ ["x = 5"] = "x", ["@init.lua"] = "y" }) do
  r = run_program(("-O lb1 -o out.txt -- %s -e 'print(%s)' app.lua"):format(
    tap.command, what), { LUA_INIT = code })
  tap.is(r.status..r.out..r.err, ("0%d\nresult\n"):format(
    what == "x" and 5 or 7), "luajit itself, with the user's LUA_INIT")
  tap.like(take("out.txt"), "app.lua:3", "and a profile")
end
tap.write(dir.."/plain.c", "int main(void) { return 4; }\n")
tap.sh(("cd %s && %s plain.c -o plain"):format(dir, os.getenv("CC") or "cc"))
r = run_program("-o out.txt ./plain")
tap.is(r.status..r.out, "4", "run, with a program without LuaJIT")
local function none(name)
  return ("luajit-mp: no profile of %s: no LuaJIT was seen in it; luajit-mp "..
    "attach finds one that is linked in\n"):format(name)
end
tap.is(r.err, none("plain"), "which says so")
r = run_program("-o out.txt sh -c 'echo shell; exit 5'")
tap.is(r.status..r.out, "5shell\n", "a shell, which may end by _exit")
tap.is(r.err, none("sh"), "says so")
r = run_program("-o out.txt cat start")
tap.is(r.status..r.out..r.err, "0"..tap.read(dir.."/start")..none("cat"),
  "a utility that closes its standard error at its end")
r = run_program("-o out.txt -- sh -c 'cat missing; exec 2>&-; exit 6'")
tap.is(r.status..r.out, "6", "a program that has closed its standard error")

-- A place in the environment that is another file's.
tap.write(dir.."/app.lua", work)
tap.write(dir.."/kept", "contents")
r = tap.sh("exec 9<>kept; set -- $(stat -c '%d %i' kept); "..
  "LUAJIT_MP_PROGRAM=1 LUAJIT_MP_SEEN=\"$$ 9 $1 $2\" "..tap.command..
  " -jm=f,/dev/null app.lua", { dir = dir })
tap.is(r.status..r.out..r.err, "0result\n", "a wrong place of the note")
tap.is(take("kept"), "contents", "leaves the file as it is")

-- A program that starts others, of which one has LuaJIT.
local child = tap.command.." app.lua"
for what, text in pairs({ ["a child"] = child.."; exit 3",
    ["a child's child"] = "sh -c \""..child.."; exit\"; exit 3",
    ["a child of a program that was replaced"] =
      child.."; exec sh -c 'exit 3'",
    ["a child without our library"] = "LD_PRELOAD=; "..child.."; exit 3",
    ["a host"] = "./host app.lua; exit 3" }) do
  tap.write(dir.."/job", "#!/bin/sh\n"..text.."\n")
  os.execute("chmod +x "..dir.."/job")
  r = run_program("-O lb1 -o out.txt ./job")
  tap.is(r.status..r.out..r.err, "3result\n", what.." is profiled")
  tap.like(take("out.txt"), "app.lua:3", "and the program is silent")
end
tap.write(dir.."/job", "#!/bin/sh\ncat start; exit 3\n")
r = run_program("-o out.txt ./job")
tap.like(r.err, "^luajit%-mp: no profile of [^\n]*: no LuaJIT [^\n]*\n$",
  "said once where no child has LuaJIT")
tap.done()
