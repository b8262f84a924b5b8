-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp push: profiles are sent to a server.
----------------------------------------------------------------------------

local address = require("jit.mp.push.address")
local files = require("jit.mp.cli.files")
local stop = require("jit.mp.cli.stop")

return function(given, operands, command)
  local o = files.parse_options(given.opts or "f", given, command)
  local to = operands[1]
  if not address.is_address(to) then
    stop.usage(("push: %q is not an address, which begins with http:// or "..
      "https://")
      :format(to), command)
  end
  files.check_output(to, command)
  files.check_effects(o, given, { to }, command)
  for i = 2, #operands do files.write(files.read(operands[i]), o, to, {}) end
end
