-- SPDX-License-Identifier: MIT
-- Allocations of several kinds, whose contents are checked, until the file of
-- that name has gone.

local keep = {}
local function fill(n)
  local sum = 0
  for i = 1, n do
    keep[i % 1000 + 1] = { i, name = "n"..i, f = function() return i end }
    sum = sum + i
  end
  return sum
end

local function check()
  for _, t in ipairs(keep) do
    assert(t.name == "n"..t[1] and t.f() == t[1], "another content")
  end
end

repeat
  assert(fill(2e4) == 2e4 * (2e4 + 1) / 2, "another sum")
  check()
  local file = io.open(arg[1])
  if file then file:close() end
until not file
print("right")
