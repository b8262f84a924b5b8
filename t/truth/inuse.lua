-- SPDX-License-Identifier: MIT
-- The error of rows of memory in use, at the default distance:
--   ./run luajit t/truth/inuse.lua [RUNS [PROGRAM...]]
--
-- The truth is a run with every allocation counted. A program stops where all
-- garbage has just been collected. Rows of a tenth of the heap
-- or more are compared, by function and by line: all of them must be within 20%
-- of the truth in 95 of 100 runs.

local tap = require("tap")
local read = require("jit.mp.format.file_read")

local SHARE, ERROR = 0.1, 0.2

local runs = tonumber(arg[1] or 10)
local programs = { "binarytrees", "matrix", "tablechurn" }
if arg[2] then programs = { unpack(arg, 2) } end

-- The size of each program: at its end it has 2 MB in use, or more.
local scale = { binarytrees = 0.02, json = 1, matrix = 0.4, tablechurn = 0.04 }

-- Bytes in use by function and line, all, and the samples that they rest on.
local function in_use(name, options)
  local out = tap.tmpname(".mp")
  local r = tap.luajit(("-jm=%s,%s %s/t/truth/quiet.lua "..
    "%s/bench/programs/%s.lua %g"):format(options, out, tap.srcdir, tap.srcdir,
    name, scale[name] or 1))
  assert(r.status == 0, r.err)
  local p = assert(read(assert(tap.read(out))))
  os.remove(out)
  local rows = {}
  for _, scope in ipairs({ "f", "l" }) do
    local namer = p:namer(scope, false, 1)
    for _, row in ipairs(p.rows) do
      local key = scope.." "..namer(row)[1]
      rows[key] = (rows[key] or 0) +
	(p:is_before(row) and 0 or row.inuse_bytes)
    end
  end
  return rows, p.heap.inuse, p.heap.inuse_samples
end

-- The largest error among the rows of a tenth or more.
local function worst(truth, all, rows)
  local most, where = 0, "none"
  for key, bytes in pairs(truth) do
    local off = math.abs((rows[key] or 0) / bytes - 1)
    if bytes >= all * SHARE and off > most then most, where = off, key end
  end
  return most, where
end

local probe = tap.luajit("-jm=hb1 "..tap.program("local t = {}"))
if not probe.out:find("capture exact") then
  tap.skip("capture is not exact on this VM")
end

for _, name in ipairs(programs) do
  local truth, all = in_use(name, "b1")
  tap.ok(all >= 2e6, name.." has 2 MB in use", all)
  local errors, sum, good = {}, 0, 0
  for i = 1, runs do
    local rows, _, samples = in_use(name, "")
    local most, where = worst(truth, all, rows)
    errors[i], sum = most, sum + samples
    if most <= ERROR then good = good + 1
    else tap.diag(("%s: %.0f%% off, %s"):format(name, most * 100, where)) end
  end
  table.sort(errors)
  tap.diag(("%s: %.1f MB in use, %.0f samples; largest error: median %.1f%%, "..
    "of 95 in 100 runs %.1f%%, at most %.1f%%"):format(name, all / 1e6,
    sum / runs, errors[math.ceil(runs / 2)] * 100,
    errors[math.ceil(runs * 0.95)] * 100, errors[runs] * 100))
  tap.ok(good >= runs * 0.95 or good == runs - 1 and runs < 20,
    ("%s: rows are within 20%% in %d of %d runs"):format(name, good, runs))
end
tap.done()
