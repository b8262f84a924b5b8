-- SPDX-License-Identifier: MIT
-- Tarantool, whose LuaJIT is a fork: it works or says why not, and never
-- crashes.

local hosts = require("hosts")
local process = require("attach.process")
local tap = require("tap")

local root = hosts.unpack("tarantool", "tarantool")
local dir = tap.tmpdir()
local env = hosts.env(root)

local function run(options, script)
  tap.write(dir.."/work.lua", ([[
local ok, msg = pcall(function()
  local ok, why = require("jit.mp").start("%s", "%s/out.txt")
  if not ok then print("refused: "..why) end
end)
if not ok then print("refused: "..msg) end
%s
]]):format(options, dir, script))
  os.remove(dir.."/out.txt")
  return tap.sh(("cd %s && timeout 60 %s/usr/bin/tarantool work.lua"):format(
    dir, root), { env = env })
end

local r = run("f", "print('done') os.exit(0)")
if r.out:find("^refused") then
  tap.like(r.out, "^refused: .-\ndone\n$", "it says why not", r.err)
  tap.is(r.status, 0, "and runs on")
  tap.done()
end
tap.is(r.out, "done\n", "a program runs")
tap.is(r.status, 0, "and ends")
r = run("fi1", [[
local fiber = require("fiber")
local channel = fiber.channel(10)
function build(n)
  local t = {}
  for i = 1, n do t[i] = { i, tostring(i) } end
  return t
end
for k = 1, 8 do
  fiber.create(function()
    for i = 1, 200 do
      build(200)
      fiber.yield()
    end
    channel:put(k)
  end)
end
local sum = 0
for k = 1, 8 do sum = sum + channel:get() end
print(sum)
print(require("json").encode(require("json").decode('{"a":[1,2,3]}')))
collectgarbage()
os.exit(0)
]])
tap.is(r.out, '36\n{"a":[1,2,3]}\n', "fibers")
tap.is(r.status, 0, "end well")
tap.like(tap.read(dir.."/out.txt"), "build", "the report has what they did")

r = run("hy:route:m0", [[
local mp, fiber = require("jit.mp"), require("fiber")
local channel = fiber.channel(10)
for k = 1, 4 do
  fiber.create(function()
    mp.label("route", k % 2 == 0 and "/even" or "/odd")
    for i = 1, 300 do
      local t = {}
      for n = 1, 200 do t[n] = { n, tostring(n * i) } end
      fiber.yield()
    end
    channel:put(k)
  end)
end
for k = 1, 4 do channel:get() end
os.exit(0)
]])
tap.is(r.status, 0, "fibers with labels end well", r.err)
local text = tap.read(dir.."/out.txt")
tap.like(text, " MB   /even\n", "the labels of some")
tap.like(text, " MB   /odd\n", "and of others")
r = run("fb1", [[
box.cfg{ log_level = 0, wal_mode = "none", memtx_memory = 64 * 1024 * 1024 }
local s = box.schema.space.create("s")
s:create_index("i")
for i = 1, 5000 do s:insert({ i, "text " .. i }) end
local n = 0
for _, t in s:pairs() do n = n + #t[2] end
print(n)
os.exit(0)
]])
tap.is(r.out, "43893\n", "its database")
tap.like(tap.read(dir.."/out.txt"), "luajit%-mp", "has a report", r.err)

-- Its Lua code runs on the stacks of fibers.
tap.write(dir.."/busy.lua", [[
local fiber = require("fiber")
cache = {}
for i = 1, 5000 do cache[i] = { name = "entry "..i, i } end
fiber.create(function()
  local file = io.open(arg[1])
  while file do
    file:close()
    for i = 1, 1000 do cache[i] = { i } end
    fiber.sleep(0.001)
    file = io.open(arg[1])
  end
  os.exit(0)
end)
]])
local p = process.start(dir, root.."/usr/bin/tarantool busy.lua", env)
r = tap.sh(tap.mp.." attach --outside -O W "..p.pid)
if not r.err:find("not permitted", 1, true) then
  tap.is(r.status, 0, "a heap walk from outside", r.err)
  tap.like(r.out, "\nHeap walk: [%d.]+ %a+ in %d+ objects held", "is made")
  tap.like(r.out, "\n[^\n]* cache ", "and has what the program holds")
end
local _, status = p:stop()
tap.is(status, 0, "the program goes on, and ends well")
tap.done()
