-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Waiting: the places where coroutines have yielded, by the seconds that all of
-- them have waited there; and those where the thread of the VM has slept with
-- Lua code on its stack, blocked or in an event loop.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local estimates = require("jit.mp.model.estimates")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

local DEPTH = 3 -- Frames of a place, unless the options have a depth.
local WIDTH = 90 -- Of prose, unless the terminal has a width.

-- A function from a stack to its place: the C function on top, the line that
-- called it, and the lines of callers.
local function namer(p, o)
  local depth = o.depth_given and math.abs(o.depth) or DEPTH
  local lines, top = p:namer("l", o.path, depth), p:namer("f", o.path, 1)
  return function(stack)
    local row = { stack = stack }
    local f = p.frames[p.frame[stack]]
    local text = table.concat(lines(row), " < ")
    if not f or f.kind == "Lua" or f.kind == "pseudo" then return text end
    local name = top(row)[1]
    return text == name and text or name.." < "..text
  end
end

local function entry(name) return { name = name, amount = 0, var = 0,
    waiting = 0, list = {}, by = {} } end

-- Adds a row to the part of that name, and returns that. field: "waited" or
-- "blocked".
local function add(to, name, row, field)
  local e = to.by[name]
  if not e then
    e = entry(name)
    to.by[name], to.list[#to.list+1] = e, e
  end
  e.amount = e.amount + (row[field] or 0)
  e.var = e.var + (row[field.."_variance"] or 0)
  e.waiting = e.waiting + (row.waiting or 0)
  return e
end

-- All rows whose place has that name, as a list of places or, with option y, of
-- the labels with theirs. place(row): its name, nil: it does not belong here.
local function collect(p, o, field, place)
  local top = entry()
  local all = add(top, "in all", {}, field)
  for _, row in ipairs(p.rows) do
    local name = ((row[field] or 0) > 0 or
      field == "waited" and (row.waiting or 0) > 0) and place(row)
    if name then
      add(top, "in all", row, field)
      add(o.states and add(all, p:split_name(row, o), row, field) or all,
        name, row, field)
    end
  end
  return all
end

-- A number of coroutines.
local function many(n) return n < 9.95 and ("%.1f"):format(n) or
    numbers.count(n) end

-- Adds the lines of the parts of an entry; cells_of(part): those between the
-- amount and the name. Returns how many are hidden.
local function add_lines(rows, o, e, all, level, cells_of)
  local hidden = 0
  for _, part in ipairs(views.sort(e.list, "amount", "waiting")) do
    if views.shows(part.amount / all.amount, o) then
      local line = { numbers.share(part.amount, all.amount)..
        estimates.mark(part.amount, part.var, all.amount),
        o.raw and ("%.3f"):format(part.amount) or
        numbers.seconds(part.amount) }
      for _, cell in ipairs(cells_of(part)) do line[#line+1] = cell end
      line[#line+1] = (level > 0 and cells.arrow(o, "lines", level) or "")..
        part.name
      rows[#rows+1] = line
      hidden = hidden + add_lines(rows, o, part, all, level + 1, cells_of)
    else
      hidden = hidden + 1
    end
  end
  return hidden
end

local function tabulate(out, head, all, o, env, cells_of)
  local rows = { head }
  local hidden = add_lines(rows, o, all, all, 0, cells_of)
  out[#out+1] = cells.rows(rows, env.width, nil, cells.SENTENCE)
  out[#out+1] = cells.hidden(hidden, o, env.width or WIDTH)
end

local function coroutines(out, p, o, env, place)
  local all, wall = collect(p, o, "waited", function(row)
    return place(row.stack)
  end), p:watched()
  local function average(e) return many(wall > 0 and e.amount / wall or 0) end
  if p.waits.why then
    out[#out+1] = cells.wrap(("Coroutines were not watched, or not to the "..
      "end: %s\n"):format(p.waits.why), env.width or WIDTH, 0)
  end
  if all.amount <= 0 then
    out[#out+1] = "no coroutine was seen waiting\n"
    return
  end
  out[#out+1] = cells.wrap(("Coroutines have waited %s in %s: %s of them at "..
    "a time\n"):format(numbers.seconds(all.amount), numbers.seconds(wall),
    average(all)), env.width or WIDTH, 0).."\n"
  tabulate(out, { "of all", "waited", "on average", "now", "" }, all, o, env,
    function(e) return { average(e), numbers.count(e.waiting) } end)
end

-- One table for what has blocked the thread, or for event loops.
local function sleeps(out, p, o, env, place, wanted, text)
  local all = collect(p, o, "blocked", function(row)
    local stack, call, loop = p:asleep_at(row)
    return loop == wanted and (call and call.." < " or "")..place(stack) or nil
  end)
  if all.amount <= 0 then return false end
  out[#out+1] = "\n"..cells.wrap(text:format(numbers.seconds(all.amount),
    numbers.seconds(p:watched())), env.width or WIDTH, 0).."\n"
  tabulate(out, { "of all", wanted and "waited" or "blocked", "" }, all, o,
    env, function() return {} end)
  return true
end

return function(p, o, env)
  local out, place = {}, namer(p, o)
  coroutines(out, p, o, env, place)
  if p.waits.blocked_why then
    out[#out+1] = cells.wrap(("What blocks the thread is not known: %s\n")
      :format(p.waits.blocked_why), env.width or WIDTH, 0)
  elseif not sleeps(out, p, o, env, place, false, "Lua code has blocked the "..
      "thread for %s of %s\n") then
    out[#out+1] = "nothing was seen that blocks the thread\n"
  end
  sleeps(out, p, o, env, place, true, "Event loops that Lua code has called "..
    "have waited %s of %s\n")
  return table.concat(out)
end
