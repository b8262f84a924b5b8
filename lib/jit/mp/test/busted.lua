-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Assertions for busted:
--
--   require("jit.mp.test.busted")
--   assert.allocates_less_than("2m", function() decode(text) end)
--   assert.holds_less_than("100k", function() handle(request) end)
----------------------------------------------------------------------------

local assert = require("luassert")
local say = require("say")
local test = require("jit.mp.test.measure")

-- The assertion of that name, for one limit. It passes what is not more.
local function register(name, limit)
  local key = "assertion."..name
  say:set(key..".positive", "measured while the function ran\n")
  say:set(key..".negative", 
    "the function should have taken more memory than the limit\n")
  assert:register("assertion", name, function(state, arguments)
    local limits = { [limit] = arguments[1] }
    test.check(limits)
    local m, msg = test.measure(unpack(arguments, 2, arguments.n))
    if not m then error("jit.mp: "..msg, 0) end
    local why = m:above(limits)
    state.failure_message = why
    return why == nil
  end, key..".positive", key..".negative")
end

register("allocates_less_than", "allocated")
register("holds_less_than", "held")

return assert
