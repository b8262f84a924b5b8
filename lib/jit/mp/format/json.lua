----------------------------------------------------------------------------
-- JSON's strings and numbers, and what of a string is UTF-8.
----------------------------------------------------------------------------

local floor = math.floor

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

-- A string as valid UTF-8: bytes that are not are shown as \ddd.
local function utf8(s)
  if not s:find("[\128-\255]") then return s end
  local out, pos = {}, 1
  while pos <= #s do
    local n = sequence(s, pos)
    out[#out+1] = n and s:sub(pos, pos + n - 1) or
      ("\\%03d"):format(s:byte(pos))
    pos = pos + (n or 1)
  end
  return table.concat(out)
end

-- A string in JSON, for any bytes.
local function encode(s)
  return '"'..utf8(s):gsub('[%c"\\]', function(c)
    return c == '"' and '\\"' or c == "\\" and "\\\\" or
      ("\\u%04x"):format(c:byte())
  end)..'"'
end

-- A finite number in JSON.
local function number(v)
  if v == floor(v) and v > -2^53 and v < 2^53 then return ("%.0f"):format(v) end
  return ("%.14g"):format(v)
end

return { string = encode, number = number, utf8 = utf8, sequence = sequence }
