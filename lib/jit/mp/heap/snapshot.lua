-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A heap walk as a .heapsnapshot, which Chrome's DevTools open. The core has
-- made the text while the program stood still.
----------------------------------------------------------------------------

local paths = require("jit.mp.heap.paths")

return function(p)
  local why = paths.absent(p.walk)
  if why then return nil, "there is no heap walk: "..why end
  return p.walk.heapsnapshot
end
