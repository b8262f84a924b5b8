-- SPDX-License-Identifier: MIT
-- A pseudo leak: the collector's count is healthy, and the process stays large.
--
-- A batch of records is read, indexed and thrown away, round after round. Of
-- each batch a few small results are kept. They lie between the records, so
-- that LuaJIT's allocator, which gives memory back only by whole segments,
-- keeps what the records took. Option M shows it:
--
--   luajit -jm=M examples/pseudo-leak.lua
--
-- The way out: with the argument "apart" the results are kept in one block of
-- memory that was there before the first batch, and nothing lies between.

local ffi = require("ffi")

local apart = arg[1] == "apart"
local batches, records = 8, 40000
local room = apart and ffi.new("double[?]", batches * records / 100)
local kept = 0
local results = {}

local function keep(value)
  kept = kept + 1
  if room then
    room[kept-1] = value
  else
    results[kept] = { value = value }
  end
end

local function batch(n)
  local list = {}
  for i = 1, records do
    list[i] = { id = i, name = "record "..n.."/"..i, tags = { n, i } }
    if i % 100 == 0 then keep(#list[i].name) end
  end
  return #list
end

for n = 1, batches do batch(n) end

collectgarbage()
collectgarbage()
local sum = 0
for i = 1, kept do sum = sum + (room and room[i-1] or results[i].value) end
print(("kept %d results, sum %d"):format(kept, sum))
os.exit(0)
