-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The price of a profile for an nginx worker: wrk on a server that is profiled
-- with intervals that adapt, on servers that are profiled all the time, as
-- luajit-mp-hosts(7) says: without labels, with the routes of requests, and
-- with path and host, too; on one that is attached to, and on two that are none
-- of these, in turn.
----------------------------------------------------------------------------
--
--   make bench-nginx [ROUNDS=N] [PATHS="json hello slow cpu"]
--
-- For each it prints the median over the rounds, and the quartiles, of the time
-- in relation to that of a server without a profile: seconds per request, and
-- the worker's CPU time per request, which other programs on the machine
-- disturb less. Each round has new servers, since no two compile alike: the
-- second server without a profile shows what that makes.
--
----------------------------------------------------------------------------

local tap = require("tap")
local webserver = require("webserver")

local rounds = tonumber((arg or {})[1]) or 12
local SECONDS, TURNS = 1, 2
local paths = {}
for path in ((arg or {})[2] or ""):gmatch("%S+") do
  paths[#paths+1] = path:match("^/?(.*)")
end
if #paths == 0 then
  paths = { "", "hello", "json?first=100", "slow", "cpu" }
end

-- /hello does as little as can be in Lua; / makes 300 tables and strings; /json
-- does what is usual: it reads arguments, looks records up, and encodes twenty.
-- /slow asks another location, which sleeps; /cpu counts.
local locations = [[
  location = /sleep { content_by_lua_block { ngx.sleep(0.005) ngx.print(1) } }
  location = /slow {
    content_by_lua_block {
      LABEL
      local s = ngx.socket.tcp()
      assert(s:connect("127.0.0.1", tonumber(ngx.var.server_port)))
      assert(s:send("GET /sleep HTTP/1.0\r\nHost: x\r\n\r\n"))
      ngx.print((s:receive("*a"):match("\r\n\r\n(.*)$")))
    }
  }
  location = /cpu {
    content_by_lua_block {
      LABEL
      local x = 0
      for i = 1, 100000 do x = (x * 31 + i) % 65537 end
      ngx.print(x)
    }
  }
  location = /hello { content_by_lua_block { LABEL ngx.print("300") } }
  location = /json {
    content_by_lua_block {
      LABEL
      local cjson = require("cjson.safe")
      local stock = package.loaded.stock
      if not stock then
        stock = {}
        for i = 1, 1000 do
          stock[i] = { name = "article "..i, price = i * 1.25,
            tags = { "new", "shelf "..i % 40 } }
        end
        package.loaded.stock = stock
      end
      local args = ngx.req.get_uri_args()
      local first, items = tonumber(args.first) or 1, {}
      for i = first, first + 19 do
        local s = stock[i]
        items[#items+1] = { id = i, name = s.name:upper(), tags = s.tags,
          price = string.format("%.2f", s.price * 1.19), sold = i % 3 == 0 }
      end
      ngx.header.content_type = "application/json"
      ngx.print((cjson.encode({ items = items, next = first + 20 })))
    }
  }]]

-- CPU seconds of the threads of a process so far, by the scheduler's count.
local function cpu(pid)
  local ns = 0
  for line in tap.sh("cat /proc/"..pid.."/task/*/schedstat").out
      :gmatch("[^\n]+") do
    ns = ns + tonumber(line:match("%d+"))
  end
  return ns * 1e-9
end

local function new(init, label)
  local server = webserver.new()
  server:configure(init or "", locations:gsub("LABEL", label or ""), 1)
  server:start()
  server.pid = server:get("/pid")
  return server
end

-- Puts load on that path, whose answer has that many bytes. Returns seconds and
-- CPU seconds per request.
local function measure(server, path, bytes)
  local before = cpu(server.pid)
  local out = tap.sh(("%s'%s' -- %d"):format(server:load(SECONDS), path, bytes),
    { env = server.env }).out
  local requests = tonumber(out:match("(%d+) requests in"))
  assert(out:find("wrong answers: 0\n", 1, true), out)
  return SECONDS / requests, (cpu(server.pid) - before) / requests
end

-- Has the server profiled from outside, from then on. Returns a function that
-- ends it.
local function attach(server)
  local out = tap.tmpname()
  local pid = tap.sh(("%s attach %s >%s 2>&1 & echo $!"):format(tap.mp,
    server.pid, out)).out:match("%d+")
  assert(tap.wait(function() return tap.read(out):find("Ctrl%-C") end))
  return function()
    tap.sh("kill -INT "..pid)
    tap.wait(function() return not tap.read("/proc/"..pid.."/stat") end)
  end
end

local function median(list)
  table.sort(list)
  local n = #list
  return (list[math.floor((n + 1) / 2)] + list[math.floor(n / 2) + 1]) / 2
end

local function show(path, name, list)
  local middle = median(list)  -- Which sorts it.
  io.write(("# /%-15s  %-27s %.3f  (%.3f to %.3f)\n"):format(path, name, middle,
    list[math.floor(#list / 4) + 1], list[math.ceil(#list * 3 / 4)]))
end

local on = 'assert(require("jit.mp").start("%s", "DIR/out/%%p.mp"))'
local always = on:format("fIb512ki10")
local kinds = { { "without" }, { "without, too" },
  { "adapts", on:format("f") },
  { "always on, no waits", on:format("fb512ki10") },
  { "always on", always },
  { "with routes", always, 'require("jit.mp.nginx").label("/x")' },
  { "with labels", always, 'require("jit.mp.nginx").label()' },
  { "attached" } }
local results = {}  -- By path: for each kind what its rounds took, in pairs.
for _, path in ipairs(paths) do
  results[path] = {}
  for k in ipairs(kinds) do results[path][k] = { wall = {}, used = {} } end
end

-- The servers take their turns, a second each, after one to get warm.
local function compare(servers, path, results)
  local bytes = #servers[1]:get("/"..path)
  local wall, used = {}, {}
  for turn = 0, TURNS do
    for k, server in ipairs(servers) do
      local w, u = measure(server, path, bytes)
      wall[k] = turn > 0 and (wall[k] or 0) + w or nil
      used[k] = turn > 0 and (used[k] or 0) + u or nil
    end
  end
  for k, r in ipairs(results) do
    table.insert(r.wall, k > 1 and wall[k] / wall[1] or wall[k] / TURNS)
    table.insert(r.used, k > 1 and used[k] / used[1] or used[k] / TURNS)
  end
end

for _ = 1, rounds do
  local servers = {}
  for k, kind in ipairs(kinds) do servers[k] = new(kind[2], kind[3]) end
  local detach = attach(servers[#servers])
  for _, path in ipairs(paths) do compare(servers, path, results[path]) end
  detach()
  for _, server in ipairs(servers) do server:quit("QUIT") end
end

for _, path in ipairs(paths) do
  io.write(("# /%s: %.1f us of CPU time for a request\n"):format(path,
    median(results[path][1].used) * 1e6))
  for k = 2, #kinds do
    show(path, kinds[k][1]..": time", results[path][k].wall)
    show(path, kinds[k][1]..": CPU time", results[path][k].used)
  end
end
tap.done()
