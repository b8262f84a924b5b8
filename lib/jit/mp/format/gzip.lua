----------------------------------------------------------------------------
-- A gzip file of what it is given, stored and not compressed: readers of
-- gzip's format want its frame, and a profile is small.
----------------------------------------------------------------------------

local bit = require("bit")
local crc32 = require("jit.mp.format.crc32")
local band, rshift = bit.band, bit.rshift
local char = string.char

local BLOCK = 65535 -- A stored block can be no larger.

-- Little-endian numbers of 16 and 32 bits.
local function u16(n) return char(n % 256, rshift(n, 8)) end

local function u32(n)
  return char(band(n, 255), band(rshift(n, 8), 255), band(rshift(n, 16), 255),
    rshift(n, 24))
end

-- mtime: seconds since 1970, or 0 for none.
return function(s, mtime)
  local out = { "\31\139\8\0", u32(mtime or 0), "\0\255" }
  local n = math.max(math.ceil(#s / BLOCK), 1)
  for i = 1, n do
    local block = s:sub((i - 1) * BLOCK + 1, i * BLOCK)
    out[#out+1] = (i == n and "\1" or "\0")..u16(#block)..u16(0xffff - #block)
    out[#out+1] = block
  end
  out[#out+1] = u32(crc32(s))..u32(#s)
  return table.concat(out)
end
