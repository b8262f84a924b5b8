-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The decisions of the JIT compiler, joined with CPU and bytes by function.
----------------------------------------------------------------------------
--
-- Code that runs interpreted goes with the traces that were given up: those
-- that began in its function, else in the nearest function that called it. One
-- of their reasons is the chief one: that for which the place was given up for
-- good; and if that place calls another which was given up before, the chief
-- reason there. What has one chief reason is one entry.
--
----------------------------------------------------------------------------

local numbers = require("jit.mp.model.numbers")
local reasons = require("jit.mp.model.reasons")

-- The text of a place: module:line. frame: its number, or 0.
local function placer(p)
  local label = p:labeler("l", false)
  return function(frame)
    local f = p.frames[frame]
    if not f then return "(not known)" end
    if f.kind ~= "Lua" then return f.name or "(C function)" end
    return label(frame)
  end
end

-- Lists of records by the function of the frame in a field.
local function by_function(p, list, field)
  local _, of = p:functions()
  local t = {}
  for _, r in ipairs(list or {}) do
    local fn = of[r[field]]
    if fn then
      t[fn] = t[fn] or {}
      table.insert(t[fn], r)
    end
  end
  return t
end

local function new_sums() return { cpu = 0, bytes = 0, objects = 0 } end

local function add(sums, row)
  sums.cpu = sums.cpu + row.cpu
  sums.bytes = sums.bytes + row.alloc_bytes
  sums.objects = sums.objects + row.alloc_objects
end

-- The nearest function on a row's stack, from its Lua function on, in which
-- traces were given up, or that has a start given up for good; nil: none.
local function owner(p, stack, given, black)
  local _, of = p:functions()
  local s = stack
  while s ~= 0 do
    local fn = of[p.frame[s]]
    if given[fn] or black[fn] then return fn end
    s = p.parent[s]
  end
end

-- Interpreted code by function and owner: { fn, owner (or nil), cpu, bytes,
-- objects }; what the compiler itself used, and all, with the CPU time of
-- compiled code and of the collector.
local function interpreted(p, given, black)
  local _, of = p:functions()
  local list, by, own, all = {}, {}, new_sums(), new_sums()
  all.compiled, all.collected = 0, 0
  for _, row in ipairs(p.rows) do
    local s = p:line_stack(row.stack)
    local fn = of[p.frame[s]]
    if not p:is_before(row) then
      add(all, row)
      if row.state == "N" then all.compiled = all.compiled + row.cpu end
      if row.state == "G" then all.collected = all.collected + row.cpu end
      if row.state == "J" then
	add(own, row)
      elseif fn and fn.kind == "Lua" and row.state == "I" then
	local who = owner(p, s, given, black)
	by[fn] = by[fn] or {}
	local e = by[fn][who or false]
	if not e then
	  e = new_sums()
	  e.fn, e.owner = fn, who
	  by[fn][who or false], list[#list+1] = e, e
	end
	add(e, row)
      end
    end
  end
  return list, own, all
end

-- Traces given up at one place for one reason, whatever their starts: the most
-- first. Those whose number is not known come last. final: a start was then
-- given up for good; loads: how often its code had been loaded again;
-- wall: when the first was, or nil.
local function reasons_of(list)
  local t, by = {}, {}
  for _, g in ipairs(list or {}) do
    local key = g.at.."\0"..g.reason
    local e = by[key]
    if not e then
      e = { at = g.at, start = g.start, reason = g.reason, count = 0,
	loads = 0, early = true }
      by[key], t[#t+1] = e, e
    end
    e.count = e.count + g.count
    e.final = e.final or g.final
    e.loads = e.loads + (g.loads or 0)
    e.wall = g.wall and math.min(g.wall, e.wall or g.wall) or e.wall
    e.early = e.early and g.kind == "early"
  end
  table.sort(t, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    if a.reason ~= b.reason then return a.reason < b.reason end
    return a.at < b.at
  end)
  return t
end

-- The traces that lead back to the interpreter, by the function where they
-- begin.
local function back_to(p)
  local list = {}
  for _, t in ipairs(p.traces or {}) do
    if t.ends == "interpreter" and t.state == "live" then list[#list+1] = t end
  end
  return by_function(p, list, "start")
end

-- -- The chief reason -------------------------------------------------------

-- In place of a bytecode without a name, which is all that LuaJIT's table has,
-- one of the same function that has a name.
local function named(r, list)
  if r.reason ~= "NYI: bytecode" then return r end
  for _, other in ipairs(list) do
    if other.reason:find("^NYI: bytecode %S") then return other end
  end
  return r
end

-- The reason of a list for which a place was given up for good, most often.
local function first_final(list)
  for _, r in ipairs(list) do
    if r.final then return named(r, list) end
  end
end

-- The first that is more than a step on the way.
local function first_that_stays(list)
  for _, r in ipairs(list) do
    if not reasons.is_passing(r.reason) then return r end
  end
  return list[1]
end

-- The reason for which a place is given up leads to another place: what was
-- given up before, or an inner loop that has to be compiled first.
local function leads_on(r)
  return r.reason:find("^blacklisted") or r.reason:find("^inner loop in root")
end

-- The first reason of these functions that is more than a step on the way.
local function first_of(functions, given)
  for _, fn in ipairs(functions) do
    local r = first_that_stays(reasons_of(given[fn]))
    if not reasons.is_passing(r.reason) then return r end
  end
end

-- The chief reason of a function's traces given up; nil: there is none. given:
-- lists of traces given up, by function.
local function chief(p, fn, given)
  local _, of = p:functions()
  local seen, path, first, found = {}, {}, nil, nil
  while fn and given[fn] and not seen[fn] do
    seen[fn], path[#path+1] = true, fn
    local list = reasons_of(given[fn])
    found = first_final(list) or first_that_stays(list)
    first = first or found
    if not leads_on(found) then break end
    fn = of[found.at]
  end
  if not found or not reasons.is_passing(found.reason) then return found end
  return first_of(path, given) or first
end

-- Puts what has one chief reason together: lists of interpreted code. Many
-- functions may have one owner.
local function together(p, list, given)
  local groups, by, chief_of = {}, {}, {}
  for _, e in ipairs(list) do
    local fn = e.owner
    if fn and chief_of[fn] == nil then
      chief_of[fn] = chief(p, fn, given) or false
    end
    local r = fn and chief_of[fn] or nil
    e.chief = r
    local key = r and r.at.."\0"..r.reason or e.fn
    local g = by[key]
    if not g then
      g = new_sums()
      g.chief, g.members = r, {}
      by[key], groups[#groups+1] = g, g
    end
    g.members[#g.members+1] = e
    g.cpu, g.bytes = g.cpu + e.cpu, g.bytes + e.bytes
    g.objects = g.objects + e.objects
  end
  return groups
end

local function by_use(a, b)
  if a.cpu ~= b.cpu then return a.cpu > b.cpu end
  if a.bytes ~= b.bytes then return a.bytes > b.bytes end
  return a.name < b.name
end

-- Adds each value of the list once. seen: those that are there.
local function append(to, list, seen)
  for _, v in ipairs(list or {}) do
    if not seen[v] then
      seen[v] = true
      to[#to+1] = v
    end
  end
end

-- The reasons of all owners, the chief one first; and the places that they gave
-- up for good, and the traces of its functions that lead back.
local function fill(g, given, black, back)
  local all, seen = {}, {}
  g.reasons, g.blacklisted, g.back = { g.chief }, {}, {}
  for _, e in ipairs(g.members) do
    if e.owner and not seen[e.owner] then
      seen[e.owner] = true
      append(all, given[e.owner], seen)
      append(g.blacklisted, black[e.owner], seen)
    end
    append(g.back, back[e.fn], seen)
  end
  for _, r in ipairs(reasons_of(all)) do
    local same = g.chief and r.at == g.chief.at and r.reason == g.chief.reason
    if not same then
      g.reasons[#g.reasons+1] = r
    elseif r.count > g.chief.count then
      g.chief, g.reasons[1] = r, r
    end
  end
end

-- Gives sums their cost: CPU time, and the part of the collector's that their
-- bytes have.
local function set_cost(sums, all)
  sums.cost = sums.cpu +
    (all.bytes > 0 and all.collected * sums.bytes / all.bytes or 0)
end

local function by_cost(a, b)
  if a.cost ~= b.cost then return a.cost > b.cost end
  return by_use(a, b)
end

-- Joins. Returns a table:
--   list   interpreted code, the most cost first: { cpu, bytes, objects, cost,
--          members (see interpreted, the most first, with names), chief,
--          reasons, blacklisted, back }
--   own    what the compiler itself used
--   all    what the program used; compiled: CPU time of compiled code
--   place  a function from a frame's number to its place
local function join(p)
  local given = by_function(p, p.giveups, "start")
  local black = by_function(p, p.blacklisted, "start")
  local back = back_to(p)
  local list, own, all = interpreted(p, given, black)
  for _, e in ipairs(list) do e.name = p:function_name(e.fn) end
  table.sort(list, by_use)
  local groups = together(p, list, given)
  for _, g in ipairs(groups) do
    g.name = g.members[1].name
    fill(g, given, black, back)
    set_cost(g, all)
  end
  set_cost(own, all)
  table.sort(groups, by_cost)
  return { list = groups, own = own, all = all, place = placer(p) }
end

-- -- Bytes by state ----------------------------------------------------------

local state_of = { N = "compiled", I = "interpreted", C = "c" }

-- The chief reason by function, that of its most CPU time.
local function chiefs(j)
  local by = {}
  for _, g in ipairs(j.list) do
    for _, e in ipairs(g.members) do by[e.fn] = by[e.fn] or e.chief end
  end
  return by
end

local how_escaped = {
  table = "stored in a table", new = "stored in another new object",
  upvalue = "stored in an upvalue", memory = "stored in memory of C",
  key = "filled by a key that is not constant",
  call = "passed to a C function", ["end"] = "needed after the trace ends",
  turn = "kept from one turn of the loop to the next",
  read = "read or compared", unknown = "why it is needed is not known",
}

-- The words for why compiled code makes objects, by label: the reason that most
-- traces have, and how many others there are.
local function escapes(p, label, place)
  local best, words = {}, {}
  for _, e in ipairs(p.escapes or {}) do
    local name = p.frames[e.place] and label(e.place)
    if name then
      local b = best[name] or { others = -1 }
      best[name], b.others = b, b.others + 1
      if not b.e or e.count > b.e.count then b.e = e end
    end
  end
  for name, b in pairs(best) do
    words[name] = how_escaped[b.e.how]..
      (b.e.at ~= 0 and " at "..place(b.e.at) or "")..
      (b.others > 0 and (", and %d more"):format(b.others) or "")
  end
  return words
end

-- The bytes that code allocated, by function or line (scope "f" or "l"), the
-- most first: { name, frame, bytes, compiled, interpreted, c, reason, escape }.
-- reason: that for which some of it is interpreted, or nil; escape: why
-- compiled code makes the objects, or nil. j: from join.
local function allocated(p, j, scope)
  local _, of = p:functions()
  local label, chief_of = p:labeler(scope, false), chiefs(j)
  local escape_of = escapes(p, label, j.place)
  local list, by = {}, {}
  for _, row in ipairs(p.rows) do
    local frame = p.frame[p:line_stack(row.stack)]
    local fn, state = of[frame], state_of[row.state]
    if state and fn and fn.kind == "Lua" and row.alloc_bytes > 0 and
	not p:is_before(row) then
      local name = label(frame)
      local e = by[name]
      if not e then
	e = { name = name, frame = frame, bytes = 0, compiled = 0,
	  interpreted = 0, c = 0, escape = escape_of[name] }
	by[name], list[#list+1] = e, e
      end
      e.bytes = e.bytes + row.alloc_bytes
      e[state] = e[state] + row.alloc_bytes
      if state == "interpreted" then
	e.reason = e.reason or chief_of[fn] and chief_of[fn].reason
      end
    end
  end
  table.sort(list, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return a.name < b.name
  end)
  return list
end

-- The reason why most of an entry's bytes were allocated; or nil.
local function allocated_why(e)
  if e.interpreted >= e.bytes / 2 then return e.reason end
  return e.compiled >= e.bytes / 2 and e.escape or nil
end

-- The place where most of the traces begin that have no parent, their number,
-- and that of all without one; nil: there is none.
local function most_begun(p)
  local by, most, roots = {}, nil, 0
  for _, t in ipairs(p.traces or {}) do
    if t.parent == 0 then
      local n = 1 + (t.alike or 0)
      roots = roots + n
      by[t.start] = (by[t.start] or 0) + n
      if not most or by[t.start] > by[most] then most = t.start end
    end
  end
  return most, by[most], roots
end

-- The parent of each side trace. A number may be given again: the parent is the
-- last trace before that had it.
local function parents(list)
  local last, above = {}, {}
  for _, t in ipairs(list) do
    above[t] = t.parent > 0 and last[t.parent] or nil
    last[t.number] = t
  end
  return above
end

-- The trace or the like that comes after a trace.
local function ending(t)
  if t.ends == "loop" or t.link == t.number and t.link ~= 0 then
    return "loop"
  elseif t.link > 0 then
    return ("to trace %.0f"):format(t.link)
  end
  return t.ends or ""
end

-- The words that follow for a trace that is gone, else "".
local function gone(t)
  return t.state ~= "gone" and "" or t.alike and
    (", gone; %d more like it"):format(t.alike) or ", gone"
end

-- A text that traces which are gone have in common if they are alike; of others
-- nil. Numbers are given again.
local function likeness(t)
  return t.state == "gone" and table.concat({ t.start, t.parent > 0 and
    t.exit or "", (ending(t):gsub("%d+$", "")) }, "\0") or nil
end

local summed = { "ticks", "allocated", "bytes", "taken" }

-- Adds a trace to one that is like it, or to the sum that has been made of that
-- before. Returns the sum.
local function add_alike(sum, t)
  if not sum.is_sum then
    sum = setmetatable({ is_sum = true }, { __index = sum })
  end
  sum.alike = (sum.alike or 0) + 1 + (t.alike or 0)
  for _, field in ipairs(summed) do
    if t[field] then sum[field] = (sum[field] or 0) + t[field] end
  end
  if t.listing and not sum.listing then
    sum.number, sum.listing = t.number, t.listing
  end
  return sum
end

-- The traces of a level, of which those that are gone and alike are one. all:
-- see tree.
local function merged(traces, all)
  local list, at = {}, {}
  for i = #traces, 1, -1 do
    local t = traces[i]
    local key = likeness(t)
    local k = key and at[key]
    if k then
      local first = list[k]
      local sum = add_alike(first, t)
      list[k], all.order[sum] = sum, all.order[first]
      all.ticks[sum] = all.ticks[first] + all.ticks[t]
      all.sides[sum] = all.sides[first] or {}
      for _, side in ipairs(all.sides[t] or {}) do
	table.insert(all.sides[sum], side)
      end
    else
      list[#list+1] = t
      if key then at[key] = #list end
    end
  end
  return list
end

-- The traces as trees: lists of { trace, level }, each with its side traces
-- behind it. Those that have most CPU with their side traces are first, of
-- equal ones those that are not gone, and then those that were made first.
-- Those that are gone and alike are one, the first of them with the sums of
-- all; alike: how many others there were, or nil.
local function tree(p)
  local list, roots, out = p.traces or {}, {}, {}
  local above = parents(list)
  -- Of each trace: its side traces, its place in the list, and the ticks of
  -- both.
  local all = { sides = {}, order = {}, ticks = {} }
  local ticks, order = all.ticks, all.order
  for i = #list, 1, -1 do  -- A trace comes after its parent.
    local t = list[i]
    local parent = above[t]
    order[t], ticks[t] = i, (ticks[t] or 0) + (t.ticks or 0)
    if parent then
      ticks[parent] = (ticks[parent] or 0) + ticks[t]
      all.sides[parent] = all.sides[parent] or {}
    end
    table.insert(parent and all.sides[parent] or roots, t)
  end
  local function walk(traces, level)
    traces = merged(traces, all)
    table.sort(traces, function(a, b)
      if ticks[a] ~= ticks[b] then return ticks[a] > ticks[b] end
      local lives = a.state ~= "gone"
      if lives ~= (b.state ~= "gone") then return lives end
      return order[a] < order[b]
    end)
    for _, t in ipairs(traces) do
      out[#out+1] = { trace = t, level = level }
      walk(all.sides[t] or {}, level + 1)
    end
  end
  walk(roots, 0)
  return out
end

-- -- Facts about the compiler ------------------------------------------------

local function code_bytes(p)
  local n = 0
  for _, t in ipairs(p.traces or {}) do
    if t.state == "live" then n = n + t.bytes end
  end
  return n
end

local function live_traces(p)
  local n = 0
  for _, t in ipairs(p.traces or {}) do
    if t.state == "live" then n = n + 1 end
  end
  return n
end

-- Flushes by their reason.
local function flushes(p)
  local n, all = { asked = 0, traces = 0, seen = 0, ["machine code"] = 0 }, 0
  for _, f in ipairs(p.flushes or {}) do
    n[f.why], all = n[f.why] + (f.count or 1), all + (f.count or 1)
  end
  return n, all
end

local why_flushed = {
  { "machine code", "no room for machine code" },
  { "traces", "as many as maxtrace allows" },
  { "asked", "by jit.flush or the like" }, { "seen", "reason not known" },
}

local function flush_words(p)
  local by, all = flushes(p)
  local t = {}
  for _, why in ipairs(why_flushed) do
    if by[why[1]] == all and all > 0 then
      t[1] = why[2]
    elseif by[why[1]] > 0 then
      t[#t+1] = ("%s (%d)"):format(why[2], by[why[1]])
    end
  end
  if all == 0 then return "no flush" end
  return ("all thrown away %s: %s"):format(all == 1 and "once" or
    ("%d times"):format(all), table.concat(t, ", "))
end

-- The facts in words: "2 traces made; no flush".
local function words(p)
  local c, t = p.compiler, {}
  if c.off then
    t[#t+1] = "off, by jit.off or -joff"..(c.off == "part" and
      ", for a part of the time" or "")
  end
  if c.events then
    t[#t+1] = numbers.counted(c.made, "trace").." made, "..
      ("%.0f given up"):format(c.given_up)
  end
  if c.looked then
    t[#t+1] = ("%d%s kept"):format(live_traces(p), c.maxtrace and
      (" of %.0f"):format(c.maxtrace) or "")
    t[#t+1] = numbers.bytes(code_bytes(p), true)..(c.maxmcode and
      (" of %.0f KiB"):format(c.maxmcode) or "").." of machine code"
  end
  t[#t+1] = flush_words(p)
  return table.concat(t, "; ")
end

-- The words for why all traces were thrown away.
local function flush_reason(why)
  for _, entry in ipairs(why_flushed) do
    if entry[1] == why then return entry[2] end
  end
end

return {
  join = join, allocated = allocated,
  allocated_why = allocated_why, reasons_of = reasons_of,
  first_that_stays = first_that_stays,
  most_begun = most_begun, tree = tree, placer = placer,
  code_bytes = code_bytes,
  ending = ending, gone = gone, flushes = flushes, flush_reason = flush_reason,
  words = words
}
