-- SPDX-License-Identifier: MIT
-- Shares of the places where coroutines wait, beside those that the program's
-- own clock has seen:
--   ./run luajit t/truth/waits.lua [RUNS [SECONDS [SEED]]]
--
-- A scheduler on a clock runs coroutines that sleep in three places, in shares
-- of 1:3:6 or in bursts, for shorter and for longer than the profiler's
-- interval; from one coroutine to thousands. A share is right if it is off by
-- no more than twice the doubt that its row has, which may be wrong in one of
-- twenty; or by one percent of all.

local tap = require("tap")
local file = require("jit.mp.format.file")

local runs = tonumber(arg[1] or 3)
local seconds = tonumber(arg[2] or 1)
local seed = tonumber(arg[3] or 1)

local scheduler = require("clock")..[[
local count, seconds, mode, seed = ...
count, seconds, seed = tonumber(count), tonumber(seconds), tonumber(seed)
math.randomseed(seed)
local known = { 0, 0, 0 }
local current, sleeping = nil, {}
local function note(place, t)
  current.place, current.since = place, t
end
local sleep = {
  function(s) note(1, now()) coroutine.yield(s) end,
  function(s) note(2, now()) coroutine.yield(s) end,
  function(s) note(3, now()) coroutine.yield(s) end }
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
require("jit.mp").start("I", assert(os.getenv("PROFILE")))
local list = {}
for i = 1, count do
  list[i] = { co = coroutine.create(work), at = 0,
    unit = (mode == "short" or mode == "step") and 0.002 or
      mode == "bursts" and 0.02 or 0.05 }
end
local stop = now() + seconds
repeat
  local t, nearest = now(), stop
  for _, c in ipairs(list) do
    if c.at <= t then
      if c.place then known[c.place] = known[c.place] + now() - c.since end
      current = c
      local ok, s = coroutine.resume(c.co, c.unit)
      assert(ok, s)
      c.at = c.since + s
    end
    if c.at < nearest then nearest = c.at end
  end
  t = now()
  if nearest > t then rest(nearest - t) end
until t >= stop
local t = now()
for _, c in ipairs(list) do known[c.place] = known[c.place] + t - c.since end
require("jit.mp").stop()
for i = 1, 3 do print(known[i]) end
]]

local program = tap.program(scheduler)
local profile = tap.tmpname(".mp")

-- The seconds of each place, and their variance, as profiled.
local function profiled()
  local p = assert(file.read(assert(tap.read(profile))))
  local waited, var = { 0, 0, 0 }, { 0, 0, 0 }
  local lines, n = {}, 0
  for line in (scheduler.."\n"):gmatch("(.-)\n") do
    n = n + 1
    local place = line:match("note%((%d), now")
    if place then lines[n] = tonumber(place) end
  end
  for _, row in ipairs(p.rows) do
    local _, line = p:source_line(row)
    local place = lines[line]
    if place and row.waited then
      waited[place] = waited[place] + row.waited
      var[place] = var[place] + row.waited_variance
    end
  end
  return waited, var
end

local function try(count, mode)
  local right, all, off = 0, 0, 0
  for run = 1, runs do
    local r = tap.sh(("PROFILE=%s %s %s %d %g %s %d"):format(profile,
      tap.command, program, count, seconds, mode, seed + run))
    assert(r.status == 0, r.err)
    local known, total = {}, 0
    for s in r.out:gmatch("[%d.]+") do known[#known+1] = tonumber(s) end
    for i = 1, 3 do total = total + known[i] end
    local waited, var = profiled()
    local sum = 0
    for i = 1, 3 do
      sum = sum + waited[i]
    end
    for i = 1, 3 do
      local d = math.abs(waited[i] / sum - known[i] / total)
      all = all + 1
      if d <= 2 * var[i]^0.5 / sum or d <= 0.01 then right = right + 1 end
    end
    off = math.max(off, math.abs(sum / total - 1))
  end
  tap.ok(right >= 0.95 * all - 1, ("%d coroutines, %s: %d of %d shares right")
    :format(count, mode, right, all))
  tap.diag(("the sum of all is off by %.2f%% at most"):format(off * 100))
end

-- With more, the scheduler never rests, and its coroutines go in step.
local most = { long = 10000, short = 100, bursts = 1000, step = 1000 }
for _, mode in ipairs { "long", "short", "bursts", "step" } do
  for _, count in ipairs { 1, 10, 100, 1000, 10000 } do
    if count <= most[mode] then try(count, mode) end
  end
end
tap.done()
