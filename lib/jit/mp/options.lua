-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The option string: letters in any order, some with a number.
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")
local optionlist = require("jit.mp.optionlist")
local views = require("jit.mp.model.views")

-- Letters that stand alone.
local plain = {}
for _, opt in ipairs(optionlist.list) do
  if #opt[1] == 1 then plain[opt[1]] = true end
end

-- Letters that concern how a program is measured, not what a report shows.
local run_only = { T = true, j = true, i = true, w = true, b = true, C = true }

-- Where a letter stands, for error messages.
local function place(text, pos)
  return (' at position %d of "%s"'):format(pos, names.printable(text))
end

-- Bytes behind the letter at pos, and the position behind them. nil: there is
-- no such number (and a message, if it is more than that).
local function size(text, pos)
  local n, unit, e = text:match("^(%d+)([km]?)()", pos + 1)
  local bytes = n and tonumber(n) *
    (unit == "k" and 1024 or unit == "m" and 1048576 or 1)
  if not n or bytes < 1 or bytes > 2^40 then return nil end
  if unit == "m" and text:match("^%d", e) then
    return nil, "option '"..text:sub(pos, pos).."'"..place(text, pos)..
      " is followed by an m and a number: write the options m<n> or <n> "..
      "before it"
  end
  return bytes, e
end

-- The numbers that follow letters. Each returns the position behind it.
local number = {
  m = function(o, text, pos)
    local n, e = text:match("^(%d+)()", pos + 1)
    if not n or tonumber(n) > 100 then
      return nil, "option 'm'"..place(text, pos)..
	" needs a percentage from 0 to 100, as in m5"
    end
    o.min = tonumber(n)
    return e
  end,
  i = function(o, text, pos)
    local n, e = text:match("^(%d*)()", pos + 1)
    if n ~= "" and (tonumber(n) < 1 or tonumber(n) > 1e6) then
      return nil, "option 'i'"..place(text, pos)..
	" needs milliseconds from 1 to 1000000, as in i4"
    end
    o.interval = tonumber(n)
    return e
  end,
  w = function(o, text, pos)
    local n, e = text:match("^(%d+)()", pos + 1)
    if not n or tonumber(n) < 1 or tonumber(n) > 1e6 then
      return nil, "option 'w'"..place(text, pos)..
	" needs seconds from 1 to 1000000, as in w60"
    end
    o.every = tonumber(n)
    return e
  end,
  b = function(o, text, pos)
    local bytes, e = size(text, pos)
    if not bytes then
      return nil, e or "option 'b'"..place(text, pos).." needs a number of "..
	"bytes from 1 to 1048576m, as in b64k; b1 counts every allocation"
    end
    o.period = bytes
    return e
  end,
  C = function(o, text, pos)
    local bytes, e = size(text, pos)
    if not bytes or bytes < 1048576 then
      return nil, bytes == nil and e or "option 'C'"..place(text, pos)..
	" needs a number of bytes from 1m to 1048576m, as in C64m"
    end
    o.limit = bytes
    return e
  end,
  L = function(o, text, pos, seen)
    seen.L = seen.L or pos
    if not text:match("^%d", pos + 1) then return pos + 1 end
    local bytes, e = size(text, pos)
    if not bytes then
      return nil, e or "option 'L'"..place(text, pos).." takes a number of "..
	"bytes from 1 to 1048576m, as in L100k"
    end
    o.leak_limit = bytes
    return e
  end,
}

-- One letter or number at pos. Returns the position behind it, or nil and
-- a message.
local function parse_one(o, seen, text, pos)
  local n, e = text:match("^(%-?%d+)()", pos)
  if n then
    if tonumber(n) == 0 or math.abs(tonumber(n)) > 100 then
      return nil, "the depth"..place(text, pos)..
	" must be from 1 to 100 or from -1 to -100"
    end
    o.depth = tonumber(n)
    return e
  end
  local c = text:sub(pos, pos)
  if number[c] then
    if run_only[c] then seen[c] = seen[c] or pos end
    return number[c](o, text, pos, seen)
  end
  if c == "-" then
    o.invert = true
  elseif plain[c] then
    seen[c] = seen[c] or pos
  else
    c = text:match("^[\194-\244][\128-\191]+", pos) or c
    return nil, ("unknown option '%s'%s; option H lists them all"):format(
      names.printable(c), place(text, pos))
  end
  return pos + 1
end

-- Sets the views, and whether they are in objects or bytes.
local function set_views(o, seen)
  o.views = {}
  for _, view in ipairs(views.list) do
    if seen[view.letter] then o.views[#o.views+1] = view.name end
  end
  o.chosen = #o.views
  o.objects = seen.o ~= nil
  if o.chosen > 0 then return end
  -- A CPU sample has no type.
  o.views = seen.t and { "alloc", "inuse" } or { "cpu", "alloc", "inuse" }
end

-- The combination rules are those of LuaJIT's own profiler, jit.p.
local function set_levels(o, m)
  o.states = m.t and "t" or m.z and "z" or m.v and "v"
  local name = m.F and "F" or m.f and "f"
  o.scope = m.l and not name and "l" or name or (o.states and "" or "f")
  o.scope_given = name ~= nil or m.l ~= nil
  o.depth_given = o.depth ~= nil or o.invert ~= nil
  o.depth = o.depth or (o.invert and -1) or 1
  if m.s then
    o.split = "stack"
    if o.depth == -1 or o.invert then o.depth = -2
    elseif o.depth == 1 then o.depth = 2 end
  elseif name and m.l and m.l > m[name] then
    o.split = "lines"
  elseif m.l and name then
    o.scope = "l"
  end
  if o.split == nil and o.states and o.scope ~= "" then
    o.split = m[o.states] < (m.l or m[name]) and "state" or "scope"
  end
end

-- Letters of which each is a report of its own.
local reports = { "a", "A", "g", "e", "n", "L", "W", "M", "q", "G" }

-- Letters whose report shows lines.
local lined = { "l", "a", "A", "e", "L", "W", "M", "q" }

local function check(o, seen)
  for _, c in ipairs(lined) do
    if seen[c] and seen.j then
      return ("option 'j' leaves out the lines, which option '%s' shows: "..
	"give one of them"):format(c)
    end
  end
  for _, c in ipairs(reports) do
    if seen[c] and c ~= o.report then
      return ("options '%s' and '%s' are two different reports: give one of "..
	"them"):format(o.report, c)
    end
  end
  if seen.G and o.chosen > 1 then
    return "option 'G' writes one number for each stack: give one of the "..
      "views c, h, u and x"
  elseif seen.e and o.period and o.period ~= 1 then
    return "option 'e' counts every allocation: leave out b, or give b1"
  end
  if seen.n and o.period and o.period ~= 1 then
    return "option 'n' counts every allocation: leave out b, or give b1"
  end
  local states = (seen.t and 1 or 0) + (seen.z and 1 or 0) +
    (seen.v and 1 or 0)
  if states > 1 then
    return "options 't', 'v' and 'z' split a table by different things: give "..
      "one of them"
  end
end

local function set_flags(o, seen)
  o.help = seen.H ~= nil
  o.raw = seen.r ~= nil
  o.path = seen.p ~= nil
  o.collapse = seen.R ~= nil
  o.annotate = seen.A and "A" or seen.a and "a"
  o.folded = seen.G ~= nil
  o.quickfix = seen.q ~= nil
  o.kib = seen.k ~= nil
  o.callgraph = seen.g ~= nil
  o.events = seen.e ~= nil
  o.calls = seen.n ~= nil
  o.leaks = seen.L ~= nil
  o.walk = (seen.W or seen.L) and math.max(o.min, 0.1) / 100 or nil
  o.memory = seen.M ~= nil
  o.live = seen.T ~= nil
  o.combined = seen.P ~= nil
  o.nosource = seen.N ~= nil
  o.functions = seen.j ~= nil
  o.lines = false
  for _, c in ipairs(lined) do o.lines = o.lines or seen[c] ~= nil end
  for _, c in ipairs(reports) do o.report = o.report or seen[c] and c or nil end
  for c in pairs(run_only) do
    local at = o.run_only and seen[o.run_only] or math.huge
    if seen[c] and seen[c] < at then o.run_only = c end
  end
end

-- Parses an option string. Returns a table, or nil and a message:
--   text, help, min (percent), depth, interval (ms), period (bytes),
--   every (seconds or nil),
--   views ("cpu", "alloc", "inuse", "peak"), objects, raw, path, kib,
--   states ("t", "z", "v" or nil), scope ("f", "F", "l" or "": states only),
--   scope_given, depth_given (whether they are not the default),
--   split (nil, "stack", "lines", "state" before or "scope" before),
--   annotate ("a", "A" or nil), folded, quickfix, callgraph, events, leaks,
--   walk (share of the heap that has a line of its own, or nil),
--   leak_limit (bytes or nil), limit (bytes), memory, live, combined, nosource,
--   report (the letter of a report other than the table, or nil),
--   lines (whether the report shows them), functions (whether no output is
--   to), run_only (the first letter that has no meaning where no program is
--   run, or nil)
local function parse(text)
  local o, seen = { text = text, min = 3, limit = 256 * 1048576 }, {}
  local pos = 1
  while pos <= #text do
    local e, msg = parse_one(o, seen, text, pos)
    if not e then return nil, msg end
    pos = e
  end
  set_views(o, seen)
  set_levels(o, seen)
  set_flags(o, seen)
  local msg = check(o, seen)
  if msg then return nil, msg end
  if o.events or o.calls then o.period = 1 end
  -- A leak may be small, and only a small part of all allocations is held.
  if o.leaks then o.period = o.period or 8192 end
  if o.folded then
    if o.chosen == 0 then o.views = { "cpu" } end
    if o.scope == "" then o.scope = "f" end
    o.min = 0
  end
  return o
end

return { parse = parse, help = optionlist.help, list = optionlist.list }
