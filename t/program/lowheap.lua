-- SPDX-License-Identifier: MIT
-- Option B where LuaJIT's heap has to lie below 2 GiB: builds without GC64.

local tap = require("tap")
if not tap.has_low_heap() then
  tap.skip("this build's heap may lie anywhere")
end

-- 4% are 86 MB of LuaJIT's 2 GiB. The lowest limit is met first: a machine with
-- little memory, or its cgroup, may be that.
local dir = tap.tmpdir()
tap.write(dir.."/app.lua", [[
local list, there = {}, false
for i = 1, 1000 do list[i] = ("x"):rep(100000)..i end
for i = 1, 1e7 do
  there = io.open("a-memory-last.txt")
  if there then break end
  tostring(i)
end
print(#list, there ~= nil)]])
local r = tap.sh(tap.command.." -jm=fB4%,a-%e.txt app.lua", { dir = dir })
tap.is(r.status..r.err..r.out, "01000\ttrue\n", "the program's result")
local text = tap.read(dir.."/a-memory.txt") or ""
local used, most, of = text:match(
  "^in use ([%d.]+) MB of a limit of ([%d.]+ [MG]B) %(([^)]*)%); at ")
if of == "LuaJIT without GC64" then
  tap.is(most, "2.15 GB", "the limit")
  tap.ok(tonumber(used) > 85 and tonumber(used) < 400,
    "what is used of it: "..used)
else
  tap.like(text, "^in use [%d.]+ [kM]B of a limit of [%d.]+ [MG]B %(",
    "a lower limit: "..tostring(of))
end
tap.done()
