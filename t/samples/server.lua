-- For the manual's samples: a leak, a cache, and a working set.
local fixed, sessions, cache = {}, {}, {}
for i = 1, 40000 do fixed[i] = { i } end

local function remember(id) sessions[#sessions+1] = { id } end
local function look_up(id) cache[id % 20000 + 1] = { id, { id } } end

for id = 1, 1600000 do
  if id % 16 == 0 then remember(id) end
  look_up(id)
end
os.exit(0)
