-- SPDX-License-Identifier: MIT
-- The beginning of programs that wait: now() is a clock that never jumps, and
-- rest(s) sleeps, both in seconds.

return [[
local ffi = require("ffi")
ffi.cdef("typedef struct { long s, ns; } clock_ts;"..
  "int clock_gettime(int, clock_ts *);"..
  "int nanosleep(const clock_ts *, clock_ts *);")
local ts = ffi.new("clock_ts")
local function now()
  ffi.C.clock_gettime(1, ts)
  return tonumber(ts.s) + tonumber(ts.ns) * 1e-9
end
local function rest(s)
  ts.s, ts.ns = math.floor(s), s % 1 * 1e9
  ffi.C.nanosleep(ts, nil)
end
]]
