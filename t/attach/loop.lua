-- SPDX-License-Identifier: MIT
-- Long loops of arithmetic, compiled: nothing in them looks at a hook. They run
-- again and again, with one result, until the file of that name has gone.

local function numeric(n)
  local x = 0
  for i = 1, n do x = x + i % 7 end
  return x
end

local function conditional(n)
  local x, y, i = 0, 1, 0
  while i < n do
    if i % 3 == 0 then x = x + y else y = y + 1 end
    i = i + 1
  end
  return x * 7 + y
end

local function nested(n)
  local x = 0
  for i = 1, n do
    local k = i
    for j = 1, 100 do k = (k * 5 + j) % 8191 end
    x = x + k
  end
  return x
end

local function recursive(n, x)
  if n == 0 then return x end
  return recursive(n - 1, (x * 3 + n) % 65521)
end

local programs = { { numeric, 2e7 }, { conditional, 2e7 }, { nested, 2e5 },
  { recursive, 2e7, 1 } }
local results, rounds = {}, 0
repeat
  for i, p in ipairs(programs) do
    local result = p[1](p[2], p[3])
    results[i] = results[i] or result
    assert(results[i] == result, "another result")
  end
  rounds = rounds + 1
  local file = io.open(arg[1])
  if file then file:close() end
until not file
print("right", results[1], results[2], results[3], results[4])
