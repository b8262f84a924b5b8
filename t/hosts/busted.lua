-- SPDX-License-Identifier: MIT
-- busted and luaunit: assertions of memory in a program's own tests.

local tap = require("tap")
local hosts = require("hosts")

local root = hosts.unpack("busted", "lua-busted lua-luassert lua-say "..
  "lua-penlight lua-cliargs lua-mediator lua-term lua-system lua-filesystem "..
  "lua-dkjson lua-unit")
local dir = tap.tmpdir()
local lua = root.."/usr/share/lua/5.1"
local env = hosts.env(root)
env.LUA_PATH = env.LUA_PATH:gsub(";;$", "")..(";%s/?/init.lua;;"):format(lua)

tap.write(dir.."/memory_spec.lua", [[
require("jit.mp.test.busted")
local function boxes(n)
  local t = {}
  for i = 1, n do t[i] = { i } end
  return t
end
describe("memory", function()
  it("is little", function()
    assert.allocates_less_than("1m", boxes, 100)
    assert.holds_less_than("1m", function() boxes(100) end)
  end)
  it("is much", function() assert.allocates_less_than("10k", boxes, 1000) end)
  it("stays", function() assert.is_not.holds_less_than("10k", boxes, 1000) end)
end)
]])
tap.write(dir.."/run.lua", "require('busted.runner')({ standalone = false })")
local r = tap.sh(("cd %s && %s run.lua -o plainTerminal memory_spec.lua")
  :format(dir, tap.command), { env = env })
tap.like(r.out, "2 successes / 1 failure", "busted: two tests pass, one fails")
tap.like(r.out, "allocated [%d.]+ kB, and the limit is 10%.2 kB",
  "it says how much")
tap.like(r.out, "objects  boxes [^\n]*memory_spec%.lua:4", "and where")

tap.write(dir.."/unit.lua", [[
local lu = require("jit.mp.test.luaunit")
local function boxes(n)
  local t = {}
  for i = 1, n do t[i] = { i } end
  return t
end
function testLittle() lu.assertAllocatesLessThan("1m", boxes, 100) end
function testMuch() lu.assertHoldsLessThan("10k", boxes, 1000) end
os.exit(lu.LuaUnit.run())
]])
r = tap.sh(("cd %s && %s unit.lua"):format(dir, tap.command), { env = env })
tap.is(r.status, 1, "luaunit: one test fails")
tap.like(r.out, "1 success[^\n]*1 failure", "and one does not")
tap.like(r.out, "held [%d.]+ kB, and the limit is 10%.2 kB\n[^\n]*objects  "..
  "boxes [^\n]*unit%.lua:4", "it says how much, and where")

tap.done()
