-- SPDX-License-Identifier: MIT
-- The growth between the heap walks of two profiles, by path: luajit-mp diff,
-- and that between two files for DevTools.

local tap = require("tap")

local dir = tap.tmpdir()
tap.write(dir.."/app.lua", [[
local n = tonumber(arg[1])
sessions, cache = {}, {}
for i = 1, 2000 * n do sessions[i] = { id = i, data = { i, i, i, i } } end
for i = 1, 3000 / n do cache["k"..i] = { ("x"):rep(100)..i } end
if n > 1 then other = ("y"):rep(300000) end
os.exit(0)
]])
local function profile(opts, name, n)
  local r = tap.luajit(("-jm=%s,%s app.lua %d"):format(opts, name, n),
    { dir = dir })
  tap.is(r.status..r.err, "0", name.." is made")
end
local function diff(args)
  return tap.sh(tap.mp.." diff "..args, { dir = dir })
end

profile("W", "old.mp", 1)
profile("W", "new.mp", 10)
profile("f", "none.mp", 1)

local r = diff("-O W old.mp new.mp")
if r.err:find("no heap walk: not a GC64", 1, true) or
    r.err:find("no heap walk: this processor", 1, true) then
  tap.skip("no heap walk on this build")
end
tap.is(r.status..r.err, "0", "two walks are compared")
tap.like(r.out, "\n +before +after +change +path\n +[%d.]+ MB +[%d.]+ MB +"..
  "%+[%d.]+ MB +%(all that is held%)\n", "all of it")
tap.like(r.out, "\n +[%d.]+ kB +[%d.]+ MB +%+[%d.]+ MB   sessions%[%*%]  "..
  "%(2000 > 20000 x table%)\n", "a path that grew")
tap.unlike(r.out, "   sessions  %(", "one that only leads to it is left out")
tap.like(r.out, '\n +[%d.]+ kB +< [%d.]+ kB +%-[%d.]+ kB   cache%["k%*"%]  '..
  "%(3000 x table%)\n", "one that has no line any more")
tap.like(r.out, "\n +< [%d.]+ kB +300 kB +%+300 kB   other  %(1 x string%)\n",
  "one that had none")

-- Each change is the difference to the byte; backwards it has the other sign.
local function raw(args)
  local by, n = {}, 0
  for before, after, change, path in diff("-O Wr "..args).out:gmatch(
      "\n +(%d+) +(%d+) +([+-]?%d+)   (%S+)") do
    by[path], n = tonumber(change), n + 1
    if after - before ~= tonumber(change) then by.wrong = path end
  end
  return by, n
end
local there, n = raw("old.mp new.mp")
local back = raw("new.mp old.mp")
tap.ok(n >= 3, "raw numbers", n)
tap.is(there.wrong, nil, "are differences")
for path, change in pairs(there) do
  tap.is(back[path], -change, "and backwards: "..path)
end
tap.like(diff("-O W old.mp old.mp").out, "%(no path changes by 3%%%)\n",
  "no change")
r = diff("--threshold 50 -O W old.mp new.mp")
tap.is(r.status, 1, "above a threshold")
tap.like(r.err, "diff: the heap that is held grew by [%d.]+%%, more than "..
  "50%%, most in sessions%[%*%]", "which names the path")
tap.is(diff("--threshold 50 -O W new.mp old.mp").status, 0, "or below it")
tap.like(diff("--sort name -O W old.mp new.mp").out, "cache.*other.*sessions",
  "by name")

tap.like(diff("old.mp new.mp").out, "\nHeap walks, [^\n]*\n\n +before .*"..
  "sessions%[%*%]", "without options it follows the tables")
tap.unlike(diff("-O f old.mp new.mp").out, "Heap walk",
  "with others it does not")
tap.unlike(diff("old.mp none.mp").out, "Heap walk", "nor where one has no walk")
r = diff("-O W old.mp none.mp")
tap.is(r.status, 1, "that is an error where it is asked for")
tap.like(r.err, "none.mp: no heap walk: [^\n]*option W", "which says how")
r = diff("--share -O W old.mp new.mp")
tap.is(r.status, 2, "shares are not compared")
tap.like(r.err, "%-%-share has no effect with option W", "which is said")

-- A profile keeps where a walk has lines from.
tap.sh(("%s convert new.mp copy.mp"):format(tap.mp), { dir = dir })
tap.is(diff("-O W old.mp copy.mp").out, diff("-O W old.mp new.mp").out,
  "a converted profile is the same")

-- -- DevTools ----------------------------------------------------------------

-- Objects by number, with the name that DevTools sum them by, and their bytes.
local function nodes(name)
  local text = tap.read(dir.."/"..name)
  local names, list, n, twice = {}, {}, 0, 0
  for s in text:match('"strings":%[(.*)%]'):gmatch('"([^\n]*)",?\n?') do
    names[n] = s:gsub('\\"', '"')
    n = n + 1
  end
  for at, number, size in text:match('"nodes":%[(.-)%]'):gmatch(
      "%d+,(%d+),(%d+),(%d+),%d+,0,0") do
    twice = twice + (list[number] and 1 or 0)
    list[number] = { name = names[tonumber(at)], bytes = tonumber(size) }
  end
  tap.is(twice, 0, name..": each number is that of one object")
  return list
end

if tap.knows_layout() then
  tap.write(dir.."/snap.lua", [[
local mp = require("jit.mp")
sessions, cache = {}, {}
local function add(n)
  for i = 1, n do sessions[#sessions+1] = { id = i } end
end
add(1000)
assert(mp.heap(0.001, "old.heapsnapshot"))
add(2000)
assert(mp.heap(0.001, "new.heapsnapshot"))
local list
for i = 1, 1000 do list = { list } end
for i = 1, 8 do list = { [("n"):rep(30)..i] = list } end
package.loaded.long, list = list, nil
assert(mp.heap(0.001, "long.heapsnapshot"))
os.exit(0)]])
  r = tap.luajit("snap.lua", { dir = dir })
  tap.is(r.status..r.err, "0", "files for DevTools are made")
  local old, new = nodes("old.heapsnapshot"), nodes("new.heapsnapshot")
  local same, renamed, grown, bytes = 0, 0, 0, 0
  for number, o in pairs(new) do
    local before = old[number]
    if o.name == "table in sessions[*]" then
      if before then same = same + 1
      else grown, bytes = grown + 1, bytes + o.bytes end
      if before and before.name ~= o.name then renamed = renamed + 1 end
    end
  end
  tap.is(same.." "..renamed, "1000 0", "an object keeps its number and name")
  tap.is(grown, 2000, "what is new has the path of its holder")
  tap.ok(bytes >= 2000 * 40, "and its bytes", bytes)
  local longest, chain = 0, 0
  for _, o in pairs(nodes("long.heapsnapshot")) do
    longest = math.max(longest, #o.name)
    if o.name:find("^table in %.%.%.n*%d.*nnnn1%[1%]$") then
      chain = chain + 1
    end
  end
  tap.ok(longest < 400, "a long path is cut", longest)
  tap.ok(chain >= 990, "a linked list has one name", chain)
end

tap.done()
