-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- nginx with its Lua module, whose LuaJIT is OpenResty's, for tests.
----------------------------------------------------------------------------

local hosts = require("hosts")
local tap = require("tap")

local webserver = {}
webserver.__index = webserver

local packages = "nginx libnginx-mod-http-lua libnginx-mod-http-ndk "..
  "libluajit2-5.1-2 lua-resty-core lua-resty-lrucache lua-cjson libpcre3 "..
  "libpcre2-8-0 wrk"

local template = [[
env LUA_PATH; env LUA_CPATH; env LD_LIBRARY_PATH;
load_module ROOT/usr/lib/nginx/modules/ndk_http_module.so;
load_module ROOT/usr/lib/nginx/modules/ngx_http_lua_module.so;
worker_processes WORKERS;
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
    location = /pid { content_by_lua_block { ngx.print(ngx.worker.pid()) } }
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
    LOCATIONS
  }
}
]]

-- The script that wrk runs: it counts the answers that are wrong. A right one
-- is that of "/", or has as many bytes as wrk's argument says.
local check = [[
local threads = {}
function setup(thread) threads[#threads+1] = thread end
function init(args)
  wrong = 0
  bytes = tonumber(args[1])
end
local function right(body)
  if bytes then return #body == bytes end
  return body == "300"
end
function response(status, headers, body)
  if status ~= 200 or not right(body) then wrong = wrong + 1 end
end
function done()
  local n = 0
  for _, thread in ipairs(threads) do n = n + thread:get("wrong") end
  io.write("wrong answers: ", n, "\n")
end
]]

-- A server that is not configured yet. Its files are in a directory that all
-- may write to, since workers have another user.
function webserver.new()
  local root = hosts.unpack("nginx", packages)
  local s = setmetatable({ root = root, dir = tap.tmpdir(),
    port = hosts.port(), env = hosts.env(root) }, webserver)
  s.address = "http://127.0.0.1:"..s.port
  os.execute(("mkdir %s/logs %s/out; chmod -R 777 %s"):format(s.dir, s.dir,
    s.dir))
  tap.write(s.dir.."/check.lua", check)
  return s
end

-- init: what a worker runs at first, with DIR for the directory; locations:
-- more of them; workers: how many, 2 by default.
function webserver:configure(init, locations, workers)
  tap.write(self.dir.."/nginx.conf", (template:gsub("%u+", { ROOT = self.root,
    PORT = self.port, INIT = init:gsub("DIR", self.dir),
    LOCATIONS = locations or "", WORKERS = workers or 2 })))
end

function webserver:get(path)
  return tap.sh(("curl -s -m 20 '%s%s'"):format(self.address, path)).out
end

-- before: what a shell puts before the command, or nil.
function webserver:start(before)
  local r = tap.sh(("%s%s/usr/sbin/nginx -p %s -c %s/nginx.conf"):format(
    before or "", self.root, self.dir, self.dir), { env = self.env })
  tap.is(r.status, 0, "nginx starts")
  tap.wait(function() return self:get("/") == "300" end)
end

function webserver:signal(name)
  tap.sh(("kill -%s $(cat %s/nginx.pid)"):format(name, self.dir))
end

-- The workers that are children of the master, as a set.
function webserver:workers()
  local pid = tap.read(self.dir.."/nginx.pid"):match("%d+")
  local set = {}
  for child in tap.read(("/proc/%s/task/%s/children"):format(pid, pid))
      :gmatch("%d+") do
    set[child] = true
  end
  return set
end

-- Starts a generation of workers: two signals at once are one to nginx.
function webserver:reload()
  local old = self:workers()
  self:signal("HUP")
  return tap.wait(function()
    local new = 0
    for pid in pairs(self:workers()) do new = new + (old[pid] and 0 or 1) end
    return new == 2
  end)
end

-- No worker has crashed so far.
function webserver:check(when)
  local log = tap.read(self.dir.."/logs/error.log")
  tap.unlike(log, "exited on signal", "no worker crashes: "..when)
  tap.unlike(log, "%[alert%]", "nothing is alarming")
  tap.unlike(log, "%[error%]", "nor an error")
end

-- Ends it by that signal.
function webserver:finish(signal)
  local pid = tap.read(self.dir.."/nginx.pid"):match("%d+")
  self:signal(signal)
  tap.wait(function() return not tap.read("/proc/"..pid.."/stat") end)
end

function webserver:quit(signal)
  self:finish(signal)
  self:check(signal)
end

-- The command that puts load on it, for some seconds; its output names what
-- went wrong.
function webserver:load(seconds)
  return ("%s/usr/bin/wrk -t2 -c16 -d%d -s %s/check.lua %s/"):format(self.root,
    seconds, self.dir, self.address)
end

-- From what that printed: the number of requests. Checks that none was lost.
function webserver:answered(out)
  tap.unlike(out, "Non%-2xx", "none is wrong")
  tap.unlike(out, "Socket errors", "none is lost")
  tap.like(out, "wrong answers: 0\n", "each has its answer")
  return tonumber(out:match("(%d+) requests in"))
end

return webserver
