-- SPDX-License-Identifier: MIT
-- Recursion over tables: trees, permutations, deep copies, merge sort.

local function tree(depth)
  if depth == 0 then
    return { leaf = true }
  end
  local left = tree(depth - 1)
  local right = tree(depth - 1)
  return { left, right }
end

local function copy(t)
  local c = {}
  for k, v in pairs(t) do
    c[k] = type(v) == "table" and copy(v) or v
  end
  return c
end

local found = 0
local function permute(list, n)
  if n == 0 then
    local result = {}
    for i = 1, #list do result[i] = list[i] end
    found = found + #result
    return
  end
  for i = 1, n do
    list[i], list[n] = list[n], list[i]
    permute(list, n - 1)
    list[i], list[n] = list[n], list[i]
  end
end

local function merge(a, b)
  local out, i, j = {}, 1, 1
  while a[i] or b[j] do
    if not b[j] or a[i] and a[i] <= b[j] then
      out[#out+1] = a[i]
      i = i + 1
    else
      out[#out+1] = b[j]
      j = j + 1
    end
  end
  return out
end

local function sorted(list, from, to)
  if from == to then return { list[from] } end
  local mid = math.floor((from + to) / 2)
  return merge(sorted(list, from, mid), sorted(list, mid + 1, to))
end

local function depth(n, acc)
  if n == 0 then return acc end
  local next = { n, acc }
  return depth(n - 1, next)
end

for round = 1, 6 do
  local t = tree(9)
  local c = copy(t)
  found = found + #c
end
permute({ 1, 2, 3, 4, 5, 6, 7 }, 7)
for round = 1, 20 do
  local list = {}
  for i = 1, 300 do list[i] = (i * 7919) % 301 end
  found = found + #sorted(list, 1, #list)
  found = found + #depth(300, {})
end
print(found)
