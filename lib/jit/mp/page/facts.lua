-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The page's header: a profile as a whole.
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local encode = require("jit.mp.page.encode")
local estimates = require("jit.mp.model.estimates")
local facts = require("jit.mp.model.facts")
local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")
local trigger = require("jit.mp.heap.trigger")
local views = require("jit.mp.model.views")
local wall = require("jit.mp.model.wall")

local list, object, str = encode.list, encode.object, encode.str
local number, strings = encode.number, encode.strings

-- The header of a report: name, value, and a remark.
local function header(p, kib)
  local h, t = p.heap, {}
  local function add(name, value, more)
    t[#t+1] = strings({ name, value, more or "" })
  end
  local compiler, garbage = facts.compiler(p), facts.garbage(p)
  add("CPU", facts.cpu(p), (facts.cpu_samples(p) or
    "not sampled")..(compiler and ", "..compiler or ""))
  local period = facts.period(p)
  add("Allocated", numbers.bytes(h.alloc_bytes, kib), facts.alloc_samples(p)..
    (period and ", "..period or ""))
  local few, rss = facts.inuse_samples(p), facts.rss(p)
  add("In use", numbers.bytes(h.inuse, kib), (few and few..", " or "")..
    (garbage and garbage..", " or "")..
    "peak "..numbers.bytes(h.peak, kib)..
    (rss and ", RSS "..numbers.bytes(rss, kib) or ""))
  if p.native.enabled then
    local all, held = facts.native(p)
    add("C memory", numbers.bytes(held, kib), "in use, "..
      numbers.bytes(all, kib).." allocated, "..facts.native_samples(p))
  end
  local memory = facts.memory(p)
  if memory then add("RSS", numbers.bytes(p.memory.rss, kib), memory) end
  add("GC", facts.gc(p))
  add("Capture", p.info.capture, facts.lines(p))
  return list(t)
end

local function notes(p, kib)
  local event = trigger.parts(p, kib)
  local t = { event[1] and table.concat(event, "; ") }
  if p.info.capture_why then
    t[#t+1] = ("capture %s: %s"):format(p.info.capture, p.info.capture_why)
  end
  t[#t+1] = facts.lost(p)
  t[#t+1] = facts.cut(p)
  for _, note in ipairs(facts.notes(p)) do t[#t+1] = note end
  return strings(t)
end

-- The reasons why views are empty.
local function reasons(p)
  local t = {}
  for _, view in ipairs(views.list) do
    t[#t+1], t[#t+2] = view.name, str(empty(p, view.name))
  end
  for _, time in ipairs(wall.list) do
    t[#t+1], t[#t+2] = time.name, str(time.none)
  end
  t[#t+1], t[#t+2] = "timeline", str((p.info.runs or 1) > 1 and
    "A sum of several profiles has no timeline: each had a time of its own." or
    "This profile has no timeline.")
  t[#t+1], t[#t+2] = "temp", str("no temporary objects: each outlived the "..
    "collection that came next")
  return object(t)
end

-- Mean bytes between samples, by view, from which the page has the doubt of an
-- amount.
local function periods(p)
  local t = {}
  for _, view in ipairs({ "alloc", "inuse", "peak", "native",
      "native_inuse" }) do
    t[#t+1], t[#t+2] = view, number(estimates.period(p, view))
  end
  t[#t+1], t[#t+2] = "temp", number(estimates.period(p, "alloc"))
  return object(t)
end

-- The number of the row of the memory from before the profile, or 0.
local function before_row(p)
  for i = #p.rows, 1, -1 do
    if p:is_before(p.rows[i]) then return i end
  end
  return 0
end

local function command_line(p)
  local t = {}
  for i, word in ipairs(p.info.command or {}) do
    t[i] = names.printable(word)
    if t[i] == "" or t[i]:find("[%s'\"$`\\|&;<>()*?]") then
      t[i] = "'"..t[i]:gsub("'", "'\\''").."'"
    end
  end
  return table.concat(t, " ")
end

local function script_name(p)
  return facts.script(p) or "luajit"
end

-- The LuaJIT, the process and the time.
local function about(p)
  local i = p.info
  local t = {}
  if i.wall then t[1] = "ran "..facts.duration(p) end
  t[#t+1] = i.luajit
  t[#t+1] = i.os and i.os.." "..(i.arch or "")
  if i.pid then t[#t+1] = ("process %d"):format(i.pid) end
  if i.started then
    t[#t+1] = os.date("!%Y-%m-%d %H:%M:%S UTC", i.started)
  end
  return strings(t)
end

local function info(p, kib)
  local i = p.info
  return object({ "script", str(script_name(p)), "command",
    str(command_line(p)), "about", about(p), "cpu", number(i.cpu),
    "wall", number(i.wall or i.cpu), "facts", header(p, kib),
    "gc_cycles", p.heap.gc_cycles and number(p.heap.gc_cycles) or "null",
    "periods", periods(p),
    "inuse_start", p.heap.inuse_start and number(p.heap.inuse_start) or "null",
    "before", number(before_row(p)), "notes", notes(p, kib),
    "empty", reasons(p) })
end

return { info = info, script_name = script_name }
