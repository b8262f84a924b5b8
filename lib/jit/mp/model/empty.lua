----------------------------------------------------------------------------
-- A view with nothing in it says why.
----------------------------------------------------------------------------

local numbers = require("jit.mp.model.numbers")

return function(p, view)
  if view == "cpu" then
    if not p.cpu.enabled then return "no CPU view: the timer was not ours" end
    return ("no CPU samples: %s of CPU is too short for a timer of %d ms")
      :format(numbers.seconds(p.info.cpu), p.cpu.interval)
  elseif view == "alloc" then
    return ("no allocation samples: %s allocated, a sample every %s"):format(
      numbers.bytes(p.heap.alloc_bytes), numbers.period(p.heap.period))
  end
  if view == "peak" then return "nothing in use at the peak" end
  return "nothing in use: all that was sampled has been freed"
end
