-- A JSON encoder and decoder, in plain Lua.
--
-- A profile shows two different hot spots: most of the CPU time goes into
-- escaping strings (encode_string), most of the memory comes from joining the
-- pieces (encode), and what stays in use are decoded documents that are kept
-- in `archive` (decode_object, decode_array).
--
--   luajit -jm=fl examples/json.lua [work, default 1]

local work = tonumber(arg and arg[1]) or 1

-- Encoder ------------------------------------------------------------------

local escapes = { [34] = '\\"', [92] = "\\\\", [10] = "\\n", [9] = "\\t" }

local function encode_string(s, out)
  out[#out+1] = '"'
  local from = 1
  for i = 1, #s do
    local escape = escapes[s:byte(i)]
    if escape then
      out[#out+1] = s:sub(from, i - 1)
      out[#out+1] = escape
      from = i + 1
    end
  end
  out[#out+1] = s:sub(from)
  out[#out+1] = '"'
end

local encode_value

local function encode_array(t, out)
  out[#out+1] = "["
  for i = 1, #t do
    if i > 1 then out[#out+1] = "," end
    encode_value(t[i], out)
  end
  out[#out+1] = "]"
end

local function encode_object(t, out)
  out[#out+1] = "{"
  for i, key in ipairs(t.keys) do
    if i > 1 then out[#out+1] = "," end
    encode_string(key, out)
    out[#out+1] = ":"
    encode_value(t.values[key], out)
  end
  out[#out+1] = "}"
end

encode_value = function(v, out)
  if type(v) == "string" then encode_string(v, out)
  elseif type(v) ~= "table" then out[#out+1] = tostring(v)
  elseif v.keys then encode_object(v, out)
  else encode_array(v, out) end
end

-- Decoder ------------------------------------------------------------------

local decode_value

local function decode_string(s, pos)
  local from = pos + 1
  local to = s:find('"', from, true)
  while s:byte(to - 1) == 92 do to = s:find('"', to + 1, true) end
  return s:sub(from, to - 1), to + 1
end

local function decode_array(s, pos)
  local t = {}
  pos = pos + 1
  while s:byte(pos) ~= 93 do
    t[#t+1], pos = decode_value(s, pos)
    if s:byte(pos) == 44 then pos = pos + 1 end
  end
  return t, pos + 1
end

local function decode_object(s, pos)
  local keys, values = {}, {}
  pos = pos + 1
  while s:byte(pos) ~= 125 do
    local key
    key, pos = decode_string(s, pos)
    keys[#keys+1] = key
    values[key], pos = decode_value(s, pos + 1)
    if s:byte(pos) == 44 then pos = pos + 1 end
  end
  return { keys = keys, values = values }, pos + 1
end

decode_value = function(s, pos)
  local c = s:byte(pos)
  if c == 34 then return decode_string(s, pos)
  elseif c == 91 then return decode_array(s, pos)
  elseif c == 123 then return decode_object(s, pos) end
  local word = s:match("^[%w%.%-]+", pos)
  return tonumber(word) or word == "true", pos + #word
end

-- Main ---------------------------------------------------------------------

local seed = 42

local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n + 1
end

local line = "the quick brown fox jumps over the lazy dog, again and again; "
local text = line:rep(60)..'"The end"\n'

local function document(i)
  local tags, points = {}, {}
  for k = 1, 6 do tags[k] = "tag-"..random(50) end
  for k = 1, 12 do points[k] = { random(1000), random(1000) } end
  return {
    keys = { "id", "text", "tags", "points", "open" },
    values = { id = i, text = text, tags = tags, points = points,
      open = i % 2 == 0 }
  }
end

local out = {}

local function encode(v)
  for k = #out, 1, -1 do out[k] = nil end
  encode_value(v, out)
  local json = table.concat(out)
  return json
end

local archive, checksum = {}, 0
for i = 1, math.floor(130000 * work) do
  local json = encode(document(i))
  local copy = decode_value(json, 1)
  checksum = (checksum * 31 + #json + copy.values.points[3][1]) % 1000000007
  if i % 100 == 0 then archive[#archive+1] = copy end
end
print("checksum", checksum, "archived", #archive)
