-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- JSON that may stand in a page: it has no characters that HTML interprets.
----------------------------------------------------------------------------

local ascii = require("jit.mp.page.ascii")
local names = require("jit.mp.model.names")

local floor, huge = math.floor, math.huge

-- With the characters that HTML interprets as escapes.
local function harmless(s, form)
  return (names.utf8(s):gsub('[%c"\\<>&]', function(c)
    return form:format(c:byte())
  end))
end

local function str(s) return '"'..ascii.script(harmless(s, "\\u%04x"))..'"' end

-- A string as text of the document.
local function markup(s) return ascii.markup(harmless(s, "&#x%x;")) end

local function list(t) return "["..table.concat(t, ",").."]" end

local function strings(t)
  local out = {}
  for i, s in ipairs(t) do out[i] = str(s) end
  return list(out)
end

-- An object from a list of keys and texts, in that order.
local function object(t)
  local out = {}
  for i = 1, #t, 2 do out[#out+1] = '"'..t[i]..'":'..t[i+1] end
  return "{"..table.concat(out, ",").."}"
end

local function number(n)
  return n and n == n and n > -huge and n < huge and ("%.14g"):format(n) or "0"
end

-- A column of values that may be estimates, in steps of 1/scale. The next value
-- gets the part that one lost in rounding: the sum is that of the profile.
-- Changes may be negative: another row got those amounts.
local function amounts(rows, field, scale)
  local out, rest = {}, 0
  for i = 1, #rows do
    local v = rows[i][field]
    if v and v ~= 0 and v > -huge and v < huge then
      rest = rest + v * scale
      local n = floor(rest + 0.5)
      if v > 0 and n < 0 then n = 0 end
      rest = rest - n
      out[i] = scale == 1 and n or n / scale
    else
      out[i] = 0
    end
  end
  return list(out)
end

-- A column of whole numbers, each rounded by itself: moments, not parts of a
-- sum.
local function ints(rows, field)
  local out = {}
  for i = 1, #rows do
    local v = rows[i][field]
    out[i] = v and v > 0 and v < huge and floor(v + 0.5) or 0
  end
  return list(out)
end

-- A function from a string to its number, from 0 on, and the list of strings.
local function interner()
  local index, t = {}, {}
  return function(s)
    local i = index[s]
    if not i then
      i = #t
      index[s] = i
      t[i+1] = s
    end
    return i
  end, t
end

return {
  str = str, list = list, strings = strings, object = object, number = number,
  amounts = amounts, ints = ints, interner = interner, markup = markup
}
