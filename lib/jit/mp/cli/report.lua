-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp report: any view of a profile, as text or in a file.
----------------------------------------------------------------------------

local files = require("jit.mp.cli.files")
local options = require("jit.mp.options")
local stop = require("jit.mp.cli.stop")

-- A profile where options are expected.
local function check_order(first, second, command)
  if not (second and second:find("%.mp$")) then return end
  if first:find("%.mp$") then
    stop.usage("report: give one profile; diff compares two, merge adds "..
      "them up", command)
  end
  stop.usage(("report: the options come after the profile: report %s %s")
    :format(second, first), command)
end

return function(given, operands, command)
  check_order(operands[1], operands[2], command)
  if given.opts and operands[2] then
    stop.usage("report: give the options once, with -O or after the profile",
      command)
  end
  local text = given.opts or operands[2] or (given.leak_only and "e" or "f")
  local o = files.parse_options(text, given, command)
  if o.help then return files.write_text(nil, options.help()) end
  if given.leak_only and not o.events then
    stop.usage("report: --leak-only is for option e", command)
  end
  o.leak_only = given.leak_only
  local out = files.check_output(given.out and given.out[1], command)
  files.check_effects(o, given, { out or "-" }, command)
  files.write(files.read(operands[1]), o, out,
    { source_root = given.source_root })
end
