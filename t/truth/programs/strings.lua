-- SPDX-License-Identifier: MIT
-- Builds strings by concatenation, in loops of one line and of several. All are
-- kept: a string that is still there would not be made again.

local kept, n = {}, 0

local function keep(s)
  n = n + 1
  kept[n] = s
  return s
end

local function label(prefix, i)
  return prefix .. ":" .. i
end

for i = 1, 6000 do keep(label("first", i)) end

for i = 1, 6000 do
  local a = keep("second " .. i)
  local b = keep(a .. " and " .. a)
  keep(b:upper())
end

local line = ""
for i = 1, 400 do
  line = line .. "x" .. i .. ";"
  keep(line)
end

local function quoted(s) return '"' .. s .. '"' end
local function pair(k, v) return quoted(k) .. "=" .. quoted(v) end
for i = 1, 6000 do
  keep(pair("key" .. i, "value" .. i))
end

for i = 1, 6000 do
  local s = "third " .. i
  keep(s)
  keep(s:rep(3))
  keep(s:sub(3, -2) .. "!")
  keep(s:reverse())
end
print(n)
