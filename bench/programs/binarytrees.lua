-- Many small tables in deep recursion.
local scale = tonumber((...)) or 1
local function tree(depth)
  if depth == 0 then return {} end
  return { tree(depth - 1), tree(depth - 1) }
end
local function count(t)
  return t[1] and 1 + count(t[1]) + count(t[2]) or 1
end
local long, sum = tree(15), 0
for _ = 1, 300 * scale do sum = sum + count(tree(15)) end
print(sum, count(long))
