-- SPDX-License-Identifier: MIT
-- Coroutines with labels are made and dropped as fast as can be while they are
-- looked at, among them those of states that are closed and of children of
-- forks. COUNT: how often such a program runs, for a second and more.

local tap = require("tap")
local trial = require("attack.trial")

-- Each coroutine checks what it is given; the program says how many there were.
local text = require("clock")..[==[
local seed, seconds, options = tonumber(arg[1]), tonumber(arg[2]), arg[3]
math.randomseed(seed)
ffi.cdef[[
  int fork(void); int waitpid(int, int *, int); void _exit(int);
  typedef struct lua_State lua_State;
  lua_State *luaL_newstate(void); void luaL_openlibs(lua_State *);
  int luaL_loadstring(lua_State *, const char *);
  int lua_pcall(lua_State *, int, int, int); void lua_close(lua_State *);
]]
local mp = require("jit.mp")
local random, create, yield = math.random, coroutine.create, coroutine.yield
local made = 0
local function deep(n, v)
  if n == 0 then return yield(v) end
  return (deep(n - 1, v))
end
local function work(i, n)
  if i % 4 == 0 then mp.label("route", "/"..i % 50) end
  local got = deep(n, i)
  if i % 8 == 1 then
    mp.with({ plugin = "p"..i % 3 }, function() assert(yield(i) == i) end)
  end
  return got
end
local kept = {}
local function churn(n)
  for _ = 1, n do
    made = made + 1
    local i, co = made, create(work)
    local ok, v = coroutine.resume(co, i, i % 16 == 0 and i % 30 or 0)
    assert(ok and v == i, v)
    if i % 2 == 1 then assert(coroutine.resume(co, i)) end
    kept[i % 3000] = co
  end
end

local inner = ([[
  local mp = require("jit.mp")
  local list = {}
  assert(mp.start(%q, "/dev/null"))
  for i = 1, 300 do
    list[i] = coroutine.wrap(function() mp.label("n", i %% 9)
      coroutine.yield() end)
    list[i]()
  end
  if %s then mp.stop() end]]):gsub("%%q", ("%q"):format(options))
local function state(stops)
  local L = ffi.C.luaL_newstate()
  ffi.C.luaL_openlibs(L)
  assert(ffi.C.luaL_loadstring(L, (inner:gsub("%%s", tostring(stops))
    :gsub("%%%%", "%%"))) == 0)
  assert(ffi.C.lua_pcall(L, 0, 0, 0) == 0)
  if random(2) == 1 then rest(0.02) end
  ffi.C.lua_close(L)
end

local status = ffi.new("int[1]")
local function child(way)
  local pid = ffi.C.fork()
  if pid == 0 then
    if way == 1 then ffi.C._exit(7) end
    if way == 2 then
      mp.stop()
      assert(mp.start(options, "/dev/null"))
    end
    churn(2000)
    if way == 3 then collectgarbage() end
    os.exit(7)
  end
  ffi.C.waitpid(pid, status, 0)
  assert(status[0] == 7 * 256, "a child: "..status[0])
end

assert(mp.start(options, "/dev/null"))
local begun, pure = now(), 0
repeat
  local from = os.clock()
  churn(10000)
  pure = pure + os.clock() - from
  local what = random(12)
  if what < 4 then child(what)
  elseif what == 4 then state(true)
  elseif what == 5 then state(false)
  elseif what == 6 then
    mp.stop()
    assert(mp.start(options, "/dev/null"))
  elseif what == 7 then
    kept = {}
    collectgarbage()
  end
until now() - begun > seconds
mp.stop()
print(("right %d %.0f"):format(made, made / pure))
]==]

local program = tap.program(text)
local count = trial.count(6)
local all, rates = 0, {}
for i = 1, count do
  local options = trial.pick { "I", "Iy", "Ib1", "Iyb1", "Iyi1" }
  local r = tap.sh(("exec timeout -s KILL 300 %s %s %d 1.5 %s"):format(
    tap.command, program, trial.seed + i, options))
  local made, rate = r.out:match("^right (%d+) (%d+)\n")
  trial.check(made and r.status == 0, options, r.out..r.err..r.status)
  all, rates[i] = all + (made or 0), tonumber(rate or 0)
end
table.sort(rates)
tap.diag(("%.0f coroutines, %d to %d in a second of CPU time, median %d")
  :format(all, rates[1], rates[#rates], rates[math.ceil(#rates / 2)]))
trial.done("coroutines that come and go")
