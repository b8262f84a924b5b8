-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Waiting: the places where coroutines have yielded, by the seconds that all of
-- them have waited there.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local estimates = require("jit.mp.model.estimates")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

local DEPTH = 3 -- Frames of a place, unless the options have a depth.
local WIDTH = 90 -- Of prose, unless the terminal has a width.

-- A function from a row to its place: the C function that has yielded, the
-- line that called it, and the lines of callers.
local function namer(p, o)
  local depth = o.depth_given and math.abs(o.depth) or DEPTH
  local lines, top = p:namer("l", o.path, depth), p:namer("f", o.path, 1)
  return function(row)
    local f = p.frames[p.frame[row.stack]]
    local text = table.concat(lines(row), " < ")
    if not f or f.kind == "Lua" or f.kind == "pseudo" then return text end
    local name = top(row)[1]
    return text == name and text or name.." < "..text
  end
end

local function entry(name) return { name = name, waited = 0, var = 0,
    waiting = 0, list = {}, by = {} } end

-- Adds a row to the part of that name, and returns that.
local function add(to, name, row)
  local e = to.by[name]
  if not e then
    e = entry(name)
    to.by[name], to.list[#to.list+1] = e, e
  end
  e.waited = e.waited + (row.waited or 0)
  e.var = e.var + (row.waited_variance or 0)
  e.waiting = e.waiting + (row.waiting or 0)
  return e
end

-- All places together, with a list of them or, with option y, of the labels
-- with theirs.
local function collect(p, o)
  local name, top = namer(p, o), entry()
  local all = add(top, "in all", {})
  for _, row in ipairs(p.rows) do
    if (row.waited or 0) > 0 or (row.waiting or 0) > 0 then
      add(top, "in all", row)
      local part = o.states and add(all, p:split_name(row, o), row) or all
      add(part, name(row), row)
    end
  end
  return all
end

-- A number of coroutines.
local function many(n) return n < 9.95 and ("%.1f"):format(n) or
    numbers.count(n) end

local function line(p, o, e, all, level)
  local wall = p.info.wall
  return { numbers.share(e.waited, all.waited)..
      estimates.mark(e.waited, e.var, all.waited),
    o.raw and ("%.3f"):format(e.waited) or numbers.seconds(e.waited),
    many(wall > 0 and e.waited / wall or 0), numbers.count(e.waiting),
    (level > 0 and cells.arrow(o, "lines", level) or "")..e.name }
end

local function head(p, all)
  local wall = p.info.wall
  return ("Coroutines have waited %s in %s: %s of them at a time\n"):format(
    numbers.seconds(all.waited), numbers.seconds(wall),
    many(wall > 0 and all.waited / wall or 0))
end

-- Adds the lines of the parts of an entry. Returns how many are hidden.
local function add_lines(rows, p, o, e, all, level)
  local hidden = 0
  for _, part in ipairs(views.sort(e.list, "waited", "waiting")) do
    if views.shows(part.waited / all.waited, o) then
      rows[#rows+1] = line(p, o, part, all, level)
      hidden = hidden + add_lines(rows, p, o, part, all, level + 1)
    else
      hidden = hidden + 1
    end
  end
  return hidden
end

return function(p, o, env)
  local all, out, width = collect(p, o), {}, env.width or WIDTH
  if p.waits.why then
    out[1] = cells.wrap(("Coroutines were not watched, or not to the end: %s\n")
      :format(p.waits.why), width, 0)
  end
  if all.waited <= 0 then
    return (out[1] or "").."no coroutine was seen waiting\n"
  end
  out[#out+1] = cells.wrap(head(p, all), width, 0).."\n"
  local rows = { { "of all", "waited", "on average", "now", "" } }
  local hidden = add_lines(rows, p, o, all, all, 0)
  out[#out+1] = cells.rows(rows, env.width)
  out[#out+1] = cells.hidden(hidden, o, width)
  return table.concat(out)
end
