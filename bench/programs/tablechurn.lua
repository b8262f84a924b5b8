-- A million live objects, replaced at random.
local scale = tonumber((...)) or 1
local live, seed, N = {}, 1, math.floor(1000000 * scale)
for i = 1, N do live[i] = { i, 0 } end
for i = 1, 4000000 * scale do
  seed = (seed * 16807) % 2147483647
  live[seed % N + 1] = { i, seed }
end
local sum = 0
for i = 1, N do sum = (sum + live[i][1] + live[i][2]) % 1000003 end
print(sum)
