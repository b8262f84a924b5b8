-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A profile beside the source in Neovim: luajit-mp-hosts(7) has the commands.
-- The command luajit-mp reads the profile, or vim.g.luajit_mp where that names
-- another one.
----------------------------------------------------------------------------

if vim.g.loaded_luajit_mp then return end
vim.g.loaded_luajit_mp = true

local api, fn = vim.api, vim.fn
local space = api.nvim_create_namespace("luajit-mp")

local SHOWN = 0.005 -- A share of a view that is worth a word,
local HOT = 0.10    -- and one that is worth a colour.

local titles = { { "cpu", "CPU" }, { "alloc", "allocated" },
  { "inuse", "in use" }, { "native", "C allocated" },
  { "native_inuse", "C in use" } }

-- The lines with a part of the profile, the hottest first, as { path, line,
-- text, share }; the number of the one that was jumped to.
local hot, at = {}, 0

local function fail(msg)
  api.nvim_echo({ { "luajit-mp: "..msg, "ErrorMsg" } }, true, {})
end

-- -- The profile -------------------------------------------------------------

local function amount(v, unit)
  if unit == "seconds" then
    return v >= 1 and ("%.2f s"):format(v) or ("%.0f ms"):format(v * 1000)
  end
  local names, i = { "B", "kB", "MB", "GB", "TB" }, 1
  while v >= 999.5 and i < #names do v, i = v / 1000, i + 1 end
  return (i == 1 and "%.0f %s" or "%.3g %s"):format(v, names[i])
end

-- Words about a line, its share of the first view that there is, and its
-- largest share; nil: no share is worth a word.
local function describe(row, views)
  local words, first, most = {}, nil, 0
  for _, title in ipairs(titles) do
    local view, cell = views[title[1]], row[title[1]]
    local total = view and view.total or 0
    local share = cell and total > 0 and cell.self / total or 0
    if total > 0 and not first then first = share end
    most = math.max(most, share)
    if share >= SHOWN then
      words[#words+1] = ("%s %.0f%% %s"):format(title[2], share * 100,
	amount(cell.self, view.unit))
    end
  end
  return words[1] and table.concat(words, "   "), first, most
end

-- A file of the profile: by its own name, or below the directory of the profile
-- or the current one.
local function find(source, directory)
  for _, name in ipairs({ source, directory.."/"..source }) do
    local path = vim.loop.fs_realpath(name)
    if path then return path end
  end
end

local function command(args)
  return (vim.g.luajit_mp or "luajit-mp").." "..args
end

-- The first line of what the command said.
local function reason(said)
  return (said:gsub("^luajit%-mp: ", ""):gsub("\n.*", ""))
end

local function read(name)
  local out = fn.tempname()..".json"
  local said = fn.system(command("convert "..fn.shellescape(name).." "..out))
  if vim.v.shell_error ~= 0 then return nil, reason(said) end
  local text = table.concat(fn.readfile(out), "\n")
  fn.delete(out)
  return vim.json.decode(text)
end

-- directory: that of the program.
local function load_profile(name, directory)
  local found = {}
  local data, msg = read(fn.expand(name))
  if not data then return nil, msg end
  for _, row in ipairs(data.lines) do
    local path = find(row.source, directory)
    local text, first, most = describe(row, data.views)
    if path and text then
      found[#found+1] = { path = path, line = row.line, text = text,
	share = first, most = most }
    end
  end
  if not found[1] then return nil, "no source of the profile is here" end
  table.sort(found, function(a, b)
    if a.share ~= b.share then return a.share > b.share end
    if a.most ~= b.most then return a.most > b.most end
    return a.path..a.line < b.path..b.line
  end)
  hot, at = found, 0
  return true
end

-- -- Buffers -----------------------------------------------------------------

local function show(buffer)
  api.nvim_buf_clear_namespace(buffer, space, 0, -1)
  local path = vim.loop.fs_realpath(api.nvim_buf_get_name(buffer))
  local last = api.nvim_buf_line_count(buffer)
  for _, h in ipairs(path and hot or {}) do
    if h.path == path and h.line >= 1 and h.line <= last then
      api.nvim_buf_set_extmark(buffer, space, h.line - 1, 0, {
	virt_text = { { h.text, h.most >= HOT and "WarningMsg" or "Comment" } }
      })
    end
  end
end

local function show_all()
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) then show(buffer) end
  end
end

local function load_and_show(name, directory)
  local ok, msg = load_profile(name, directory)
  if not ok then return fail(msg) end
  show_all()
end

-- Goes to a line of the profile, so many further.
local function jump(by)
  if not hot[1] then return fail("no profile is shown; :Mp FILE shows one") end
  at = at == 0 and by < 0 and #hot or (at + by - 1) % #hot + 1
  local h = hot[at]
  if vim.loop.fs_realpath(api.nvim_buf_get_name(0)) ~= h.path then
    vim.cmd("edit "..fn.fnameescape(h.path))
  end
  local line = math.max(1, math.min(h.line, api.nvim_buf_line_count(0)))
  api.nvim_win_set_cursor(0, { line, 0 })
  show(0)
end

-- -- Processes ---------------------------------------------------------------

local SECONDS = 10

-- Profiles a process while the editor goes on, and shows the profile then.
local function attach(pid, seconds)
  local out, said = fn.tempname()..".mp", {}
  local directory = vim.loop.fs_realpath("/proc/"..pid.."/cwd") or "."
  local args = ("attach -t %d -o %s %d"):format(seconds, out, pid)
  fn.jobstart(command(args), { stderr_buffered = true,
    on_stderr = function(_, lines) said = lines end,
    on_exit = function(_, status)
      if status ~= 0 then return fail(reason(table.concat(said, "\n"))) end
      load_and_show(out, directory)
      fn.delete(out)
    end })
  api.nvim_echo({ { ("luajit-mp: profiling process %d for %d s")
    :format(pid, seconds) } }, false, {})
end

-- -- The command -------------------------------------------------------------

local words = {
  next = function() jump(1) end,
  previous = function() jump(-1) end,
  clear = function()
    hot, at = {}, 0
    show_all()
  end,
}

local function perform(given)
  local word = given.args
  if words[word] then return words[word]() end
  local pid, seconds = word:match("^attach +(%d+) *(%d*)$")
  if pid then return attach(pid, tonumber(seconds) or SECONDS) end
  if word:find("^attach *$") or word:find("^attach ") then
    return fail("Mp attach PID [SECONDS]")
  end
  load_and_show(word, fn.fnamemodify(word, ":p:h"))
end

local function complete(lead)
  local list = fn.glob(fn.escape(lead, "*?[").."*.mp", true, true)
  for _, word in ipairs({ "attach ", "clear", "next", "previous" }) do
    if word:sub(1, #lead) == lead then list[#list+1] = word end
  end
  table.sort(list)
  return list
end

api.nvim_create_user_command("Mp", perform, { nargs = 1, complete = complete,
  desc = "Shows a profile of luajit-mp beside the source" })
api.nvim_create_autocmd("BufReadPost", {
  callback = function(event) show(event.buf) end })
