-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Fields of messages of protocol buffers.
----------------------------------------------------------------------------
--
-- A message is a sequence of fields: a tag (the field's number times 8, plus 0
-- for a number, 1 for eight bytes or 2 for a length and bytes), and the value.
-- A number is in base 128, its low digits first.
--
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")

local char, concat, floor = string.char, table.concat, math.floor

local MAX = 9223372036854774784 -- The largest double below 2^63.

-- A number from 0 to 2^63: doubles are exact enough to take it apart. A sum of
-- a stranger's profile may be none of these.
local function varint(n)
  if not (n > 0) then return "\0" end
  if n < 128 then return char(n) end
  if n > MAX then n = MAX end
  local t = {}
  while n >= 128 do
    local low = n % 128
    t[#t+1] = char(low + 128)
    n = (n - low) / 128
  end
  t[#t+1] = char(n)
  return concat(t)
end

-- A field with a number. Readers take a missing one for 0.
local function num(field, n)
  return n == 0 and "" or char(field * 8)..varint(n)
end

-- The same in eight bytes.
local function fixed64(field, n)
  if not (n > 0) then return "" end
  if n > MAX then n = MAX end
  local t = {}
  for i = 1, 8 do
    t[i] = char(n % 256)
    n = floor(n / 256)
  end
  return char(field * 8 + 1)..concat(t)
end

local function bytes(field, s)
  return char(field * 8 + 2)..varint(#s)..s
end

-- The string table: intern(s) is a string's number, and list the strings.
local function strings()
  local list, index = { "" }, { [""] = 0 }
  return function(s)
    local i = index[s]
    if not i then
      i = #list
      list[i+1] = names.printable(s)
      index[s] = i
    end
    return i
  end, list
end

return { varint = varint, num = num, fixed64 = fixed64, bytes = bytes,
  strings = strings }
