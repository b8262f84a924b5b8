-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The price of a profile for an nginx worker: rounds of wrk on a server that is
-- profiled all the time, on one that is attached to, and on one that is
-- neither, in turn.
----------------------------------------------------------------------------
--
--   make bench-nginx [ROUNDS=N]
--
-- For each it prints the median over the rounds of what it takes in relation to
-- the server without a profile: seconds per request, and the worker's CPU time
-- per request, which other programs on the machine disturb less.
--
----------------------------------------------------------------------------

local tap = require("tap")
local webserver = require("webserver")

local rounds = tonumber((arg or {})[1]) or 10
local SECONDS = 3

-- /hello does as little as can be in Lua; / makes 300 tables and strings.
local hello = [[
  location = /hello { content_by_lua_block { ngx.print("300") } }]]

-- CPU seconds of the process so far, by the scheduler's count.
local function cpu(pid)
  return tonumber(tap.read("/proc/"..pid.."/schedstat"):match("%d+")) * 1e-9
end

local function new(init)
  local server = webserver.new()
  server:configure(init, hello, 1)
  server:start()
  server.pid = server:get("/pid")
  return server
end

local plain = new("")
local profiled = new('assert(require("jit.mp").start("f", "DIR/out/%p.mp"))')
local attached = new("")

-- Puts load on that path. Returns seconds and CPU seconds per request.
local function measure(server, path)
  local before = cpu(server.pid)
  local out = tap.sh(server:load(SECONDS)..path, { env = server.env }).out
  local requests = tonumber(out:match("(%d+) requests in"))
  assert(out:find("wrong answers: 0\n", 1, true), out)
  return SECONDS / requests, (cpu(server.pid) - before) / requests
end

local function measure_attached(path)
  tap.sh(("%s attach -t %d -o /dev/null %s >/dev/null 2>&1 & sleep 0.5")
    :format(tap.mp, SECONDS + 2, attached.pid))
  local wall, used = measure(attached, path)
  os.execute("sleep 2")
  return wall, used
end

local function median(list)
  table.sort(list)
  local n = #list
  return (list[math.floor((n + 1) / 2)] + list[math.floor(n / 2) + 1]) / 2
end

local function compare(path)
  local ratios = { {}, {}, {}, {} }
  local used_plain = {}
  measure(plain, path)
  measure(profiled, path)
  for i = 1, rounds do
    local wall, used = measure(plain, path)
    local wall_on, used_on = measure(profiled, path)
    local wall_at, used_at = measure_attached(path)
    used_plain[i] = used
    ratios[1][i], ratios[2][i] = wall_on / wall, used_on / used
    ratios[3][i], ratios[4][i] = wall_at / wall, used_at / used
  end
  io.write(("# /%s: %.1f us of CPU time for a request\n"):format(path,
    median(used_plain) * 1e6))
  for i, name in ipairs({ "always on: time", "always on: CPU time",
      "attached: time", "attached: CPU time" }) do
    local middle = median(ratios[i])
    io.write(("# /%-5s  %-20s %.3f  (%.3f to %.3f)\n"):format(path, name,
      middle, ratios[i][1], ratios[i][#ratios[i]]))
  end
  io.flush()
end

compare("")
compare("hello")
for _, server in ipairs({ plain, profiled, attached }) do
  server:quit("QUIT")
end
require("hosts").done()
