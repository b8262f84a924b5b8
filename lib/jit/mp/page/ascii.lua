-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- UTF-8 text as ASCII, with an escape for each other character.
----------------------------------------------------------------------------
--
-- If a page has a single other character, a browser keeps all of its characters
-- in two bytes each, and takes longer to read it.
--
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")

-- Valid UTF-8, with format(code) in place of other characters.
local function escaper(format)
  local function replace(c) return format(names.code(c)) end
  return function(s) return (s:gsub("[\192-\255][\128-\191]+", replace)) end
end

-- JavaScript and JSON number the units of UTF-16.
local function in_script(n)
  if n < 0x10000 then return ("\\u%04x"):format(n) end
  n = n - 0x10000
  return ("\\u%04x\\u%04x"):format(0xd800 + math.floor(n / 0x400),
    0xdc00 + n % 0x400)
end

-- The space ends the number.
local function in_style(n) return ("\\%x "):format(n) end

local function in_markup(n) return ("&#x%x;"):format(n) end

return {
  script = escaper(in_script), style = escaper(in_style),
  markup = escaper(in_markup)
}
