-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The JIT compiler's decisions, for the page: places, traces given up, traces
-- made, and moments when all of them were thrown away.
----------------------------------------------------------------------------

local decisions = require("jit.mp.model.decisions")
local encode = require("jit.mp.page.encode")
local reasons = require("jit.mp.model.reasons")
local remedies = require("jit.mp.model.remedies")

local LEAST = 0.005 -- Of CPU or bytes: less is not in the page.

local list, object, str = encode.list, encode.object, encode.str

-- The numbers of places, from 0 on, by frame; and their columns.
local function places(p, strs)
  local place, index = decisions.placer(p), {}
  local t = { label = {}, source = {}, line = {} }
  return function(frame)
    if not index[frame] then
      local f = p.frames[frame] or {}
      local i = #t.label
      index[frame] = i
      t.label[i+1] = strs(place(frame))
      t.source[i+1] = f.kind == "Lua" and f.source and strs(f.source) or -1
      t.line[i+1] = f.line or 0
    end
    return index[frame]
  end, t
end

local function giveups(p, strs, number)
  local t = { start = {}, at = {}, reason = {}, advice = {}, count = {},
    wall = {} }
  for i, r in ipairs(decisions.reasons_of(p.giveups)) do
    local advice = reasons.advice(r.reason, p.compiler)
    t.start[i], t.at[i] = number(r.start), number(r.at)
    t.reason[i], t.count[i] = strs(r.reason), ("%.0f"):format(r.count)
    t.advice[i] = advice and strs(advice) or -1
    t.wall[i] = r.wall and encode.number(r.wall) or -1
  end
  return object({ "start", list(t.start), "at", list(t.at),
    "reason", list(t.reason), "advice", list(t.advice),
    "count", list(t.count), "wall", list(t.wall) })
end

local function traces(p, strs, number)
  local nodes, flat = decisions.tree(p), {}
  local t = { level = {}, start = {}, ends = {}, listing = {} }
  for i, node in ipairs(nodes) do
    flat[i] = node.trace
    t.level[i], t.start[i] = node.level, number(node.trace.start)
    t.ends[i] = strs(decisions.ending(node.trace)..decisions.gone(node.trace))
    t.listing[i] = node.trace.listing and strs(node.trace.listing) or -1
  end
  return object({ "level", list(t.level), "start", list(t.start),
    "ends", list(t.ends), "listing", list(t.listing),
    "number", encode.ints(flat, "number"),
    "parent", encode.ints(flat, "parent"), "exit", encode.ints(flat, "exit"),
    "bytes", encode.ints(flat, "bytes"), "taken", encode.ints(flat, "taken"),
    "ticks", encode.ints(flat, "ticks"),
    "allocated", encode.ints(flat, "allocated") })
end

-- Interpreted code, why it is, and what may help. j: from decisions.join.
local function interpreted(p, strs, j)
  local t, flat = { name = {}, lines = {} }, {}
  local all = j.all
  for i, entry in ipairs(remedies.entries(p, j, function(e)
    return e.cpu > all.cpu * LEAST or e.bytes > all.bytes * LEAST
  end)) do
    local lines = {}
    for k, line in ipairs(entry.lines) do lines[k] = strs(line) end
    flat[i], t.name[i], t.lines[i] = entry.e, strs(entry.name), list(lines)
  end
  return object({ "name", list(t.name), "lines", list(t.lines),
    "cpu", encode.ints(flat, "cpu"), "bytes", encode.ints(flat, "bytes") })
end

-- The bytes that lines allocated, by the VM's state, and why.
local function memory(p, strs, number, j)
  local t = { at = {}, why = {} }
  local entries = decisions.allocated(p, j, "l")
  for i, e in ipairs(entries) do
    local why = decisions.allocated_why(e)
    t.at[i], t.why[i] = number(e.frame), why and strs(why) or -1
  end
  return object({ "at", list(t.at), "why", list(t.why),
    "bytes", encode.ints(entries, "bytes"),
    "compiled", encode.ints(entries, "compiled"),
    "interpreted", encode.ints(entries, "interpreted"),
    "c", encode.ints(entries, "c") })
end

local function flushes(p)
  local t = {}
  for i, f in ipairs(p.flushes) do
    t[i] = object({ "wall", encode.number(f.wall), "why",
      str(decisions.flush_reason(f.why)) })
  end
  return list(t)
end

-- A JSON text, null where nothing was recorded. strs: the numbers of strings.
return function(p, strs)
  if not p.compiler.enabled or not p.giveups then return "null" end
  local number, columns = places(p, strs)
  local given, made = giveups(p, strs, number), traces(p, strs, number)
  local j = decisions.join(p)
  local allocated = memory(p, strs, number, j)
  local black = {}
  for i, b in ipairs(p.blacklisted) do black[i] = number(b.start) end
  return object({ "words", str(decisions.words(p)),
    "ticks", encode.number(p.cpu.samples), "giveups", given, "traces", made,
    "interpreted", interpreted(p, strs, j), "memory", allocated,
    "blacklisted", list(black), "flushes", flushes(p),
    "places", object({ "label", list(columns.label),
      "source", list(columns.source), "line", list(columns.line) }) })
end
