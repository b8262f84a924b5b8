-- SPDX-License-Identifier: MIT
-- A pseudo leak: the collector's count is healthy, and the process stays large.
--
-- A batch of records is read, indexed and thrown away, round after round. A
-- small result of every hundredth record is kept. The results lie between the
-- records, so that LuaJIT's allocator, which gives memory back by whole
-- segments only, keeps nearly all that the largest batch took. See
-- examples/CASES.md.
--
-- The way out is a lower peak: with the argument "parts" a batch is read in
-- parts, each of which is done with before the next is read.

local parts = arg[1] == "parts" and 40 or 1
local batches, records = 8, 40000

local results = {}

local function read(batch, from, to)
  local list = {}
  for i = from, to do
    list[#list+1] = { id = i, name = "record "..batch.."/"..i,
      tags = { batch, i } }
    if i % 100 == 0 then results[#results+1] = { value = #list[#list].name } end
  end
  return list
end

local function index(list)
  local by_name = {}
  for _, record in ipairs(list) do by_name[record.name] = record end
  return by_name
end

local n = 0
for batch = 1, batches do
  local size = records / parts
  for part = 1, parts do
    local by_name = index(read(batch, (part - 1) * size + 1, part * size))
    if by_name["record "..batch.."/"..part * size] then n = n + 1 end
  end
end

collectgarbage()
collectgarbage()
local sum = 0
for _, result in ipairs(results) do sum = sum + result.value end
print(("%d batches, %d results, sum %d"):format(n / parts, #results, sum))
os.exit(0)
