-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Leaks: the memory that the program held after each collection, by line and
-- by stack, and whether it grows.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local held = require("jit.mp.heap.held")
local keys = require("jit.mp.model.keys")
local leaks = require("jit.mp.model.leaks")
local numbers = require("jit.mp.model.numbers")
local verdicts = require("jit.mp.model.verdicts")
local views = require("jit.mp.model.views")
local width_of = require("jit.mp.text.width").width

local DEPTH = 6 -- Frames of a stack, unless the options set them.
local INDENT = (" "):rep(6) -- Before what stands below a row.
local SERIES = "held after collections, by fifths of the run"
local NATIVE_SERIES = "in use, by fifths of the run"

-- -- Names -------------------------------------------------------------------

-- A function from a row to its name: the frames of its stack, the top first.
local function row_namer(p, o, depth)
  local scope = o.scope_given and o.scope or "l"
  local namer = p:namer(scope, o.path, depth)
  return function(row)
    local names, n = namer(row), 1
    for i, name in ipairs(names) do  -- Not the host's own C functions.
      if not name:match("^%(") and not name:match("%+0x%x+$") then n = i end
    end
    return keys.joined(names, 1, n, o.depth)
  end
end

-- -- Rows --------------------------------------------------------------------

-- The course of a group in words.
local function series_text(p, o, g)
  local t = {}
  for part, bytes in ipairs(verdicts.course(p, g)) do
    t[part] = bytes and views.bytes(bytes, o) or "-"
  end
  return table.concat(t, " > ")
end

-- Numbers of the rows of each name.
local function rows_by_name(p, name)
  local by = {}
  for i, row in ipairs(p.rows) do
    local key = name(row)
    by[key] = by[key] or {}
    by[key][i] = true
  end
  return by
end

-- A function from a name to a line about its main holder, with the end of the
-- one before it, or to "".
local function holder_namer(p, name, width)
  local holder, by = held(p), rows_by_name(p, name)
  return function(key)
    local path, part = holder(by[key] or {})
    if not path then return "" end
    local line = ("      held by %s%s\n"):format(path, part < 0.995 and
      (", %.0f%% of it"):format(part * 100) or "")
    return "\n"..cells.wrap(line, width):gsub("\n$", "")
  end
end

-- The series as the end of a line, or below it.
local function series_line(p, o, g, width, below)
  local text = series_text(p, o, g).."\n"
  return below and "\n"..cells.wrap(INDENT..text, width) or text
end

-- below: the series has a line of its own.
local function row_cells(p, o, g, holder, width, below)
  local name = width and cells.cut_levels(g.name, width - #INDENT) or g.name
  return { views.bytes(g.held, o), views.bytes(g.new, o),
    o.raw and ("%.0f"):format(g.objects) or numbers.count(g.objects),
    g.age and numbers.seconds(g.age) or "-",
    g.verdict, series_line(p, o, g, width, below)..
    INDENT..name..holder(g.name) }
end

local function fits(text, width)
  for line in text:gmatch("[^\n]+") do
    if width and width_of(line) > width then return false end
  end
  return true
end

-- Rows whose series are on lines of their own, as text: without their ages, and
-- then their objects, where the terminal is too narrow for these.
local function narrow_text(rows, width)
  for _, column in ipairs({ 4, 3 }) do
    if fits(cells.rows(rows):gsub("\n"..INDENT.."[^\n]*", ""), width) then
      break
    end
    for _, r in ipairs(rows) do table.remove(r, column) end
  end
  return cells.rows(rows)
end

-- The rows of a table as text. On a narrow terminal the series moves to the
-- next line.
local function rows_text(p, o, shown, holder, width)
  local series = p.is_native and NATIVE_SERIES or SERIES
  local function make(below)
    local rows = { { "held", "new", "objects", "mean age", "verdict",
      below and "" or series } }
    for _, g in ipairs(shown) do
      rows[#rows+1] = row_cells(p, o, g, holder, width, below)
    end
    return rows
  end
  local all = cells.rows(make(false))
  if fits(all, width) then return all end
  return cells.wrap("Below each row: "..series.."\n", width)..
    narrow_text(make(true), width)
end

-- A table of groups by that name of a row, and how many of them it leaves out.
-- doubts: gets the reasons of verdicts that are unclear.
local function groups_table(p, o, list, name, width, doubts)
  local total, hidden, shown = 0, 0, {}
  for _, g in ipairs(list) do total = total + g.inuse end
  local holder = holder_namer(p, name, width)
  for _, g in ipairs(list) do
    if views.shows(g.inuse / total, o) or g.verdict == "grows" then
      shown[#shown+1] = g
      if g.why then doubts[g.why] = true end
    else
      hidden = hidden + 1
    end
  end
  local text = rows_text(p, o, shown, holder, width)
  if hidden == 0 then return text end
  local rest = ("%s below %d%% not shown; option m sets the limit\n"):format(
    numbers.counted(hidden, "row"), o.min)
  return text..cells.wrap(rest, width)
end

-- -- Report ------------------------------------------------------------------

local function heading(p)
  local n = #p.collections
  if p.is_native then
    return ("C memory in use at the end (recorded %s):\n"):format(
      numbers.counted(n, "time"))
  end
  return ("Held after the last collection (%d recorded%s), and new since:\n")
    :format(n, p.collected and ", a full one at the end" or "")
end

local function sum(list, field, which)
  local total = 0
  for _, g in ipairs(list) do
    if not which or g.verdict == which then total = total + g[field] end
  end
  return total
end

-- Appends the tables of a profile to the list of texts. Returns the bytes held
-- in stacks that grow.
local function put_tables(p, o, env, out)
  local depth = o.depth_given and math.abs(o.depth) or DEPTH
  local by_stack, by_line = row_namer(p, o, depth), row_namer(p, o, 1)
  local stacks, n = leaks.groups(p, by_stack)
  local doubts = {}
  local in_all, leaked = sum(stacks, "held"), sum(stacks, "held", "grows")
  out[#out+1] = cells.wrap(heading(p), env.width)
  if sum(stacks, "inuse") == 0 then
    out[#out+1] = "nothing\n"
    return 0
  end
  local function put(list, name)
    verdicts.sort(list)
    out[#out+1] = groups_table(p, o, list, name, env.width, doubts)
  end
  if depth ~= 1 then
    local by_function = o.scope_given and o.scope ~= "l"
    out[#out+1] = by_function and "\nBy function:\n" or "\nBy line:\n"
    put((leaks.groups(p, by_line)), by_line)
    out[#out+1] = "\nBy stack:\n"
  end
  put(stacks, by_stack)
  out[#out+1] = "\n"..cells.wrap(("%s held, %s of it in stacks that grow\n")
    :format(views.bytes(in_all, o), views.bytes(leaked, o)), env.width)
  for _, doubt in ipairs(verdicts.doubts(p, n, doubts)) do
    out[#out+1] = cells.wrap(doubt.."\n", env.width)
  end
  return leaked
end

-- Returns the text, nil, and the bytes held in stacks that grow.
return function(p, o, env)
  if not (p.collections and p.held and p.survivors) then
    return "no leak data: profile with option L, which records what "..
      "collections leave\n"
  end
  if not p.heap.gc_cycles then
    return cells.wrap("no leak data: what collections leave is not known on "..
      "this LuaJIT (see capture)\n", env.width)
  end
  local out, native = {}, leaks.native(p)
  local leaked = put_tables(p, o, env, out)
  if native then
    out[#out+1] = "\n"
    leaked = leaked + put_tables(native, o, env, out)
  end
  return table.concat(out), nil, leaked
end
