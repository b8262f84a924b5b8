-- SPDX-License-Identifier: MIT
-- nginx with its Lua module, whose LuaJIT is OpenResty's: profiled from the
-- start of each worker on, with requests, cosockets, timers and reloads.

local tap = require("tap")
local hosts = require("hosts")

local root = hosts.unpack("nginx", "nginx libnginx-mod-http-lua "..
  "libnginx-mod-http-ndk libluajit2-5.1-2 lua-resty-core lua-resty-lrucache "..
  "libpcre3 libpcre2-8-0 wrk")
local env = hosts.env(root)
local dir, port = hosts.directory(), hosts.port()
local nginx = ("%s/usr/sbin/nginx -p %s -c %s/nginx.conf"):format(root, dir,
  dir)
local server = "http://127.0.0.1:"..port
os.execute("mkdir "..dir.."/logs "..dir.."/out; chmod -R 777 "..dir)

local template = [[
env LUA_PATH; env LUA_CPATH; env LD_LIBRARY_PATH;
load_module ROOT/usr/lib/nginx/modules/ndk_http_module.so;
load_module ROOT/usr/lib/nginx/modules/ngx_http_lua_module.so;
worker_processes 2;
error_log logs/error.log notice;
pid nginx.pid;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
  uwsgi_temp_path t4; scgi_temp_path t5;
  lua_socket_log_errors off;
  lua_shared_dict count 1m;
  init_worker_by_lua_block { INIT }
  server {
    listen 127.0.0.1:PORT;
    location /debug/pprof/ {
      content_by_lua_block { require("jit.mp.nginx").pprof() }
    }
    location = /count {
      content_by_lua_block { ngx.print(ngx.shared.count:get("n") or 0) }
    }
    location = /socket {
      content_by_lua_block {
        local s = ngx.socket.tcp()
        assert(s:connect("127.0.0.1", PORT))
        assert(s:send("GET / HTTP/1.0\r\nHost: x\r\n\r\n"))
        ngx.print((s:receive("*a"):match("\r\n\r\n(.*)$")))
      }
    }
    location = / {
      content_by_lua_block {
        local function build(n)
          local t = {}
          for i = 1, n do t[i] = { i, tostring(i) } end
          return #t
        end
        ngx.shared.count:incr("n", 1, 0)
        ngx.print(build(300))
      }
    }
  }
}
]]

local function configure(init)
  tap.write(dir.."/nginx.conf", (template:gsub("%u+", { ROOT = root,
    PORT = port, INIT = init:gsub("DIR", dir) })))
end

local function get(path)
  return tap.sh(("curl -s -m 20 %s%s"):format(server, path)).out
end

local function start()
  local r = tap.sh(nginx, { env = env })
  tap.is(r.status, 0, "nginx starts")
  tap.wait(function() return get("/") == "300" end)
end

-- Without a crash, whatever the reason of the end.
local function quit(signal)
  local pid = tap.read(dir.."/nginx.pid"):match("%d+")
  tap.sh("kill -"..signal.." "..pid)
  tap.wait(function() return not tap.read("/proc/"..pid.."/stat") end)
  local log = tap.read(dir.."/logs/error.log")
  tap.unlike(log, "exited on signal", "no worker crashes: "..signal)
  tap.unlike(log, "%[alert%]", "nothing is alarming")
  tap.unlike(log, "%[error%]", "nor an error")
end

-- A worker that is always profiled, whose stop is never called.
configure([[
  assert(require("jit.mp").start("f", "DIR/out/%p.mp"))
  local function tick() ngx.timer.at(0.01, tick) end
  tick()
]])
start()
local before = tonumber(get("/count"))
local wrk = tap.sh(("%s/usr/bin/wrk -t2 -c16 -d3 %s/"):format(root, server),
  { env = env }).out
local n = tonumber(wrk:match("(%d+) requests in"))
tap.ok(n and n > 100, "requests under load", wrk)
tap.unlike(wrk, "Non%-2xx", "none is wrong")
tap.unlike(wrk, "Socket errors", "none is lost")
local served = tonumber(get("/count")) - before
-- Those that wrk gave up at the end were served, too.
tap.ok(served >= n and served <= n + 16, "all of them were served",
  served.." of "..n)
for _ = 1, 20 do
  if get("/socket") ~= "300" then tap.ok(false, "a cosocket") end
end
tap.is(get("/socket"), "300", "cosockets work")

-- pprof as Go's programs have it.
local function load(seconds)
  tap.sh(("(%s/usr/bin/wrk -t1 -c64 -d%d %s/ >/dev/null 2>&1 &)"):format(root,
    seconds, server), { env = env })
end
load(9)
local file = dir.."/p.pb.gz"
local r = tap.sh(("curl -s -m 20 -w '%%{http_code} %%{content_type}' -o %s "..
  "'%s/debug/pprof/profile?seconds=2'"):format(file, server))
tap.is(r.out, "200 application/octet-stream", "a CPU profile over HTTP")
tap.is(get("/debug/pprof/heap"):sub(1, 2), "\31\139", "the heap's")
tap.like(get("/debug/pprof/"), "heap", "the list of them")
tap.like(get("/debug/pprof/heap?seconds=x"), "a number from 0", "wrong seconds")
if tap.sh("go version").status == 0 then
  tap.like(tap.sh("go tool pprof -top "..file).out, "Type: cpu",
    "pprof reads it")
  -- A worker answers for itself: now and then it is the one without load.
  tap.ok(tap.wait(function()
    tap.write(file, get("/debug/pprof/heap?seconds=0.5"))
    return tap.sh("go tool pprof -top -sample_index=alloc_space "..file).out
      :find("build", 1, true)
  end), "the memory that requests took")
  r = tap.sh(("go tool pprof -top -sample_index=alloc_space "..
    "'%s/debug/pprof/heap?seconds=1'"):format(server))
  tap.like(r.out, "alloc_space", "and gets one by itself")
end

-- Reloads: every answer is right meanwhile.
local wrong = 0
for i = 1, 120 do
  if i % 12 == 0 then
    tap.sh("kill -HUP $(cat "..dir.."/nginx.pid)")
  end
  if get("/") ~= "300" then wrong = wrong + 1 end
end
tap.is(wrong, 0, "ten reloads, and no request is lost")
quit("QUIT")
local reports = tap.sh("ls "..dir.."/out").out
n = select(2, reports:gsub("%.mp\n", ""))
tap.is(n, 22, "each worker of each generation leaves its report")
r = tap.sh(tap.mp.." merge -o "..dir.."/all.mp "..dir.."/out/*.mp && "..
  tap.mp.." report "..dir.."/all.mp fh")
tap.like(r.out, "build", "which has what it did", r.err)

-- A worker that is profiled on demand, and one that stops itself.
configure("")
start()
load(2)
tap.is(get("/debug/pprof/heap?seconds=1"):sub(1, 2), "\31\139",
  "a profile on demand")
tap.is(get("/"), "300", "and on")
quit("TERM")
hosts.done()
