-- SPDX-License-Identifier: MIT
-- Bursts of CPU time in step with the kernel's tick: how true are the shares?
--
-- Each burst waits for the same phase of a tick of 4 ms and then works for a
-- part of it in one function, and for another part in a second one. A sampler
-- that keeps step with the tick sees one of them only. The truth is measured
-- with the thread's CPU clock.
--
--	./run luajit bench/bursts.lua [SECONDS [INTERVAL]]

local ffi = require("ffi")
local core = require("jit.mp.core")

ffi.cdef [[
typedef struct { long s, ns; } bursts_time;
int clock_gettime(int, bursts_time *);
int clock_nanosleep(int, int, const bursts_time *, bursts_time *);
]]

local MONOTONIC, THREAD, ABSOLUTE, TICK = 1, 3, 1, 4e6
local t = ffi.new("bursts_time")

local function clock(id)
  ffi.C.clock_gettime(id, t)
  return tonumber(t.s) * 1e9 + tonumber(t.ns)
end

local function sleep_until(ns)
  t.s, t.ns = math.floor(ns / 1e9), ns % 1e9
  ffi.C.clock_nanosleep(MONOTONIC, ABSOLUTE, t, nil)
end

-- Two functions with loops of their own.
local function first(ns)
  local from = clock(THREAD)
  local till = from + ns
  while clock(THREAD) < till do end
  return clock(THREAD) - from
end

local function second(ns)
  local from = clock(THREAD)
  local till = from + ns
  while clock(THREAD) < till do end
  return clock(THREAD) - from
end

local function bursts(seconds, phase)
  local stop, a, b = clock(MONOTONIC) + seconds * 1e9, 0, 0
  while clock(MONOTONIC) < stop do
    local now = clock(MONOTONIC)
    sleep_until(now - now % TICK + TICK + phase * TICK)
    a = a + first(0.9e6)
    b = b + second(0.85e6)
  end
  return a, b
end

-- CPU samples of a function, by where it begins.
local function samples(s, name)
  local n = 0
  for _, row in ipairs(s.rows) do
    local stack = row.stack
    while stack ~= 0 do
      local f = s.frames[s.stacks.frame[stack]]
      if f.name == name then
        n = n + row.cpu
        break
      end
      stack = s.stacks.parent[stack]
    end
  end
  return n
end

local seconds, interval = tonumber(arg[1]) or 4, arg[2] or 1
print("phase    true   sampled   samples")
for phase = 0, 0.75, 0.25 do
  assert(core.start("i"..interval, "/dev/null"))
  local a, b = bursts(seconds, phase)
  local s = core.snapshot()
  core.stop()
  local sa, sb = samples(s, "first"), samples(s, "second")
  print(("%.2f   %4.1f%%   %6.1f%%   %7d   %s"):format(phase,
    a / (a + b) * 100, sa / (sa + sb) * 100, sa + sb, s.cpu.clock))
end
