-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Lists of numbers as columns of bytes, and back: how a profile file holds
-- its tables.
----------------------------------------------------------------------------
--
-- A column is "u4", whole numbers of four bytes, or "f8", doubles of eight;
-- both with the lowest byte first.
--
----------------------------------------------------------------------------

local bit = require("bit")
local has_ffi, ffi = pcall(require, "ffi")

local floor = math.floor

local sizes = { u4 = 4, f8 = 8 }
local arrays = {}
if has_ffi then
  arrays.u4, arrays.f8 = ffi.typeof("uint32_t[?]"), ffi.typeof("double[?]")
end

-- nil, or the reason why this LuaJIT cannot make columns.
local function missing()
  if not has_ffi then
    return package.preload.ffi and tostring(ffi) or
      "this LuaJIT has no FFI library"
  end
  if not ffi.abi("le") then return "this machine is big-endian" end
end

-- Whether all of n numbers fit into four bytes.
local function is_small(list, n)
  for i = 1, n do
    local v = list[i]
    if v ~= floor(v) or v < 0 or v >= 2^32 then return false end
  end
  return true
end

-- The first n numbers of a list as bytes, and the type of the column.
local function pack(list, n)
  local t = is_small(list, n) and "u4" or "f8"
  local a = arrays[t](n)
  for i = 1, n do a[i-1] = list[i] end
  return ffi.string(a, n * sizes[t]), t
end

-- LuaJIT keeps values that are no numbers in the bits of NaNs: read as they
-- are, such bits from a file would pass for any object at any address. Every
-- NaN becomes the one that a calculation gives.
local function make_numbers(a, n)
  local words = ffi.cast("const uint32_t *", a)
  for i = 0, n - 1 do
    local high = bit.band(words[2*i+1], 0x7fffffff)
    if high >= 0x7ff00000 and (high > 0x7ff00000 or words[2*i] ~= 0) then
      a[i] = 0/0
    end
  end
end

-- n numbers of a type that begin at a position of a text, as an array from 0
-- on; and the position behind them. nil: the text is too short.
local function unpack(text, pos, t, n)
  local size = n * sizes[t]
  if pos + size - 1 > #text then return nil end
  local a = arrays[t](n)
  ffi.copy(a, ffi.cast("const char *", text) + (pos - 1), size)
  if t == "f8" then make_numbers(a, n) end
  return a, pos + size
end

return { missing = missing, pack = pack, unpack = unpack, sizes = sizes }
