-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Reads profile files, which may come from anyone: the result has every field
-- that is needed, each of its type and within its bounds.
----------------------------------------------------------------------------
--
-- Fields and tables that are not known are passed over: a later version may
-- have written them. Functions that find something wrong raise a text with
-- damaged(), which read() returns.
--
----------------------------------------------------------------------------

local columns = require("jit.mp.format.columns")
local fields = require("jit.mp.model.fields")
local gzip = require("jit.mp.format.gzip")
local profile = require("jit.mp.model.profile")
local stored = require("jit.mp.heap.stored")
local tables = require("jit.mp.format.file_tables")

local VERSION = 2

local damaged, MAX_BYTES = tables.damaged, tables.MAX_BYTES

-- -- Single values -----------------------------------------------------------

local function unescape(s)
  local bad
  s = s:gsub("\\(.?)(%x?%x?)", function(c, hex)
    if c == "\\" then return "\\"..hex end
    if c == "x" and #hex == 2 then return string.char(tonumber(hex, 16)) end
    bad = true
  end)
  return not bad and s or nil
end

-- The value of a text, which begins with the letter of its type.
local function scalar(text)
  local t, rest = text:sub(1, 1), text:sub(2)
  if t == "b" then
    if rest == "true" then return true end
    if rest == "false" then return false end
  elseif t == "n" then return rest:match("^%-?%d") and tonumber(rest)
  elseif t == "s" then return unescape(rest) end
end

local type_names = { flag = "boolean", number = "number", text = "string" }

local function valid(field, value)
  if type(value) ~= type_names[field.type] then return false end
  if field.one_of then return field.one_of[value] end
  return field.type ~= "number" or value >= field.min and value <= field.max
end

-- Checks the values of a group, after all of it was read.
local function check_group(group, t)
  for _, field in ipairs(group.fields) do
    local value = t[field.name]
    if value == nil and not field.optional then
      damaged("%s %s is missing", group.name, field.name)
    elseif value ~= nil and not valid(field, value) then
      damaged("%s %s is not valid", group.name, field.name)
    end
  end
end

-- A line of the first part, which is text.
local function read_value(s, words)
  local kind, group = words[1], fields.groups[words[1]]
  if group and #words == 3 then
    local to = group.key == "" and s or s[group.key]
    for _, field in ipairs(group.fields) do
      if field.name == words[2] then
	to[field.name] = scalar(words[3])
	if to[field.name] == nil then
	  damaged("%s %s is not valid", kind, words[2])
	end
      end
    end
  elseif (kind == "note" or kind == "command") and #words == 2 then
    local text = unescape(words[2]) or damaged("the text of a %s", kind)
    local list = kind == "note" and s.info.notes or s.info.command or {}
    list[#list+1] = text
    if kind == "command" then s.info.command = list end
  else
    damaged("an unknown line")
  end
end

-- -- The file ----------------------------------------------------------------

local function new_snapshot()
  local s = { strings = {}, counts = {}, info = { notes = {} } }
  for _, group in ipairs(fields.groups) do
    if group.key ~= "" then s[group.key] = s[group.key] or {} end
  end
  for _, t in ipairs(fields.tables) do
    if not t.recorded then s[t.key] = {} end
    for _, field in ipairs(t.columns and t.fields or {}) do
      s[t.key][field.name] = {}
    end
  end
  return s
end

-- The part from a position on. Returns where the next one begins, or nil after
-- the last one.
local function read_part(s, text, pos)
  local e = text:find("\n", pos, true)
  if not e then damaged("it is cut off") end
  local words = {}
  for word in (text:sub(pos, e - 1).."\t"):gmatch("([^\t]*)\t") do
    words[#words+1] = word
  end
  if words[1] == "end" then
    if e ~= #text then damaged("something follows its end") end
    return nil
  elseif words[1] == "strings" then
    s.strings, e = tables.read_strings(text, e + 1, words)
  elseif words[1] == "table" then
    e = tables.read_table(s, text, e + 1, words)
  else
    read_value(s, words)
  end
  return e + 1
end

-- The first line. Returns where the second begins.
local function read_head(text)
  local version, pos = text:match("^luajit%-mp profile (%d+)\n()")
  if not version then
    return nil, "is not a profile of luajit-mp: luajit -jm=f,app.mp writes one"
  end
  if tonumber(version) ~= VERSION then
    return nil, ("has version %s; this luajit-mp reads version %d"):format(
      version, VERSION)
  end
  return pos
end

-- The parts of the text, from pos on. Returns a snapshot.
local function read_parts(text, pos)
  local s, at = new_snapshot(), pos
  local ok, err = pcall(function()
    while pos do
      at = pos
      pos = read_part(s, text, pos)
    end
    for _, group in ipairs(fields.groups) do
      check_group(group, group.key == "" and s or s[group.key])
    end
    for _, t in ipairs(fields.tables) do
      if not t.recorded and not s.counts[t.name] then
	damaged("the table %s is missing", t.name)
      end
    end
    local wrong
    s.walk, wrong = stored.whole(s)
    if wrong then damaged(wrong) end
  end)
  if ok then return s end
  if type(err) ~= "table" or not err.damage then error(err, 0) end
  return nil, ("is damaged at byte %d: %s"):format(at - 1, err.damage)
end

-- The profile that follows memprof's stream (format/memprof), whose length is
-- in the last line; nil: it is no such file.
local function behind_stream(text)
  local size = text:sub(1, 3) == "ljs" and
    tonumber(text:match("^(%d+)\n$", -16) or "")
  return size and text:sub(size + 1, -17)
end

-- Reads the text of a profile file. Returns a profile, or nil and a message
-- that goes with the file's name before it.
return function(text)
  if text == "" then return nil, "is empty" end
  local why, msg = columns.missing()
  if why then return nil, "cannot be read: "..why end
  text = behind_stream(text) or text
  if gzip.is_packed(text) then
    text, msg = gzip.unpack(text, MAX_BYTES)
    if not text then return nil, msg end
    if gzip.is_packed(text) then
      return nil, "was compressed again; gunzip it"
    end
  end
  local pos
  pos, msg = read_head(text)
  if not pos then return nil, msg end
  local s
  s, msg = read_parts(text, pos)
  if not s then return nil, msg end
  local p = profile.new(s)
  p.from_file = true
  return p
end
