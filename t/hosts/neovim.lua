-- SPDX-License-Identifier: MIT
-- neovim: never closes its Lua state, runs Lua from callbacks of its event loop
-- and from a thread's, and has a LuaJIT in a shared library.

local tap = require("tap")
local hosts = require("hosts")

local root = hosts.unpack("neovim", "neovim neovim-runtime libmsgpackc2 "..
  "libtermkey1 libtree-sitter0 libunibilium4 libuv1 libvterm0 lua-luv "..
  "libluajit-5.1-2")
local dir = tap.tmpdir()
local env = hosts.env(root, { VIMRUNTIME = root.."/usr/share/nvim/runtime",
  XDG_CONFIG_HOME = dir, XDG_DATA_HOME = dir, XDG_STATE_HOME = dir })

-- Runs a script in neovim, profiled from before its start files on.
local function nvim(options, out, script)
  tap.write(dir.."/work.lua", script)
  return tap.sh(("cd %s && timeout 60 %s/usr/bin/nvim --headless -u NONE "..
    "--cmd 'lua require(\"jit.mp\").start(\"%s\", \"%s\")' "..
    "-c 'luafile work.lua'"):format(dir, root, options,
      out), { env = env })
end

local script = [[
function _G.build(n)
  local t = {}
  for i = 1, n do t[i] = { i, tostring(i) } end
  return t
end
local lines = {}
for i = 1, 2000 do lines[i] = ("line %d of many"):format(i) end
vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
function _G.search()
  local n = 0
  for _, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    n = n + #vim.split(line, " ")
  end
  return n
end
local runs = 0
local timer = vim.loop.new_timer()
timer:start(5, 5, vim.schedule_wrap(function()
  runs = runs + 1
  build(2000)
  if runs < 40 then return end
  timer:close()
  io.stdout:write(search(), "\n")
  vim.cmd("qa!")
end))
vim.cmd("set spelllang=en ft=lua")
vim.cmd("silent! %s/line/row/")
]]

local r = nvim("fi1", dir.."/out.txt", script)
tap.is(r.status, 0, "neovim runs and ends")
tap.is(r.out:gsub("[\r\n]", ""), "8000", "with its result")
local text = tap.read(dir.."/out.txt")
tap.like(text, "build", "the report has the callbacks of its loop")
tap.like(text, "capture exact", "in all detail")

-- Every ending that it has.
for _, command in ipairs({ "qa!", "cq 0", "lua os.exit(0)",
  "lua os.exit(0, true)" }) do
  r = nvim("fb1", dir.."/end.txt", "local t = {} for i = 1, 1000 do "..
    "t[i] = {} end vim.cmd([=["..command.."]=])")
  tap.is(r.status, 0, "ends by "..command)
  tap.like(tap.read(dir.."/end.txt"), "main chunk", "with a report")
  os.remove(dir.."/end.txt")
end
r = nvim("f", dir.."/term.txt", "vim.loop.kill(vim.loop.os_getpid(), 15)")
tap.ok(tap.read(dir.."/term.txt") ~= nil, "SIGTERM", r.err)

-- Started and stopped again and again, as by a plugin's command.
r = nvim("f", dir.."/first.txt", [[
local mp = require("jit.mp")
assert(mp.stop())
for i = 1, 30 do
  assert(mp.start("f", "again.txt"))
  vim.cmd("normal! gg")
  vim.fn.sort(vim.fn.range(200))
  assert(mp.stop())
end
io.stdout:write("fine")
vim.cmd("qa!")
]])
tap.is(r.out, "fine", "thirty profiles in one session")

-- A thread of luv's has a Lua state of its own.
r = nvim("f", dir.."/thread.txt", [[
local work = vim.loop.new_work(function(n)
  local t = {}
  for i = 1, n do t[i] = { i } end
  return #t
end, function(n)
  io.stdout:write(n)
  vim.schedule(function() vim.cmd("qa!") end)
end)
work:queue(200000)
]])
tap.is(r.out, "200000", "threads of libuv")

tap.done()
