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

tap.done()
