-- SPDX-License-Identifier: MIT
-- Limits of memory in a program's own tests: mp.limit, mp.measure, and
-- assertions of busted and luaunit.

local tap = require("tap")
local mp = require("jit.mp")

local function boxes(n)
  local t = {}
  for i = 1, n do t[i % 10] = { i } end
  return t
end

-- -- Measures ----------------------------------------------------------------

jit.off()
local m, result, none = mp.measure(boxes, 1000)
tap.is(type(result), "table", "the function's result")
tap.is(none, nil, "is all of it")
local row = m.allocated_rows[1]
tap.like(row.place, "^boxes .*limits%.lua:10$", "the line that allocates")
tap.ok(row.objects >= 1000 and row.objects <= 2005, "its objects", row.objects)
tap.ok(m.allocated >= 32000 and m.held >= 10 * 32 and m.held < 2000,
  "allocated and held", m.allocated.." "..m.held)
local again = mp.measure(boxes, 1000)
tap.is(again.allocated, m.allocated, "the same is counted again")
jit.on()

-- -- Limits --------------------------------------------------------------

local function fails(limits, f, ...)
  local ok, msg = pcall(mp.limit(limits), f, ...)
  tap.ok(not ok, "the limit fails")
  return msg
end

local a, b = mp.limit({ allocated = "1m", held = "100k", objects = 1e6 })(
  function(x) return x, boxes(100) end, "passed")
tap.is(a, "passed", "arguments and results")
tap.is(#b, 9, "all of them")
local msg = fails({ allocated = "10k" }, boxes, 1000)
tap.like(msg, "^allocated [%d.]+ kB, and the limit is 10%.2 kB\n", "how much")
tap.like(msg, "\n +[%d.]+ kB +%d+ objects  boxes [^\n]*limits%.lua:10",
  "and the row")
msg = fails({ allocated = 0 }, function() return { 1 } end)
tap.like(msg, "objects  [^\n:]*limits%.lua:%d+$",
  "a function without a name: the line's place alone")
msg = fails({ held = 100, objects = 10 }, boxes, 1000)
tap.like(msg, "^held [%d.]+ k?B, and the limit is 100 B\n", "held")
tap.like(msg, "\nallocated %d+ objects, and the limit is 10 objects\n",
  "objects")
tap.is(fails({ held = 0 }, function() error({}, 0) end) ~= nil, true,
  "an error of the function is raised")
tap.is(fails({ held = "1k" }, function() error("mine", 0) end), "mine",
  "as it is")
tap.is(mp.stop(), nil, "and no profile goes on")
tap.like(fails({ held = "1k" }, function() mp.stop() end),
  "the profile was stopped by the function", "a function that stops it")

-- A limit that is given the function, or none, would test nothing.
local right = 'call the result with the function, as in mp.limit{ allocated '..
  '= "2m" }(f)'
local ok, why = pcall(mp.limit, { allocated = "1k" }, function() end)
tap.ok(not ok, "a function beside the limits")
tap.ok(why:find("limit takes nothing but the limits: "..right, 1, true),
  "what would be right is said", why)
for how, code in pairs({
    ["at the end"] = 'require("jit.mp").limit{ allocated = "1k" }',
    ["when it is collected"] = 'require("jit.mp").limit{ allocated = "1k" }\n'..
      'collectgarbage() os.exit(0)' }) do
  local file = tap.program(code)
  local r = tap.luajit(file)
  tap.is(r.err, file..":1: jit.mp: a limit was not applied to "..
    "a function: "..right.."\n", "a limit that is not called: said "..how)
end
local r = tap.luajit(tap.program(
  'require("jit.mp").limit{ allocated = "1m" }(function() return {} end)'))
tap.is(r.err, "", "of one that is called nothing is said")

for what, f in pairs({ ["measure takes a function, not a number"] = mp.measure,
    ["a limit takes a function, not a nil"] = mp.limit({ held = 1 }) }) do
  local ok, why = pcall(f, what:find("number") and 5 or nil)
  tap.ok(not ok and why:find("jit.mp: "..what, 1, true), "error: "..what, why)
end
tap.is(select(2, mp.measure(setmetatable({}, { __call = function(_, x)
  return x
end }), 7)), 7, "what can be called is measured")

for what, limits in pairs({ ["unknown limit 'alocated'"] = { alocated = 1 },
    ["limit 'held' must be a number"] = { held = "1g" },
    ["no limit is given"] = {}, ["limits must be a table"] = "1m" }) do
  local ok, why = pcall(mp.limit, limits)
  tap.like(not ok and why, what, what)
end
mp.start("f", "/dev/null")
tap.like(fails({ held = "1k" }, boxes, 1), "already running",
  "a profile that runs")
mp.stop()

-- -- Frameworks --------------------------------------------------------------

if pcall(require, "luassert") then
  local assert = require("jit.mp.test.busted")
  assert.allocates_less_than("1m", boxes, 100)
  assert.is_not.holds_less_than(10, boxes, 100)
  local ok, why = pcall(assert.allocates_less_than, "1k", boxes, 1000)
  why = tostring(type(why) == "table" and why.message or why)
  tap.ok(not ok, "busted's assertion fails")
  tap.like(why, "limits%.lua:10", "with the row")
end
if pcall(require, "luaunit") then
  local lu = require("jit.mp.test.luaunit")
  tap.is(#lu.assertAllocatesLessThan("1m", boxes, 100), 9,
    "luaunit's assertion passes the result on")
  local ok, why = pcall(lu.assertHoldsLessThan, 10, boxes, 100)
  why = tostring(type(why) == "table" and why.msg or why)
  tap.ok(not ok, "or fails")
  tap.like(why, "limits%.lua:10", "with the row")
  ok, why = pcall(function()
    lu.assertHoldsLessThan(10, boxes, 100)
    return true
  end)
  why = tostring(type(why) == "table" and why.msg or why)
  tap.ok(not ok, "a test of luaunit fails")
  tap.like(why, "^[^\n]*limits%.lua:%d+: ", "at its own line")
end

tap.done()
