-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp report: any view of a profile, as text or in a file.
----------------------------------------------------------------------------

local files = require("jit.mp.cli.files")
local options = require("jit.mp.options")
local stop = require("jit.mp.cli.stop")

return function(given, operands, command)
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
  files.write(files.read(operands[1]), o, out,
    { source_root = given.source_root })
end
