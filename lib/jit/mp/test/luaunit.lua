-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Assertions for luaunit, which are added to its module:
--
--   local lu = require("jit.mp.test.luaunit")
--   lu.assertAllocatesLessThan("2m", function() decode(text) end)
--   lu.assertHoldsLessThan("100k", function() handle(request) end)
----------------------------------------------------------------------------

local lu = require("luaunit")
local test = require("jit.mp.test.measure")

-- Fails the test, or returns the function's results. The failure is at the
-- test's line, not at one here: an assertion ends in a tail call of this.
local function judge(limits, m, ...)
  if not m then error("jit.mp: "..tostring((...)), 0) end
  local why = m:above(limits)
  if why then error(lu.FAILURE_PREFIX..why, 2) end
  return ...
end

local function assertion(limit)
  return function(amount, f, ...)
    local limits = { [limit] = amount }
    test.check(limits)
    return judge(limits, test.measure(f, ...))
  end
end

lu.assertAllocatesLessThan = assertion("allocated")
lu.assertHoldsLessThan = assertion("held")

return lu
