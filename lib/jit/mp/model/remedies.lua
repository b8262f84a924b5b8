-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Interpreted code, in words: why it is, and what may help.
----------------------------------------------------------------------------

local decisions = require("jit.mp.model.decisions")
local facts = require("jit.mp.model.facts")
local numbers = require("jit.mp.model.numbers")
local reasons = require("jit.mp.model.reasons")

local REASONS = 3   -- Shown for an entry.
local FUNCTIONS = 5 -- Shown of an entry that has several.
local LOADS = 3     -- Said from so many on: a line may have equal functions.
local AGAIN = 50    -- Traces of one place, until all are thrown away.
local MANY = 1 / 4  -- Of the recordings: a reason that keeps the compiler busy.
local KERNEL = 1/4  -- Of the compiler's time: said from so much on.
local AREA = 512    -- KiB, the most advised for an area of machine code.
local OFF = "JIT compilation disabled"
local LOAD_ONCE = "load that code once, and keep the function"

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

-- Whether jit.off was called for the function of a frame. nil: for any of them.
local function is_off(p, list, frame)
  local _, of = p:functions()
  for _, b in ipairs(list or {}) do
    local fn = frame and of[frame]
    if b.kind == "off" and (not frame or fn and of[b.start] == fn) then
      return true
    end
  end
end

-- Advice about a reason; nil: nothing is known.
local function advice(p, r)
  if r and r.loads >= LOADS then
    return LOAD_ONCE
  elseif r and r.reason == "blacklisted" and
      is_off(p, p.blacklisted, r.at) then
    return reasons.advice(OFF, p.compiler)
  end
  return r and reasons.advice(r.reason, p.compiler)
end

-- Adds up to REASONS lines, and how many are left out: never a single one.
local function add_lines(t, list, line, rest)
  local n = #list > REASONS + 1 and REASONS or #list
  for i = 1, n do t[#t+1] = line(list[i]) end
  if #list > n then t[#t+1] = rest:format(#list - n) end
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

-- Advice about interpreted code; or nil.
local function remedy(p, e)
  if p.compiler.off == "all" then
    return "remove the call of jit.off, or -joff"
  elseif not e.chief and is_off(p, e.blacklisted) then
    return reasons.advice(OFF, p.compiler)
  end
  return advice(p, e.chief)
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

-- The part of the compiler's time that the kernel used to change the protection
-- of machine code; nil: little, or not known.
local function protecting(c)
  local share = (c.compiling or 0) > 0 and c.protecting / c.compiling or 0
  return share >= KERNEL and share or nil
end

-- The option that has machine code in fewer areas, where their protection takes
-- much time: it is changed for each trace that is made, and for others that are
-- then joined with it. nil: there is one area, or they are not small.
local function fewer_areas(p)
  local c = p.compiler
  local size, most = c.sizemcode, c.maxmcode
  if not (protecting(c) and size and most) then return nil end
  most = math.min(most, AREA)
  local several = decisions.code_bytes(p) > size * 1024 or
    decisions.flushes(p)["machine code"] > 0
  return several and size < most and ("-Osizemcode=%.0f"):format(most) or nil
end

-- Advice with an option beside it, unless it has that already. Both may be nil.
local function beside(what, option)
  if not (what and option) then return what or option end
  return what:find(option, 1, true) and what or what.."; and "..option
end

-- Options that make room where all traces were thrown away for want of it, n
-- times: for as many traces as were made between, with a limit, as most of them
-- are those of before.
local function more_room(p, what, n)
  local c = p.compiler
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
  options[#options+1] = fewer_areas(p)
  return #options > 0 and table.concat(options, " ")..
    ", or compile less code that runs only once"
end

-- Whether a reason has a large part of the recordings: else the compiler has as
-- much to do without it.
local function matters(c, r)
  return c.events and r and r.count >= (c.made + c.given_up) * MANY
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
  local share, what = protecting(c), nil
  if n["machine code"] > 0 then
    t[#t+1] = flushed..": no room for machine code"
    what = more_room(p, "machine code", n["machine code"])
  elseif n.traces > 0 then
    t[#t+1] = flushed..": there were as many as maxtrace allows"
    what = more_room(p, "traces", n.traces)
  elseif all > 0 then
    t[#t+1] = flushed..", by jit.flush or the like"
    what = all > 1 and "do not call jit.flush again and again: what was "..
      "compiled is lost each time" or nil
  end
  if again then what = LOAD_ONCE
  elseif most and most.loads >= LOADS or not what and matters(c, most) then
    what = advice(p, most)
  end
  what = beside(what, fewer_areas(p))
  if what then t[#t+1] = "try: "..what end
  if share then
    t[#t+1] = ("%s of its time is the kernel's, which changes the protection "..
      "of machine code"):format(numbers.share(share, 1))
  end
  if facts.may_lose(j.own.cpu, j.all.compiled) then
    t[#t+1] = ("it takes more CPU than compiled code, which has %s: compare "..
      "with luajit -joff"):format(numbers.share(j.all.compiled, j.all.cpu))
  end
  return t
end

-- The entries that are to be shown, those that cost most first: { e, name,
-- lines }, and how many are hidden. j: from decisions.join.
local function entries(p, j, shows)
  local t, hidden = {}, 0
  for _, e in ipairs(j.list) do
    if shows(e) then
      local list = functions(e)
      t[#t+1] = { e = e, name = title(list), lines = explain(p, e, j, list) }
    else
      hidden = hidden + 1
    end
  end
  if shows(j.own) then
    t[#t+1] = { e = j.own, name = "the compiler itself",
      lines = explain_own(p, j) }
  end
  table.sort(t, function(a, b)
    if a.e.cost ~= b.e.cost then return a.e.cost > b.e.cost end
    return a.name < b.name
  end)
  return t, hidden
end

return { entries = entries }
