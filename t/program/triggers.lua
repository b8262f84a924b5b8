-- SPDX-License-Identifier: MIT
-- Option B: reports at events, while the program goes on.

local limit = require("limit")
local tap = require("tap")
if not tap.knows_layout() then tap.skip("no heap walk on this build") end
local mp = require("jit.mp")

local dir = tap.tmpdir()
local function read(name) return tap.read(dir.."/"..name) end

-- There are no limits then, and memory that was freed stays in use.
local sanitized = (os.getenv("LIBASAN") or "") ~= ""

-- The holder is a table that only a function of a module has.
tap.write(dir.."/session.lua", [[
local sessions = {}
local session = {}
function session.add(n)
  sessions[#sessions+1] = { n, ("x"):rep(200000)..n }
end
function session.drop() sessions = {} end
return session]])
local function run(options, program, before, arguments)
  tap.write(dir.."/app.lua", program)
  return tap.sh(("%s%s -joff -jm=%s app.lua%s"):format(before or "",
    tap.command, options, arguments or ""), { dir = dir })
end

-- -- Memory ------------------------------------------------------------------

-- The program goes on until it sees the file, or gives up.
local wait = [[
  local session = require("session")
  local function until_there(name, work)
    for i = 1, 1e7 do
      local f = io.open(name)
      if f then return f:close() end
      work(i)
    end
  end
  local function high(i)
    if i <= 200 then session.add(i) else tostring(i) end
  end
  local function waves(i)
    local k = i % 4000
    if k == 1 then session.drop() collectgarbage() end
    if k > 2000 and k <= 2200 then session.add(k) end
  end
]]
local r = run("fB20m,a-%e.txt,a-%e.mp,plain.txt,a-%e.html", wait..[[
print(until_there("a-memory-last.html", high))
if not arg[1] then print(until_there("a-memory-2-last.html", waves)) end
os.exit(7)]], nil, sanitized and " once" or "")
tap.is(r.status..r.err..r.out, sanitized and "7true\n" or "7true\ntrue\n",
  "the program's result")
local text = read("a-memory.txt") or ""
local first = text:match("^[^\n]*") or ""
tap.like(first, "^in use [%d.]+ MB, more than 21%.0 MB; at %S*%.lua:%d",
  "the event, and where the program is")
-- The sanitizers' own memory is more than the limit: the event comes when the
-- program has hardly begun.
local holder = sanitized and "" or "package%.loaded"
tap.like(first, sanitized and "; [%d.]+ [kM]B held at " or
  "; [%d.]+ MB held at package%.loaded%.session%.%a+ "..
  "%^sessions%S*, allocated at session%.lua:4[,;]", "the holder")
tap.like(first, "the Lua heap has grown from [%d.]+ kB to [%d.]+ MB in ",
  "the growth")
-- The program has taken more by the time at which the report is made.
local used = tonumber(first:match("^in use ([%d.]+) MB"))
local heap = tonumber(first:match(" to ([%d.]+) MB in "))
tap.ok(used and heap and heap <= used, "which is that until the event", first)
tap.like(text, "\nluajit%-mp  app%.lua", "the report follows")
tap.like(tap.sh(tap.mp.." report a-memory.mp", { dir = dir }).out,
  "^in use [^\n]*held at "..holder, "the profile tells it, too")
tap.like(read("a-memory.html") or "", '"in use [^"]*held at '..holder,
  "so does the page")
local last = read("a-memory-last.txt") or ""
tap.like(last, "^in use [^\n]*held at "..holder,
  "the report of the last half minute begins so, too")
tap.like(last, "\nluajit%-mp  app%.lua   window of ", "and is a window")
if not sanitized then
  tap.like(read("a-memory-2.txt") or "", "^in use [^\n]*held at package%."..
    "loaded[^\n]*[,;] [^;]*[%d.]+ MB[^;]* [%d.]+ m?s[^;]*; the Lua heap",
    "the second event is compared to the first")
end
tap.like(read("a-end.txt") or "", "^luajit%-mp  app%.lua",
  "the file of the end has no event")
tap.like(read("plain.txt") or "", "^luajit%-mp  app%.lua",
  "other outputs are of the end alone")

-- -- A child that is ended --------------------------------------------------

-- The program ends all of its children, which are the profiler's.
if io.open("/proc/thread-self/children") and not tap.slow then
  r = run("fB20m,k-%e.txt", wait..[[
local ffi = require("ffi")
ffi.cdef("int kill(int pid, int sig);")
local function told()
  local f = io.open("k-memory.txt")
  local text = f and f:read("*a")
  return f and f:close() and text:find(" held at package.loaded", 1, true)
end
local function kill_all()
  local f = io.open("/proc/thread-self/children")
  for pid in f:read("*a"):gmatch("%d+") do ffi.C.kill(tonumber(pid), 9) end
  f:close()
end
for i = 1, 200 do session.add(i) end
while not told() do kill_all() end
print("told")]])
  tap.is(r.status..r.err..r.out, "0told\n",
    "a child that is ended: the report is made, and the program goes on")
end

-- -- A limit -----------------------------------------------------------------

if not sanitized and not tap.slow and not tap.is_foreign() then
  local program = [[
local session = require("session")
for i = 1, 1e5 do session.add(i) end]]
  r = run("fB80%,b-%e.txt", program, "ulimit -v 200000; ")
  local plain = tap.sh("ulimit -v 200000; "..tap.command.." -joff app.lua",
    { dir = dir })
  tap.is(r.status, plain.status, "RLIMIT_AS: the status is as without")
  tap.like(r.err, "not enough memory", "so is the message")
  tap.like(read("b-memory.txt") or "", "^in use 1[67]%d MB of a limit of "..
    "205 MB %(RLIMIT_AS%); at [^\n]*held at package%.loaded%.session%.%a+ "..
    "%^sessions", "the report is there, and names the holder")

  r = run("fB99%,c-%e.txt", [[
local session = require("session")
for i = 1, 20 do session.add(i) end
print((pcall(string.rep, "x", 1e9)))
print("goes on")]], "ulimit -v 400000; ")
  tap.is(r.status..r.err..r.out, "0false\ngoes on\n",
    "memory that is refused: the program's result")
  tap.like(read("c-refused.txt") or "", "^1%.%d+ GB were refused, with "..
    "[%d.]+ MB in use; [%d.]+ MB held at package%.loaded%.session%.%a+ "..
    "%^sessions%S*, allocated at session%.lua:4", "the report")
  tap.is(read("c-memory.txt"), nil, "it is not one of memory that is given")

  local cgroup, remove = limit.cgroup(150 * 2^20)
  if cgroup then
    r = run("fB80%,g-%e.txt", [[
local session = require("session")
for i = 1, 100 do session.add(i) end
print(#("x"):rep(2e8))]], cgroup)
    tap.is(r.status..r.out, "137", "a single allocation fills a cgroup")
    tap.like(read("g-memory.txt") or "", "^in use [%d.]+ MB of a limit of "..
      "157 MB %(the memory cgroup%), and [23]%d%d MB more are asked for; "..
      "[^\n]*held at package%.loaded%.session%.%a+ %^sessions",
      "the report is there before the kernel ends the process")
    remove()
  else
    tap.diag("no memory cgroup can be made here")
  end
end

-- -- Where an event may come --------------------------------------------------

-- A child that was forked has events of its own, and its parent none.
r = run("fB20m,f-%e-%p.txt", wait..[[
local ffi = require("ffi")
ffi.cdef("int fork(void); int waitpid(int, int *, int); int getpid(void);")
local pid, status = ffi.C.fork(), ffi.new("int[1]")
if pid == 0 then
  local name = ("f-memory-%d.txt"):format(ffi.C.getpid())
  os.exit(until_there(name, high) and 5 or 6)
end
print(ffi.C.waitpid(pid, status, 0) == pid, status[0] / 256)
local f = io.open(("f-memory-%d.txt"):format(pid))
print(f:read("*l"))
print(io.open(("f-memory-%d.txt"):format(ffi.C.getpid())))]])
tap.like(r.status..r.err..r.out, "^0true\t5\nin use [^\n]*held at "..
  "package%.loaded%.session%.%a+ %^sessions[^\n]*\nnil\t",
  "in the child of a fork")

-- Memory of another state is in use, too, but held by nobody in this one.
r = run("fB20m,s-%e.txt", wait..[[
local ffi = require("ffi")
ffi.cdef("void *luaL_newstate(void); void lua_close(void *);"..
  "void luaL_openlibs(void *); int luaL_loadstring(void *, const char *);"..
  "int lua_pcall(void *, int, int, int);")
local C = ffi.C
local L = C.luaL_newstate()
C.luaL_openlibs(L)
assert(C.luaL_loadstring(L, "t = {} for i = 1, 200 do "..
  "t[i] = ('x'):rep(200000)..i end") == 0 and C.lua_pcall(L, 0, 0, 0) == 0)
print(until_there("s-memory.txt", tostring))
C.lua_close(L)]])
tap.is(r.status..r.err..r.out, "0true\n", "memory of another state")
first = (read("s-memory.txt") or ""):match("^[^\n]*") or ""
tap.like(first, "^in use [%d.]+ MB, more than 21%.0 MB; at ", "is an event")
tap.unlike(first, "%d MB held", "without a holder in this one")

-- A handler of a signal that runs Lua code, as FFI's callbacks do.
r = run("fB20m,h-%e.txt", wait..[[
local ffi = require("ffi")
ffi.cdef("typedef void (*handler)(int);"..
  "handler signal(int, handler); int raise(int);")
local there
local on_signal = ffi.cast("handler", function()
  there = until_there("h-memory.txt", high)
end)
ffi.C.signal(10, on_signal)
ffi.C.raise(10)
print(there)]])
tap.is(r.status..r.err..r.out, "0true\n", "in a handler of a signal")
tap.like(read("h-memory.txt") or "", "^in use [^\n]*held at package%.loaded",
  "the report")

-- There is no safepoint in a finalizer: the report comes after it, or never.
r = run("fB20m,z-%e.txt", wait..[[
local function finalizer(f)
  local u = newproxy(true)
  getmetatable(u).__gc = f
end
local function grow() for i = 1, 200 do session.add(i) end end
finalizer(grow)
collectgarbage()
print(until_there("z-memory.txt", tostring))
session.drop()
finalizer(function() grow() print("closed") end)]])
tap.is(r.status..r.err..r.out, "0true\nclosed\n", "in finalizers: the result")
tap.like(read("z-memory.txt") or "", "^in use [^\n]*held at package%.loaded",
  "the report")
tap.like(read("z-end.txt") or "", "^luajit%-mp  app%.lua", "that of the end")

-- -- The processor -----------------------------------------------------------

r = run("fB1sB100%,d-%e.txt", wait..[[
local function spin() local n = 0 for i = 1, 1e5 do n = { i } end end
print(until_there("d-busy.txt", spin))]])
tap.is(r.status..r.err..r.out, "0true\n", "a busy thread: the result")
tap.like(read("d-busy.txt") or "", "^the thread has not waited for "..
  "[%d.]+ s of CPU time; at [^\n]*app%.lua:%d+ < [^\n]*\nluajit%-mp  app",
  "the report")

-- -- Options -----------------------------------------------------------------

local function refused(options, want)
  tap.like(run(options, "").err, want, options.." is refused")
end
refused("B80,e-%e.txt", "'B' at position 1 of \"B80\" needs a number with a "..
  "unit, as in B80%%, B400m or B5s")
refused("B0%,e-%e.txt", "needs a number with a unit")
refused("B101%,e-%e.txt", "needs a number with a unit")
refused("B4m5,e-%e.txt", "needs a number with a unit")
refused("B80%,e.txt", "'B' has no effect with a table: give a file with %%e")
refused("B80%,e.html", "'B' has no effect with %.html: give a file with %%e")
tap.is(run("fB80%B5sB4g,e-%e.txt", "").err, "", "several")

local function start(trigger)
  local ok, msg = mp.start({ options = "f", outputs = dir.."/f-%e.txt",
    trigger = trigger })
  if ok then mp.stop() end
  return ok and "" or msg
end
tap.is(start("80%"), "", "as a field")
tap.is(start({ "80%", "5s" }), "", "a list")
for _, wrong in ipairs({ "80", "B80%", "5s5s", "" }) do
  local ok, msg = pcall(start, wrong)
  tap.like(not ok and msg, "the field 'trigger' must be a text such as",
    ("as a field: %q"):format(wrong))
end
local ok, msg = pcall(mp.start, { trigger = "80%", outputs = dir.."/f.txt" })
tap.like(not ok and msg, "the field 'trigger' %(option B%) has no effect",
  "its effect is looked at")
tap.is(start(nil), "", "none")
tap.like(tap.sh(tap.mp.." attach -O B80% -o x-%e.txt 1").err,
  "option B has no effect", "nor can it be attached")

tap.done()
