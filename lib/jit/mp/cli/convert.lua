-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp convert: a profile in another format.
----------------------------------------------------------------------------

local files = require("jit.mp.cli.files")

return function(given, operands, command)
  local o = files.parse_options(given.opts or "f", given, command)
  local out = files.check_output(operands[2], command)
  files.check_effects(o, given, { out }, command)
  files.write(files.read(operands[1]), o, out,
    { source_root = given.source_root })
end
