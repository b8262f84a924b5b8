-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Reads JSON for the tests, strictly: of the escapes only \\ and \uXXXX, no
-- spaces, no key twice. Raises an error that says where.
----------------------------------------------------------------------------

local function fail(s, i, what)
  error(("%s at %d: %s"):format(what, i, s:sub(i, i + 20)), 0)
end

-- A character from its number.
local function utf8(n)
  local function part(shift) return 0x80 + math.floor(n / shift) % 64 end
  if n < 0x80 then return string.char(n) end
  if n < 0x800 then return string.char(0xc0 + math.floor(n / 64), part(1)) end
  if n < 0x10000 then
    return string.char(0xe0 + math.floor(n / 4096), part(64), part(1))
  end
  return string.char(0xf0 + math.floor(n / 262144), part(4096), part(64),
    part(1))
end

-- The number of the character of two surrogates, or of a single code.
local function character(high, low)
  if not low then return high end
  return 0x10000 + (high - 0xd800) * 0x400 + low - 0xdc00
end

-- Each of these returns what is at i, and the position behind it.

local function string_at(s, i)
  local out, at = {}, i + 1
  while true do
    local stop = s:find('["\\]', at) or fail(s, i, "endless string")
    out[#out+1] = s:sub(at, stop - 1)
    if s:sub(stop, stop) == '"' then return table.concat(out), stop + 1 end
    local code = s:match("^u(%x%x%x%x)", stop + 1)
    local low = code and code:find("^[dD][89abAB]") and
      (s:match("^\\u([dD][c-fC-F]%x%x)", stop + 6) or
	fail(s, stop, "half a character"))
    if code then
      out[#out+1] = utf8(character(tonumber(code, 16),
	low and tonumber(low, 16)))
      at = stop + (low and 12 or 6)
    elseif s:sub(stop + 1, stop + 1) == "\\" then
      out[#out+1] = "\\"
      at = stop + 2
    else
      fail(s, stop, "bad escape")
    end
  end
end

-- Elements up to the closing character; one(i) reads one and returns where it
-- ends.
local function each(s, i, stop, one)
  i = i + 1
  if s:sub(i, i) == stop then return i + 1 end
  while true do
    i = one(i)
    local c = s:sub(i, i)
    if c == stop then return i + 1 end
    if c ~= "," then fail(s, i, "no comma") end
    i = i + 1
  end
end

local value

local function list_at(s, i)
  local t = {}
  return t, each(s, i, "]", function(at)
    t[#t+1], at = value(s, at)
    return at
  end)
end

local function object_at(s, i)
  local t = {}
  return t, each(s, i, "}", function(at)
    local key
    key, at = string_at(s, at)
    if s:sub(at, at) ~= ":" or t[key] ~= nil then fail(s, at, "bad key") end
    t[key], at = value(s, at + 1)
    return at
  end)
end

local words = { ["true"] = true, ["false"] = false }

function value(s, i)
  local c = s:sub(i, i)
  if c == '"' then return string_at(s, i) end
  if c == "[" then return list_at(s, i) end
  if c == "{" then return object_at(s, i) end
  local word = s:match("^%l+", i) or s:match("^-?%d+%.?%d*", i) or
    fail(s, i, "no value")
  if word == "null" then return nil, i + 4 end
  if words[word] ~= nil then return words[word], i + #word end
  return tonumber(word) or fail(s, i, "no value"), i + #word
end

return function(s)
  local v, stop = value(s, 1)
  if stop ~= #s + 1 then fail(s, stop, "something behind the value") end
  return v
end
