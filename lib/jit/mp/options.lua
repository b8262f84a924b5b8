----------------------------------------------------------------------------
-- The option string: letters in any order, some with a number.
----------------------------------------------------------------------------

-- All options: the parser, the help and the manual's test go by this list.
-- arg: "n" takes a number, "bytes" a number with an optional k or m.
local list = {
  { "f", "function names (the default)" },
  { "F", "function names with their module" },
  { "l", "lines; with f or F: the lines within each function" },
  { "<n>", "depth of the stacks shown; default 1" },
  { "-<n>", "the same, callers first" },
  { "s", "split: functions, and their callers (or with -: what they call)" },
  { "p", "full paths of source files" },
  { "v", "VM states; before or after f, F or l: split by it" },
  { "z", "zones (jit.zone); before or after f, F or l: split by it" },
  { "c", "view: CPU" },
  { "h", "view: heap, allocated" },
  { "u", "view: heap, in use; default: all three views" },
  { "o", "count objects in the heap views, not bytes" },
  { "r", "raw numbers: samples, bytes or objects" },
  { "a", "annotated source, with some lines around what counts" },
  { "A", "annotated source, whole files" },
  { "G", "folded stacks for a flame graph, of one view (default: c)" },
  { "m<n>", "hide what is below n percent in every view; default 3" },
  { "i<n>", "milliseconds between CPU samples; default 10" },
  { "b<n>[k|m]", "mean bytes between allocation samples, fixed; b1: every "..
    "allocation, exact; default: adapts from 16k to 2m" },
  { "H", "print this list and stop" },
}

-- Letters that stand alone.
local plain = {}
for _, opt in ipairs(list) do
  if #opt[1] == 1 then plain[opt[1]] = true end
end

local view_names = { c = "cpu", h = "alloc", u = "inuse" }

-- Where a letter stands, for error messages.
local function place(text, pos)
  return (" at position %d of %q"):format(pos, text)
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
  b = function(o, text, pos)
    local n, unit, e = text:match("^(%d+)([km]?)()", pos + 1)
    local bytes = n and tonumber(n) *
      (unit == "k" and 1024 or unit == "m" and 1048576 or 1)
    if not n or bytes < 1 or bytes > 2^40 then
      return nil, "option 'b'"..place(text, pos).." needs a number of bytes "..
	"from 1 to 1048576m, as in b64k; b1 counts every allocation"
    end
    if unit == "m" and text:match("^%d", e) then
      return nil, "option 'b'"..place(text, pos).." is followed by an m and "..
	"a number: write the options m<n> or <n> before it"
    end
    o.period = bytes
    return e
  end,
}

-- One letter or number at pos. Returns the position behind it, or nil and
-- a message.
local function parse_one(o, text, pos)
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
  if number[c] then return number[c](o, text, pos) end
  if c == "-" then
    o.invert = true
  elseif plain[c] then
    o.seen[c] = o.seen[c] or pos
  else
    return nil, ("unknown option '%s'%s; option H lists them all"):format(
      c, place(text, pos))
  end
  return pos + 1
end

-- What the views are; objects or bytes.
local function set_views(o)
  o.views = {}
  for c in ("chu"):gmatch(".") do
    if o.seen[c] then o.views[#o.views+1] = view_names[c] end
  end
  o.chosen = #o.views
  o.objects = o.seen.o ~= nil
  if o.chosen == 0 then o.views = { "cpu", "alloc", "inuse" } end
end

-- The combination rules are those of LuaJIT's own profiler, jit.p.
local function set_levels(o)
  local m = o.seen
  o.states = m.z and "z" or m.v and "v"
  local name = m.F and "F" or m.f and "f"
  o.scope = m.l and not name and "l" or name or (o.states and "" or "f")
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

local function check(o)
  local m = o.seen
  if m.G and (m.a or m.A) then
    return "options 'G' and '"..(m.a and "a" or "A").."' are two different "..
      "reports: give one of them"
  elseif m.a and m.A then
    return "options 'a' and 'A' are two different reports: give one of them"
  elseif m.G and o.chosen > 1 then
    return "option 'G' writes one number for each stack: give one of the "..
      "views c, h and u"
  end
end

-- Parses an option string. Returns a table, or nil and a message:
--   text, help, min (percent), depth, interval (ms), period (bytes),
--   views ("cpu", "alloc", "inuse"), objects, raw, path,
--   states ("z", "v" or nil), scope ("f", "F", "l" or "": states only),
--   split (nil, "stack", "lines", "state" before or "scope" before),
--   annotate ("a", "A" or nil), folded
local function parse(text)
  local o = { text = text, min = 3, seen = {} }
  local pos = 1
  while pos <= #text do
    local e, msg = parse_one(o, text, pos)
    if not e then return nil, msg end
    pos = e
  end
  set_views(o)
  set_levels(o)
  o.help = o.seen.H ~= nil
  o.raw = o.seen.r ~= nil
  o.path = o.seen.p ~= nil
  o.annotate = o.seen.A and "A" or o.seen.a and "a"
  o.folded = o.seen.G ~= nil
  local msg = check(o)
  if msg then return nil, msg end
  if o.folded then
    if o.chosen == 0 then o.views = { "cpu" } end
    if o.scope == "" then o.scope = "f" end
    o.min = 0
  end
  return o
end

-- Breaks a text into lines of at most n characters.
local function wrap(text, n)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if line ~= "" and #line + 1 + #word > n then
      lines[#lines+1], line = line, ""
    end
    line = line == "" and word or line.." "..word
  end
  lines[#lines+1] = line
  return lines
end

local function help()
  local out = { "luajit -jm[=options[,output]] script [args]\n\n" }
  for _, opt in ipairs(list) do
    for i, line in ipairs(wrap(opt[2], 62)) do
      out[#out+1] = ("  %-10s  %s\n"):format(i == 1 and opt[1] or "", line)
    end
  end
  return table.concat(out)
end

return { parse = parse, help = help, list = list }
