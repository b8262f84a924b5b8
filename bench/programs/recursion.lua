-- SPDX-License-Identifier: MIT
-- Binary recursion that allocates at each step, from two lines: as many
-- distinct stacks as there are ways down.
local scale = tonumber((...)) or 1

local function tree(depth)
  if depth == 0 then return { 1 } end
  local left = tree(depth - 1)
  local right = tree(depth - 1)
  return { left[1] + right[1] }
end

local sum = 0
for _ = 1, 1000 * scale do sum = sum + tree(12)[1] end
print(sum)
