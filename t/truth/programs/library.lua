-- SPDX-License-Identifier: MIT
-- The string and table libraries: format, gsub, gmatch, concat, sort. All
-- strings are kept: one that is still there would not be made again.

local kept, n = {}, 0

local function keep(s)
  n = n + 1
  kept[n] = s
  return s
end

for i = 1, 4000 do
  keep(("%05d|%s|%.3f"):format(i, "name", i / 7))
end

for i = 1, 1500 do
  local words = {}
  for k = 1, 8 do
    words[k] = keep("w" .. i * 8 + k)
  end
  keep(table.concat(words, ","))
end

local function shout(word)
  return keep(word:upper())
end

for i = 1, 800 do
  local text = keep("the quick fox " .. i .. " jumps over " .. i * 3)
  keep((text:gsub("%a+", "<%0>")))
  keep((text:gsub("%d+", function(d)
    return keep("#" .. d .. "/" .. i)
  end)))
  for word in text:gmatch("%d+") do
    keep(word)
    shout("n" .. word .. "n" .. i)
  end
end

local function by_size(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

for round = 1, 20 do
  local list = {}
  for i = 1, 200 do
    list[i] = kept[i * 37 % n + 1]
  end
  table.sort(list, by_size)
  table.insert(list, 1, "first")
  table.remove(list)
  keep(table.concat(list, " ", 1, 20) .. round)
end
print(n)
