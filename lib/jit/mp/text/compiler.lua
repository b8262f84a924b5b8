-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The JIT compiler: what runs interpreted, and why; traces given up, and traces
-- made.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local decisions = require("jit.mp.model.decisions")
local numbers = require("jit.mp.model.numbers")
local remedies = require("jit.mp.model.remedies")
local views = require("jit.mp.model.views")

local WIDTH = 90    -- Of prose, unless the terminal has a width.
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

-- The cells of an entry: share, CPU, bytes, name.
local function cells_of(p, e, all, o, name)
  return { numbers.share(e.cpu, all.cpu),
    views.amount(p, o, "cpu", e.cpu, all.cpu), views.bytes(e.bytes, o), name }
end

local function shows(e, all, o)
  return views.shows(all.cpu > 0 and e.cpu / all.cpu or 0, o) or
    views.shows(all.bytes > 0 and e.bytes / all.bytes or 0, o)
end

local function interpreted(p, o, j, width)
  local t, hidden = remedies.entries(p, j, function(e)
    return shows(e, j.all, o)
  end)
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
  local each, out = (#lines - 1) / #t, { lines[1] }
  for i, entry in ipairs(t) do
    for k = 2, each + 1 do out[#out+1] = lines[(i - 1) * each + k] end
    for _, line in ipairs(entry.lines or {}) do
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
  return "\n"..cells.rows(rows, width, nil, cells.SENTENCE)..
    cells.hidden(hidden, o, width)
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
      j.place(t.start), decisions.ending(t), decisions.gone(t)) }
end

-- Whether a trace tells anything: not if it is gone, used nothing, and was the
-- only one of its kind.
local function tells(t)
  return t.state ~= "gone" or t.alike or (t.ticks or 0) > 0 or
    (t.allocated or 0) > 0
end

local function traces(p, o, j, width)
  local rows = { { "CPU", "allocated", "code", "exits", "traces" } }
  local nodes = decisions.tree(p)
  for _, node in ipairs(nodes) do
    if #rows > TRACES then break end
    if tells(node.trace) or o.min == 0 then
      rows[#rows+1] = trace_row(p, j, node, o)
    end
  end
  if #nodes == 0 then return "" end
  local text = "\n"..cells.rows(rows, width, nil, cells.SENTENCE)
  local left = #nodes - #rows + 1
  if left == 0 then return text end
  return text..("  and %d more traces\n"):format(left)
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
