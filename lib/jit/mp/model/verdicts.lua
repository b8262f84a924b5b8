-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The groups of leaks.lua as a reader is told of them: their order, their
-- course, and why a verdict is unclear.
----------------------------------------------------------------------------

local leaks = require("jit.mp.model.leaks")
local numbers = require("jit.mp.model.numbers")

local PARTS = 5 -- Parts of the run that a course shows.

-- Whether a profile has what leaks.groups needs.
local function known(p)
  return p.collections and p.held and p.survivors and p.heap.gc_cycles
end

local order = { grows = 1, unclear = 2, flat = 3, new = 4 }

-- Groups that grow first, then by what is in use.
local function sort(list)
  table.sort(list, function(a, b)
    if order[a.verdict] ~= order[b.verdict] then
      return order[a.verdict] < order[b.verdict]
    elseif a.inuse ~= b.inuse then
      return a.inuse > b.inuse
    end
    return a.name < b.name
  end)
end

-- The bytes of a group at the last record of each part of the run; false: that
-- part has none.
local function course(p, g)
  local last, wall, t = {}, p.info.wall, {}
  for i, c in ipairs(p.collections) do
    local share = wall > 0 and c.wall / wall or 1
    last[math.min(PARTS, math.floor(share * PARTS) + 1)] = i
  end
  for part = 1, PARTS do
    local i = last[part]
    t[part] = i and math.max(g.bytes[i], 0) or false
  end
  return t
end

-- -- Doubts ------------------------------------------------------------------

-- Too few records, n of them, and how there would be more.
local function few(p, n)
  local wall = p.info.wall
  local what = ("in %s "):format(numbers.seconds(wall))
  if p.is_native then
    what = what.."there were too few records of C memory, or all came early"
  elseif n >= leaks.ENOUGH then
    what = ("%sthe program made %d collections, too few of them in the last "..
      "two thirds"):format(what, n)
  else
    local rate = n < 2 and "" or ", which at this rate are there after "..
      numbers.seconds(wall * leaks.ENOUGH / n)
    what = ("%sthe program made %s, and most verdicts take %d or more%s")
      :format(what, n == 0 and "no collection" or
      numbers.counted(n, "collection"), leaks.ENOUGH, rate)
  end
  return what..": profile for longer"..(p.collected and "" or ", or end the "..
    "program by os.exit or mp.stop, which collect all garbage first")
end

-- In the order in which they are told.
local reasons = {
  { "few", few },
  { "doubt", function()
      return "what collections left rests on too few samples, or rose and "..
	"fell: profile for longer, or with b1"
    end },
  { "before", function()
      return "what grew may have replaced memory from before the profile, "..
	"for the heap as a whole grew by less: profile for longer"
    end },
  { "own", function()
      return "the collector's own memory grows with that of the program"
    end },
}

-- Sentences on why verdicts are unclear, of a set of the groups' reasons. n:
-- the collections that the program has made itself.
local function doubts(p, n, set)
  local list = {}
  for _, reason in ipairs(reasons) do
    if set[reason[1]] then list[#list+1] = "unclear: "..reason[2](p, n) end
  end
  return list
end

return { known = known, sort = sort, course = course, doubts = doubts }
