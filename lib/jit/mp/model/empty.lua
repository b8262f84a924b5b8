-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The reason why a view is empty.
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")

local FEW = 3  -- So many intervals may pass without a tick.
local TICK = 10 -- Milliseconds between two ticks of a slow kernel.

-- Of the sum of several profiles, each had a timer of its own.
local function no_ticks(p)
  local runs = p.info.runs or 1
  local cpu = p.info.cpu * 1000 / runs
  if p.cpu.why and (cpu == 0 or cpu > FEW * p.cpu.interval) then
    return names.printable(p.cpu.why)
  elseif cpu > FEW * math.max(p.cpu.interval, TICK) then
    return "no tick came, and the reason is not known"
  end
  return ("%s of CPU%s too short for a timer of %d ms%s"):format(
    numbers.seconds(p.info.cpu), runs > 1 and
    (" in %d profiles, each of them"):format(runs) or " is", p.cpu.interval,
    p.cpu.interval > 1 and "; i1 samples more often" or "")
end

return function(p, view)
  if view == "cpu" then
    if not p:measures("cpu") then
      return "no CPU samples: another profiler, or another Lua state of this "..
	"process, had the profiling timer"
    end
    return "no CPU samples: "..no_ticks(p)
  elseif view == "peak" and not p:measures("peak") then
    return "no peak: the profile does not have the memory in use when the "..
      "heap was largest"
  elseif p.heap.dropped > 0 then
    return ("not enough memory: %s lost"):format(
      numbers.samples(p.heap.dropped))
  elseif view == "alloc" then
    if p.heap.period <= 1 then return "nothing was allocated" end
    return ("no allocation samples: %s allocated, a sample every %s; "..
      "b1 counts every allocation"):format(
      numbers.bytes(p.heap.alloc_bytes), numbers.period(p.heap.period))
  elseif view == "peak" then
    return "nothing in use at the peak"
  end
  if view:find("^native") then
    return not p:measures(view) and
      "no C memory: luajit-mp run --native measures it" or
      view == "native" and "no C memory was sampled" or
      "no C memory in use: all that was sampled has been freed"
  end
  return "nothing in use: everything that was sampled has been freed"
end
