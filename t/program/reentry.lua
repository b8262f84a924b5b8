-- SPDX-License-Identifier: MIT
-- Programs that interfere with the profiler: finalizers that call it from
-- within, other profilers, forks, memory that is refused. Nothing crashes, and
-- the report is true.

local tap = require("tap")

-- The program with the compiler's decisions and listings recorded, too.
local function with_decisions(text)
  return (text:gsub('(mp[")]*%.start%(")[^"LWeIM]+"', '%1J+b1"')
    :gsub("^%-jm=f$", "-jm=J+b1"))
end

local function run(name, program, opts, env)
  local more = { with_decisions(program), with_decisions(opts or "") }
  if not tap.slow and (more[1] ~= program or more[2] ~= (opts or "")) then
    local r = tap.luajit(more[2].." "..tap.program(more[1]), env)
    tap.is(r.status, 0, name..", with J+: exit status", r.err)
  end
  local r = tap.luajit((opts or "").." "..tap.program(program), env)
  tap.is(r.status, 0, name..": exit status", r.err)
  return r
end

-- -- Finalizers that call us from within -------------------------------------

-- A finalizer that makes its like anew each time.
local forever = [[
local function each(f)
  local function fin()
    f()
    local u = newproxy(true)
    getmetatable(u).__gc = fin
  end
  fin()
end
]]

-- The collection that option L asks for ends the run, with all that the state
-- has, before the stop does.
local r = run("stop while the state is closed", [[
local mp = require("jit.mp")
assert(mp.start("L", "/dev/null"))
local p = newproxy(true)
getmetatable(p).__gc = function() print(mp.stop()) end
for i = 1, 10000 do local t = { i } end
]])
tap.is(r.out..r.err, "true\n", "stop while the state is closed succeeds")

r = run("stop inside of a snapshot", forever..[[
local core = require("jit.mp.core")
assert(core.start("hb1", "/dev/null"))
local inside, refused, keep = false, nil, {}
each(function()
  if not inside then return end
  local ok, msg = core.stop()
  refused = refused or (not ok and msg)
  for i = 1, 1000 do keep[i] = { i } end
end)
for i = 1, 400 do
  inside = true
  core.snapshot()
  inside = false
end
print(refused)
assert(core.stop())
]])
tap.like(r.out, "cannot be stopped by a callback or finalizer",
  "and it is said")

r = run("snapshot inside of a snapshot", forever..[[
local core = require("jit.mp.core")
assert(core.start("hb4096", "/dev/null"))
local inside = false
each(function() if inside then core.snapshot() end end)
for i = 1, 400 do
  inside = true
  core.snapshot()
  inside = false
end
local before = core.snapshot().heap
local t = {}
for i = 1, 1e5 do t[i] = { i } end
local after = core.snapshot().heap
print(after.samples > before.samples + 500,
  after.alloc_bytes - before.alloc_bytes > 4e6 and
  after.alloc_bytes - before.alloc_bytes < 2e7)
]])
tap.is(r.out, "true\ttrue\n", "sampling goes on, and the totals are right")

for _, what in ipairs({ 'mp.start("b1", "/dev/null")', "mp.stop()",
    'mp.stop() mp.start("b1", "/dev/null")', 'mp.report("f", "/dev/null")' }) do
  run("in the collection of option L: "..what, ([[
local mp = require("jit.mp")
assert(mp.start("L", "/dev/null"))
local u = newproxy(true)
getmetatable(u).__gc = function() %s end
u = nil
mp.stop()
collectgarbage() collectgarbage()
local k = {}
for i = 1, 1e5 do k[i %% 1000] = { i, tostring(i) } end
mp.stop()
]]):format(what))
end

-- A start within a start: the first to succeed keeps what belongs to it.
for _, lib in ipairs({ [[
local real, done = require
function require(name)
  if name == "jit.zone" and not done then
    done = true
    inner(real("jit.mp"))
  end
  return real(name)
end
local mp = real("jit.mp")
]], [[
local mp = require("jit.mp")
local u = newproxy(true)
getmetatable(u).__gc = function() inner(mp) end
u = nil
collectgarbage("setstepmul", 1e6)
collectgarbage("setpause", 1)
]] }) do
  r = run("a start within a start", [[
local t, within = {}
local function work()
  for i = 1, 3e5 do t[i % 100] = { i, tostring(i) } end
  collectgarbage()
end
function inner(mp) within = mp.start("fb4k", "/dev/null") end
]]..lib..[[
local ok, msg = mp.start("fl", "/dev/null")
print(ok or msg, within)
work()
work()
print(mp.stop(), (mp.stop()))
]])
  tap.like(r.out, "\ntrue\tnil\n$", "one profile runs, and ends")
end
tap.is(r.out:match("^[^\n]*"), r.out:match("^true\t") and "true\tnil" or
  "the profiler is already running\ttrue", "which of them is told")

-- Programs that take the profiler's own objects apart.
for name, act in pairs({
  ["takes the metatable"] = "debug.setmetatable(v, nil)",
  ["gives another metatable"] =
    "debug.setmetatable(v, { __gc = function() end })",
  ["takes the environment"] = "debug.setfenv(v, {})",
  ["calls the finalizer"] =
    "local gc = getmetatable(v).__gc gc('x') gc(newproxy()) gc() gc(v)",
  ["puts another value in its place"] = "reg[k] = newproxy(true)",
  ["removes it"] = "reg[k] = nil"
}) do
  for _, mode in ipairs({ "fl", "b1", "L", "e", "W" }) do
    run("a program that "..name..", "..mode, ([[
local mp = require("jit.mp")
local reg = debug.getregistry()
local t = {}
local function work()
  for i = 1, 3e4 do t[i %% 100] = { i, tostring(i) } end
end
assert(require("jit.mp.core").on_signal("USR2", function() end))
assert(mp.start({ options = "%s", outputs = "/dev/null",
  callback = function() end }))
local n = 0
for k, v in pairs(reg) do
  if type(k) == "userdata" and (getmetatable(v) or {}).__gc then
    n = n + 1
    %s
  end
end
assert(n == 2)
collectgarbage()
work()
mp.report("f", "/dev/null")
mp.stop()
assert(mp.start("%s", "/dev/null"))
work()
collectgarbage()
]]):format(mode, act, mode))
  end
end

-- A program that has taken a profile's objects away and started another one,
-- whose VM is closed: the timer went from one to the other, and must not come
-- back.
do
  local inner = [=[
local mp, keep, t = require("jit.mp"), {}, {}
local function work(seconds)
  local begin = os.clock()
  repeat
    for i = 1, 100 do t[i] = { i, tostring(i) } end
  until os.clock() - begin > seconds
end
assert(mp.start("fi1", "/dev/null"))
for k, v in pairs(debug.getregistry()) do
  if type(k) == "userdata" and (getmetatable(v) or {}).__gc then
    keep[#keep+1] = v
    debug.setmetatable(v, { __gc = function() end })
  end
end
assert(#keep > 0)
assert(mp.start("fi1", "/dev/null"))
work(%s)
keep = nil
collectgarbage()
collectgarbage()]=]
  local seconds = { 0.15, 0.17, 0.35, 0.16, 0.37 }
  for i = 1, tap.slow and 1 or #seconds do
    run("two profiles of a VM that is closed, "..seconds[i].." s", ([==[
local ffi = require("ffi")
ffi.cdef("typedef struct lua_State lua_State;"..
  "lua_State *luaL_newstate(void); void luaL_openlibs(lua_State *);"..
  "int luaL_loadstring(lua_State *, const char *);"..
  "int lua_pcall(lua_State *, int, int, int); void lua_close(lua_State *);")
local C = ffi.C
local L = C.luaL_newstate()
C.luaL_openlibs(L)
assert(C.luaL_loadstring(L, [[%s]]) == 0)
assert(C.lua_pcall(L, 0, 0, 0) == 0)
C.lua_close(L)
local begin = os.clock()
repeat until os.clock() - begin > 0.1
]==]):format(inner:format(seconds[i])))
  end
end

-- -- Exact events stay exact -------------------------------------------------

local probe = tap.luajit("-jm=fb1 -e 'local t = {}'")
local exact = probe.out:find("\ncapture exact", 1, true)

if exact then
  r = run("snapshots under option e", [[
local core = require("jit.mp.core")
assert(require("jit.mp").start("em0", "-"))
local s
for i = 1, 50 do s = core.snapshot() end
s = nil
]])
  tap.like(r.out, ", 0 bytes more\n", "they leave no remainder")
  tap.unlike(r.out, "= %-%d", "nothing is negative")
  if not os.getenv("ASAN_OPTIONS") and not tap.slow then
    r = tap.sh(("ulimit -v 800000; %s -jm=e %s"):format(tap.command,
      tap.program("pcall(string.rep, 'x', 900 * 1024 * 1024)")))
    tap.like(r.out, ", 0 bytes more\n", "a refused block is not allocated")
  end
end

-- -- Forks, other profilers, strange hosts -----------------------------------

local dir = tap.tmpdir()
for n = 1, 6 do
  run("a fork under option e, "..n, ([[
local ffi = require("ffi")
ffi.cdef "int fork(void); int waitpid(int, int *, int);"
local t = {}
for i = 1, %d do t[i] = i end
local pid = ffi.C.fork()
if pid == 0 then
  local k = {}
  for i = 1, 20 do k[i] = { i } end
  os.exit(0)
end
ffi.C.waitpid(pid, nil, 0)
]]):format(n), "-joff -jm=e,"..dir.."/f.%p.txt")
end
local reports = tap.sh("cat "..dir.."/f.*").out
local _, n = reports:gsub("ALLOCATIONS\n@", "")
tap.ok(n >= 6, "parents and children have reports", n)
tap.unlike(reports, "%d%d%d%d%d%d%d%d%d%d", "no count is absurd")

r = run("another profiler takes the timer", [[
local function busy(t)
  t = os.clock() + t
  while os.clock() < t do end
end
busy(0.3)
local p = require("jit.profile")
p.start("f", function() end)
busy(0.1)
p.stop()
busy(1)
]], "-jm=f")
tap.like(r.out, "CPU time ends at the last sample", "it is said")
local seconds, unit = r.out:match("\nCPU +([%d.]+) (m?s)")
seconds = tonumber(seconds) and
  tonumber(seconds) * (unit == "ms" and 0.001 or 1)
tap.ok(seconds and seconds < 0.9, "CPU time that nobody sampled is not shown",
  r.out)

r = run("another profiler has the timer", [[
local p = require("jit.profile")
local n = 0
p.start("f", function(_, samples) n = n + samples end)
local mp = require("jit.mp")
local function work()
  local keep = {}
  for i = 1, 30000 do keep[i % 100] = { i } end
end
for _, opts in ipairs({ "c", "G", "fw1" }) do
  print(mp.start(opts, "/dev/null"))
end
print(mp.start("fb1"))
work()
local t = os.clock() + 0.2
while os.clock() < t do end
p.stop()
t = os.clock() + 0.2
while os.clock() < t do end
mp.stop()
assert(n > 0)
]])
local first, second, third = r.out:match("([^\n]*)\n([^\n]*)\n([^\n]*)\n")
tap.like(first, "^nil\tthe profiling timer is in use.*CPU is all.*\t%d+$",
  "CPU alone cannot be had")
tap.is(second, first, "in no form")
if exact then
  tap.like(third, "option w needs it", "nor what a safepoint does")
  tap.like(r.out, "\ntrue\n", "the heap can")
  tap.like(r.out, "\nCPU +[%d.]+ m?s +not sampled", "CPU is not sampled")
  tap.like(r.out, "\nno CPU samples: another profiler had the timer",
    "which is said")
  tap.like(r.out, "work%f[^%w]", "the function that allocates")
end

run("globals must be declared", [[
arg = nil
setmetatable(_G, { __index = function(_, k) error("undeclared "..k) end })
local mp = require("jit.mp")
assert(mp.start("f", "/dev/null"))
assert(mp.stop())
]])

-- The limit of a leak counts at the end only.
if exact then
  r = run("a report in between", [[
local mp = require("jit.mp")
assert(mp.start("L1k", "/dev/null"))
local k = {}
for i = 1, 200 do
  for j = 1, 1000 do k[#k+1] = { j } end
  if i % 20 == 0 then collectgarbage() end
end
mp.report("L", "/dev/null")
k = nil
collectgarbage()
assert(mp.stop())
]])
end

-- -- Starts where the compiler is at work ----------------------------------

r = run("a start by a handler of jit.attach", [[
local mp = require("jit.mp")
local seen = {}
for _, event in ipairs { "trace", "record", "texit", "bc" } do
  jit.attach(function()
    local ok, msg = mp.start("f", "/dev/null")
    seen[#seen+1] = tostring(msg)
    if ok then mp.stop() end
  end, event)
  local n = 0
  for i = 1, 1000 do n = n + i % 7 end
  for i = 1, 1000 do if i % 3 == 0 then n = n .. "" n = 0 end end
  assert(loadstring("return 1"))()
end
print(#seen > 0)
for _, msg in ipairs(seen) do
  if not msg:find("cannot be started by a handler") then print(msg) end
end
jit.attach(function() end)
assert(mp.start("f", "/dev/null"))
assert(mp.stop())
]])
tap.is(r.out, "true\n", "it is refused, and it is said why")

-- A function that LuaJIT has just made is held by nothing while a handler is
-- told of its bytecode: a collection there would free it.
r = run("handlers called for new functions while the start loads a module", [[
local mp = require("jit.mp")
local seen = 0
jit.attach(function() seen = seen + 1; mp.start("f", "/dev/null") end, "bc")
for i = 1, 100 do
  local make = assert(loadstring("local a = "..i..
    " return function() a = a + 1 return function() return a end end"))
  assert(make()()() == i + 1)
end
assert(mp.start("f", "/dev/null"))
assert(mp.stop())
print(seen > 300, collectgarbage("isrunning"))
]])
tap.is(r.out, "true\ttrue\n", "and the collector runs when that has ended")

r = run("a stop by such a handler, with leaks", [[
local mp = require("jit.mp")
local on
jit.attach(function() if on then on = false; mp.stop() end end, "bc")
for i = 1, 20 do
  assert(mp.start("L", "/dev/null"))
  on = true
  local make = assert(loadstring("return { "..
    ("function(a) return a + #'.' end, "):rep(5).."function() end }"))
  assert(not on)
  for j, f in ipairs(make()) do assert(f(j) == (j < 6 and j + 1 or nil)) end
end
print("right")
]])
tap.is(r.out, "right\n", "collects nothing")

-- A start while finalizers run, one at almost every allocation of the start:
-- the VM's layout is proved all the same.
if tap.knows_layout() then
  local r = tap.luajit(tap.program([[
local mp, core = require("jit.mp"), require("jit.mp.core")
local ran, exact = 0, 0
local function note() ran = ran + 1 end
for i = 1, 200 do
  for k = 1, 500 do getmetatable(newproxy(true)).__gc = note end
  ran = 0
  repeat collectgarbage("step", 0) until ran > 0
  for k = 1, i % 40 do local t = {} end
  assert(mp.start("fb1", "/dev/null"))
  if core.snapshot().info.capture == "exact" then exact = exact + 1 end
  mp.stop()
end
print(exact)]]))
  tap.is(r.out..r.err, "200\n", "starts while finalizers run: exact")
end

tap.done()
