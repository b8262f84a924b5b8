-- For the manual's samples: memory that is gone at the end.
local function build()
  local list = {}
  for i = 1, 100000 do list[i] = { i } end
  return list
end

local function shrink(list)
  local sums = {}
  for i = 1, #list, 1000 do sums[#sums+1] = { list[i][1] } end
  return sums
end

local sums = shrink(build())
collectgarbage()
os.exit(0)
