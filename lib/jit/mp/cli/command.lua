-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The command luajit-mp. Its manual is luajit-mp(1).
----------------------------------------------------------------------------

local args = require("jit.mp.cli.args")
local cells = require("jit.mp.text.cells")
local formats = require("jit.mp.format.formats")
local names = require("jit.mp.model.names")
local options = require("jit.mp.options")
local spec = require("jit.mp.cli.spec")
local stop = require("jit.mp.cli.stop")
local words = require("jit.mp.cli.words")

local function usage()
  local out = {}
  for i, c in ipairs(spec.commands) do
    out[i] = ("  %-8s %s\n           $ luajit-mp %s\n"):format(c.name, c.about,
      c.example)
  end
  return ([[
usage: luajit-mp COMMAND [OPTION]... [ARGUMENT]...
       luajit-mp help [COMMAND] | --help | --version
Commands and long options may be abbreviated: rep for report.

%s
Profiles are files that end in .mp, as luajit -jm=f,app.mp writes them; - is
standard input. The suffix of an output says its format:
%s
The options of reports are those of luajit -jm: luajit-mp run -O H lists them.
The manual is luajit-mp(1), and luajit-mp help COMMAND describes a command.

Report bugs to the issue tracker of the repository.
]]):format(table.concat(out), cells.wrap(formats.known().."\n", 79, 0))
end

-- The help of one command.
local function help(c)
  local out = { "usage: ", spec.synopsis(c), "\n\nluajit-mp ", c.name, " ",
    c.about, ":\n  $ luajit-mp ", c.example, "\n\n" }
  local function line(o)
    out[#out+1] = ("  %s%-24s %s\n"):format(o.short and o.short..", " or "    ",
      o.long..(o.value and "="..o.value or ""),
      c.own and c.own[o.name] or o.about)
  end
  for _, name in ipairs(c.options) do line(spec.options[name]) end
  line(spec.options.help)
  out[#out+1] = c.remark and ("\n%s\n"):format(c.remark)
  out[#out+1] = "\nThe manual is luajit-mp(1).\n"
  return table.concat(out)
end

local list = { "help" }
for i, c in ipairs(spec.commands) do list[i+1] = c.name end

-- The command for files whose names end so.
local by_suffix = { [".lua"] = "run", [".mp"] = "report" }

-- The command that a word stands for, or the word "help".
local function find_command(word)
  local name, is, meant = words.find(word, list)
  if name then return spec.commands[name] or name end
  local left_out = by_suffix[word:match("%.%l+$")]
  if left_out then meant = (" (did you mean %s %s?)"):format(left_out, word) end
  stop.usage(("%s command %s%s"):format(is, word, meant))
end

-- The help of the command of that name; of all, without one.
local function help_about(name)
  local command = name and find_command(name)
  return type(command) == "table" and help(command) or usage()
end

local function print_out(text)
  local ok, msg = io.stdout:write(text)
  if ok then ok, msg = io.stdout:flush() end
  if not ok then stop.data("cannot write to standard output: "..msg) end
end

local own = { ["--help"] = "help", ["-h"] = "help", ["--version"] = "version",
  ["-V"] = "version" }

-- Performs an option of the command itself.
local function perform_own(word, env)
  local long, _, meant = words.find(word, { "--help", "--version" })
  local what = own[word] or #word > 2 and own[long]
  if not what then
    for _, o in ipairs(spec.options) do
      if word:match("^[^=]+") == o.long or
	  o.short and word:sub(1, 2) == o.short then
	stop.usage(("option %s comes after the command"):format(word))
      end
    end
    stop.usage(("unknown option %s%s"):format(word, #word > 2 and meant or ""))
  end
  print_out(what == "help" and usage() or "luajit-mp "..env.version.."\n")
end

-- Performs the command that the arguments name.
local function perform(arguments, env)
  local first = arguments[1]
  if not first then
    io.stderr:write(usage())
    error({ status = 2 }, 0)
  elseif first:sub(1, 1) == "-" then
    return perform_own(first, env)
  end
  local command = find_command(first)
  if command == "help" then return print_out(help_about(arguments[2])) end
  local given, operands = args.parse(command, arguments)
  if given.help then return print_out(help(command)) end
  if options.asks_for_help[given.opts] then return print_out(options.help()) end
  if not pcall(require, "ffi") then
    stop.data(("%s needs a LuaJIT with the FFI library: %s has none"):format(
      command.name, env.luajit))
  end
  return require("jit.mp.cli."..command.name)(given, operands, command, env)
end

-- Builds of LuaJIT before June 2023 can make a constant out of nil where they
-- forward a load from a new table, and then crash in the collector; before May
-- 2022 they take old lengths of tables. A profile is read without that.
if jit.opt then jit.opt.start("-fwd") end

-- Runs the command. arguments: its own. env: luajit, the command that runs
-- scripts; path, Lua's search paths if the modules are not on its own
-- ({ lua, c }); version, of the package. Returns the exit status.
local function main(arguments, env)
  local ok, err = pcall(perform, arguments, env)
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
