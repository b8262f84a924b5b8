-- SPDX-License-Identifier: MIT
-- Memory that is refused in compiled code: the profiled program gets the error
-- that it gets without a profile.

local tap = require("tap")
if not tap.knows_layout() then tap.skip("the VM's layout is not known") end
if (os.getenv("LIBASAN") or "") ~= "" or tap.slow then
  tap.skip("such a build cannot run with little memory")
end

-- In each turn compiled code allocates, and calls a function that returns more
-- values than it has slots: where a tick has left compiled code in there, the
-- frame that LuaJIT's stale base refers to is overwritten.
local app = tap.program([[
local ffi = require("ffi")
local list, n = nil, 0
local x, y, z, w
local struct = ffi.typeof("struct { double a[8]; }")
local function two(i)
  local s = 0
  for k = 1, 3 do s = s + k end
  return i, s, 1, 2
end
local function three(i) local a, b = two(i) return a, b, a + b, 1, 2 end
local function vary(...) local a, b = two((...)) return a, b, ... end
local shapes = {
  function() for i = 1, 1e8 do
    list = { x, y, z, list } x, y, z, w = three(i) n = n + 1
  end end,
  function() for i = 1, 1e8 do
    list = { ("x"):rep(50)..i, list } x, y, z, w = two(i) n = n + 1
  end end,
  function() for i = 1, 1e8 do
    local l = list
    list = function() return l, i end x, y, z, w = two(i) n = n + 1
  end end,
  function() for i = 1, 1e8 do
    list = { struct(), list } x, y, z, w = three(i) n = n + 1
  end end,
  function() for i = 1, 1e8 do
    list = { x, y, z, w, list } x, y, z, w = vary(i, 2, 3) n = n + 1
  end end,
  function()
    local function work(from) for i = from, 1e8, 3 do
      list = { x, y, z, list } x, y, z, w = three(i) n = n + 1
      if i % 1000 == from then coroutine.yield() end
    end end
    local t = {}
    for k = 1, 3 do t[k] = coroutine.wrap(function() work(k) end) end
    while true do for k = 1, 3 do t[k]() end end
  end
}
local function all(who)
  for i, shape in ipairs(shapes) do
    n = 0
    local ok, msg = pcall(shape)
    list = nil
    -- To make the table of strings smaller, the collector needs memory itself.
    for _ = 1, 3 do pcall(collectgarbage) end
    print(who, i, ok, (msg:gsub("^%S*:%d+: ", "")), n > 1000)
  end
end
ffi.cdef("int fork(void); int waitpid(int, int *, int);")
if arg[1] == "fork" then
  io.stdout:setvbuf("line")
  local pid = ffi.C.fork()
  if pid == 0 then
    all("child")
    os.exit(4)
  end
  local status = ffi.new("int[1]")
  while ffi.C.waitpid(pid, status, 0) ~= pid do end
  print("the child's status", status[0])
  all("parent")
else
  all("one process")
end
os.exit(3)]])

local function want(who)
  local t = {}
  for i = 1, 6 do
    t[i] = ("%s\t%d\tfalse\tnot enough memory\ttrue\n"):format(who, i)
  end
  return table.concat(t)
end
local forked = want("child").."the child's status\t1024\n"..want("parent")

local out = tap.tmpname(".txt")
local function run(options, fork)
  local r = tap.sh(("ulimit -v 150000; exec %s -jm=%s,%s %s %s"):format(
    tap.command, options, out, app, fork and "fork" or ""))
  tap.is(r.status.." "..r.out, "3 "..(fork and forked or want("one process")),
    options..(fork and " in a process and its child" or "")..
    ": the program's result")
end
for _, options in ipairs({ "c", "f", "fl", "flb1", "e", "J", "I" }) do
  run(options)
end
for _, options in ipairs({ "f", "e" }) do run(options, true) end

tap.done()
