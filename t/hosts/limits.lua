-- SPDX-License-Identifier: MIT
-- Option B in nginx and neovim at real limits: the report is there before the
-- end and names the planted holder, and what the host does then is what it does
-- without a profile. Usage: limits.lua [COUNT [SEED]]

local hosts = require("hosts")
local limit = require("limit")
local tap = require("tap")
local trial = require("attack.trial")
local webserver = require("webserver")

local count = trial.count(6)
local cgroup, remove_cgroup = limit.cgroup(150 * 2^20)
if not cgroup then tap.diag("no memory cgroup can be made here") end

-- Memory that is refused ends the growth, and the host goes on.
local work = [[
local session = require("session")
local function seen()
  local f = io.open("DIR/out/busy.txt")
  return f and f:close()
end
local function grow(rest)
  local ok, message
  for i = 1, 1e7 do
    ok, message = pcall(session.add, i, SIZE)
    if not ok then break end
    if i % 20 == 0 then rest() end
  end
  session.drop()
  collectgarbage()
  return message
end
local function spin()
  session.add(1, SIZE)
  for i = 1, 1e4 do
    local n = 0
    for k = 1, 2e6 do n = n + k % 3 end
    if seen() then return "seen" end
  end
end
]]

local kinds = {
  cgroup = { options = "fB80%", report = "memory", before = cgroup,
    call = "grow(REST)", first = limit.held },
  addresses = { options = "fB80%", report = "memory",
    before = limit.addresses(400 * 2^20), call = "grow(REST)",
    first = limit.held },
  busy = { options = "fB1s", report = "busy", before = "", call = "spin()",
    first = "^the thread has not waited for " },
}

-- Sets what a text has in place of words in capitals.
local function fill(text, values)
  return (text:gsub("%u+", function(word) return values[word] end))
end

-- -- nginx -------------------------------------------------------------------

local server = webserver.new()
tap.write(server.dir.."/session.lua", limit.session)
server.env.LUA_PATH = server.dir.."/?.lua;"..server.env.LUA_PATH

local function nginx(k, size, profiled)
  local values = { SIZE = size, DIR = server.dir,
    REST = "function() ngx.sleep(0) end" }
  os.execute("rm -f "..server.dir.."/out/* "..server.dir.."/logs/*")
  server:configure(profiled and ('assert(require("jit.mp").start("%s", '..
    '"DIR/out/%%e.txt"))'):format(k.options) or "",
    "location = /work { content_by_lua_block { "..fill(work..
    "ngx.print("..k.call..")", values).." } }", 1)
  server:start(k.before)
  local answer = tap.sh(("curl -s -m 900 -w ' %%{http_code}' %s/work"):format(
    server.address)).out
  tap.wait(function() return server:get("/") == "300" end)
  server:finish("QUIT")
  local log = tap.read(server.dir.."/logs/error.log")
  return answer.."; "..(log:match("exited on signal %d+") or "no signal"),
    tap.read(server.dir.."/out/"..k.report..".txt")
end

-- -- neovim ------------------------------------------------------------------

local root = hosts.unpack("neovim", "neovim neovim-runtime libmsgpackc2 "..
  "libtermkey1 libtree-sitter0 libunibilium4 libuv1 libvterm0 lua-luv "..
  "libluajit-5.1-2")
local dir = tap.tmpdir()
os.execute("mkdir "..dir.."/out")
tap.write(dir.."/session.lua", limit.session)
local env = hosts.env(root, { VIMRUNTIME = root.."/usr/share/nvim/runtime",
  XDG_CONFIG_HOME = dir, XDG_DATA_HOME = dir, XDG_STATE_HOME = dir })
env.LUA_PATH = dir.."/?.lua;"..env.LUA_PATH

-- The work is done in a callback of the event loop.
local function neovim(k, size, profiled)
  os.execute("rm -f "..dir.."/out/*")
  tap.write(dir.."/work.lua", fill(work..[[
vim.defer_fn(function()
  io.stdout:write(tostring(]]..k.call..[[))
  vim.cmd("cq 5")
end, 1)]], { SIZE = size, DIR = dir, REST = "function() end" }))
  local r = tap.sh(("%stimeout 900 %s/usr/bin/nvim --headless -u NONE %s "..
    "-c 'luafile work.lua'"):format(k.before, root, profiled and
      ("--cmd 'lua require(\"jit.mp\").start(\"%s\", \"out/%%e.txt\")'"):format(
        k.options) or ""), { dir = dir, env = env })
  return r.out.."; status "..r.status,
    tap.read(dir.."/out/"..k.report..".txt")
end

-- -- The trial ---------------------------------------------------------------

local runs, plain = { nginx = nginx, neovim = neovim }, {}
for i = 1, count do
  local host = i % 2 == 0 and "nginx" or "neovim"
  local kind = ({ "busy", "addresses", cgroup and "cgroup" or "busy" })[
    math.ceil(i / 2) % 3 + 1]
  local k, size = kinds[kind], trial.pick({ 20000, 50000, 200000 })
  local key = host.." "..kind
  local got, text = runs[host](k, size, true)
  if kind ~= "busy" and not plain[key] then
    plain[key] = runs[host](k, size, false)
  end
  local want = plain[key] or (host == "nginx" and "seen 200; no signal" or
    "seen; status 5")
  trial.check(got == want and (text or ""):find(k.first), key,
    ("strings of %d: %s\nwithout a profile %s\n%s"):format(size, got, want,
      (text or "no report"):sub(1, 300)))
end
if cgroup then remove_cgroup() end
os.execute("rm -rf "..dir.." "..server.dir)
trial.done("reports at limits in hosts")
