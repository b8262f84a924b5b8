-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The option string: letters in any order, some with a number.
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")
local optionlist = require("jit.mp.optionlist")
local views = require("jit.mp.model.views")

local list, by_letter = optionlist.list, optionlist.by_letter

local UNITS = { [""] = 1, k = 2^10, m = 2^20, g = 2^30 }

-- Where a letter stands, for error messages.
local function place(text, pos)
  return (' at position %d of "%s"'):format(pos, names.printable(text))
end

-- The numbers that an option may have, in words.
local function range(opt)
  local spelled = optionlist.spelled
  return ("%s from %s to %s"):format(opt.unit, spelled(opt, opt.from),
    spelled(opt, opt.to))
end

-- The number of that option behind the letter at pos, and the position after
-- it; nil: there is none, or a wrong one, with a message perhaps.
local function number_at(opt, text, pos)
  local has_unit = opt.unit == "bytes"
  local digits, unit, e = text:match(has_unit and
    "^(%d+)(["..(opt.units or "km").."]?)()" or "^(%d+)()()", pos + 1)
  if not digits then return nil end
  if unit == "g" and tonumber(digits) >= opt.from then  -- It is an option.
    unit, e = "", e - 1
  end
  local n = tonumber(digits) * (has_unit and UNITS[unit] or 1)
  if n < opt.from or n > opt.to then return nil end
  if unit == "m" and text:match("^%d", e) then
    return nil, "option '"..opt.letter.."'"..place(text, pos)..
      " is followed by an m and a number: write the options m<n> or <n> "..
      "before it"
  end
  return n, e
end

-- Takes a letter that has a number. Returns the position after it, or nil and a
-- message.
local function parse_number(o, opt, text, pos)
  if opt.optional and not text:match("^%d", pos + 1) then return pos + 1 end
  local n, e = number_at(opt, text, pos)
  if not n then
    return nil, e or ("option '%s'%s needs a number of %s, as in %s%s"):format(
      opt.letter, place(text, pos), range(opt), opt.letter, opt.sample)
  end
  o[opt.field] = n
  return e
end

-- Triggers by the unit of the number: the field of parsed options, the bytes or
-- the like in one unit, and the largest number.
local triggers = {
  ["%"] = { "trigger_share", 0.01, 100 },
  k = { "trigger_bytes", 2^10, 2^40 }, m = { "trigger_bytes", 2^20, 2^30 },
  g = { "trigger_bytes", 2^30, 2^20 }, s = { "trigger_busy", 1, 1e6 }
}

-- Takes a trigger. Returns the position after it, or nil and a message.
local function parse_trigger(o, opt, text, pos)
  local digits, unit, e = text:match("^(%d+)([%%kmgs])()", pos + 1)
  local n, trigger = tonumber(digits), triggers[unit]
  if not n or n < 1 or n > trigger[3] or
      unit == "m" and text:match("^%d", e) then
    return nil, ("option '%s'%s needs a number with a unit, as in B%s"):format(
      opt.letter, place(text, pos), opt.sample)
  end
  o[trigger[1]] = n * trigger[2]
  return e
end

-- Takes the name of a label behind letter y at pos: up to another colon or the
-- end. Returns the position after it, or nil and a message.
local function parse_label(o, text, pos)
  local name, e = text:match("^:([^:]*):?()", pos + 1)
  if name == "" then
    return nil, ("option 'y'%s needs the name of a label behind the colon, "..
      "as in y:route"):format(place(text, pos))
  end
  o.label = name or o.label
  return e or pos + 1
end

-- Takes the depth at pos, if there is one.
local function parse_depth(o, seen, text, pos)
  local opt = by_letter["<n>"]
  local n, e = text:match("^(%-?%d+)()", pos)
  if not n then return nil end
  o.depth = tonumber(n)
  seen[o.depth < 0 and "-<n>" or "<n>"] = pos
  local depth = math.abs(o.depth)
  if depth >= opt.from and depth <= opt.to then return e end
  return nil, ("the depth%s must be from %d to %d or from -%d to -%d"):format(
    place(text, pos), opt.from, opt.to, opt.from, opt.to)
end

-- One letter or number at pos. Returns the position behind it, or nil and
-- a message.
local function parse_one(o, seen, text, pos)
  local e, msg = parse_depth(o, seen, text, pos)
  if e or msg then return e, msg end
  local c = text:sub(pos, pos)
  local opt = c:find("^%a$") and by_letter[c]
  if opt then
    seen[c] = seen[c] or pos
    if opt.unit then return parse_number(o, opt, text, pos) end
    if opt.trigger then return parse_trigger(o, opt, text, pos) end
    if c == "y" then return parse_label(o, text, pos) end
    if c == "J" and text:sub(pos + 1, pos + 1) == "+" then
      o.listings = true
      return pos + 2
    end
  elseif c == "-" then
    o.invert = true
    seen["-<n>"] = seen["-<n>"] or pos
  else
    c = text:match("^[\194-\244][\128-\191]+", pos) or c
    return nil, ("unknown option '%s'%s; option H lists them all"):format(
      names.printable(c), place(text, pos))
  end
  return pos + 1
end

-- Sets the views, and the one that was asked for first. The peak alone is shown
-- beside those that are shown anyway.
local function set_views(o, seen)
  local first
  o.views = {}
  for _, view in ipairs(views.list) do
    local at = seen[view.letter]
    if at then o.views[#o.views+1] = view.name end
    if at and (not first or at < first) then o.first, first = #o.views, at end
  end
  o.first, o.chosen = o.first or 1, #o.views
  if o.chosen == 0 or o.chosen == 1 and seen.x then
    -- A CPU sample has no type.
    o.views = seen.t and { "alloc", "inuse" } or { "cpu", "alloc", "inuse" }
    if seen.x then
      o.views[#o.views+1] = "peak"
      o.first = #o.views
    end
  end
  o.view = o.views[o.first]
end

-- The levels of rows in the order of their letters: "state", "name", "lines"
-- within functions, "callers" (with negative depths callees).
local function levels(o, m, name)
  local order, at = {}, {}
  local function add(level, pos)
    order[#order+1] = level
    at[level] = pos
  end
  local first = m[name] or m.l or m.s or 0
  if o.scope ~= "" then add("name", first) end
  if o.states then add("state", m[o.states]) end
  if o.split == "stack" then add("callers", math.max(m.s, first + 0.1)) end
  if name and m.l and m.l > m[name] then
    local after = o.split == "stack" and o.depth < 0 and at.callers or 0
    add("lines", math.max(m.l, after + 0.1))
  end
  table.sort(order, function(a, b) return at[a] < at[b] end)
  return order
end

-- The combination rules are those of LuaJIT's own profiler, jit.p.
local function set_levels(o, m)
  o.states = m.t and "t" or m.y and "y" or m.z and "z" or m.v and "v"
  local name = m.F and "F" or m.f and "f" or nil
  o.scope = m.l and not name and "l" or name or
    (o.states and not m.s and "" or "f")
  o.scope_given = name ~= nil or m.l ~= nil
  o.depth_given = o.depth ~= nil or o.invert ~= nil
  o.depth = o.depth or (o.invert and -1) or by_letter["<n>"].default
  if m.l and name and m.l < m[name] then
    o.scope, name = "l", nil
  end
  if m.s then
    o.split = "stack"
    if o.depth == -1 or o.invert then o.depth = -2
    elseif o.depth == 1 then o.depth = 2 end
  end
  o.levels = levels(o, m, name)
  o.shows_lines = o.scope == "l" or (m.l and name) ~= nil
end

-- Whether of two letters, of which both were given, each is a report, and no
-- file has both.
local function two_reports(o, seen)
  for _, opt in ipairs(list) do
    if opt.report and seen[opt.letter] and opt.letter ~= o.report then
      if not (opt.joins and by_letter[o.report].joins) then
	return ("options '%s' and '%s' are two different reports: give one "..
	  "of them"):format(o.report, opt.letter)
      end
      o.second = o.second or opt.letter
    end
  end
end

-- The combinations that have no meaning; those without effect are in
-- effects.lua.
local function check(o, seen)
  for _, opt in ipairs(list) do
    if opt.lined and seen[opt.letter] and seen.j then
      return ("option 'j' leaves out the lines, which option '%s' shows: "..
	"give one of them"):format(opt.letter)
    end
  end
  local msg = two_reports(o, seen)
  if msg then return msg end
  if seen.G and o.chosen > 1 then
    return "option 'G' writes one number for each stack: give one of the "..
      "views c, h, u and x"
  elseif (seen.e or seen.n) and o.period and o.period ~= 1 then
    return ("option '%s' counts every allocation: leave out b, or give b1")
      :format(seen.e and "e" or "n")
  end
  local states = (seen.t and 1 or 0) + (seen.z and 1 or 0) +
    (seen.v and 1 or 0) + (seen.y and 1 or 0)
  if states > 1 then
    return "options 't', 'v', 'y' and 'z' split a table by different things: "..
      "give one of them"
  end
end

local function set_flags(o, seen)
  o.lines = false
  for _, opt in ipairs(list) do
    local given = seen[opt.letter] ~= nil
    if opt.sets then o[opt.sets] = given end
    if opt.lined and given then o.lines = true end
    if opt.report and given then o.report = o.report or opt.letter end
    local first = o.run_only and seen[o.run_only] or math.huge
    if opt.run and given and seen[opt.letter] < first then
      o.run_only = opt.letter
    end
  end
  o.lines = o.lines or seen.B ~= nil and not o.functions
  o.annotate = seen.A and "A" or seen.a and "a"
end

-- Sets what was not given, and what others imply.
local function set_defaults(o, seen)
  o.min_given = o.min ~= nil
  for _, opt in ipairs(list) do
    if opt.unit and o[opt.field] == nil then o[opt.field] = opt.default end
  end
  o.walk = (seen.W or seen.L) and math.max(o.min, 0.1) / 100 or nil
  o.period = o.period or by_letter.b.with[o.report]
  if o.folded then
    o.views, o.first = { o.view }, 1
    if o.scope == "" then o.scope = "f" end
    if not o.min_given then o.min = 0 end
  end
  o.trigger_walk = seen.B and math.max(o.min, 0.1) / 100 or nil
  o.cpu_only = #o.views == 1 and o.views[1] == "cpu" and not o.events and
    not o.walk and not o.trigger_walk
end

-- These ask for the help, and for nothing else. None of the words is options
-- that go together.
local asks_for_help = { H = true, help = true, ["--help"] = true, ["?"] = true }

-- Parses an option string. Returns a table, or nil and a message:
--   the fields that optionlist.lua names in `field` and `sets`,
--   text, seen (positions by letter; those of numbers are <n> and -<n>),
--   views ("cpu", "alloc", "inuse", "peak"), chosen (how many were given),
--   view (the one that was asked for first),
--   states ("t", "z", "y", "v" or nil), label (the name behind y, or nil),
--   listings (J+ was given),
--   scope ("f", "F", "l" or "": states only),
--   scope_given, depth_given, min_given (whether they are not the default),
--   levels (of the rows of a table, see above), split ("stack" or nil),
--   shows_lines (whether the table does),
--   annotate ("a", "A" or nil),
--   cpu_only (whether no view of the heap is asked for),
--   walk (share of the heap that has a line of its own, or nil),
--   trigger_share, trigger_bytes, trigger_busy (a share of a limit of memory,
--   bytes in use, seconds without a wait; each nil without that option B),
--   trigger_walk (as walk, for the reports of these)
--   report (the letter of a report other than the table, or nil), second (that
--   of another one, which some files can have beside it, or nil),
--   lines (whether the report shows them), run_only (the first letter that has
--   no meaning where no program is run, or nil)
local function parse(text)
  if asks_for_help[text] then text = "H" end
  local seen = {}
  local o = { text = text, seen = seen }
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
  set_defaults(o, seen)
  return o
end

return {
  parse = parse, range = range, asks_for_help = asks_for_help,
  help = optionlist.help, list = list
}
