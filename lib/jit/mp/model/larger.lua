-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The order of lists by size: larger(key) compares two records for table.sort
-- by their bytes, the larger first, and where these are equal by that field.
----------------------------------------------------------------------------

return function(key)
  return function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return a[key] < b[key]
  end
end
