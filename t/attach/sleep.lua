-- SPDX-License-Identifier: MIT
-- Sleeps in several system calls, none of which may end early or fail, until
-- the file of that name has gone.

local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long s, ns; } mp_time;
  int nanosleep(const mp_time *, mp_time *);
  int poll(void *, unsigned long, int);
  int clock_gettime(int, mp_time *);
]]
local now, time = ffi.new("mp_time"), ffi.new("mp_time", 0, 30e6)

local function clock()
  ffi.C.clock_gettime(1, now)
  return tonumber(now.s) + tonumber(now.ns) * 1e-9
end

local function nap() return ffi.C.nanosleep(time, nil) end
local function wait() return ffi.C.poll(nil, 0, 30) end
local function command() return os.execute("sleep 0.03") end
local function pipe()
  local fp = io.popen("sleep 0.03; echo line")
  local line = fp:read()
  fp:close()
  return line == "line" and 0 or 1
end

repeat
  for _, f in ipairs({ nap, wait, command, pipe }) do
    local t0 = clock()
    assert(f() == 0, "another result")
    assert(clock() - t0 >= 0.0299, "too short")
  end
  local file = io.open(arg[1])
  if file then file:close() end
until not file
print("right")
