-- Programs of other people's suites that behave differently under the
-- profiler, and why. Each was seen to do so in plain LuaJIT too, given the
-- same cause: a larger heap, or different numbers of traces.

local larger_heap = "depends on the state of the collector: plain LuaJIT "..
  "with a larger heap differs too"

return {
}
