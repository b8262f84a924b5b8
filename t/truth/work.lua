-- SPDX-License-Identifier: MIT
-- The work of a request, of which nothing is kept: for leaking.lua and
-- sound.lua.

local sink, sum = nil, 0

-- Garbage: a table, a string, a closure.
local function work(i)
  local t = { i, tostring(i * 7), x = i }
  sink = function() return t end
  return t
end

-- Time alone, as much as about fifty additions take.
local function compute(i)
  for k = 1, 50 do sum = sum + i % k end
  return sum
end

return { work = work, compute = compute, sink = function() return sink end }
