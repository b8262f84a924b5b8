-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The command luajit-mp. Its manual is luajit-mp(1).
----------------------------------------------------------------------------

local args = require("jit.mp.cli.args")
local cells = require("jit.mp.text.cells")
local formats = require("jit.mp.format.formats")
local names = require("jit.mp.model.names")
local spec = require("jit.mp.cli.spec")
local stop = require("jit.mp.cli.stop")

local function usage()
  local out = {}
  for i, c in ipairs(spec.commands) do
    out[i] = (i == 1 and "usage: " or "       ")..spec.synopsis(c)
  end
  return table.concat(out, "\n")..([[

       luajit-mp help COMMAND | COMMAND --help | --help | --version

FILE, OLD, NEW: profiles, as luajit -jm=f,NAME.mp writes them; - is standard
input. OUT: a file; its suffix says the format:
%sOPTIONS: those of luajit -jm; luajit -jm=H lists them.

Report bugs to the issue tracker of the repository.
]]):format(cells.wrap(formats.known().."\n", 79, 0))
end

-- The help of one command.
local function help(c)
  local out = { "usage: ", spec.synopsis(c), "\n", "luajit-mp ", c.name, " ",
    c.about, ".\n" }
  local function line(o)
    out[#out+1] = ("  %s%-24s %s\n"):format(o.short and o.short..", " or "    ",
      o.long..(o.value and "="..o.value or ""),
      c.own and c.own[o.name] or o.about)
  end
  for _, name in ipairs(c.options) do line(spec.options[name]) end
  line(spec.options.help)
  return table.concat(out)
end

-- The help of the command of that name; of all, without one.
local function help_about(name)
  if not name then return usage() end
  local command = spec.commands[name]
  if not command then stop.usage("unknown command "..name) end
  return help(command)
end

local function print_out(text)
  local ok, msg = io.stdout:write(text)
  if ok then ok, msg = io.stdout:flush() end
  if not ok then stop.data("cannot write to standard output: "..msg) end
end

-- Performs the command that the words name.
local function perform(words, env)
  local first = words[1]
  if not first then
    io.stderr:write(usage())
    error({ status = 2 }, 0)
  elseif first == "--help" or first == "-h" then
    return print_out(usage())
  elseif first == "--version" or first == "-V" then
    return print_out("luajit-mp "..env.version.."\n")
  elseif first == "help" then
    return print_out(help_about(words[2]))
  end
  local command = spec.commands[first]
  if not command then
    stop.usage(("unknown %s %s"):format(first:find("^%-") and "option" or
      "command", first))
  end
  local given, operands = args.parse(command, words)
  if given.help then return print_out(help(command)) end
  return require("jit.mp.cli."..command.name)(given, operands, command, env)
end

-- Builds of LuaJIT before June 2023 can make a constant out of nil where they
-- forward a load from a new table, and then crash in the collector; before May
-- 2022 they take old lengths of tables. A profile is read without that.
if jit.opt then jit.opt.start("-fwd") end

-- Runs the command. words: its arguments. env: luajit, the command that runs
-- scripts; path, Lua's search paths if the modules are not on its own
-- ({ lua, c }); version, of the package. Returns the exit status.
local function main(words, env)
  local ok, err = pcall(perform, words, env)
  if ok then return 0 end
  if type(err) ~= "table" then
    err = { status = stop.DATA, msg = tostring(err) }
  end
  if err.msg then
    io.stderr:write("luajit-mp: "..names.printable(err.msg).."\n")
  end
  return err.status
end

return { main = main }
