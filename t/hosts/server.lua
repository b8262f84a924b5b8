-- SPDX-License-Identifier: MIT
-- A server of coroutines with LuaSocket, which runs for long, under the load of
-- wrk, whose threads have Lua states of their own: all of them profiled.

local tap = require("tap")
local hosts = require("hosts")

local root = hosts.unpack("server", "lua-socket wrk libluajit-5.1-2")
local dir, port = tap.tmpdir(), hosts.port()
local env = hosts.env(root, { PORT = tostring(port) })

tap.write(dir.."/server.lua", [[
local socket = require("socket")
local mp = package.loaded["jit.mp"]
local listener = assert(socket.bind("127.0.0.1", tonumber(os.getenv("PORT"))))
listener:settimeout(0)
local tasks, reading, served, running = {}, { listener }, 0, true

function render(n)
  local t = {}
  for i = 1, n do t[i] = ("<li>%d</li>"):format(i) end
  return table.concat(t)
end

local function forget(client)
  tasks[client] = nil
  for i, s in ipairs(reading) do
    if s == client then table.remove(reading, i) break end
  end
  client:close()
end

local function answer(client, path)
  local body = render(100)
  if path == "/served" then body = tostring(served) else served = served + 1 end
  if path == "/quit" then running = false end
  if path == "/window" and mp then
    body = tostring(mp.window().heap.alloc_objects)
  end
  client:send(("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"):format(#body,
    body))
end

function serve(client)
  while true do
    local path
    repeat
      local line, err = client:receive("*l")
      if err == "closed" then return end
      if not line then coroutine.yield() end
      path = path or line and line:match("^GET (%S+)")
    until line == ""
    answer(client, path)
  end
end

while running do
  for _, s in ipairs(socket.select(reading, nil, 0.1)) do
    if s == listener then
      local client = s:accept()
      if client then
	client:settimeout(0)
	reading[#reading+1] = client
	tasks[client] = coroutine.create(serve)
      end
    else
      local ok, err = coroutine.resume(tasks[s], s)
      if not ok then io.stderr:write(err, "\n") end
      if coroutine.status(tasks[s]) == "dead" then forget(s) end
    end
  end
end
print(served)
]])

tap.write(dir.."/load.lua", [[
local dir = os.getenv("DIR")
local threads = 0
function setup(thread)
  threads = threads + 1
  thread:set("id", threads)
end
function init()
  assert(require("jit.mp").start("f", dir.."/wrk-"..id..".txt",
    dir.."/wrk-"..id..".mp", dir.."/wrk.%m.mp"))
  right, wrong = 0, 0
end
function request()
  local t = {}
  for i = 1, 50 do t[i] = tostring(i) end
  return wrk.format("GET", "/"..#t)
end
function response(status, headers, body)
  if status == 200 and #body > 1000 then right = right + 1
  else wrong = wrong + 1 end
end
]])

local server = "http://127.0.0.1:"..port
local function get(path) return tap.sh("curl -s -m 10 "..server..path).out end

tap.sh(("cd %s && (timeout 120 %s -jm=fw1,live.txt,out.mp server.lua "..
  ">served 2>errors &)"):format(dir, tap.command), { env = env })
tap.wait(function() return get("/served") ~= "" end)
env.DIR = dir
local r = tap.sh(("timeout 60 %s/usr/bin/wrk -t2 -c8 -d4 -s %s/load.lua %s/")
  :format(root, dir, server), { env = env })
tap.is(r.status, 0, "wrk with two threads that are profiled")
local n = tonumber(r.out:match("(%d+) requests in"))
tap.ok(n and n > 50, "requests", r.out..r.err)
tap.unlike(r.out, "Socket errors", "none is lost")
tap.unlike(r.out, "Non%-2xx", "none is wrong")
for i = 1, 2 do
  tap.like(tap.read(dir.."/wrk-"..i..".txt"), "request",
    "thread "..i.." reports")
end
local function objects(name)
  return require("jit.mp.format.file").read(tap.read(dir.."/"..name) or "")
    .heap.alloc_objects
end
tap.is(objects("wrk.all.mp"), objects("wrk-1.mp") + objects("wrk-2.mp"),
  "one report has both threads")
local served = tonumber(get("/served"))
tap.ok(served and served >= n and served <= n + 8, "the server served them",
  tostring(served).." of "..tostring(n))
tap.like(tap.read(dir.."/live.txt"), "render", "its report while it runs")
tap.ok(tonumber(get("/window")) > 0, "a window of it")
get("/quit")
tap.wait(function() return tap.read(dir.."/out.mp") and
  tap.read(dir.."/served") ~= "" end)
tap.is(tap.read(dir.."/errors"), "", "nothing is said")
os.execute("sleep 1")
r = tap.sh(tap.mp.." report "..dir.."/out.mp Fh")
tap.like(r.out, "server%.lua:.*render", "what it did, in all its coroutines")
tap.done()
