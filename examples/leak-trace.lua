-- SPDX-License-Identifier: MIT
-- A leak through compiled code: examples/CASES.md.
--
-- Queries walk over large tables with a function made for each of them. The
-- loop in each() is compiled while it calls the first such function, and the
-- machine code has that function as a constant: the function and the table
-- that it refers to live as long as the code. With the argument "repaired" the
-- table is an argument, and the function refers to nothing.

local repaired = arg[1] == "repaired"

local function numbers(n)
  local t = {}
  for i = 1, n do t[i] = i * 7 % 1000 end
  return t
end

local function each(n, f, data)
  local sum = 0
  for i = 1, n do sum = sum + f(i, data) end
  return sum
end

local function is_small(i, data) return data[i] < 500 and 1 or 0 end

local function query(size)
  local index = numbers(size)
  if repaired then return each(size, is_small, index) end
  return each(size, function(i) return index[i] < 500 and 1 or 0 end)
end

local sum = query(400000)
for _ = 1, 20 do sum = sum + query(1000) end
collectgarbage()
collectgarbage()
print("sum", sum, "in use", collectgarbage("count") > 2000 and "much" or
  "little")
os.exit(0)
