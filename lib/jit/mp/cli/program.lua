-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Scripts and programs: which of them the first operand of luajit-mp run is.
----------------------------------------------------------------------------

local options = require("jit.mp.options")
local stop = require("jit.mp.cli.stop")

-- Whether test(1) says so of a file, which it does not open: a pipe can be read
-- only once.
local function test(condition, name)
  local status = os.execute(("test %s '%s'"):format(condition,
    (name:gsub("'", "'\\''"))))
  return status == 0 or status == true
end

-- The file that a command's name stands for, by PATH; nil: there is none.
local function in_path(name)
  if name == "" or name:find("/", 1, true) then return end
  for dir in ((os.getenv("PATH") or "")..":"):gmatch("([^:]*):") do
    local file = (dir == "" and "." or dir).."/"..name
    if test("-f", file) and test("-x", file) then return file end
  end
end

-- Whether a regular file is a program of the machine's, or a script for another
-- interpreter than Lua.
local function is_program(file)
  local fp = io.open(file, "rb")
  local line = fp and fp:read(256) or ""
  if fp then fp:close() end
  if line:sub(1, 4) == "\127ELF" then return true end
  local interpreter = line:match("^#!([^\n]*)")
  return interpreter ~= nil and not interpreter:find("lua", 1, true)
end

-- A script that cannot even be loaded has no profile.
local function check_script(name)
  local loaded, msg = loadfile(name)
  if not loaded then stop.data("run: "..msg) end
end

-- The name by which the first operand of run is to be run, and whether it is a
-- program: a file comes before a command of that name. next_word: the operand
-- behind it, or nil.
local function find(word, next_word)
  if word == "-" then return word, false end
  if test("-e", word) and not test("-d", word) then
    if not test("-f", word) then return word, false end -- A pipe.
    if is_program(word) then
      return word:find("/", 1, true) and word or "./"..word, true
    end
    check_script(word)
    return word, false
  end
  local file = in_path(word)
  if not file and test("-d", word) then
    stop.data(("run: %s is a directory"):format(word))
  elseif not file then
    local lead = next_word and options.parse(word) and test("-f", next_word) and
      ("; options come with -O: run -O %s %s"):format(word, next_word) or ""
    stop.data(("run: cannot open %s: No such file or directory%s"):format(word,
      lead))
  elseif is_program(file) then
    return word, true
  end
  check_script(file)
  return file, false
end

-- LUA_INIT for a program: ours, before what the user has there. Another Lua
-- than LuaJIT takes no notice.
local function init(own)
  local code = 'if jit then pcall(require, "jit.mp.env") end'
  if not own or own == "" then return code end
  local file = own:match("^@(.*)")
  return code.." "..(file and ("dofile(%q)"):format(file) or own)
end

return { find = find, init = init }
