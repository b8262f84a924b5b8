-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The profile file: everything that was measured, to the last bit.
-- luajit-mp(5) describes it; model/fields says what it holds.
----------------------------------------------------------------------------

local read = require("jit.mp.format.file_read")
local write = require("jit.mp.format.file_write")

return { read = read, write = write }
