-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Wall times, with option I: what coroutines have waited, and what the thread
-- has slept with Lua code on its stack, blocked or in event loops.
----------------------------------------------------------------------------
--
-- A time has a name, a title, words for it in a sentence, the field of the rows
-- that has its seconds, and whether it is of rows of event loops; nil: of all.
--
----------------------------------------------------------------------------

local list = {
  { name = "waiting", title = "waiting", field = "waited",
    words = "the time of coroutines that wait",
    none = "no coroutine was seen waiting" },
  { name = "blocked", title = "blocked", field = "blocked", loop = false,
    words = "the time that the thread is blocked",
    none = "nothing was seen that blocks the thread" },
  { name = "event_loop", title = "event loops", field = "blocked", loop = true,
    words = "the time of event loops that Lua code has called",
    none = "no event loop that Lua code has called was seen" },
}

-- A function from a row to its seconds of a time, and their variance.
local function values(p, time)
  local variance = time.field.."_variance"
  return function(row)
    if not row[time.field] or
	time.loop ~= nil and p:in_loop(row) ~= time.loop then
      return 0, 0
    end
    return row[time.field], row[variance] or 0
  end
end

return { list = list, values = values }
