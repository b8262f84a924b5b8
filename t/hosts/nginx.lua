-- SPDX-License-Identifier: MIT
-- nginx, profiled from the start of each worker on, with requests, cosockets,
-- timers and reloads.

local tap = require("tap")

local server = require("webserver").new()
local dir = server.dir
local function get(path) return server:get(path) end

-- A worker that is always profiled, whose stop is never called.
server:configure([[
  assert(require("jit.mp").start("f", "DIR/out/%p.mp"))
  local function tick() ngx.timer.at(0.01, tick) end
  tick()
]])
server:start()
local before = tonumber(get("/count"))
local wrk = tap.sh(server:load(3), { env = server.env }).out
local n = server:answered(wrk)
tap.ok(n and n > 100, "requests under load", wrk)
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
  tap.sh(("(%s/usr/bin/wrk -t1 -c64 -d%d %s/ >/dev/null 2>&1 &)"):format(
    server.root, seconds, server.address), { env = server.env })
end
load(12)
local file = dir.."/p.pb.gz"
local r = tap.sh(("curl -s -m 20 -w '%%{http_code} %%{content_type}' -o %s "..
  "'%s/debug/pprof/profile?seconds=2'"):format(file, server.address))
tap.is(r.out, "200 application/octet-stream", "a CPU profile over HTTP")
tap.is(get("/debug/pprof/heap"):sub(1, 2), "\31\139", "the heap's")
tap.like(get("/debug/pprof/"), "heap", "the list of them")
tap.like(get("/debug/pprof/heap?seconds=x"), "a number from 0", "wrong seconds")
tap.like(get("/debug/pprof/holders?seconds=1"), "whole profile",
  "seconds of what has none")

-- Reports. A worker answers for itself, as above.
local function report(path, pattern, name)
  local text
  tap.ok(tap.wait(function()
    text = get("/debug/pprof/"..path)
    return text:find(pattern)
  end), name, text)
end
report("report?seconds=0.5", "\nCPU .*\n[^\n]+ build\n", "a report as text")
report("page?seconds=0.5", "^<!DOCTYPE html>.*\"build\"", "a page")
report("holders", "\n[^\n]*package%.loaded", "what holds the Lua heap")
report("mp?seconds=0.5", "^\31\139", "a profile file")
tap.write(dir.."/w.mp", get("/debug/pprof/mp?seconds=0.5"))
tap.like(tap.sh(tap.mp.." report "..dir.."/w.mp fh").out, "^luajit%-mp",
  "which the command reads")
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
    "'%s/debug/pprof/heap?seconds=1'"):format(server.address))
  tap.like(r.out, "alloc_space", "and gets one by itself")
end

-- Reloads: every answer is right meanwhile.
local wrong = 0
for i = 1, 120 do
  if i % 12 == 0 and not server:reload() then
    tap.ok(false, "new workers after a reload")
  end
  if get("/") ~= "300" then wrong = wrong + 1 end
end
tap.is(wrong, 0, "ten reloads, and no request is lost")
server:quit("QUIT")
local reports = tap.sh("ls "..dir.."/out").out
n = select(2, reports:gsub("%.mp\n", ""))
tap.is(n, 22, "each worker of each generation leaves its report")
r = tap.sh(tap.mp.." merge -o "..dir.."/all.mp "..dir.."/out/*.mp && "..
  tap.mp.." report "..dir.."/all.mp fh")
tap.like(r.out, "build", "which has what it did", r.err)

-- A worker that is profiled on demand, and one that stops itself.
server:configure("")
server:start()
load(2)
tap.is(get("/debug/pprof/heap?seconds=1"):sub(1, 2), "\31\139",
  "a profile on demand")
tap.is(get("/"), "300", "and on")
server:quit("TERM")

-- Two requests for one worker's page at once, and some that are aborted, before
-- their report is made or meanwhile. Without names of its own nobody would know
-- whose files are left.
os.execute("mkdir "..dir.."/tmp; chmod 777 "..dir.."/tmp")
server:configure([[
  local n = 0
  function os.tmpname()
    n = n + 1
    local name = "DIR/tmp/"..n
    io.open(name, "w"):close()
    return name
  end
]], [[
  location /abort/ {
    lua_check_client_abort on;
    content_by_lua_block { require("jit.mp.nginx").pprof() }
  }
]], 1)
server:start()
local worker = get("/pid")
for i = 1, 2 do
  local both, command = {}, "curl -s -m 20 '%s/debug/pprof/page?seconds=1' "..
    ">%s/both-%d.html; echo >%s/both-%d.done"
  for k = 1, 2 do
    os.remove(("%s/both-%d.done"):format(dir, k))
    os.execute("("..command:format(server.address, dir, k, dir, k)..") &")
  end
  for _, path in ipairs({ "abort/page?seconds=1", "debug/pprof/page?seconds=1",
      "abort/holders", "debug/pprof/page?seconds=0" }) do
    for _, seconds in ipairs({ 0.01, 0.05, 0.3 }) do
      tap.sh(("curl -s -m %s '%s/%s'"):format(seconds, server.address, path))
    end
  end
  tap.wait(function()
    for k = 1, 2 do both[k] = tap.read(("%s/both-%d.done"):format(dir, k)) end
    return both[1] and both[2]
  end)
  for k = 1, 2 do
    tap.like(tap.read(("%s/both-%d.html"):format(dir, k)) or "",
      "^<!DOCTYPE html>.*</html>", "one of two pages at once")
  end
end
-- The last one's timer ends the profile a second after its time.
report("page?seconds=0", "^<!DOCTYPE html>.*</html>", "a page after these")
tap.is(get("/pid"), worker, "the worker is the same")
tap.ok(tap.wait(function()
  return tap.read(("/proc/%s/task/%s/children"):format(worker, worker)) == ""
end), "it has no children")
tap.ok(tap.wait(function() return tap.sh("ls "..dir.."/tmp").out == "" end),
  "no files are left", tap.sh("ls "..dir.."/tmp").out)
server:quit("TERM")

tap.done()
