-- SPDX-License-Identifier: MIT
-- Runs a program up to its first print, collects all garbage, and ends there:
--   luajit quiet.lua PROGRAM [ARGUMENT]...
-- The memory in use then does not depend on when the collector ran.

local program = assert(loadfile(arg[1]))

function print()
  collectgarbage()
  collectgarbage()
  os.exit(0)
end

program(unpack(arg, 2))
