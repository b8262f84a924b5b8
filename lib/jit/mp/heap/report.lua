-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A heap walk as text: the objects of the heap, and their holders.
----------------------------------------------------------------------------

local advice = require("jit.mp.model.advice")
local cells = require("jit.mp.text.cells")
local keys = require("jit.mp.model.keys")
local kinds = require("jit.mp.heap.kinds")
local larger = require("jit.mp.model.larger")
local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")
local paths = require("jit.mp.heap.paths")
local views = require("jit.mp.model.views")

local STACKS = 2 -- Allocating stacks shown of a holder, and
local LEAKS = 8 -- of C memory to which no object leads.
local DEPTH = 3 -- Frames of each, unless the options set them.

-- -- By type -----------------------------------------------------------------

local own_names = {
  { "strings", "table of strings" }, { "state", "state of the VM" },
  { "buffer", "buffer that strings are made in" }, { "ctypes", "C types" },
  { "rest", "compiler and others" }
}

local function type_rows(w, o)
  local rows, list, garbage, count = {}, {}, 0, 0
  for _, t in ipairs(w.types) do
    list[#list+1] = t
    garbage, count = garbage + t.garbage_bytes, count + t.garbage_count
  end
  table.sort(list, larger("type"))
  local function add(bytes, objects, name)
    rows[#rows+1] = { numbers.share(bytes, w.total),
      views.bytes(bytes, o),
      objects and ("%.0f"):format(objects) or "", name }
  end
  for _, t in ipairs(list) do
    if t.count > 0 then add(t.bytes, t.count, names.printable(t.type)) end
  end
  if count > 0 then
    add(garbage, count, "held by nothing: not collected yet")
  end
  for _, own in ipairs(own_names) do
    if w.own[own[1]] > 0 then add(w.own[own[1]], nil, own[2]) end
  end
  add(w.total, nil, "all, as the collector counts")
  return rows
end

-- Kinds of objects that are large enough to be shown, as text, or "".
local function kind_table(w, o, width)
  local rows = { { "of all", "bytes", "objects", "kind" } }
  for _, k in ipairs(kinds(w)) do
    if k.bytes > 0 and k.bytes >= w.total * o.min / 100 then
      rows[#rows+1] = { k.kind == "code" and "" or
	numbers.share(k.bytes, w.total), views.bytes(k.bytes, o),
	("%.0f"):format(k.count), k.text }
    end
  end
  return rows[2] and "\n"..cells.rows(rows, width) or ""
end

-- -- Allocating stacks -------------------------------------------------------

-- Adds the samples of a list of joins to the stacks of their lines, and of the
-- lines that hold those: tables by name of { name, bytes, first, last, c }.
-- line_of(join): its line, or a key of `of`.
local function add_joins(of, p, o, joins, c, line_of)
  local scope = o.scope_given and o.scope or "l"
  local depth = o.depth_given and math.abs(o.depth) or DEPTH
  local name = p:namer(scope, o.path, depth)
  for _, j in ipairs(joins) do
    local row = p.rows[j.row]
    local frames = row and name(row)
    local text = frames and keys.joined(frames, 1, #frames, o.depth)
    local line = text and line_of(j)
    while line do
      local by = of[line] or {}
      of[line] = by
      local key = c and "C "..text or text
      local a = by[key] or { name = text, bytes = 0, c = c }
      by[key] = a
      a.bytes = a.bytes + j.bytes
      if j.first and j.last then
	a.first = math.min(a.first or j.first, j.first)
	a.last = math.max(a.last or j.last, j.last)
      end
      line = type(line) == "table" and line.above
    end
  end
end

-- The allocating stacks by line; "none" has those of C memory to which no
-- object leads, "several" those of C memory that counts for no line.
local function allocated(p, o, list)
  local w, of = p.walk, { none = {}, several = {} }
  add_joins(of, p, o, w.joins, false, function(j) return list[j.line] end)
  add_joins(of, p, o, w.cjoins or {}, true, function(j)
    return j.led == 0 and "none" or list[j.line] or "several"
  end)
  return of
end

local function largest(by)
  local list = {}
  for _, a in pairs(by) do list[#list+1] = a end
  table.sort(list, larger("name"))
  return list
end

local function born(a, w)
  if not a.first then return "" end
  local from = numbers.seconds(math.max(0, w.at - a.first))
  local to = numbers.seconds(math.max(0, w.at - a.last))
  return (", born %s ago"):format(from == to and to or from.." to "..to)
end

-- -- Holders -----------------------------------------------------------------

-- Whether a line is large enough to be shown.
local function is_shown(line, c)
  return line.bytes >= c.least or (line.c > 0 and line.c >= c.cleast)
end

-- Whether the line tells no more than the lines below it.
local function passes(line, c)
  local shown = 0
  for _, child in ipairs(line.children) do
    if is_shown(child, c) then shown = shown + 1 end
  end
  local child = line.children[1]
  return shown == 1 and child.bytes >= line.bytes * 0.95 and
    child.c >= line.c * 0.95
end

local function add_sites(rows, by, all, most, c)
  for i, a in ipairs(largest(by or {})) do
    if i > most or a.bytes < all * 0.05 then break end
    rows[#rows+1] = { "", "", ("      allocated at %s: %s%s%s"):format(a.name,
      views.bytes(a.bytes, c.o), a.c and " C" or "", born(a, c.w)) }
  end
end

local function held(line, c)
  local text = views.bytes(line.bytes, c.o)
  return line.c > 0 and text.." + "..views.bytes(line.c, c.o).." C" or text
end

-- Adds lines that are large enough, each with the lines that it holds below it.
-- Those that only lead to others are not shown.
local function add_lines(rows, lines, c)
  for _, line in ipairs(lines) do
    if is_shown(line, c) then
      if not passes(line, c) then
	rows[#rows+1] = { numbers.share(line.bytes, c.w.total), held(line, c),
	  line.path.."  ("..paths.kind(line)..")" }
	add_sites(rows, c.sites[line], line.bytes + line.c, STACKS, c)
      end
      add_lines(rows, line.children, c)
    end
  end
end

-- Adds C memory that counts for no line.
local function add_others(rows, c)
  local function add(by, text)
    local all = 0
    for _, a in pairs(by) do all = all + a.bytes end
    if all <= 0 then return end
    rows[#rows+1] = { "", views.bytes(all, c.o).." C", text }
    add_sites(rows, by, all, LEAKS, c)
  end
  add(c.sites.several, "(several Lua owners that only the VM holds)")
  add(c.sites.none, "(no Lua owner)")
end

-- -- Report ------------------------------------------------------------------

local function heading(w, o)
  local objects = 0
  for _, t in ipairs(w.types) do objects = objects + t.count end
  return ("Heap walk: %s in %.0f objects held, %s in all; the program stood "..
    "still for %s%s\n"):format(numbers.bytes(w.held, o.kib), objects,
    numbers.bytes(w.total, o.kib), numbers.seconds(w.seconds),
    w.child and ", a child walked for "..numbers.seconds(w.child) or
    w.alone and " without a child: "..names.printable(w.alone) or "")
end

-- C memory, and how much of it objects lead to.
local function c_memory(w, o)
  if w.c_why then
    return "C memory is not shown by owner: "..names.printable(w.c_why)
  elseif not w.c_bytes then
    return nil
  end
  return ("C memory: %s in use; Lua objects probably own %s of it; %s has no "..
    "owner%s"):format(views.bytes(w.c_bytes, o), views.bytes(w.c_led, o),
    views.bytes(math.max(0, w.c_bytes - w.c_led), o),
    w.c_partly and "; part of it was not searched" or "")
end

-- The line whose tables have most of the empty slots, or nil.
local function sparsest(list)
  local most
  for _, line in ipairs(list) do
    if line.sparse and (not most or line.empty > most.empty) then
      most = line
    end
  end
  return most
end

-- The slots of tables that hold nothing, where they are many.
local function tables(w, o, list)
  if not w.slots or w.slots_empty < w.total / 20 then return nil end
  local line = sparsest(list)
  return ("Tables have %s of array and hash parts, %s of it in slots that "..
    "are empty%s"):format(views.bytes(w.slots_bytes, o),
    numbers.share(w.slots_empty, w.slots_bytes),
    line and (": %s, %.0f x %s, %s"):format(line.path, line.count, line.type,
      paths.slots_used(line)) or "")
end

-- Where array and hash parts of tables were allocated again and again, if the
-- profile knows types and lines.
local function resized(p, o)
  local t = {}
  for i, r in ipairs(advice.resized(p)) do
    t[i] = ("%s (%.0f array and hash parts, %s)"):format(
      names.printable(r.place), r.objects, views.bytes(r.bytes, o))
  end
  return t[1] and "Tables were resized most at "..table.concat(t, ", ")
end

local LONG = 64 -- Strings of a chain that are worth telling.

-- Strings with one hash make it slow to find or make any of them.
local function chains(w)
  if not w.chains or (w.chain_longest or 0) < LONG then return nil end
  return ("The table of strings has %.0f chains, and the longest has %.0f "..
    "strings: these are slow to create"):format(w.chains, w.chain_longest)
end

local function notes(p, o, width, list)
  local w = p.walk
  local t = {}
  if w.closing then
    t[1] = w.left and "The main chunk had returned: its local variables are "..
      "shown as it left them." or
      "The state was being closed: the locals of the main chunk were gone."
  end
  if not w.adds_up then
    t[#t+1] = "The sizes do not add up to what the collector counts."
  end
  t[#t+1] = "An object with several holders counts for the nearest "..
    "that holds them all."
  t[#t+1] = tables(w, o, list)
  t[#t+1] = resized(p, o)
  t[#t+1] = chains(w)
  t[#t+1] = c_memory(w, o)
  for i, line in ipairs(t) do t[i] = cells.wrap(line.."\n", width) end
  return table.concat(t)
end

-- The allocator keeps what is free, unless a whole segment is.
local function arena(p, o)
  local a = p.walk.arena
  if not a then return "" end
  local last = p.course[#p.course]
  return ("Of %s in segments of LuaJIT's allocator %s are free (%s), the "..
    "largest piece is %s%s\n"):format(numbers.bytes(a.system, o.kib),
    numbers.bytes(a.free, o.kib), numbers.share(a.free, a.system),
    numbers.bytes(a.largest, o.kib), last and last.rss and last.rss > 0 and
    "; RSS "..numbers.bytes(last.rss, o.kib) or "")
end

return function(p, o, env)
  local w, width = p.walk, env and env.width
  local why = paths.absent(w)
  if why then
    return cells.wrap("no heap walk: "..why.."\n", width)
  end
  local list, roots = paths.lines(w)
  local c = { w = w, o = o, least = w.total * o.min / 100,
    cleast = (w.c_bytes or 0) * o.min / 100, sites = allocated(p, o, list) }
  local rows = { { "of all", "holds", "path" } }
  add_lines(rows, roots, c)
  add_others(rows, c)
  local tree = rows[2] and cells.rows(rows, width) or
    cells.wrap(views.nothing("no path", o), width)
  return cells.wrap(heading(w, o), width)..notes(p, o, width, list)..
    "\n"..cells.rows(type_rows(w, o), width)..cells.wrap(arena(p, o), width)..
    kind_table(w, o, width).."\n"..tree
end
