-- SPDX-License-Identifier: MIT
-- All the ends of a program that the manual lists, in several modes, with and
-- without the compiler: exit status, signal and output are those of the plain
-- program, and there is a report where the manual says so.

local tap = require("tap")
local trial = require("attack.trial")

local dir = tap.tmpdir()

local prelude = [[
local ffi = require("ffi")
ffi.cdef "int kill(int, int), getpid(void), fork(void), usleep(unsigned);"
ffi.cdef "int waitpid(int, int *, int), daemon(int, int);"
ffi.cdef "void exit(int), quick_exit(int), _exit(int), abort(void);"
ffi.cdef "int execlp(const char *, const char *, ...);"
ffi.cdef "void *signal(int, void *); int abs(int);"
ffi.cdef "int setrlimit(int, const unsigned long *);"
ffi.cdef "typedef struct { int fd; short events, got; } pollfd_t;"
ffi.cdef "int poll(void *, unsigned long, int);"
ffi.cdef "typedef struct lua_State lua_State;"
ffi.cdef "lua_State *luaL_newstate(void); void luaL_openlibs(lua_State *);"
ffi.cdef "int luaL_loadstring(lua_State *, const char *);"
ffi.cdef "int lua_pcall(lua_State *, int, int, int);"
ffi.cdef "void lua_close(lua_State *);"
local C = ffi.C
C.setrlimit(4, ffi.new("unsigned long[2]")) -- No core files.
local keep = {}
local function busy(n)
  for i = 1, n do keep[i % 100 + 1] = { i } end
end
busy(30000)
local function signal(n) C.kill(C.getpid(), n) end
local function handle(n, f) C.signal(n, ffi.cast("void *", f)) end
io.write("begun ") io.flush()
]]

-- Name, rest of the program, and whether there is a report: 1, 0 or "any".
local ends = {
  { "a normal end", "", 1 },
  { "an error", "error('stop here')", 1 },
  { "an error that is a table", "error({})", 1 },
  { "an error in a coroutine",
    "coroutine.wrap(function() error('stop here') end)()", 1 },
  { "os.exit(3)", "os.exit(3)", 1 },
  { "os.exit(3, true)", "os.exit(3, true)", 1 },
  { "os.exit in a coroutine",
    "coroutine.wrap(function() os.exit(4) end)()", 1 },
  { "os.exit in a finalizer",
    "getmetatable(newproxy(true)).__gc = function() os.exit(8) end "..
    "collectgarbage() collectgarbage()", 1 },
  { "exit", "C.exit(5)", 1 },
  { "quick_exit", "C.quick_exit(6)", 1 },
  { "a host that closes a state", [[
    local L = C.luaL_newstate()
    C.luaL_openlibs(L)
    C.luaL_loadstring(L, "local t = {} for i = 1, 1000 do t[i] = { i } end")
    C.lua_pcall(L, 0, 0, 0)
    C.lua_close(L)]], 1 },
  { "a fork", [[
    local pid = C.fork()
    if pid == 0 then busy(1000) os.exit(9) end
    local status = ffi.new("int[1]")
    C.waitpid(pid, status, 0)
    print(status[0])]], 1 },
  { "a fork whose child is killed", [[
    local pid = C.fork()
    if pid == 0 then signal(15) while true do end end
    local status = ffi.new("int[1]")
    C.waitpid(pid, status, 0)
    print(status[0])]], 1 },
  { "a fork whose parent leaves by _exit",
    "if C.fork() == 0 then C.usleep(20000) os.exit(0) end C._exit(2)", "any" },
  { "daemon", "C.daemon(1, 1) busy(1000)", "any" },
  { "SIGKILL", "signal(9)", 0 },
  { "a crash", "signal(11)", 0 },
  { "abort", "C.abort()", 0 },
  { "_exit", "C._exit(7)", "any" },
  { "exec", "C.execlp('sh', 'sh', '-c', 'exit 6', nil)", "any" },
}

local signals = { HUP = 1, INT = 2, QUIT = 3, USR1 = 10, USR2 = 12, PIPE = 13,
  ALRM = 14, TERM = 15, XCPU = 24, XFSZ = 25, VTALRM = 26 }

local function add(...) ends[#ends+1] = { ... } end

local function signal_ends(name, n)
  add("SIG"..name, ("signal(%d) while true do end"):format(n), 1)
  add("SIG"..name.." in a loop that allocates", ("if C.fork() == 0 then "..
    "C.usleep(20000) C.kill(%s, %d) C._exit(0) end while true do busy(100) end")
    :format("tonumber(io.open('/proc/self/stat'):read('*a'):match("..
    "'%) %a (%d+)'))", n), 1)
  add("SIG"..name.." ignored", ("handle(%d, 1) signal(%d)"):format(n, n), 1)
  add("SIG"..name.." handled",
    ("handle(%d, C.abs) signal(%d)"):format(n, n), 1)
  add("SIG"..name.." in a coroutine",
    ("coroutine.wrap(function() signal(%d) while true do end end)()"):format(n),
    1)
end

for name, n in pairs(signals) do
  if n ~= 2 then signal_ends(name, n) end
end
-- The luajit command makes an error of it.
add("SIGINT", "handle(2, 0) signal(2) while true do end", "any")
add("SIGINT as the command has it",
  "pcall(function() signal(2) while true do end end) print('interrupted')", 1)
add("SIGTERM, blocked in C code",
  "if C.fork() == 0 then C.usleep(20000) C.kill("..
  "tonumber(io.open('/proc/self/stat'):read('*a'):match('%) %a (%d+)')), 15) "..
  "C._exit(0) end C.poll(nil, 0, 30000) while true do end", 1)
table.sort(ends, function(a, b) return a[1] < b[1] end)

local modes = { "f", "fb1", "flb1", "e", "L", "W", "Ji1", "J+b1i1" }

local function run(options, flags, program)
  return tap.sh(("exec timeout -s KILL 120 %s %s %s %s"):format(tap.command,
    options, flags, program), { dir = dir })
end

local function reports()
  local _, n = (tap.read(dir.."/r.txt") or ""):gsub("luajit%-mp  ", "")
  return n
end

local function try(case, mode, flags)
  tap.write(dir.."/p.lua", prelude..case[2])
  local want = run("", flags, "p.lua")
  os.remove(dir.."/r.txt")
  local got = run("-jm="..mode..",r.txt", flags, "p.lua")
  local n = reports()
  local why
  if got.status ~= want.status then why = "status "..got.status
  elseif got.out ~= want.out then why = "output "..got.out
  elseif case[3] ~= "any" and n ~= case[3] then why = n.." reports"
  elseif n > 1 then why = n.." reports" end
  trial.check(not why, ("%s: -jm=%s %s"):format(case[1], mode, flags),
    ("%s\nplain: %d %s\n%s"):format(tostring(why), want.status, want.out,
    got.err))
end

-- The number of cases; by default each end once, the next time in the next
-- mode.
local count = trial.count(#ends)
for i = 0, count - 1 do
  local round = math.floor(i / #ends)
  try(ends[i % #ends + 1], modes[(i + round) % #modes + 1],
    (i + round) % 3 == 0 and "-joff" or "")
end
tap.diag(("%d ends"):format(#ends))
trial.done("ends of a program")
