----------------------------------------------------------------------------
-- The profile file: everything that was measured, to the last bit, as lines
-- of text. luajit-mp(5) describes it.
----------------------------------------------------------------------------

local bit = require("bit")
local crc32 = require("jit.mp.format.crc32")
local profile = require("jit.mp.model.profile")

local VERSION = 1
local MAGIC = "luajit-mp profile"

-- What a line of each kind holds, in this order. Types: s string, n number,
-- b boolean, i an id or count from 1, z the same from 0, o a string or
-- nothing, N a number or nothing.
local kinds = {
  point = { "wall n", "cpu n", "allocated n", "inuse n", "cycles n", "rss n",
    "phase o" },
  frame = { "kind s", "line N", "linedefined N", "builtin N", "name o",
    "source o" },
  stack = { "parent z", "frame i" },
  zone = { "parent z", "name s" },
  row = { "stack z", "zone z", "state s", "type o", "cpu n",
    "alloc_objects n", "alloc_bytes n", "inuse_objects n", "inuse_bytes n",
    "peak_objects n", "peak_bytes n", "temp_objects N", "temp_bytes N" },
  change = { "point i", "row i", "cpu n", "alloc_objects n", "alloc_bytes n",
    "inuse_bytes n" },
  event = { "kind s", "row z", "origin z", "count n", "alloc_bytes n",
    "free_bytes n" },
  survivor = { "row i", "births n", "objects T", "bytes T" },
}

for _, fields in pairs(kinds) do
  for i, field in ipairs(fields) do
    local name, t = field:match("^(%S+) (%S)$")
    fields[i] = { name = name, type = t }
  end
end

-- -- Writing -----------------------------------------------------------------

-- Strings without tabs and line ends; "-" is for nothing.
local function escape(s)
  if s == "-" then return "\\x2d" end
  if s == "" then return "\\e" end
  return (s:gsub("[%c\\\127-\255]", function(c)
    return c == "\\" and "\\\\" or ("\\x%02x"):format(c:byte())
  end))
end

local function number(n)
  if n == math.floor(n) and math.abs(n) < 2^53 then return ("%d"):format(n) end
  return ("%.17g"):format(n)
end

local function encode(value, t)
  if value == nil then return "-" end
  if t == "T" then
    local list = {}
    for i = 1, 10 do list[i] = number(value[i]) end
    return table.concat(list, " ")
  end
  return type(value) == "string" and escape(value) or number(value)
end

local function put(out, kind, record)
  local t = { kind }
  for i, field in ipairs(kinds[kind]) do
    t[i+1] = encode(record[field.name], field.type)
  end
  out[#out+1] = table.concat(t, "\t")
end

local function put_list(out, kind, list)
  for _, record in ipairs(list or {}) do put(out, kind, record) end
end

-- Fields of a table as lines "group name value", in order of name.
local function put_group(out, group, t)
  local names = {}
  for name, value in pairs(t) do
    if type(value) ~= "table" then names[#names+1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local value = t[name]
    local text = type(value) == "boolean" and "b"..tostring(value) or
      type(value) == "string" and "s"..escape(value) or "n"..number(value)
    out[#out+1] = group.."\t"..name.."\t"..text
  end
end

local function write(p)
  local out = { ("%s %d"):format(MAGIC, VERSION) }
  put_group(out, "info", p.info)
  for _, word in ipairs(p.info.command or {}) do
    out[#out+1] = "command\t"..escape(word)
  end
  for _, note in ipairs(p.info.notes or {}) do
    out[#out+1] = "note\t"..escape(note)
  end
  put_group(out, "cpu", p.cpu)
  put_group(out, "heap", p.heap)
  put_list(out, "frame", p.frames)
  for i, parent in ipairs(p.parent) do
    put(out, "stack", { parent = parent, frame = p.frame[i] })
  end
  for i, parent in ipairs(p.zones.parent) do
    put(out, "zone", { parent = parent, name = p.zones.name[i] })
  end
  put_list(out, "row", p.rows)
  put_list(out, "point", p.course)
  put_list(out, "change", p.timeline)
  if p.events then
    out[#out+1] = "has\tevents"
    put_list(out, "event", p.events)
  end
  if p.survivors then
    out[#out+1] = "has\tsurvivors"
    if p.collected then out[#out+1] = "has\tcollected" end
    put_list(out, "survivor", p.survivors)
  end
  local body = table.concat(out, "\n").."\n"
  return body..("end\t%d\t%s\n"):format(#out, bit.tohex(crc32(body)))
end

-- -- Reading -----------------------------------------------------------------

local function unescape(s)
  if s == "\\e" then return "" end
  local bad
  s = s:gsub("\\(.?)(%x?%x?)", function(c, hex)
    if c == "\\" then return "\\"..hex end
    if c == "x" and #hex == 2 then return string.char(tonumber(hex, 16)) end
    bad = true
  end)
  if not bad then return s end
end

-- nan and inf are no counts.
local function to_number(s)
  local n = s:match("^%-?%d") and tonumber(s)
  return n and n == n and math.abs(n) < math.huge and n or nil
end

local function to_id(s, from)
  local n = #s <= 10 and s:match("^%d+$") and tonumber(s)
  return n and n >= from and n or nil
end

local function to_ten(s)
  local t = {}
  for word in s:gmatch("[^ ]+") do t[#t+1] = to_number(word) end
  return #t == 10 and t or nil
end

-- The value of a field, and whether it is one.
local function decode(s, t)
  if s == "-" then return nil, t == "o" or t == "N" end
  local v
  if t == "n" or t == "N" then v = to_number(s)
  elseif t == "i" then v = to_id(s, 1)
  elseif t == "z" then v = to_id(s, 0)
  elseif t == "T" then v = to_ten(s)
  else v = unescape(s) end
  return v, v ~= nil
end

local function decode_any(s)
  local t, rest = s:sub(1, 1), s:sub(2)
  if t == "b" then
    if rest == "true" then return true end
    if rest == "false" then return false end
  elseif t == "n" then return to_number(rest)
  elseif t == "s" then return unescape(rest) end
end

-- A record of a line's fields, or nil and what is wrong.
local function read_record(kind, fields)
  local spec, r = kinds[kind], {}
  if #fields ~= #spec + 1 then
    return nil, ("%s with %d fields instead of %d"):format(kind, #fields - 1,
      #spec)
  end
  for i, field in ipairs(spec) do
    local v, ok = decode(fields[i+1], field.type)
    if not ok then
      return nil, ("the %s of a %s is not valid"):format(field.name, kind)
    end
    r[field.name] = v
  end
  return r
end

local frame_kinds = { Lua = true, C = true, builtin = true, pseudo = true }
local phases = { pause = true, mark = true, sweep = true, finalize = true }

-- What a record must refer to, and where it goes. Each returns nil, or what
-- is wrong.
local place = {
  frame = function(s, r)
    if not frame_kinds[r.kind] then return "a frame of an unknown kind" end
    s.frames[#s.frames+1] = r
  end,
  stack = function(s, r)
    local parent = s.stacks.parent
    if r.parent > #parent or r.frame > #s.frames then
      return "a stack that refers to what is not there"
    end
    parent[#parent+1] = r.parent
    s.stacks.frame[#parent] = r.frame
  end,
  zone = function(s, r)
    local parent = s.zones.parent
    if r.parent > #parent then return "a zone that refers to what is not there" end
    parent[#parent+1] = r.parent
    s.zones.name[#parent] = r.name
  end,
  row = function(s, r)
    if r.stack > #s.stacks.parent or r.zone > #s.zones.parent then
      return "a row that refers to what is not there"
    elseif not r.state:match("^[NICGJ]$") then
      return "a row with an unknown VM state"
    end
    s.rows[#s.rows+1] = r
  end,
  point = function(s, r)
    if r.phase and not phases[r.phase] then
      return "a point with an unknown phase"
    end
    s.course[#s.course+1] = r
  end,
  change = function(s, r)
    if r.point > #s.course or r.row > #s.rows then
      return "a change that refers to what is not there"
    end
    s.timeline[#s.timeline+1] = r
  end,
  event = function(s, r)
    if not s.events or r.row > #s.rows or r.origin > #s.rows or
	(r.kind ~= "free" and r.kind ~= "realloc") then
      return "an event that refers to what is not there"
    end
    s.events[#s.events+1] = r
  end,
  survivor = function(s, r)
    if not s.survivors or r.row > #s.rows then
      return "a survivor that refers to what is not there"
    end
    s.survivors[#s.survivors+1] = r
  end,
}

local function new_snapshot()
  return {
    info = { notes = {} }, cpu = {}, heap = {}, frames = {},
    stacks = { parent = {}, frame = {} }, zones = { parent = {}, name = {} },
    rows = {}, course = {}, timeline = {}
  }
end

-- One line. Returns nil, or what is wrong with it.
local function read_line(s, line)
  local fields = {}
  for field in (line.."\t"):gmatch("([^\t]*)\t") do fields[#fields+1] = field end
  local kind = fields[1]
  if kinds[kind] then
    local r, msg = read_record(kind, fields)
    if not r then return msg end
    return place[kind](s, r)
  elseif (kind == "info" or kind == "cpu" or kind == "heap") and #fields == 3 then
    local v = decode_any(fields[3])
    if v == nil or not fields[2]:match("^[%a_]+$") then
      return ("the value of %s is not valid"):format(kind)
    end
    s[kind][fields[2]] = v
  elseif (kind == "note" or kind == "command") and #fields == 2 then
    local v = unescape(fields[2])
    if not v then return ("the text of a %s is not valid"):format(kind) end
    if kind == "command" then s.info.command = s.info.command or {} end
    local t = kind == "note" and s.info.notes or s.info.command
    t[#t+1] = v
  elseif kind == "has" and #fields == 2 then
    if fields[2] == "events" then s.events = {}
    elseif fields[2] == "survivors" then s.survivors, s.collected = {}, false
    elseif fields[2] == "collected" then s.collected = true
    else return "an unknown section" end
  else
    return "an unknown kind of line"
  end
end

-- Numbers and texts that the views rely on.
local needed = {
  info = { wall = "number", cpu = "number", capture = "string" },
  cpu = { enabled = "boolean", samples = "number", interval = "number" },
  heap = { enabled = "boolean", alloc_objects = "number",
    alloc_bytes = "number", free_objects = "number", free_bytes = "number",
    realloc_objects = "number", realloc_bytes = "number",
    realloc_freed = "number", samples = "number", dropped = "number",
    period = "number", adaptive = "boolean", inuse = "number",
    inuse_start = "number", peak = "number" }
}

-- Every field has the type that it should have: what is not needed may be
-- missing, but not be something else.
local optional = {
  info = { script = "string", luajit = "string", os = "string",
    arch = "string", options = "string", cwd = "string", pid = "number",
    started = "number", capture_why = "string", runs = "number" },
  cpu = {}, heap = { inuse_samples = "number", gc_cycles = "number" }
}

local function check_fields(s)
  for group, fields in pairs(needed) do
    for name, t in pairs(fields) do
      if type(s[group][name]) ~= t then
	return ("%s %s is missing or no %s"):format(group, name, t)
      end
    end
    for name, value in pairs(s[group]) do
      local t = fields[name] or optional[group][name]
      if type(value) ~= "table" and type(value) ~= t then
	return ("%s %s is not known or no %s"):format(group, name,
	  t or "field of this version")
      end
    end
  end
end

-- The first line. Returns where the second begins, or nil and what is wrong.
local function read_head(text)
  if text == "" then return nil, "is empty" end
  local version, pos = text:match("^"..MAGIC:gsub("-", "%%-").." (%d+)\n()")
  if not version then return nil, "is not a profile of luajit-mp" end
  if tonumber(version) ~= VERSION then
    return nil, ("has version %s; this luajit-mp reads version %d"):format(
      version, VERSION)
  end
  return pos
end

-- The last line: how many there are, and their checksum.
local function read_tail(text)
  local tail = text:sub(-40)
  local pos, lines, sum = tail:match("\n()end\t(%d+)\t(%x+)\n$")
  if not pos then return nil, ("is cut off at byte %d"):format(#text) end
  return #text - #tail + pos, tonumber(lines), sum
end

-- Reads the text of a profile file. Returns a profile, or nil and a message
-- that goes with the file's name before it.
local function read(text)
  local pos, msg = read_head(text)
  if not pos then return nil, msg end
  local stop, lines, sum = read_tail(text)
  if not stop then return nil, lines end
  local s, n = new_snapshot(), 1
  while pos < stop do
    local e = text:find("\n", pos, true)
    msg = read_line(s, text:sub(pos, e - 1))
    if msg then return nil, ("is damaged at byte %d: %s"):format(pos - 1, msg) end
    pos, n = e + 1, n + 1
  end
  if n ~= lines then
    return nil, ("is damaged at byte %d: %d lines instead of %d"):format(
      stop - 1, n, lines)
  elseif bit.tohex(crc32(text:sub(1, stop - 1))) ~= sum then
    return nil, ("is damaged before byte %d: its checksum is wrong"):format(
      stop - 1)
  end
  msg = check_fields(s)
  if msg then return nil, ("is damaged at byte %d: %s"):format(stop - 1, msg) end
  return profile.new(s)
end

return setmetatable({ read = read, write = write }, {
  __call = function(_, p) return write(p) end
})
