-- SPDX-License-Identifier: MIT
-- Labels of requests in nginx, copas, luv and lua-http: every allocation is
-- counted, and each request makes a known number of functions.

local tap = require("tap")
local hosts = require("hosts")

-- The functions that make() has made, by the values of a label.
local function counted(file, label)
  return tap.sh(("%s report %s hory:%s:m0"):format(tap.mp, file, label)).out
end

local function check(name, file, label, want)
  local text = counted(file, label)
  for value, n in pairs(want) do
    local got = tonumber(text:match("(%d+)   "..value:gsub("%p", "%%%0").."\n"))
    tap.ok(got and got >= n and got < n * 1.2 + 500,
      ("%s: %d objects of %s %s"):format(name, n, label, value), text)
  end
  return text
end

-- -- nginx --------------------------------------------------------------------

local server = require("webserver").new()
server:configure([[
  function make(n) local f for _ = 1, n do f = function() end end end
  assert(require("jit.mp").start("fb1", "DIR/out/labels.mp"))
]], [[
  location /user/ {
    access_by_lua_block {
      require("jit.mp.nginx").label()
      make(2000)
    }
    content_by_lua_block {
      require("jit.mp.nginx").label({ plugin = "jwt" })
      make(500)
      ngx.sleep(0.01)
      local thread = ngx.thread.spawn(function()
        require("jit.mp.nginx").label({ plugin = "jwt" })
        make(500)
        ngx.sleep(0.01)
        make(1000)
      end)
      ngx.thread.wait(thread)
      make(1000)
      ngx.print("user")
    }
    log_by_lua_block {
      assert(require("jit.mp.nginx").label() == false)
    }
  }
  location /named {
    content_by_lua_block {
      require("jit.mp.nginx").label({ route = "/named/:name" })
      local s = ngx.socket.tcp()
      assert(s:connect("127.0.0.1", tonumber(ngx.var.server_port)))
      assert(s:send("GET / HTTP/1.0\r\nHost: x\r\n\r\n"))
      s:receive("*a")
      make(4000)
      ngx.print("named")
    }
  }
  location /plain {
    content_by_lua_block { make(10) ngx.sleep(0.001) make(90)
      ngx.print("plain") }
  }
]], 1)
server:start()
for i = 1, 20 do
  for path, answer in pairs({ ["/user/"..i] = "user",
      ["/user/0b9d3c5e-"..i] = "user", ["/named/x"..i] = "named",
      ["/plain"] = "plain" }) do
    local got = server:get(path)
    if got ~= answer then tap.is(got, answer, path) end
  end
end
server:quit("QUIT")
local file = server.dir.."/out/labels.mp"
check("nginx", file, "route", { ["/user/:id"] = 40 * 5000,
  ["/named/:name"] = 20 * 4000 })
check("nginx", file, "phase", { access = 40 * 2000,
  content = 40 * 3000 + 20 * 4000 })
check("nginx", file, "plugin", { jwt = 40 * 3000 })

-- Three routes under load at a time: one works, one waits, one allocates.
local MADE = { cpu = 50, slow = 50, alloc = 400 } -- Functions of each request.
server = require("webserver").new()
server:configure([[
  function make(n) local f for _ = 1, n do f = function() end end end
  function work(seconds)
    local stop = os.clock() + seconds
    repeat until os.clock() >= stop
  end
  assert(require("jit.mp").start("Ib1", "DIR/out/routes.mp"))
]], ([[
  location /cpu {
    access_by_lua_block { require("jit.mp.nginx").label({ route = "cpu" }) }
    content_by_lua_block {
      require("jit.mp.nginx").label({ route = "cpu" })
      make(CPU) work(0.002) ngx.print("cpu")
    }
  }
  location /slow {
    content_by_lua_block {
      require("jit.mp.nginx").label({ route = "slow" })
      local s = ngx.socket.tcp()
      assert(s:connect("127.0.0.1", tonumber(ngx.var.server_port)))
      assert(s:send("GET / HTTP/1.0\r\nHost: x\r\n\r\n"))
      s:receive("*a")
      s:close()
      ngx.sleep(0.1)
      make(SLOW) ngx.print("slow")
    }
  }
  location /alloc {
    content_by_lua_block {
      require("jit.mp.nginx").label({ route = "alloc" })
      make(ALLOC) ngx.print("alloc")
    }
  }
]]):gsub("%u%u%u+", { CPU = MADE.cpu, SLOW = MADE.slow, ALLOC = MADE.alloc }),
  1)
server:start()
local CLIENTS, EACH = 4, 25 -- Of each route, at a time; requests of each.
local commands = {}
for route in pairs(MADE) do
  for i = 1, CLIENTS do
    commands[#commands+1] = ("(for n in $(seq %d); do curl -s -m 100 %s/%s; "..
      "done > %s/%s.%d) &"):format(EACH, server.address, route, server.dir,
      route, i)
  end
end
tap.sh(table.concat(commands, " ").." wait")
for route in pairs(MADE) do
  for i = 1, CLIENTS do
    local got = tap.read(("%s/%s.%d"):format(server.dir, route, i)) or ""
    tap.is(got, route:rep(EACH), "under load: answers of "..route)
  end
end
server:quit("QUIT")
file = server.dir.."/out/routes.mp"
local objects = counted(file, "route")
for route, made in pairs(MADE) do
  local got = tonumber(objects:match("(%d+)   "..route.."\n")) or 0
  local n = CLIENTS * EACH
  -- A request has other objects, too.
  tap.ok(got >= n * made and got <= n * (made + 1000),
    ("under load: objects of %s"):format(route), objects)
end
-- The time of nginx itself has no label.
tap.like(tap.sh(tap.mp.." report "..file.." cy:route:m0").out
  :gsub("\n[^\n]+ %(no label%)", ""),
  "\n +CPU\n +%d+%% +[%d.]+ m?s   cpu\n", "CPU by route")
tap.like(tap.sh(tap.mp.." report "..file.." Iy:route:m1").out,
  "Coroutines have waited [^\n]*\n\n[^\n]*\n +%d+%% [^\n]* slow\n",
  "the route that waits is the first one of those that do")

-- A zone that is open at a yield stays open for all: the report says so.
server = require("webserver").new()
server:configure([[
  assert(require("jit.mp").start("I", "DIR/out/zone.mp"))
]], [[
  location /zone {
    content_by_lua_block {
      local zone = require("jit.zone")
      zone("query")
      for i = 1, 20 do
        ngx.sleep(0.05)
      end
      zone()
      ngx.print("zone")
    }
  }
]], 1)
server:start()
tap.is(server:get("/zone"), "zone", "a zone around a yield")
server:quit("QUIT")
tap.like(tap.sh(tap.mp.." report "..server.dir.."/out/zone.mp I").out,
  "\na zone was open while no Lua function ran: a coroutine that yields in a "..
  "zone", "a note says so")

-- -- copas, luv and lua-http --------------------------------------------------

local root = hosts.unpack("labels",
  "lua-copas lua-coxpcall lua-socket lua-luv libluajit-5.1-2 lua-http "..
  "lua-basexx lua-binaryheap lua-bit32 lua-compat53 lua-cqueues lua-fifo "..
  "lua-lpeg lua-lpeg-patterns lua-luaossl")
local dir = tap.tmpdir()

local function run(name, text)
  local script, out = dir.."/"..name..".lua", dir.."/"..name..".mp"
  tap.write(script, [[
    local mp = require("jit.mp")
    local function make(n) local f for _ = 1, n do f = function() end end end
  ]]..text)
  local r = tap.luajit(("-jm=b1,%s %s"):format(out, script),
    { env = hosts.env(root) })
  tap.is(r.status..r.err, "0", name.." runs")
  return out
end

check("copas", run("copas", [[
  local copas, socket = require("copas"), require("socket")
  local listener = socket.bind("127.0.0.1", 0)
  local _, port = listener:getsockname()
  local open = 30
  copas.addserver(listener, function(client)
    mp.label("route", (copas.receive(client)))
    make(1000)
    copas.receive(client)
    make(1000)
    copas.send(client, "done\n")
  end)
  for i = 1, 30 do
    copas.addthread(function()
      local s = socket.tcp()
      copas.connect(s, "127.0.0.1", port)
      copas.send(s, "/"..i % 3 .."\n")
      copas.send(s, "more\n")
      assert(copas.receive(s) == "done")
      open = open - 1
    end)
  end
  local limit = os.time() + 20
  while open > 0 and os.time() < limit do copas.step(0.1) end
]]), "route", { ["/0"] = 20000, ["/1"] = 20000, ["/2"] = 20000 })

check("luv", run("luv", [[
  local uv = require("luv")
  local function sleep(ms)
    local co, timer = coroutine.running(), uv.new_timer()
    timer:start(ms, 0, function()
      timer:close()
      coroutine.resume(co)
    end)
    coroutine.yield()
  end
  for i = 1, 30 do
    coroutine.wrap(function()
      mp.label("task", "t"..i % 3)
      make(1000)
      sleep(i)
      make(1000)
    end)()
  end
  local timer = uv.new_timer()
  timer:start(5, 0, function()
    timer:close()
    mp.with({ task = "expire" }, make, 5000)
    make(3000)
  end)
  uv.run()
]]), "task", { t0 = 20000, t1 = 20000, t2 = 20000, expire = 5000 })

check("lua-http", run("lua-http", [[
  local cqueues, headers = require("cqueues"), require("http.headers")
  local request = require("http.request")
  local server = assert(require("http.server").listen {
    host = "127.0.0.1", port = 0,
    onstream = function(_, stream)
      local path = assert(stream:get_headers()):get(":path")
      mp.label("route", path:match("^[^?]+"))
      make(1000)
      cqueues.sleep(0.01)
      make(1000)
      local answer = headers.new()
      answer:append(":status", "200")
      assert(stream:write_headers(answer, false))
      assert(stream:write_chunk("done", true))
    end
  })
  assert(server:listen())
  local _, _, port = server:localname()
  local cq, open = cqueues.new(), 30
  cq:wrap(function() assert(server:loop()) end)
  for i = 1, 30 do
    cq:wrap(function()
      local r = request.new_from_uri(("http://127.0.0.1:%d/r%d?n=%d"):format(
        port, i % 3, i))
      local _, stream = assert(r:go(20))
      assert(stream:get_body_as_string() == "done")
      open = open - 1
      if open == 0 then server:close() end
    end)
  end
  assert(cq:loop())
]]), "route", { ["/r0"] = 20000, ["/r1"] = 20000, ["/r2"] = 20000 })
tap.done()
