-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- For tests of wall times: programs that spend known seconds at three places,
-- beside what their profiles say of these.
----------------------------------------------------------------------------
--
-- A program marks the line of a place with "-- AT 1", and prints at its end the
-- seconds of the three as its own clock has seen them. Its profile is the file
-- that the variable PROFILE names.
--
-- A share is right if it is off by no more than twice the doubt that its row
-- has, which may be wrong in one of twenty; or by one percent of all.
--
----------------------------------------------------------------------------

local tap = require("tap")
local file = require("jit.mp.format.file")

local places = {}

local PLACES = 3
local SUM = 0.02		-- By which a sum may be off.

local tried, were_right = 0, 0	-- Shares, of all programs.

local function sum(t)
  local s = 0
  for i = 1, PLACES do s = s + t[i] end
  return s
end

-- The seconds of each place in a profile, and their variance; and those of all
-- three, with those of stacks that were not readable, which are at no line.
-- field: "waited" or "blocked"; calls: the places of these by system calls, or
-- nil.
local function profiled(text, profile, field, calls)
  local p = assert(file.read(assert(tap.read(profile))))
  local seconds, var, at, n, all = { 0, 0, 0 }, { 0, 0, 0 }, {}, 0, 0
  for line in (text.."\n"):gmatch("(.-)\n") do
    n = n + 1
    at[n] = tonumber(line:match("%-%- AT (%d)"))
  end
  for _, row in ipairs(p.rows) do
    local s, line, place = row[field] or 0, nil, nil
    if s > 0 then
      local stack, call = row.stack, nil
      if field == "blocked" then stack, call = p:asleep_at(row) end
      line = select(2, p:source_line({ stack = stack }))
      if not line and calls then place = calls[call] end
    end
    place = place or at[line]
    if place or not line then all = all + s end
    if place then
      seconds[place] = seconds[place] + s
      var[place] = var[place] + row[field.."_variance"]
    end
  end
  return seconds, var, all
end

-- The shares that are right, and by how much the sum is off that of `own`.
local function judge(known, own, seconds, var, total)
  local right, all, truth = 0, sum(seconds), sum(known)
  for i = 1, PLACES do
    local d = math.abs(seconds[i] / all - known[i] / truth)
    if d <= 2 * var[i]^0.5 / all or d <= 0.01 then right = right + 1 end
  end
  return right, math.abs(total / sum(own) - 1)
end

local function numbers(text)
  local t = {}
  for s in text:gmatch("[%d.]+") do t[#t+1] = tonumber(s) end
  return t
end

-- Runs the commands at a time, with a PROFILE of each; returns those. What they
-- print is below the profile's name and ".out".
local function run(commands)
  local all, profiles = {}, {}
  for i, command in ipairs(commands) do
    local profile = tap.tmpname(".mp")
    profiles[i] = profile
    all[i] = ("(PROFILE=%s; export PROFILE; %s >%s.out 2>%s.err) &"):format(
      profile, command:gsub("PROFILE", profile), profile, profile)
  end
  tap.sh(table.concat(all, "\n").."\nwait")
  return profiles
end

local function forget(profile)
  for _, suffix in ipairs { "", ".out", ".err", ".trace" } do
    os.remove(profile..suffix)
  end
end

-- Whether 95 of 100 can be right, where these are: chance makes so few of them
-- in one of a hundred cases.
local function likely(right, all)
  return right >= 0.95 * all - 2.33 * (0.95 * 0.05 * all)^0.5
end

-- Tries a program so many times, so many at a time. t.name; t.text: the
-- program; t.field: as above; t.command(n): the command of the n-th run, in
-- which PROFILE is the profile's name; t.known(profile): the seconds of the
-- places for their shares, if not those that the program prints; t.calls: as
-- above.
function places.try(t, runs, at_a_time)
  local right, summed, off, others, n = 0, 0, 0, 0, 0
  while n < runs do
    local commands = {}
    for i = 1, math.min(at_a_time, runs - n) do
      commands[i] = t.command(n + i)
    end
    for _, profile in ipairs(run(commands)) do
      local out = tap.read(profile..".out")
      assert(#numbers(out) == PLACES, tap.read(profile..".err"))
      local own = numbers(out)
      local known = t.known and t.known(profile) or own
      local r, o = judge(known, own, profiled(t.text, profile, t.field,
	t.calls))
      others = math.max(others, math.abs(sum(known) / sum(own) - 1))
      right, off, n = right + r, math.max(off, o), n + 1
      if o <= SUM then summed = summed + 1 end
      forget(profile)
    end
  end
  tried, were_right = tried + PLACES * runs, were_right + right
  tap.ok(likely(right, PLACES * runs), ("%s: %d of %d shares right"):format(
    t.name, right, PLACES * runs))
  tap.ok(likely(summed, runs), ("%s: %d of %d sums right, off by %.2f%% at "..
    "most"):format(t.name, summed, runs, off * 100))
  if t.known then
    tap.diag(("sums that were told from outside: off the program's by %.2f%% "..
      "at most"):format(others * 100))
  end
end

-- The result of all programs together.
function places.done()
  tap.ok(were_right >= 0.95 * tried, ("in all, %d of %d shares right"):format(
    were_right, tried))
  tap.done()
end

return places
