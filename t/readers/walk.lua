-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Writes a heap as DevTools read it, and what they must find in it.
--   luajit walk.lua DIRECTORY
----------------------------------------------------------------------------

local core = require("jit.mp.core")
local json = require("jit.mp.format.json")

local dir = ...

-- Functions have names of their own: by where they are.
local function tables(n)
  local t = {}
  for i = 1, n do t[i] = { i, name = "name "..i } end
  return t
end

local lists = {}
do
  local first, second = tables(1000), tables(500)
  function lists.first() return first end
  function lists.second() return second, "\xc3\xa9 \xff \"quoted\"\n" end
  local list
  for _ = 1, 3000 do list = { list } end
  function lists.chain() return list end
end
collectgarbage()
local walk = assert(core.heap(0.001, dir.."/walk.heapsnapshot"))
local own, retained = 0, {}
for _, bytes in pairs(walk.own) do own = own + bytes end
for _, line in ipairs(walk.lines) do
  if (line.what or ""):find("^function walk%.lua:") then
    retained[line.what] = line.bytes
  end
end
local list = {}
for what, bytes in pairs(retained) do
  list[#list+1] = json.string(what)..":"..json.number(bytes)
end
local f = assert(io.open(dir.."/walk.expected.json", "w"))
f:write(('{"total":%s,"held":%s,"own":%s,"retained":{%s}}\n'):format(
  json.number(walk.total), json.number(walk.held), json.number(own),
  table.concat(list, ",")))
f:close()
