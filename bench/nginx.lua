-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The price of a profile for an nginx worker: rounds of wrk on a server that is
-- profiled all the time, on one that is attached to, and on one that is
-- neither, in turn.
----------------------------------------------------------------------------
--
--   make bench-nginx [ROUNDS=N]
--
-- For each it prints the median over the rounds, and the quartiles, of the time
-- in relation to that of the server without a profile: seconds per request, and
-- the worker's CPU time per request, which other programs on the machine
-- disturb less.
--
----------------------------------------------------------------------------

local tap = require("tap")
local webserver = require("webserver")

local rounds = tonumber((arg or {})[1]) or 40
local SECONDS = 1

-- /hello does as little as can be in Lua; / makes 300 tables and strings; /json
-- does what is usual: it reads arguments, looks records up, and encodes twenty.
local locations = [[
  location = /hello { content_by_lua_block { ngx.print("300") } }
  location = /json {
    content_by_lua_block {
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

-- CPU seconds of the process so far, by the scheduler's count.
local function cpu(pid)
  return tonumber(tap.read("/proc/"..pid.."/schedstat"):match("%d+")) * 1e-9
end

local function new(init)
  local server = webserver.new()
  server:configure(init, locations, 1)
  server:start()
  server.pid = server:get("/pid")
  return server
end

local names = { "without", "always on", "attached" }
local servers = { new(""),
  new('assert(require("jit.mp").start("f", "DIR/out/%p.mp"))'), new("") }

-- Puts load on that path, whose answer has so many bytes. Returns seconds and
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
  io.write(("# /%-15s  %-20s %.3f  (%.3f to %.3f)\n"):format(path, name, middle,
    list[math.floor(#list / 4) + 1], list[math.ceil(#list * 3 / 4)]))
end

-- The servers take their turns, a second each.
local function compare(path)
  local wall, used, base = { {}, {} }, { {}, {} }, {}
  local detach = attach(servers[3])
  local bytes = #servers[1]:get("/"..path)
  for _, server in ipairs(servers) do measure(server, path, bytes) end
  for i = 1, rounds do
    local w, u = measure(servers[1], path, bytes)
    base[i] = u
    for k = 1, 2 do
      local w2, u2 = measure(servers[k + 1], path, bytes)
      wall[k][i], used[k][i] = w2 / w, u2 / u
    end
  end
  detach()
  io.write(("# /%s: %.1f us of CPU time for a request\n"):format(path,
    median(base) * 1e6))
  for k = 1, 2 do
    show(path, names[k + 1]..": time", wall[k])
    show(path, names[k + 1]..": CPU time", used[k])
  end
  io.flush()
end

compare("")
compare("hello")
compare("json?first=100")
for _, server in ipairs(servers) do server:quit("QUIT") end
require("hosts").done()
