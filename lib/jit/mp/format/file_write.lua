-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Writes profile files; file_read is their reader.
----------------------------------------------------------------------------

local columns = require("jit.mp.format.columns")
local fields = require("jit.mp.model.fields")
local gzip = require("jit.mp.format.gzip")
local stored = require("jit.mp.heap.stored")

-- -- Single values -----------------------------------------------------------

local function escape(s)
  return (s:gsub("[%c\\\127-\255]", function(c)
    return c == "\\" and "\\\\" or ("\\x%02x"):format(c:byte())
  end))
end

-- A value behind the letter of its type.
local function scalar(value)
  if type(value) == "boolean" then return "b"..tostring(value)
  elseif type(value) == "string" then return "s"..escape(value) end
  if value == math.floor(value) and math.abs(value) < 2^53 then
    return ("n%.0f"):format(value)
  end
  return ("n%.17g"):format(value)
end

local function put_group(out, group, t)
  for _, field in ipairs(group.fields) do
    local value = t[field.name]
    if value ~= nil then
      out[#out+1] = table.concat({ group.name, field.name, scalar(value) },
	"\t").."\n"
    end
  end
end

local function put_texts(out, kind, list)
  for _, text in ipairs(list or {}) do
    out[#out+1] = kind.."\t"..escape(text).."\n"
  end
end

-- -- Tables ------------------------------------------------------------------

-- Numbers of texts: intern(s) is that of s, from 1; and the list of them.
local function interner()
  local index, list = {}, {}
  return function(s)
    local i = index[s]
    if not i then
      i = #list + 1
      list[i], index[s] = s, i
    end
    return i
  end, list
end

-- Values of a field as numbers: an absent one is 0, or in a column of
-- amounts a NaN. Each returns one list, and how many numbers a record has.
local encode = {}

function encode.text(get, n, intern)
  local list = {}
  for i = 1, n do
    local s = get(i)
    list[i] = s and intern(s) or 0
  end
  return list
end

function encode.line(get, n)
  local list = {}
  for i = 1, n do
    local line = get(i)
    list[i] = line and line + 1 or 0
  end
  return list
end

function encode.number(get, n)
  local list, any = {}, n == 0
  for i = 1, n do
    local v = get(i)
    any = any or v ~= nil
    list[i] = v or 0/0
  end
  return any and list
end

encode.ref = encode.number

-- A function from a record's number to its value in a field; and the number of
-- records.
local function getter(t, content, name)
  if t.columns then
    local list = content[name]
    return function(i) return list[i] end, #list
  end
  return function(i) return content[i][name] end, #content
end

-- The head, a line that names the columns, and after it their bytes.
local function put_table(out, t, content, intern)
  local head, data, n = { "table", t.name, 0 }, {}, nil
  for _, field in ipairs(t.fields) do
    local get, count = getter(t, content, field.name)
    n = n or count  -- The first field is not optional.
    local list = encode[field.type](get, n, intern)
    if list then
      local bytes, kind = columns.pack(list, n)
      head[#head+1] = field.name..":"..kind
      data[#data+1] = bytes
    end
  end
  head[3] = ("%d"):format(n)
  out[#out+1] = table.concat(head, "\t").."\n"
  out[#out+1] = table.concat(data)
  out[#out+1] = "\n"
end

local function put_strings(out, list)
  local lengths = {}
  for i, s in ipairs(list) do lengths[i] = #s end
  local text = table.concat(list)
  out[#out+1] = ("strings\t%d\t%d\n"):format(#list, #text)
  out[#out+1] = columns.pack(lengths, #list)
  out[#out+1] = text
  out[#out+1] = "\n"
end

-- The frames as they were recorded, with the names that sources give.
local function frames_of(p)
  local list, _, of = {}, p:functions()
  for i, f in ipairs(p.frames) do
    list[i] = setmetatable({ definition = of[i].definition },
      { __index = f.raw or f })
  end
  return list
end

-- The records of a table; nil: the profile did not record any.
local function content_of(p, t)
  if t.name == "stack" then return { parent = p.parent, frame = p.frame } end
  if t.name == "frame" then return frames_of(p) end
  return p[t.key] or not t.recorded and {} or nil
end

-- The text of a profile file, before it is packed.
local function encode_profile(profile)
  local out, intern, list = { "luajit-mp profile 2\n" }, interner()
  local p = setmetatable(stored.flat(profile.walk), { __index = profile })
  for _, group in ipairs(fields.groups) do
    put_group(out, group, group.key == "" and p or p[group.key])
  end
  put_texts(out, "command", p.info.command)
  put_texts(out, "note", p.info.notes)
  local body = {}
  for _, t in ipairs(fields.tables) do
    local content = content_of(p, t)
    if content then put_table(body, t, content, intern) end
  end
  put_strings(out, list)
  out[#out+1] = table.concat(body)
  out[#out+1] = "end\n"
  return table.concat(out)
end

-- Returns the file's contents, or nil and a message.
return function(p)
  local why = columns.missing()
  if why then return nil, "cannot make a profile file: "..why end
  return gzip.pack(encode_profile(p), math.floor(p.info.started or 0))
end
