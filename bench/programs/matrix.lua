-- Matrices as tables of tables.
local scale = tonumber((...)) or 1
local function matrix(n, f)
  local m = {}
  for i = 1, n do
    local row = {}
    for j = 1, n do row[j] = f(i, j) end
    m[i] = row
  end
  return m
end
local function multiply(a, b, n)
  return matrix(n, function(i, j)
    local sum, row = 0, a[i]
    for k = 1, n do sum = sum + row[k] * b[k][j] end
    return sum
  end)
end
local n = math.max(20, math.min(300, math.ceil(3000 * scale)))
local a = matrix(n, function(i, j) return (i + j) % 7 end)
local b = matrix(n, function(i, j) return (i * j) % 5 end)
local c
for _ = 1, math.ceil(35 * scale) do c = multiply(a, b, n) end
print(c[10][20], c[n][n])
