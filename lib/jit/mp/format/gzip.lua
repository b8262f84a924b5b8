-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A text as a gzip file, and back. Without zlib texts are stored, not
-- compressed, and only stored ones can be read.
----------------------------------------------------------------------------

local bit = require("bit")
local crc32 = require("jit.mp.format.crc32")
local zlib = require("jit.mp.format.zlib")
local band, rshift = bit.band, bit.rshift
local char = string.char

local BLOCK = 65535   -- A stored block can be no larger.
local HEAD, TAIL = 10, 8
local RATIO = 1032    -- Deflate can do no better.

-- Little-endian numbers of 16 and 32 bits.
local function u16(n) return char(n % 256, rshift(n, 8)) end

local function u32(n)
  return char(band(n, 255), band(rshift(n, 8), 255), band(rshift(n, 16), 255),
    rshift(n, 24))
end

local function read_u32(s, pos)
  local a, b, c, d = s:byte(pos, pos + 3)
  return a + b * 2^8 + c * 2^16 + d * 2^24
end

local function checksum(s)
  return zlib.crc32 and zlib.crc32(s) or crc32(s)
end

-- A deflate stream of stored blocks.
local function store(s)
  local out, n = {}, math.max(math.ceil(#s / BLOCK), 1)
  for i = 1, n do
    local block = s:sub((i - 1) * BLOCK + 1, i * BLOCK)
    out[#out+1] = (i == n and "\1" or "\0")..u16(#block)..u16(0xffff - #block)
    out[#out+1] = block
  end
  return table.concat(out)
end

-- The text of stored blocks from pos on; nil: they are not stored, or damaged.
local function unstore(s, pos)
  local out, last = {}, nil
  repeat
    local kind, a, b, c, d = s:byte(pos, pos + 4)
    if not d or kind > 1 or a + c ~= 255 or b + d ~= 255 then return nil end
    last, pos = kind == 1, pos + 5
    out[#out+1] = s:sub(pos, pos + a + b * 256 - 1)
    pos = pos + a + b * 256
  until last
  return pos == #s - TAIL + 1 and table.concat(out) or nil
end

-- mtime: seconds since 1970, or nothing.
local function pack(s, mtime)
  local body = zlib.deflate and zlib.deflate(s) or store(s)
  return table.concat({ "\31\139\8\0", u32(mtime or 0), "\0\255", body,
    u32(checksum(s)), u32(#s) })
end

local function is_packed(s)
  return s:sub(1, 3) == "\31\139\8" and #s > HEAD + TAIL
end

-- The text that pack() packed, or nil and a message that follows the name of
-- the file. The text has no more than limit bytes.
local function unpack(s, limit)
  local size = read_u32(s, #s - 3)
  if size > limit or size > #s * RATIO then
    return nil, "is damaged or cut short: its end is not that of a profile"
  elseif s:byte(4) ~= 0 then
    return nil, "is a gzip file of another program; if it has a profile in "..
      "it, gunzip it"
  end
  local text = unstore(s, HEAD + 1)
  local why
  if text then
    local same = #text == size and
      band(checksum(text), -1) == band(read_u32(s, #s - 7), -1)
    if same then return text end
  elseif not zlib.gunzip then
    return nil, "is compressed or damaged, and there is no zlib (libz.so.1) "..
      "to read it: decompress it with gzip -dc"
  else
    text, why = zlib.gunzip(s, size)
    if text then return text end
  end
  return nil, why or "is damaged: its checksum is wrong, or it is cut off"
end

return { pack = pack, unpack = unpack, is_packed = is_packed }
