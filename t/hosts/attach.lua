-- SPDX-License-Identifier: MIT
-- luajit-mp attach to an nginx worker under load and to neovim, which know
-- nothing of the profiler: no request is lost or wrong, nothing crashes, and
-- the process is left as it was.
--
-- Argument: how often each is attached to; default 5.

local hosts = require("hosts")
local process = require("attach.process")
local tap = require("tap")

local count = tonumber((arg or {})[1]) or 5
if not jit.arch:find("^x") then
  tap.skip("attach is for x86-64 and i386")
end

local function attach(args)
  return tap.sh(tap.mp.." attach "..args)
end

-- Attaches that often. Returns what went wrong, and the last report.
local function attach_often(pid)
  local report
  for i = 1, count do
    local r = attach("-t 0.1 -O fl "..pid)
    if r.status ~= 0 or not r.out:find("^luajit%-mp  ") then
      return ("%d: %s"):format(i, r.err..r.out)
    end
    report = r.out
  end
  return nil, report
end

-- The decisions of the compiler, before as well as now.
local function attach_compiler(name, pid)
  local r = attach("-t 0.3 -O J "..pid)
  tap.is(r.status, 0, name..": option J")
  tap.like(r.out, "\nJIT compiler: %d+ traces? made, %d+ given up; ",
    name..": the compiler's decisions")
end

-- The heap, with nothing loaded. held: the path of something in it.
local function attach_outside(name, pid, held)
  local r = attach("--outside -O W "..pid)
  tap.is(r.status, 0, name..": a heap walk from outside", r.err)
  tap.like(r.out, "\nHeap walk: [%d.]+ %a+ in %d+ objects held", name..
    ": it is walked")
  tap.like(r.out, "\n[^\n]* "..held, name..": what holds it")
end

-- Requests come and go: so do their connections.
local function clean(list) return (list:gsub("[^\n]*socket:[^\n]*\n", "")) end

-- Whether a process has the system's facts and the files of before; the module
-- stays, with a page that it would share with a child.
local function compare(name, pid, before)
  tap.is(clean(process.facts(pid)), clean(before.facts), name..
    ": left as it was")
  local added = {}
  for file in process.maps(pid):gmatch("[^\n]+") do
    if not before.files:find(file, 1, true) and
      not file:find("^/dev/zero") then added[#added+1] = file end
  end
  tap.like(table.concat(added, "\n"), "^[^\n]*/jit/mp/core.so$", name..
    ": one file more is mapped")
end

local function facts(pid)
  return { facts = process.facts(pid), files = (process.maps(pid)) }
end

local function tell(name, said)
  tap.like(said, "^right ", name..": allocator, signals and timers")
  tap.diag(name..": stood still for (ms, and without waits for a processor): "..
    tostring(said:match("right (.*)")))
end

-- -- nginx -------------------------------------------------------------------

local server = require("webserver").new()
local witness = [[
  local witness = require("attach.witness")
  local function tick()
    witness.tick()
    ngx.timer.at(0.001, tick)
  end
  ngx.timer.at(0, tick)
]]
server.env.LUA_PATH = tap.srcdir.."/t/?.lua;"..server.env.LUA_PATH
server:configure(witness, [[
  location = /witness {
    content_by_lua_block { ngx.print(require("attach.witness").result()) }
  }]], 1)
server:start()
local pid = server:get("/pid")
local first = attach("-t 0.1 "..pid)
if first.err:find("not permitted", 1, true) then
  server:quit("TERM")
  tap.skip("processes may not be traced here")
end
tap.is(first.status, 0, "nginx: a worker without load")

-- Its connections, and what it has loaded, are those of a server at work.
local before = facts(pid)
before.files = before.files:gsub("[^\n]*/jit/mp/core.so", "")
local served = tonumber(server:get("/count"))
local running = tap.tmpname()
tap.sh(("{ while [ -e %s ]; do %s; done; echo end; } >%s/wrk.txt 2>&1 &")
  :format(running, server:load(3), server.dir), { env = server.env })
os.execute("sleep 0.5")
local bad, report = attach_often(pid)
tap.ok(not bad, "nginx: "..count.." profiles under load", bad)
tap.like(report, "build", "nginx: with what requests do")
attach_compiler("nginx", pid)
attach_outside("nginx", pid, "ngx  %(table%)")
os.remove(running)
local wrk = tap.wait(function()
  return tap.read(server.dir.."/wrk.txt"):match("^(.*)end\n$")
end)
local requests, runs = 0, select(2, wrk:gsub("wrong answers", ""))
for n in wrk:gmatch("(%d+) requests in") do requests = requests + n end
tap.unlike(wrk, "Non%-2xx", "nginx: none is wrong")
tap.unlike(wrk, "Socket errors", "nginx: none is lost")
tap.unlike(wrk, "wrong answers: [1-9]", "nginx: each has its answer")
tap.diag(requests.." requests")
served = tonumber(server:get("/count")) - served
tap.ok(requests > 100 and served >= requests and served <= requests + 16 * runs,
  "nginx: all of them were served", served.." of "..requests)
tap.is(server:get("/pid"), pid, "nginx: by the same worker")
compare("nginx", pid, before)
tell("nginx", server:get("/witness"))

-- A reload, and the end, while attached: the profile is that of the worker that
-- ends.
local function while_attached(name, signal)
  local worker = server:get("/pid")
  tap.sh(("{ %s attach -O fb1 -o %s.mp %s >%s.txt 2>&1; "..
    "echo $? >%s.status; } &"):format(tap.mp, name, worker, name, name),
    { dir = server.dir })
  local said = ("%s/%s.txt"):format(server.dir, name)
  tap.wait(function() return (tap.read(said) or ""):find("Ctrl%-C") end)
  tap.is(server:get("/"), "300", name..": requests are answered")
  signal()
  local status = tap.wait(function()
    local text = tap.read(("%s/%s.status"):format(server.dir, name))
    return text ~= "" and text
  end)
  tap.is(status, "0\n", name.." while attached: status")
  tap.like(tap.read(said), "^[^\n]*Ctrl%-C ends it\n$",
    name.." while attached: nothing else is said")
  local text = tap.sh(("%s report %s/%s.mp h"):format(tap.mp, server.dir,
    name)).out
  tap.like(text, "build", name.." while attached: its profile")
end

while_attached("reload", function() server:signal("HUP") end)
tap.is(server:get("/"), "300", "the next worker answers")
while_attached("quit", function() server:quit("QUIT") end)

-- -- neovim ------------------------------------------------------------------

local root = hosts.unpack("neovim", "neovim neovim-runtime libmsgpackc2 "..
  "libtermkey1 libtree-sitter0 libunibilium4 libuv1 libvterm0 lua-luv "..
  "libluajit-5.1-2")
local dir = tap.tmpdir()
local env = hosts.env(root, { VIMRUNTIME = root.."/usr/share/nvim/runtime",
  XDG_CONFIG_HOME = dir, XDG_DATA_HOME = dir, XDG_STATE_HOME = dir })
env.LUA_PATH = tap.srcdir.."/t/?.lua;"..env.LUA_PATH
tap.write(dir.."/work.lua", [[
local witness = require("attach.witness")
function _G.edit(n)
  local lines = {}
  for i = 1, n do lines[i] = ("line %d of many"):format(i) end
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
  return #vim.api.nvim_buf_get_lines(0, 0, -1, false)
end
local timer = vim.loop.new_timer()
local lines = true
timer:start(1, 1, vim.schedule_wrap(function()
  witness.tick()
  lines = lines and edit(20) == 20
  if vim.loop.fs_stat("running") then return end
  timer:close()
  io.stdout:write(lines and witness.result() or "wrong lines")
  vim.cmd("qa!")
end))
]])
local p = process.start(dir, root.."/usr/bin/nvim --headless -u NONE "..
  "-c 'luafile work.lua'", env)
os.execute("sleep 1")
before = facts(p.pid)
bad, report = attach_often(p.pid)
tap.ok(not bad, "neovim: "..count.." profiles", bad)
tap.like(report, "edit", "neovim: with what it does")
attach_compiler("neovim", p.pid)
attach_outside("neovim", p.pid, "vim  %(table%)")
compare("neovim", p.pid, before)
local out, status = p:stop()
tap.is(status, 0, "neovim ends well")
tell("neovim", out)
p:kill()
tap.done()
