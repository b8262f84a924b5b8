-- SPDX-License-Identifier: MIT
-- The plugin for Neovim: shares beside the lines, and the next hot line.

local tap = require("tap")

if (os.getenv("LIBASAN") or "") ~= "" then tap.skip("a sanitizers' build") end
if tap.sh("nvim --version").status ~= 0 then tap.skip("no nvim") end
if not tap.knows_layout() then tap.skip("lines are not exact") end

local dir = tap.tmpdir()
tap.write(dir.."/app.lua", [[
local keep = {}
local function much() for i = 1, 3000 do keep[i % 10] = { i } end end
local function little()
  for i = 1, 1000 do keep[i % 10] = { i } end
end
much()
little()
]])
tap.luajit("-joff -jm=fb1i1000000,app.mp app.lua", { dir = dir })

-- The output of commands of vim.
local function nvim(...)
  local plugin = tap.srcdir.."/lib/nvim/plugin/luajit-mp.lua"
  local args = { "nvim --headless -u NONE -i NONE -n",
    "--cmd "..tap.quote("let g:luajit_mp = '"..tap.mp:gsub("'", "''").."'"),
    "-c "..tap.quote("luafile "..plugin) }
  for _, command in ipairs({ ... }) do
    args[#args+1] = "-c "..tap.quote(command)
  end
  local r = tap.sh(table.concat(args, " ").." -c 'qa!'", { dir = dir })
  return (r.out..r.err):gsub("\r", "")
end
local marks = [[lua for _, m in ipairs(vim.api.nvim_buf_get_extmarks(0,
  vim.api.nvim_get_namespaces()["luajit-mp"], 0, -1, { details = true })) do
  print(m[2] + 1 .. " " .. m[4].virt_text[1][1]) end]]
marks = marks:gsub("\n *", " ")

local text = nvim("edit app.lua", "Mp app.mp", marks)
tap.like(text, "2 [^\n]*allocated %d+%% [%d.]+ kB", "shares beside a line")
tap.like(text, "4 [^\n]*allocated %d+%% [%d.]+ kB", "and another one")
tap.unlike(text, "%f[%d]1 [^\n]*%%", "not beside one that has none")
text = nvim("Mp app.mp", "edit app.lua", marks)
tap.like(text, "2 [^\n]*allocated", "of a file that is opened later")
text = nvim("Mp app.mp", "Mp next", "echo expand('%:t') line('.')",
  "Mp next", "echo ' ' line('.')", "Mp previous", "echo ' ' line('.')")
tap.like(text, "app.lua 2.* 4.* 2", "to the hottest line, the next and back")
text = nvim("edit app.lua", "Mp app.mp", "Mp clear", marks)
tap.unlike(text, "allocated", "none any more")
tap.write(dir.."/large.lua", 'local ffi = require("ffi")\n'..
  'local block = ffi.new("char[?]", 999700)\n')
tap.luajit("-joff -jm=fb1i1000000,large.mp large.lua", { dir = dir })
tap.like(nvim("edit large.lua", "Mp large.mp", marks),
  "2 [^\n]*allocated %d+%% 1 MB", "nearly a thousand kB")
tap.like(nvim("Mp none.mp"), "luajit%-mp: cannot read none.mp", "no such file")
tap.like(nvim("Mp next"), "luajit%-mp: no profile", "no profile")
tap.like(nvim("Mp attach"), "luajit%-mp: Mp attach PID", "no process")

-- A process that runs.
if jit.arch == "x64" then
  tap.write(dir.."/spin.lua", [[
local keep = {}
while not io.open("stop") do
  for i = 1, 1e5 do keep[i % 10] = { i } end
end
]])
  local pid = tap.sh(tap.command.." spin.lua >/dev/null 2>&1 & echo $!",
    { dir = dir }).out:match("%d+")
  text = nvim("edit spin.lua", "Mp attach "..pid.." 1",
    "lua vim.wait(60000, function() return vim.api.nvim_buf_get_extmarks(0, "..
    "vim.api.nvim_get_namespaces()['luajit-mp'], 0, -1, {})[1] ~= nil or "..
    "vim.fn.execute('messages'):find('cannot attach') end)", marks)
  tap.like(text, text:find("cannot attach", 1, true) and "not permitted" or
    "3 [^\n]*CPU %d+%%", "the lines of a process that runs")
  tap.write(dir.."/stop", "")
  text = nvim("Mp attach 999999999 1", "lua vim.wait(60000, function() "..
    "return vim.fn.execute('messages'):find('no process') end)")
  tap.like(text, "cannot attach to process 999999999: there is no",
    "or does not")
end
tap.done()
