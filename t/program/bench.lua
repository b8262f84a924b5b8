-- SPDX-License-Identifier: MIT
-- The programs of make bench, made small: whatever is profiled, each prints
-- the same as without a profiler, and ends the same way.

local tap = require("tap")

local programs = { "binarytrees", "buffers", "cdata", "closures",
  "combinators", "compiler", "coroutines", "hashes", "json", "malloc", "matrix",
  "nbody", "numeric", "objects", "recursion", "strings", "tablechurn" }
local modes = tap.slow and { "b1flhu" } or { "f", "fl", "b1flhu", "e", "L" }
local scale = tap.slow and 0.001 or 0.01

for _, name in ipairs(programs) do
  local program = ("%s %g"):format(
    tap.quote(tap.srcdir.."/bench/programs/"..name..".lua"), scale)
  local plain = tap.luajit(program)
  tap.is(plain.status, 0, name.." runs")
  for _, mode in ipairs(modes) do
    local r = tap.luajit(("-jm=%s,/dev/null %s"):format(mode, program))
    local what = name.." under -jm="..mode
    tap.is(r.status, 0, what..": exit status")
    tap.is(r.out, plain.out, what..": output")
    tap.is(r.err, "", what..": errors")
  end
end

-- The figures, and the manual's table that is made from them.
local function check_table(results, manual)
  local r = tap.luajit(("%s --rounds 1 --only '^n' --scale 0.001 -o %s"):format(
    tap.quote(tap.srcdir.."/bench/run.lua"), tap.quote(results)))
  tap.is(r.err, "", "run.lua runs")
  local worst = tap.read(results):match("\nb1 +[%d.]+ +[%d.]+  (%a+)")
  tap.ok(worst == "nbody" or worst == "numeric", "it names the worst program")
  tap.write(manual, tap.read(tap.srcdir.."/man/luajit-mp-sampling.7"))
  r = tap.luajit(("%s %s %s"):format(tap.quote(tap.srcdir.."/bench/cost.lua"),
    tap.quote(results), tap.quote(manual)))
  tap.is(r.err, "", "cost.lua runs")
  local text = tap.read(manual)
  tap.ok(text:find("On 2 programs", 1, true), "the manual has its figures")
  local row = "\n.It Cm b1 Ta [%d.]+ Ta [%d.]+ Ta "..tostring(worst).."\n"
  tap.ok(text:find(row), "and the worst program")
end

-- It compares with jit.p, and with C memory, where the sanitizers stand.
if pcall(require, "jit.p") and (os.getenv("LIBASAN") or "") == "" then
  local results, manual = tap.tmpname(), tap.tmpname()
  check_table(results, manual)
  os.remove(results)
  os.remove(manual)
end

tap.done()
