-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- JSON's strings and numbers.
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

return { string = encode, number = number }
