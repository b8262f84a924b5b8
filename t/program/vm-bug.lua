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
    "\nthis LuaJIT has a bug [^\n]*use "..
    (tap.knows_layout() and "option f, " or "").."%-O%-fwd [^\n]*\n", "")
  tap.is(named, has and 1 or 0, options..": the report names the bug where "..
    "it is, once, with the remedy")
end

-- Without lines nothing brings it out; where the layout is not known, the mode
-- is the same.
r = tap.luajit("-jm=f "..tap.program("local t = {}"))
tap.is(r.out:find("has a bug", 1, true) ~= nil, has and not tap.knows_layout(),
  "no lines, no bug")

-- LuaJIT's request for a sample is lost if its handler interrupts the VM where
-- that changes the table of instruction handlers: the mask and the mode behind
-- the empty string's text say that it was made, and the table says otherwise.
-- It is made again. In the interpreter all samples depend on that.
r = tap.luajit("-joff -jm=cri1m0 "..tap.program([[
  local ffi = require("ffi")
  local mask = ffi.cast("uint8_t *", ffi.cast("const char *", "")) + 1
  local clock = os.clock
  local function work(seconds)
    local stop, s = clock() + seconds, 0
    repeat for i = 1, 1e4 do s = s + i % 7 end until clock() > stop
  end
  local function lost()
    mask[1] = bit.bor(mask[1], 0x44)
    mask[0] = bit.bor(mask[0], 0x80)
    work(0.3)
    return 0
  end
  return lost() ]]))
tap.is(r.status, 0, "a request that is lost: exit status", r.err)
if tap.knows_layout() then
  tap.ok(tonumber(r.out:match("\n +(%d+) +%d+ +work") or 0) > 20,
    "a request that is lost: there are samples", r.out)
end

tap.done()
