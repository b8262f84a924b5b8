-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- JSON's values.
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")

local floor = math.floor

-- A string in JSON, for any bytes.
local function encode(s)
  return '"'..names.printable(s):gsub('[%c"\\]', function(c)
    return c == '"' and '\\"' or c == "\\" and "\\\\" or
      ("\\u%04x"):format(c:byte())
  end)..'"'
end

-- A finite number in JSON.
local function number(v)
  if v == floor(v) and v > -2^53 and v < 2^53 then return ("%.0f"):format(v) end
  return ("%.14g"):format(v)
end

-- A number, or null.
local function known(v) return v and number(v) or "null" end

-- An object of pairs of a name and a value as JSON; those whose value is nil or
-- false are left out.
local function object(pairs_of)
  local t = {}
  for _, pair in ipairs(pairs_of) do
    if pair[2] then t[#t+1] = encode(pair[1])..":"..pair[2] end
  end
  return "{"..table.concat(t, ",").."}"
end

-- A list with an element on each line; of strings as JSON, and of any.
local function list(t)
  return t[1] and "[\n"..table.concat(t, ",\n").."\n]" or "[]"
end

local function strings(t)
  local out = {}
  for i, s in ipairs(t) do out[i] = encode(s) end
  return list(out)
end

return { string = encode, number = number, known = known, object = object,
  list = list, strings = strings }
