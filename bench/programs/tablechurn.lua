-- A million live objects, replaced at random.
local live, seed, N = {}, 1, 1000000
for i = 1, N do live[i] = { i, 0 } end
for i = 1, 4000000 do
  seed = (seed * 16807) % 2147483647
  live[seed % N + 1] = { i, seed }
end
local sum = 0
for i = 1, N do sum = (sum + live[i][1] + live[i][2]) % 1000003 end
print(sum)
