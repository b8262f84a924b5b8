-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The profile file: all measurements, to the last bit. luajit-mp(5) describes
-- it; model/fields lists its contents.
----------------------------------------------------------------------------

local read = require("jit.mp.format.file_read")
local write = require("jit.mp.format.file_write")

return { read = read, write = write }
