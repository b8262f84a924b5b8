----------------------------------------------------------------------------
-- Leaks: what was allocated during the profile and is still held at its end,
-- by stack, and whether that grows.
----------------------------------------------------------------------------
--
-- Two things tell a leak from a working set, and both must say so:
--
--   When what is held was born. A leak holds objects of all ages since it
--   began; what was built once holds old ones only, and a cache that replaces
--   its entries holds young ones.
--   How much was in use after each collection. A leak has more each time; a
--   cache stops growing when it is full.
--
-- What was born in the last tenth of the run, or after the last collection, is
-- no evidence of either: it is shown as new, and counts for nothing.
--
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

local PARTS = 5 -- Of the run, for what was in use over time.
local STEP = 1.1 -- How much more is more.
local DEPTH = 6 -- Frames of a stack, unless the options say.

-- -- Groups ------------------------------------------------------------------

local function group_names(p, o)
  local scope = o.scope_given and o.scope or "l"
  local depth = o.depth_given and math.abs(o.depth) or DEPTH
  local namer = p:namer(scope, o.path, depth)
  return function(row)
    local names, n = namer(row), 0
    for i, name in ipairs(names) do  -- Not the command's own C functions.
      if not name:match("%+0x%x+$") then n = i end
    end
    return table.concat(names, " < ", 1, math.max(n, 1))
  end
end

-- Groups of rows with one name: what they hold, by tenths of the run.
local function groups(p, o)
  local name, list, by = group_names(p, o), {}, {}
  for _, s in ipairs(p.survivors) do
    local key = name(p.rows[s.row])
    local g = by[key]
    if not g then
      g = { name = key, bytes = 0, objects = 0, births = 0, tenths = {},
	rows = {}, new = 0 }
      for i = 1, 10 do g.tenths[i] = 0 end
      by[key] = g
      list[#list+1] = g
    end
    for i = 1, 10 do
      g.tenths[i] = g.tenths[i] + s.bytes[i]
      g.bytes = g.bytes + s.bytes[i]
      g.objects = g.objects + s.objects[i]
    end
    g.new = g.tenths[10]
    g.births = g.births + s.births
    g.rows[s.row] = true
  end
  return list
end

-- -- Evidence ----------------------------------------------------------------

-- Whether what is held was born all along, from the first of it to the last
-- that a collection has come to.
local function born_all_along(g)
  local old, first, last = g.bytes - g.new
  for i = 1, 9 do
    if g.tenths[i] > old * 0.01 then
      first, last = first or i, i
    end
  end
  if not first or last - first < 2 then return false end
  local middle, early = (first + last + 1) / 2, 0
  for i = first, last do
    -- A tenth that the middle cuts counts for either side.
    early = early + g.tenths[i] * math.max(0, math.min(1, middle - i))
  end
  return early > old * 0.25 and early < old * 0.75
end

-- The least that each group had in use in the collection that began then,
-- noted for its part of the run.
local function cycle_done(p, list, lowest, began)
  local part = math.min(PARTS, math.floor(began / p.info.wall * PARTS) + 1)
  for _, g in ipairs(list) do
    local low = lowest[g]
    if low and (not g.floors[part] or low < g.floors[part]) then
      g.floors[part] = low
    end
    lowest[g] = nil
  end
end

-- A function that takes a change of a row's bytes in use to its group.
local function follower(list)
  local of, now = {}, {}
  for _, g in ipairs(list) do
    for row in pairs(g.rows) do of[row] = g end
    g.now = 0
  end
  return function(change)
    local g = of[change.row]
    if g then
      g.now = math.max(g.now + change.inuse_bytes - (now[change.row] or 0), 0)
      now[change.row] = change.inuse_bytes
    end
  end
end

-- What the rows of each group had in use after each collection: the least from
-- the collection's beginning to the next one's. Sets g.floors to one number
-- for each part of the run, or false where there was no collection.
local function set_floors(p, list)
  local follow, lowest = follower(list), {}
  for _, g in ipairs(list) do
    g.floors = {}
    for i = 1, PARTS do g.floors[i] = false end
  end
  local points, changes, k, began = p.course, p.timeline, 1, 0
  local cycles = points[1] and points[1].cycles
  for i, point in ipairs(points) do
    while changes[k] and changes[k].point == i do
      follow(changes[k])
      k = k + 1
    end
    if point.cycles ~= cycles then
      if cycles > 0 then cycle_done(p, list, lowest, began) end
      cycles, began = point.cycles, point.wall
    end
    for _, g in ipairs(cycles > 0 and list or {}) do
      lowest[g] = math.min(lowest[g] or g.now, g.now)
    end
  end
  cycle_done(p, list, lowest, began)
  if p.collected then
    for _, g in ipairs(list) do g.floors[PARTS] = g.bytes end
  end
end

-- Whether there is more after each collection, to the end.
local function keeps_growing(g)
  local half, low = math.ceil(PARTS / 2)
  for i = 1, half do low = g.floors[i] or low end
  local last = g.bytes - g.new * 0.5
  for i = PARTS - 1, half + 1, -1 do
    if g.floors[i] and last < g.floors[i] * 1.02 then return false end
  end
  return not low or g.bytes > low * STEP
end

local function verdict(g)
  if g.new > g.bytes * 0.5 then return "new" end
  return born_all_along(g) and keeps_growing(g) and "grows" or "flat"
end

-- -- Report ------------------------------------------------------------------

-- What was in use over time.
local function history_text(o, g)
  local t = {}
  for i = 1, PARTS do
    t[i] = g.floors[i] and numbers.bytes(math.max(g.floors[i], 0), o.kib) or "-"
  end
  return table.concat(t, " > ")
end

local function age_text(p, g)
  return numbers.seconds(math.max(0, p.info.wall - g.births / g.objects))
end

local order = { grows = 1, flat = 2, new = 3 }

local function sort(list)
  table.sort(list, function(a, b)
    if order[a.verdict] ~= order[b.verdict] then
      return order[a.verdict] < order[b.verdict]
    elseif a.bytes ~= b.bytes then
      return a.bytes > b.bytes
    end
    return a.name < b.name
  end)
end

local function heading(p)
  if p.collected then
    return "Allocated during the profile and held after a full collection:\n"
  end
  return "Allocated during the profile and held after the last "..
    "collection, or new since:\n"
end

return function(p, o)
  if not p.survivors then
    return "no leak data: profile with option L to record the ages of objects\n"
  end
  local list, total, leaked, hidden = groups(p, o), 0, 0, 0
  set_floors(p, list)
  for _, g in ipairs(list) do
    g.verdict = verdict(g)
    total = total + g.bytes
    if g.verdict == "grows" then leaked = leaked + g.bytes - g.new end
  end
  sort(list)
  if total == 0 then return heading(p).."nothing\n", nil, 0 end
  local rows = {
    { "held", "objects", "new bytes", "mean age", "verdict",
      "in use after collections, by fifths of the run" }
  }
  local out = { heading(p) }
  for _, g in ipairs(list) do
    if views.shows(g.bytes / total, o) or g.verdict == "grows" then
      rows[#rows+1] = { numbers.bytes(g.bytes, o.kib),
	numbers.count(g.objects), numbers.bytes(g.new, o.kib), age_text(p, g),
	g.verdict, history_text(o, g).."\n      "..g.name }
    else
      hidden = hidden + 1
    end
  end
  out[2] = cells.rows(rows)
  out[3] = ("\n%s held, %s of it in stacks that grow\n"):format(
    numbers.bytes(total, o.kib), numbers.bytes(leaked, o.kib))
  if hidden > 0 then
    out[4] = ("%s below %d%% not shown; option m sets the limit\n")
      :format(numbers.counted(hidden, "stack"), o.min)
  end
  return table.concat(out), nil, leaked
end
