-- SPDX-License-Identifier: MIT
-- Whether scaling rows to what was counted makes them better: simulated runs
-- of a program whose truth is known, sampled as the core does.
--
--   ./run luajit bench/estimates.lua [runs, default 200]
--
-- For each stack: its share of the bytes, and the error of its estimate (root
-- mean square, in percent of the truth) as sampled, by one factor for all, and
-- as reports have it.

local estimates = require("jit.mp.model.estimates")

local runs = tonumber(arg and arg[1]) or 200
local period = 4096

-- Stacks: how many blocks of which sizes each allocates.
local stacks = {
  { name = "half, small blocks", blocks = 40000, sizes = { 32, 48 } },
  { name = "a quarter, mixed", blocks = 4000, sizes = { 16, 64, 400 } },
  { name = "large blocks", blocks = 12, sizes = { 8192, 65536 } },
  { name = "a tenth", blocks = 8000, sizes = { 40 } },
  { name = "a hundredth", blocks = 800, sizes = { 40 } },
}

-- One run: rows with what the samples of each stack stand for, the number of
-- samples, and the truth. Blocks come mixed; distances are exponential.
local function run()
  local list, rows, truth, samples = {}, {}, {}, 0
  for i, s in ipairs(stacks) do
    rows[i], truth[i] = { alloc_bytes = 0, alloc_objects = 0 }, 0
    for k = 1, s.blocks do
      local size = s.sizes[k % #s.sizes + 1]
      truth[i] = truth[i] + size
      list[#list+1] = { i, size }
    end
  end
  for i = #list, 2, -1 do
    local k = math.random(i)
    list[i], list[k] = list[k], list[i]
  end
  local left = -period * math.log(1 - math.random())
  for _, block in ipairs(list) do
    left = left - block[2]
    if left <= 0 then
      local row, n = rows[block[1]], 1 / (1 - math.exp(-block[2] / period))
      row.alloc_objects = row.alloc_objects + n
      row.alloc_bytes = row.alloc_bytes + n * block[2]
      samples = samples + 1
      left = -period * math.log(1 - math.random())
    end
  end
  return rows, samples, truth, #list
end

local function sum(t)
  local n = 0
  for _, v in ipairs(t) do n = n + v end
  return n
end

local function error_of(v, i, truth) return (v - truth[i]) ^ 2 / runs end

math.randomseed(1)
local sampled, scaled, shown, all = {}, {}, {}, nil
for i in ipairs(stacks) do sampled[i], scaled[i], shown[i] = 0, 0, 0 end
for _ = 1, runs do
  local rows, samples, truth, blocks = run()
  local bytes = {}
  for i, row in ipairs(rows) do bytes[i] = row.alloc_bytes end
  local factor = sum(truth) / sum(bytes)
  estimates.calibrate({ rows = rows, heap = { period = period, samples =
    samples, alloc_bytes = sum(truth), alloc_objects = blocks, inuse = 0,
    inuse_start = 0 } })
  for i, v in ipairs(bytes) do
    sampled[i] = sampled[i] + error_of(v, i, truth)
    scaled[i] = scaled[i] + error_of(v * factor, i, truth)
    shown[i] = shown[i] + error_of(rows[i].alloc_bytes, i, truth)
  end
  all = truth
end

print(("%d runs, a sample every %d bytes"):format(runs, period))
print("share   sampled   one factor   reports   stack")
for i, s in ipairs(stacks) do
  local function percent(v) return 100 * v[i] ^ 0.5 / all[i] end
  print(("%4.0f%%   %6.1f%%   %9.1f%%   %6.1f%%   %s"):format(
    100 * all[i] / sum(all), percent(sampled), percent(scaled),
    percent(shown), s.name))
end
