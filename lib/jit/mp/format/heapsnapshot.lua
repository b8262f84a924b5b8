-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A heap walk as a .heapsnapshot, which Chrome's DevTools open. The core has
-- made the text while the program stood still.
----------------------------------------------------------------------------

local paths = require("jit.mp.heap.paths")

return function(p)
  if p.from_file then
    return nil, "profiles do not keep each object of the heap: give the "..
      "program an output .heapsnapshot with option W"
  end
  local why = paths.absent(p.walk)
  if why then return nil, "there is no heap walk: "..why end
  return p.walk.heapsnapshot
end
