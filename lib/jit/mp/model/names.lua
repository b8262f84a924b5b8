-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- One spelling for each name: texts that the program or a stranger's file
-- chose, as every view, format and message shows them.
----------------------------------------------------------------------------
--
-- Reports show UTF-8 that neither moves a terminal's cursor, nor breaks a line
-- or a table, nor turns the text around it. Everything else is spelled as in a
-- Lua string: \n, \027, \255 for bytes, \u{202E} for characters.
--
----------------------------------------------------------------------------

local escapes = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }

local function control(c)
  return escapes[c] or ("\\%03d"):format(c:byte())
end

-- Length of the UTF-8 sequence at pos, or nil where there is none.
local function sequence(s, pos)
  local a, b, c, d = s:byte(pos, pos + 3)
  local function more(x) return x and x >= 0x80 and x < 0xc0 end
  if a < 0x80 then return 1 end
  if a < 0xc2 or a > 0xf4 or not more(b) then return nil end
  if a < 0xe0 then return 2 end
  if a < 0xf0 then
    -- No overlong forms, no surrogates.
    if a == 0xe0 and b < 0xa0 or a == 0xed and b >= 0xa0 then return nil end
    return more(c) and 3 or nil
  end
  if a == 0xf0 and b < 0x90 or a == 0xf4 and b >= 0x90 then return nil end
  return more(c) and more(d) and 4 or nil
end

-- The number of a character of two to four bytes.
local function code(c)
  local n = c:byte() % 2 ^ (7 - #c)
  for i = 2, #c do n = n * 64 + c:byte(i) % 64 end
  return n
end

-- Controls from 128 on, line ends, and characters that turn a text around.
local function is_hidden(n)
  return n < 0xa0 or n == 0x61c or n >= 0x200e and n <= 0x200f or
    n >= 0x2028 and n <= 0x202e or n >= 0x2066 and n <= 0x2069 or n == 0xfeff
end

-- A run of bytes above 127.
local function not_ascii(run)
  local out, pos = {}, 1
  while pos <= #run do
    local n = sequence(run, pos)
    local c = run:sub(pos, pos + (n or 1) - 1)
    if not n then
      c = control(c)
    elseif is_hidden(code(c)) then
      c = ("\\u{%X}"):format(code(c))
    end
    out[#out+1] = c
    pos = pos + (n or 1)
  end
  return table.concat(out)
end

-- A text whose control characters are taken care of elsewhere.
local function utf8(s)
  if not s:find("[\128-\255]") then return s end
  return (s:gsub("[\128-\255]+", not_ascii))
end

local function printable(s)
  return (utf8(s):gsub("%c", control))
end

-- The same for a line of source, whose tabs stay.
local function source_line(s)
  return (s:gsub("\r$", ""):gsub("[^\t]+", printable))
end

return {
  printable = printable, source_line = source_line, utf8 = utf8, code = code
}
