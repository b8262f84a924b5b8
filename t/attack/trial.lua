-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The frame of a trial: one thing is tried very often, at random.
----------------------------------------------------------------------------
--
--   make check-attacks [TRIALS=NAME...] [COUNT=N] [SEED=N]
--
-- A trial is a TAP program. What fails is a line of its own, the first few
-- times; the last lines say how often it was tried, and with which seed.
--
----------------------------------------------------------------------------

local tap = require("tap")

local trial = { seed = tonumber(arg[2]) or 1 }

local shown = 10		-- Failures that are told one by one.
local tried, failed = 0, 0

-- The number of attempts.
function trial.count(default)
  math.randomseed(trial.seed)
  return tonumber(arg[1]) or default
end

-- Counts one attempt. why: what to say of a failure.
function trial.check(ok, name, why)
  tried = tried + 1
  if ok then return true end
  failed = failed + 1
  if failed <= shown then tap.ok(false, name, why) end
  return false
end

function trial.pick(list) return list[math.random(#list)] end

-- what: a few words on what was tried.
function trial.done(what)
  tap.ok(failed == 0 and tried > 0, what)
  tap.diag(("tried %d, failed %d (seed %d)"):format(tried, failed, trial.seed))
  tap.done()
end

return trial
