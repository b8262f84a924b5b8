-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The CRC-32 of a string, as gzip has it: a signed number of 32 bits.
----------------------------------------------------------------------------

local bit = require("bit")
local band, bnot, bxor, rshift = bit.band, bit.bnot, bit.bxor, bit.rshift
local byte = string.byte

-- Tables for four bytes at a time: t0[b] is the CRC of the byte b, t1[b] that
-- of b and a zero byte, and so on.
local t0, t1, t2, t3 = {}, {}, {}, {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do
    c = band(c, 1) ~= 0 and bxor(rshift(c, 1), 0xedb88320) or rshift(c, 1)
  end
  t0[i] = c
end
for i = 0, 255 do
  t1[i] = bxor(rshift(t0[i], 8), t0[band(t0[i], 255)])
end
for i = 0, 255 do
  t2[i] = bxor(rshift(t1[i], 8), t0[band(t1[i], 255)])
end
for i = 0, 255 do
  t3[i] = bxor(rshift(t2[i], 8), t0[band(t2[i], 255)])
end

return function(s)
  local c, n = -1, #s
  local whole = n - n % 8
  for i = 1, whole, 8 do
    local b1, b2, b3, b4, b5, b6, b7, b8 = byte(s, i, i + 7)
    c = bxor(t3[bxor(band(c, 255), b1)], t2[bxor(band(rshift(c, 8), 255), b2)],
      t1[bxor(band(rshift(c, 16), 255), b3)], t0[bxor(rshift(c, 24), b4)])
    c = bxor(t3[bxor(band(c, 255), b5)], t2[bxor(band(rshift(c, 8), 255), b6)],
      t1[bxor(band(rshift(c, 16), 255), b7)], t0[bxor(rshift(c, 24), b8)])
  end
  for i = whole + 1, n do
    c = bxor(rshift(c, 8), t0[bxor(band(c, 255), byte(s, i))])
  end
  return bnot(c)
end
