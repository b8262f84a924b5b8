-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The lines above a report: the measurements, and how far to trust them.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local curve = require("jit.mp.text.curve")
local facts = require("jit.mp.model.facts")
local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")
local terms = require("jit.mp.model.terms")
local trigger = require("jit.mp.heap.trigger")

local NUMBER = 11 -- Columns before a topic's number.
local MARGIN = 2  -- Columns before a line that continues another one.

local function joined(...)
  local t = {}
  for i = 1, select("#", ...) do t[#t+1] = (select(i, ...)) end
  return t
end

-- Whether the report has a view of the heap; else its header is silent on it.
local function wants_heap(o)
  for _, view in ipairs(o.views) do
    if view ~= "cpu" then return true end
  end
  return o.events or o.leaks
end

-- A topic: its name, its number, and other phrases.
local function topic(name, number, ...)
  return joined(("%-"..NUMBER.."s%-9s"):format(name, number), ...)
end

local function cpu_topic(p)
  local cycles, share = facts.gc(p)
  return topic("CPU", facts.cpu(p),
    facts.cpu_samples(p) or "not sampled", facts.compiler(p),
    "GC "..cycles..(share and ", "..share or ""))
end

local function alloc_topic(p, kib)
  local period = facts.period(p)
  return topic("allocated", numbers.bytes(p.heap.alloc_bytes, kib),
    facts.alloc_samples(p)..(period and ", "..period or ""))
end

local function inuse_topic(p, kib)
  local rss, parts = facts.rss(p), topic("in use",
    numbers.bytes(p.heap.inuse, kib))
  parts[#parts+1] = facts.inuse_samples(p)
  parts[#parts+1] = facts.garbage(p)
  parts[#parts+1] = "peak "..numbers.bytes(p.heap.peak, kib)
  parts[#parts+1] = rss and "RSS "..numbers.bytes(rss, kib)
  return parts
end

local function native_topic(p, kib)
  if not p.native.enabled then return {} end
  local all, held = facts.native(p)
  return topic("C memory", numbers.bytes(held, kib),
    "in use, "..numbers.bytes(all, kib).." allocated",
    facts.native_samples(p))
end

local function memory_topic(p, kib)
  local words = facts.memory(p)
  return words and topic("RSS", numbers.bytes(p.memory.rss, kib), words)
end

local function capture_topic(p, o)
  local s = "capture "..p.info.capture
  if p.info.capture_why then
    s = s.." ("..names.printable(p.info.capture_why)..")"
  end
  return joined(s, facts.lines(p, o.views))
end

-- Whether the profile is a heap walk and nothing else.
local function is_walk_from_outside(p)
  return p.info.capture == "outside" and not p.cpu.enabled
end

local function title(p)
  local script = facts.script(p)
  return joined("luajit-mp"..(script and "  "..script or ""),
    p.info.attached and p.info.pid and ("process %d"):format(p.info.pid) or nil,
    p.info.window and ("window of %s, from %s on"):format(
      numbers.seconds(p.info.wall), numbers.seconds(p.info.window)) or
    p.info.wall and not is_walk_from_outside(p) and "ran "..
      facts.duration(p) or nil)
end

-- The lines by topics, whose numbers stand below each other.
local function topics(p, o)
  if is_walk_from_outside(p) then return {} end
  if not wants_heap(o) or p.info.capture == "outside" then
    return { cpu_topic(p) }
  end
  return { cpu_topic(p), alloc_topic(p, o.kib), inuse_topic(p, o.kib),
    native_topic(p, o.kib), memory_topic(p, o.kib) or {} }
end

local NAMED = 5 -- Names of labels, at most.

-- Says that no label has the name behind letter y; or nil.
local function no_such_label(p, o)
  local known, list = {}, {}
  if o.states ~= "y" or not o.label then return nil end
  for _, key in pairs(p.zones.key) do
    if key == o.label then return nil end
    if not known[key] and key ~= terms.other then
      known[key], list[#list+1] = true, names.printable(key)
    end
  end
  if not list[1] then return nil end
  table.sort(list)
  local more = #list - NAMED
  if more > 0 then list[NAMED + 1] = "and "..more.." more" end
  return ("no label is named '%s'; there are: %s"):format(
    names.printable(o.label),
    table.concat(list, ", ", 1, math.min(#list, NAMED + 1)))
end

-- Says that the program has no labels, or no zones, that rows could be split
-- by; or nil.
local function none_to_split_by(p, o)
  local labels = o.states == "y"
  if not labels and o.states ~= "z" then return nil end
  for i in ipairs(p.zones.name) do
    if (p.zones.key[i] ~= nil) == labels then return nil end
  end
  return labels and "no labels: the program set none by mp.label" or
    "no zones: the program entered none of jit.zone"
end

-- The capture of the profile, and its notes.
local function remarks(p, o, width)
  local out = { cells.parts(capture_topic(p, o), width, MARGIN) }
  local notes, without = facts.notes(p, o.states == "z")
  local list = joined(facts.lost(p), facts.cut(p), no_such_label(p, o),
    not without and none_to_split_by(p, o) or nil)
  for _, note in ipairs(notes) do list[#list+1] = names.printable(note) end
  for _, text in ipairs(list) do
    out[#out+1] = cells.parts({ text }, width, MARGIN)
  end
  return table.concat(out)
end

-- The first of the parts, as many as fit on one line.
local function first_line(parts, width)
  return cells.parts(parts, width, 0):match("^[^\n]*\n") or ""
end

-- The header of a live view: short, so that the table has room.
local function live_header(p, o, width)
  local out = { first_line(title(p), width) }
  for _, parts in ipairs(topics(p, o)) do
    out[#out+1] = first_line(parts, width)
  end
  if wants_heap(o) then out[#out+1] = curve(p, o, width, NUMBER) end
  return table.concat(out).."\n"
end

-- Returns the header as text, with an empty line at its end, and lines to stand
-- below the report, if any. env: width, the columns of the terminal if the
-- report goes to one; live, as in jit.mp.render.
return function(p, o, env)
  local width = env.width
  local rest = remarks(p, o, width)
  if env.live then return live_header(p, o, width), "\n"..rest end
  local event = trigger.parts(p, o.kib)
  local out = { event[1] and cells.parts({ table.concat(event, "; ") }, width,
    MARGIN) or "", cells.parts(title(p), width, MARGIN) }
  for _, parts in ipairs(topics(p, o)) do
    out[#out+1] = cells.parts(parts, width, NUMBER)
  end
  return table.concat(out)..rest.."\n", ""
end
