-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp push: profiles are sent to a server.
----------------------------------------------------------------------------

local address = require("jit.mp.push.address")
local files = require("jit.mp.cli.files")
local stop = require("jit.mp.cli.stop")

-- Fails unless the first operand is an address.
local function check_address(operands, command)
  local to = operands[1]
  if address.is_address(to) then return end
  for i, word in ipairs(operands) do
    if address.is_address(word) then
      table.remove(operands, i)
      stop.usage(("push: the address comes before the profiles: push %s %s")
	:format(word, table.concat(operands, " ")), command)
    end
  end
  stop.usage(("push: %q is not an address, which begins with http:// or "..
    "https://"):format(to), command)
end

return function(given, operands, command)
  local o = files.parse_options(given.opts or "f", given, command)
  check_address(operands, command)
  local to = operands[1]
  files.check_output(to, command)
  files.check_effects(o, given, { to }, command)
  for i = 2, #operands do files.write(files.read(operands[i]), o, to, {}) end
end
