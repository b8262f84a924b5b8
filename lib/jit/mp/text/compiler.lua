-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The JIT compiler: what runs interpreted, and why; traces given up, and traces
-- made.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local decisions = require("jit.mp.model.decisions")
local numbers = require("jit.mp.model.numbers")
local reasons = require("jit.mp.model.reasons")
local views = require("jit.mp.model.views")

local WIDTH = 90    -- Of prose, unless the terminal has a width.
local REASONS = 3   -- Shown for an entry.
local FUNCTIONS = 5 -- Shown of an entry that has several.
local LOADS = 3     -- Said from so many on: a line may have equal functions.
local AGAIN = 50    -- Traces of one place, until all are thrown away.
local LOAD_ONCE = "load that code once, and keep the function"
local PLACES = 20   -- Shown of those where traces were given up.
local TRACES = 40   -- Shown,
local LISTINGS = 8  -- and of these so many with their listings.

-- -- The head ---------------------------------------------------------------

-- The parts that the report lacks, with reasons.
local function lacks(p, width)
  local c, t = p.compiler, {}
  if not c.events then
    t[#t+1] = "Not all traces that were given up are known: "..(c.why or
      "jit.attach cannot be used")..
      (c.proved and ". The last reasons are shown.\n" or ".\n")
  elseif c.why then
    t[#t+1] = "Decisions after that are not known: "..c.why..".\n"
  end
  if not c.proved then
    t[#t+1] = "On this LuaJIT, what is blacklisted and the traces that "..
      "are kept cannot be read.\n"
  end
  if not c.spelled then
    t[#t+1] = "Reasons are shown as numbers: the module jit.vmdef of this "..
      "LuaJIT was not found.\n"
  end
  if (c.dropped or 0) > 0 then
    t[#t+1] = ("%.0f entries were dropped for lack of room.\n"):format(
      c.dropped)
  end
  if c.listed and not c.events then
    t[#t+1] = "No trace has a listing.\n"
  elseif c.listed and c.unlisted then
    t[#t+1] = "Listings of traces: "..c.unlisted..".\n"
  end
  if (c.left_out or 0) > 0 then
    t[#t+1] = ("The listings of %.0f traces were left out for lack of room.\n")
      :format(c.left_out)
  end
  for i, line in ipairs(t) do t[i] = cells.wrap(line, width, 0) end
  return table.concat(t)
end

-- -- Interpreted code --------------------------------------------------------

local function times(r)
  return r.early and "given up before the profile" or
    r.count == 0 and "given up" or r.count == 1 and "given up once" or
    ("given up %.0f times"):format(r.count)
end

-- The functions of an entry, each once, the most CPU first: { name, cpu }.
local function functions(e)
  local t, by = {}, {}
  for _, m in ipairs(e.members) do
    local f = by[m.fn]
    if not f then
      f = { name = m.name, cpu = 0 }
      by[m.fn], t[#t+1] = f, f
    end
    f.cpu = f.cpu + m.cpu
  end
  return t
end

local function title(list)
  if #list == 1 then return list[1].name.." runs interpreted" end
  if #list == 2 then
    return ("%s and %s run interpreted"):format(list[1].name, list[2].name)
  end
  return ("%s and %d more functions run interpreted"):format(list[1].name,
    #list - 1)
end

local function shares(list, all)
  local t = {}
  for i = 1, math.min(#list, FUNCTIONS) do
    t[i] = numbers.share(list[i].cpu, all.cpu).." "..list[i].name
  end
  if #list > FUNCTIONS then t[#t+1] = "..." end
  return table.concat(t, ", ")
end

local function given_up_at(r, place)
  local from, at = place(r.start), place(r.at)
  return ("%s from %s%s: %s%s"):format(times(r), from,
    at ~= from and r.at ~= 0 and " at "..at or "", r.reason,
    r.loads >= LOADS and ("; equal code was loaded again %.0f times"):format(
      r.loads) or "")
end

-- Advice about a reason; nil: nothing is known.
local function advice(p, r)
  if r and r.loads >= LOADS then
    return LOAD_ONCE
  end
  return r and reasons.advice(r.reason, p.compiler)
end

-- Adds up to REASONS lines, and what is left out.
local function add_lines(t, list, line, rest)
  for i = 1, math.min(#list, REASONS) do t[#t+1] = line(list[i]) end
  if #list > REASONS then t[#t+1] = rest:format(#list - REASONS) end
end

-- The words for code in which no trace was begun.
local function unbegun(p, e)
  local fn = e.members[1].fn
  if p.compiler.off then
    return "the compiler was off"..(p.compiler.off == "part" and
      " for a part of the time" or "")
  end
  return "no trace was begun in it, or in what called it"..
    ((fn.source or ""):find("^%[") and "; its source is a string: code that "..
      "is loaded again is new to the compiler each time" or "")
end

-- Whether jit.off was called for the function of a frame. nil: for any of them.
local function is_off(p, list, frame)
  local _, of = p:functions()
  for _, b in ipairs(list or {}) do
    if b.kind == "off" and (not frame or of[b.start] == of[frame]) then
      return true
    end
  end
end

-- Advice about interpreted code; or nil.
local function remedy(p, e)
  local r = e.chief
  if p.compiler.off == "all" then
    return "remove the call of jit.off, or -joff"
  elseif not r and is_off(p, e.blacklisted) or
      r and r.reason == "blacklisted" and is_off(p, p.blacklisted, r.at) then
    return reasons.advice("JIT compilation disabled", p.compiler)
  end
  return advice(p, r)
end

-- The reasons for which it is interpreted: lines.
local function explain(p, e, j, list)
  local t, m, place = {}, e.members[1], j.place
  if #list > 1 then t[1] = shares(list, j.all) end
  if #list == 1 and m.owner and m.owner ~= m.fn then
    t[#t+1] = ("called by %s, where:"):format(p:function_name(m.owner))
  end
  add_lines(t, e.reasons, function(r) return given_up_at(r, place) end,
    "and %d more reasons")
  add_lines(t, e.blacklisted, function(b)
    if b.kind == "off" then
      return ("jit.off was called for the function at %s"):format(
	place(b.start))
    end
    return ("the %s at %s is blacklisted: never compiled again"):format(b.kind,
      place(b.start))
  end, "and %d more blacklisted places")
  add_lines(t, e.back, function(trace)
    return ("exit %.0f of trace %.0f leads back to the interpreter at %s")
      :format(trace.exit, trace.parent, place(trace.start))
  end, "and %d more such exits")
  if not e.chief and #e.back == 0 and not is_off(p, e.blacklisted) then
    t[#t+1] = unbegun(p, e)
  end
  local what = remedy(p, e)
  if what then t[#t+1] = "try: "..what end
  return t
end

-- Adds lines about most of the traces made and given up. Returns the reason
-- for which most were given up, or nil, and whether one place has begun so many
-- that its code must have been loaded again.
local function add_most(p, t, place)
  local r = decisions.first_that_stays(decisions.reasons_of(p.giveups))
  local start, n, roots = decisions.most_begun(p)
  local _, flushes = decisions.flushes(p)
  if n and n > 1 then
    t[#t+1] = ("%d traces begin at %s"):format(n, place(start))
  end
  local again = n and n > AGAIN * (flushes + 1) and n > roots / 2
  if not r or r.count < 2 then return nil, again end
  t[#t+1] = given_up_at(r, place)
  return r, again
end

-- Options that make room where all traces were thrown away for want of it, n
-- times: for as many traces as were made between, with a limit, as most of them
-- are those of before.
local function more_room(c, what, n)
  local k = 2
  while k <= n and k < 16 do k = k * 2 end
  local traces = c.maxtrace or 1000
  local wanted = what == "traces" and traces * k or (c.made or 0) / (n + 1) * k
  local options = {}
  if what == "machine code" and c.maxmcode then
    options[1] = ("-Omaxmcode=%.0f"):format(c.maxmcode * k)
  end
  if wanted > traces then
    while traces < wanted do traces = traces * 2 end
    options[#options+1] = ("-Omaxtrace=%.0f"):format(traces)
  end
  return #options > 0 and table.concat(options, " ")..
    ", or compile less code that runs only once"
end

-- The reasons for which the compiler itself is busy: lines.
local function explain_own(p, j)
  local c, t, place = p.compiler, {}, j.place
  local n, all = decisions.flushes(p)
  local flushed = all == 1 and "all traces were thrown away once" or
    ("all traces were thrown away %.0f times"):format(all)
  if c.events then
    t[1] = ("%s made, %.0f given up"):format(numbers.counted(c.made, "trace"),
      c.given_up)
  end
  local most, again = add_most(p, t, place)
  local what
  if n["machine code"] > 0 then
    t[#t+1] = flushed..": no room for machine code"
    what = more_room(c, "machine code", n["machine code"])
  elseif n.traces > 0 then
    t[#t+1] = flushed..": there were as many as maxtrace allows"
    what = more_room(c, "traces", n.traces)
  elseif all > 0 then
    t[#t+1] = flushed..", by jit.flush or the like"
    what = all > 1 and "do not call jit.flush again and again: what was "..
      "compiled is lost each time" or nil
  end
  if again then what = LOAD_ONCE
  elseif not what or most and most.loads >= LOADS then
    what = advice(p, most)
  end
  if what then t[#t+1] = "try: "..what end
  if j.own.cpu > j.all.compiled then
    t[#t+1] = ("it takes more CPU than compiled code, which has %s: compare "..
      "with luajit -joff"):format(numbers.share(j.all.compiled, j.all.cpu))
  end
  return t
end

-- The cells of an entry: share, CPU, bytes, name.
local function cells_of(p, e, all, o, name)
  return { numbers.share(e.cpu, all.cpu),
    views.amount(p, o, "cpu", e.cpu, all.cpu), views.bytes(e.bytes, o), name }
end

local function shows(e, all, o)
  return views.shows(all.cpu > 0 and e.cpu / all.cpu or 0, o) or
    views.shows(all.bytes > 0 and e.bytes / all.bytes or 0, o)
end

-- The entries to show, each with its cells and lines.
local function entries(p, o, j)
  local t, hidden = {}, 0
  for _, e in ipairs(j.list) do
    if shows(e, j.all, o) then
      local list = functions(e)
      t[#t+1] = { e = e, name = title(list), lines = explain(p, e, j, list) }
    else
      hidden = hidden + 1
    end
  end
  if shows(j.own, j.all, o) then
    t[#t+1] = { e = j.own, name = "the compiler itself",
      lines = explain_own(p, j) }
  end
  table.sort(t, function(a, b)
    if a.e.cpu ~= b.e.cpu then return a.e.cpu > b.e.cpu end
    if a.e.bytes ~= b.e.bytes then return a.e.bytes > b.e.bytes end
    return a.name < b.name
  end)
  return t, hidden
end

local function interpreted(p, o, j, width)
  local t, hidden = entries(p, o, j)
  if #t == 0 then
    return cells.wrap(("no interpreted code reaches %g%% of CPU; option m "..
      "sets the limit\n"):format(o.min), width)
  end
  local list = { { "of CPU", "CPU", "allocated", "" } }
  for i, entry in ipairs(t) do
    list[i+1] = cells_of(p, entry.e, j.all, o, entry.name)
  end
  local text, lines = cells.rows(list, width), {}
  for line in text:gmatch("[^\n]*\n") do lines[#lines+1] = line end
  local each, out = #lines / #list, {}
  for i = 1, #list do
    for k = 1, each do out[#out+1] = lines[(i - 1) * each + k] end
    for _, line in ipairs(i > 1 and t[i-1].lines or {}) do
      out[#out+1] = cells.wrap("      "..line.."\n", width or WIDTH)
    end
  end
  out[#out+1] = cells.hidden(hidden, o, width)
  return table.concat(out)
end

-- -- Memory ------------------------------------------------------------------

-- The bytes that code allocated, by the VM's state.
local function memory(p, o, j, width)
  local rows, hidden = { { "allocated", "compiled", "interpreted", "in C",
    "" } }, 0
  local function bytes(n) return n > 0 and views.bytes(n, o) or "-" end
  for _, e in ipairs(decisions.allocated(p, j, o.shows_lines and "l" or "f")) do
    if views.shows(e.bytes / j.all.bytes, o) then
      local why = decisions.allocated_why(e)
      rows[#rows+1] = { views.bytes(e.bytes, o), bytes(e.compiled),
	bytes(e.interpreted), bytes(e.c), e.name..(why and ": "..why or "") }
    else
      hidden = hidden + 1
    end
  end
  if #rows == 1 then return "" end
  return "\n"..cells.rows(rows, width)..cells.hidden(hidden, o, width)
end

-- -- Traces ------------------------------------------------------------------

local function given_up(p, j, width)
  local list = decisions.reasons_of(p.giveups)
  if #list == 0 then return "" end
  local rows = { { "times", "traces given up" } }
  for i = 1, math.min(#list, PLACES) do
    local r = list[i]
    local where = j.place(r.at ~= 0 and r.at or r.start)
    rows[#rows+1] = { r.count > 0 and ("%.0f"):format(r.count) or "",
      where..": "..r.reason }
  end
  local text = "\n"..cells.rows(rows, width)
  if #list <= PLACES then return text end
  return text..("  and %d more places\n"):format(#list - PLACES)
end

local function trace_row(p, j, node, o)
  local t, cpu, bytes = node.trace, "", ""
  if t.ticks and p.cpu.samples > 0 then
    cpu = views.amount(p, o, "cpu", t.ticks, p.cpu.samples)
  end
  if (t.allocated or 0) > 0 then bytes = views.bytes(t.allocated, o) end
  local from = t.parent > 0 and (" from exit %.0f"):format(t.exit) or ""
  return { cpu, bytes, ("%.0f"):format(t.bytes), ("%.0f"):format(t.taken),
    ("%s%.0f%s: %s, %s%s"):format(("  "):rep(node.level), t.number, from,
      j.place(t.start), decisions.ending(t),
      t.state == "gone" and ", gone" or "") }
end

local function traces(p, o, j, width)
  local nodes = decisions.tree(p)
  if #nodes == 0 then return "" end
  local rows = { { "CPU", "allocated", "code", "exits", "traces" } }
  for i = 1, math.min(#nodes, TRACES) do
    rows[#rows+1] = trace_row(p, j, nodes[i], o)
  end
  local text = "\n"..cells.rows(rows, width)
  if #nodes <= TRACES then return text end
  return text..("  and %d more traces\n"):format(#nodes - TRACES)
end

-- With option J+, the listings of the traces that have most of the CPU; with
-- m0 those that have no sample, too.
local function listings(p, o, j)
  local out = {}
  for _, node in ipairs(o.listings and decisions.tree(p) or {}) do
    local t = node.trace
    local share = p.cpu.samples > 0 and (t.ticks or 0) / p.cpu.samples or 0
    if t.listing and #out < LISTINGS and
	(o.min == 0 or views.shows(share, o)) then
      out[#out+1] = ("\nTrace %.0f, %s%s:\n%s"):format(t.number,
	j.place(t.start), share > 0 and ", "..numbers.share(share, 1)..
	" of CPU" or "", (t.listing:gsub("[^\n]+", "  %0")))
    end
  end
  return table.concat(out)
end

return function(p, o, env)
  local width = env.width
  local j = decisions.join(p)
  local head = cells.wrap("JIT compiler"..(p.info.window and
    ", since the profile began" or "")..": "..decisions.words(p).."\n", width)
  return head..lacks(p, width).."\n"..interpreted(p, o, j, width)..
    memory(p, o, j, width)..given_up(p, j, width)..traces(p, o, j, width)..
    listings(p, o, j)
end
