-- SPDX-License-Identifier: MIT
-- Shares of the places where coroutines wait, beside those that the program's
-- own clock has seen:
--   make check-truth TRUTH="'waits RUNS SECONDS SEED'"
--
-- A scheduler on a clock runs coroutines that sleep in three places, in shares
-- of 1:3:6 or in bursts, for shorter and for longer than the profiler's
-- interval; from one coroutine to thousands.

local tap = require("tap")
local places = require("truth.places")

local runs = tonumber(arg[1] or 3)
local seconds = tonumber(arg[2] or 1)
local seed = tonumber(arg[3] or 1)

local text = require("clock")..[[
local count, seconds, mode, seed = ...
count, seconds, seed = tonumber(count), tonumber(seconds), tonumber(seed)
math.randomseed(seed)
local known = { 0, 0, 0 }
local current
local function note(place)
  current.place, current.since = place, now()
end
local sleep = {
  function(s) note(1) coroutine.yield(s) end, -- AT 1
  function(s) note(2) coroutine.yield(s) end, -- AT 2
  function(s) note(3) coroutine.yield(s) end } -- AT 3
local shares = { 1, 3, 6 }
local function work(unit)
  while true do
    for i = 1, 3 do
      local s = shares[i] * unit *
	(mode == "step" and 1 or 0.5 + math.random())
      if mode == "bursts" and math.random() < 0.9 then s = s / 50 end
      sleep[i](s)
    end
  end
end
local list = {}
local function turn(c)
  current = c
  local ok, s = coroutine.resume(c.co, c.unit)
  assert(ok, s)
  c.at = c.since + s
end
for i = 1, count do
  list[i] = { co = coroutine.create(work),
    unit = (mode == "short" or mode == "step") and 0.002 or
      mode == "bursts" and 0.02 or 0.05 }
  turn(list[i])
end
-- All wait from the start to the end: the last thing that a start does is to
-- look at them, and the first one of a stop.
require("jit.mp").start("I", assert(os.getenv("PROFILE")))
local begun = now()
for _, c in ipairs(list) do c.since = begun end
local stop = now() + seconds
repeat
  local t, nearest = now(), stop
  for _, c in ipairs(list) do
    if c.at <= t then
      known[c.place] = known[c.place] + now() - c.since
      turn(c)
    end
    if c.at < nearest then nearest = c.at end
  end
  t = now()
  if nearest > t then rest(nearest - t) end
until t >= stop
local ended = now()
require("jit.mp").stop()
for _, c in ipairs(list) do
  known[c.place] = known[c.place] + ended - c.since
end
for i = 1, 3 do print(known[i]) end
]]

local program = tap.program(text)

-- With more, the scheduler never rests, and its coroutines go in step.
local most = { long = 10000, short = 100, bursts = 1000, step = 1000 }
for _, mode in ipairs { "long", "short", "bursts", "step" } do
  for _, count in ipairs { 1, 10, 100, 1000, 10000 } do
    if count <= most[mode] then
      places.try({ name = ("%d coroutines, %s"):format(count, mode),
        text = text, field = "waited", command = function(n)
          return ("%s %s %d %g %s %d"):format(tap.command, program, count,
            seconds, mode, seed + n)
        end }, runs, count > 100 and 1 or 4)
    end
  end
end
places.done()
