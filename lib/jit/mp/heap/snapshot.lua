-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A heap walk as a .heapsnapshot, which Chrome's DevTools open. The core has
-- made the text while the program stood still.
----------------------------------------------------------------------------

return function(p)
  local w = p.walk
  if not w then
    return nil, "there is no heap walk: the program was not stopped where "..
      "its heap is at rest"
  end
  if w.why then return nil, "there is no heap walk: "..w.why end
  return w.heapsnapshot
end
