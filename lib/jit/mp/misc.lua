-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Stands in for Tarantool's misc, of which it has the memory profiler:
--
--   local misc = require("jit.mp.misc")
--   misc.memprof.start("memprof.bin")  -- true; or nil, message, errno
--   misc.memprof.stop()                -- the same
--
-- The file is a profile with exact events: luajit-mp report memprof.bin e
----------------------------------------------------------------------------

local mp = require("jit.mp")

-- name: of a file that ends in .bin or .mp.
local function start(name)
  if type(name) ~= "string" then
    error("misc.memprof.start: the file name must be a string, not a "..
      type(name), 2)
  elseif not name:find("%.bin$") and not name:find("%.mp$") then
    return nil, "misc.memprof.start: the file name must end in .bin or .mp", -1
  end
  return mp.start("e", name)
end

local function stop()
  return mp.stop()
end

return { memprof = { start = start, stop = stop } }
