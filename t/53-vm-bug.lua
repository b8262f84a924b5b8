-- SPDX-License-Identifier: MIT
-- A bug of older builds of LuaJIT that a profile may bring out is tried for,
-- and named in the report.

local tap = require("tap")

-- Without a profile: whether compiled code takes an old length of a table.
local r = tap.luajit(tap.program([[
  local a = { t = { 1, 2, 3, 4, 5, 6, 7, 8 } }
  a.u = a.t
  local sum = 0
  for i = 1, 100 do
    local n = #a.t
    a.u[n] = nil
    sum = sum + n - #a.t
    a.u[n] = n
  end
  print(sum == 100)]]))
local has = r.out ~= "true\n"

for _, options in ipairs { "a", "fl", "l" } do
  local out = tap.tmpname(".txt")
  r = tap.luajit(("-jm=%s,%s %s"):format(options, out,
    tap.program("local t = {} for i = 1, 1e5 do t[i % 9 + 1] = { i } end")))
  tap.is(r.status, 0, options..": exit status", r.err)
  local _, named = (tap.read(out) or ""):gsub(
    "\nthis LuaJIT has a bug [^\n]*use option f, [^\n]*\n", "")
  tap.is(named, has and 1 or 0, options..": the report names the bug where "..
    "it is, once, with the remedy")
end

-- Without lines nothing brings it out; where the layout is not known, the mode
-- is the same.
r = tap.luajit("-jm=f "..tap.program("local t = {}"))
tap.is(r.out:find("has a bug", 1, true) ~= nil, has and not tap.knows_layout(),
  "no lines, no bug")

tap.done()
