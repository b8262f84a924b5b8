-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The sum of the profiles of several runs that have one output.
----------------------------------------------------------------------------

local file = require("jit.mp.format.file")
local merge = require("jit.mp.model.merge")

-- Adds a profile to those whose sum is the text of an .mp file, or nil. Returns
-- the new sum, and such a text for it.
return function(p, sum)
  if sum then
    p = merge({ assert(file.read(sum)), p })
    p.from_file = nil  -- It is not a stranger's.
  end
  return p, assert(file.write(p))
end
