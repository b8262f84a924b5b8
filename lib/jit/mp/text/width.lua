-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The columns that UTF-8 text takes on a terminal: two for East Asian wide
-- characters and emoji, none for marks that combine with the character before.
----------------------------------------------------------------------------

-- First and last characters of ranges.
local none = {
  0x300, 0x36F, 0x483, 0x489, 0x591, 0x5BD, 0x610, 0x61A, 0x64B, 0x65F,
  0x6D6, 0x6DC, 0x6DF, 0x6E4, 0x6E7, 0x6E8, 0x6EA, 0x6ED, 0x900, 0x902,
  0x93C, 0x93C, 0x941, 0x948, 0x94D, 0x94D, 0xE31, 0xE31, 0xE34, 0xE3A,
  0xE47, 0xE4E, 0x1AB0, 0x1AFF, 0x1DC0, 0x1DFF, 0x200B, 0x200F,
  0x20D0, 0x20FF, 0x302A, 0x302D, 0x3099, 0x309A, 0xFE00, 0xFE0F,
  0xFE20, 0xFE2F, 0xFEFF, 0xFEFF, 0x1F3FB, 0x1F3FF, 0xE0100, 0xE01EF
}
local wide = {
  0x1100, 0x115F, 0x231A, 0x231B, 0x23E9, 0x23EC, 0x2614, 0x2615,
  0x2648, 0x2653, 0x26A1, 0x26A1, 0x2705, 0x2705, 0x270A, 0x270B,
  0x2728, 0x2728, 0x274C, 0x274C, 0x2753, 0x2755, 0x2757, 0x2757,
  0x2795, 0x2797, 0x2B50, 0x2B50, 0x2E80, 0x303E, 0x3041, 0x33FF,
  0x3400, 0x4DBF, 0x4E00, 0x9FFF, 0xA000, 0xA4CF, 0xA960, 0xA97F,
  0xAC00, 0xD7A3, 0xF900, 0xFAFF, 0xFE30, 0xFE6F, 0xFF00, 0xFF60,
  0xFFE0, 0xFFE6, 0x1F300, 0x1F64F, 0x1F680, 0x1F6FF, 0x1F900, 0x1F9FF,
  0x1FA70, 0x1FAFF, 0x20000, 0x3FFFD
}

local function within(ranges, c)
  local low, high = 1, #ranges / 2
  while low <= high do
    local middle = math.floor((low + high) / 2)
    if c < ranges[2*middle-1] then high = middle - 1
    elseif c > ranges[2*middle] then low = middle + 1
    else return true end
  end
  return false
end

-- The number of a character of UTF-8.
local function code(char)
  local c = char:byte()
  if c < 0x80 then return c end
  c = c % (c >= 0xF0 and 8 or c >= 0xE0 and 16 or 32)
  for i = 2, #char do c = c * 64 + char:byte(i) % 64 end
  return c
end

local function columns_of(char)
  if #char == 1 then return 1 end
  local c = code(char)
  return within(none, c) and 0 or within(wide, c) and 2 or 1
end

local CHAR = "[%z\1-\127\192-\255][\128-\191]*"

-- The columns of a text.
local function width(s)
  if not s:find("[\128-\255]") then return #s end
  local n = 0
  for char in s:gmatch(CHAR) do n = n + columns_of(char) end
  return n
end

-- The first characters of a text that fit into n columns.
local function first(s, n)
  if not s:find("[\128-\255]") then return s:sub(1, n) end
  local to = 0
  for char in s:gmatch(CHAR) do
    n = n - columns_of(char)
    if n < 0 then break end
    to = to + #char
  end
  return s:sub(1, to)
end

-- The last ones. A mark stays with its character.
local function last(s, n)
  if not s:find("[\128-\255]") then return n > 0 and s:sub(-n) or "" end
  local chars, from = {}, #s + 1
  for char in s:gmatch(CHAR) do chars[#chars+1] = char end
  local at = from
  for i = #chars, 1, -1 do
    local columns = columns_of(chars[i])
    n, at = n - columns, at - #chars[i]
    if n < 0 then break end
    if columns > 0 then from = at end
  end
  return s:sub(from)
end

-- A line whose tabs are spaces up to every eighth column.
local function untabbed(line)
  while true do
    local before, after = line:match("^([^\t]*)\t(.*)$")
    if not before then return line end
    line = before..(" "):rep(8 - width(before) % 8)..after
  end
end

return { width = width, first = first, last = last, untabbed = untabbed }
