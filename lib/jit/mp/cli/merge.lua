-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp merge: several profiles as one.
----------------------------------------------------------------------------

local file = require("jit.mp.format.file")
local files = require("jit.mp.cli.files")
local formats = require("jit.mp.format.formats")
local merge = require("jit.mp.model.merge")
local names = require("jit.mp.model.names")
local spellings = require("jit.mp.model.spellings")
local stop = require("jit.mp.cli.stop")
local terminal = require("jit.mp.cli.terminal")

-- A sum of two programs is rarely meant.
local function warn_of_others(list, operands)
  local first, spell = list[1].info.script, spellings(list)
  for i, p in ipairs(list) do
    if first and p.info.script and
	spell(p, p.info.script) ~= spell(list[1], first) then
      io.stderr:write(("luajit-mp: warning: %s is a profile of %s, %s of %s: "..
	"the sum mixes them\n"):format(operands[1], names.printable(first),
	operands[i], names.printable(p.info.script)))
      return
    end
  end
end

return function(given, operands, command)
  local to = given.out and given.out[1] or "-"
  if to == "-" and terminal.has_output() then
    stop.usage("merge: a profile is not text for a terminal: give a file "..
      "with -o, or a pipe", command)
  end
  local out = files.check_output(to, command)
  if out ~= "-" and out:find("%.txt$") then
    stop.usage("merge: a profile is not text: give a name that ends in .mp, "..
      "or the name of a page", command)
  end
  local list = {}
  for i, name in ipairs(operands) do list[i] = files.read(name) end
  warn_of_others(list, operands)
  local p = merge(list)
  if formats.of(out) then
    files.write(p, files.parse_options("f", given, command), out, {})
    return
  end
  local text, msg = file.write(p)
  if not text then stop.data(msg) end
  files.write_text(out, text)
end
