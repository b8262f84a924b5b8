-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Numbers for people: three digits and a unit.
----------------------------------------------------------------------------

-- Halves go up, on every LuaJIT: their own "%.0f" differs.
local function rounded(x, unit)
  return math.floor(x * unit + 0.5) / unit
end

local function three_digits(x)
  if x < 9.995 then return ("%.2f"):format(rounded(x, 100)) end
  if x < 99.95 then return ("%.1f"):format(rounded(x, 10)) end
  return ("%.0f"):format(rounded(x, 1))
end

local function scaled(x, units, base)
  local i = 1
  while x >= (base == 1024 and 1023.5 or 999.5) and i < #units do
    x = x / (base or 1000)
    i = i + 1
  end
  return x, units[i], i
end

local byte_units = { "B", "kB", "MB", "GB", "TB" }
local count_units = { "", "k", "M", "G", "T" }

local kib_units = { "B", "KiB", "MiB", "GiB", "TiB" }

-- 36000000 -> "36.0 MB"; kib: "34.3 MiB".
local function bytes(n, kib)
  local x, unit, i = scaled(n, kib and kib_units or byte_units,
    kib and 1024 or 1000)
  return (i == 1 and ("%.0f"):format(rounded(x, 1)) or three_digits(x))..
    " "..unit
end

-- 1500000 -> "1.50 M".
local function count(n)
  local x, unit, i = scaled(n, count_units)
  if i == 1 then return ("%.0f"):format(rounded(x, 1)) end
  return three_digits(x).." "..unit
end

-- 0.0451 -> "45 ms".
local function seconds(s)
  if s < 0.9995 then return ("%.0f ms"):format(rounded(s * 1000, 1)) end
  return three_digits(s).." s"
end

-- 2.5 -> "2.5", 65536 -> "65536": at least three digits, never an exponent.
local function plain(x)
  return (x >= 0.001 and x < 999.5 and "%.3g" or "%.0f"):format(x)
end

-- A period of the allocation sampler, in powers of two as option b takes it.
local function period(n)
  if n < 1024 then return ("%.0f B"):format(n) end
  if n < 1048576 then return plain(n / 1024).." KiB" end
  return plain(n / 1048576).." MiB"
end

-- A share of 0 to 1, in percent. Rounded down: 99.96% never shows as 100%.
local function percent(share)
  return (("%.1f"):format(math.floor(share * 1000) / 10):gsub("%.0$", "")).."%"
end

-- A part of a total, in whole percent.
local function share(v, total)
  return ("%.0f%%"):format(rounded(total > 0 and v * 100 / total or 0, 1))
end

-- "1 sample", "2 samples".
local function counted(n, what)
  return ("%.0f %s%s"):format(n, what, n == 1 and "" or "s")
end

local function samples(n) return counted(n, "sample") end

return {
  bytes = bytes, count = count, seconds = seconds, plain = plain,
  period = period, percent = percent, share = share, counted = counted,
  samples = samples
}
