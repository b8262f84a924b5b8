-- SPDX-License-Identifier: MIT
-- The profile of a program that keeps running: files rewritten every so often,
-- reports in any format, the profile as a table; and options given as a table.

local tap = require("tap")
local mp = require("jit.mp")

local dir = tap.tmpdir()
local function read(name) return tap.read(dir.."/"..name) end

local function busy(n)
  local keep = {}
  for i = 1, n do keep[i % 100 + 1] = { i } end
  return keep
end

-- -- Option w ---------------------------------------------------------------

tap.write(dir.."/p.lua", [[
local keep = {}
local function busy(n)
  for i = 1, n do keep[i % 100 + 1] = { i } end
end
while true do busy(1000) end
]])
local r = tap.sh(([[
  %s -jm=fw1,a.txt,a.mp,- p.lua >out & pid=$!
  ( sleep 60; kill -9 $pid ) 2>/dev/null & guard=$!
  n=0
  while [ ! -s a.mp ] && [ $n -lt 500 ]; do sleep 0.1; n=$((n+1)); done
  kill -9 $pid; wait $pid; status=$?
  kill $guard 2>/dev/null
  exit $status]]):format(tap.command), { dir = dir })
tap.is(r.status, 137, "option w, SIGKILL: status")
tap.like(read("a.txt") or "", "^luajit%-mp .*busy", "the last report is there")
tap.is(tap.sh(tap.mp.." report a.mp", { dir = dir }).status, 0,
  "also the profile")
tap.is(read("out"), "", "standard output gets none meanwhile")

-- -- Option w with a heap walk ------------------------------------------------

-- A child makes it, of which the program sees nothing. The holder is a table
-- that the function under way has on its stack, too.
tap.write(dir.."/w.lua", [[
local ffi = require("ffi")
ffi.cdef("int waitpid(int, int *, int);")
local sessions = {}
function fill(i) sessions[i % 5000 + 1] = { i, { tostring(i) } } end
local begun = os.time()
for i = 1, 1e9 do
  fill(i)
  local f = i % 1000 == 0 and io.open("w.txt")
  if f then
    local first = io.open("first.txt", "w")
    first:write(f:read("*a"))
    first:close()
    break
  end
  if i % 1e6 == 0 and os.time() - begun > 100 then break end
end
print(ffi.C.waitpid(-1, nil, 1), ffi.errno() == 10)]])
if tap.knows_layout() then
  r = tap.luajit("-jm=Ww1,w.txt w.lua", { dir = dir })
  tap.is(r.status..r.out, "0-1\ttrue\n",
    "option w with W: no child is seen")
  local text = read("first.txt") or ""
  tap.like(text, "\nHeap walk: [^\n]*; the program stood still for %S+ m?s, "..
    "a child walked for %S+ m?s\n", "a child made the walk")
  tap.like(text, "\n +%d+%% +[%d.]+ [kM]B +fill %^sessions%[%*%]  %(",
    "the holder")
  tap.like(text, "allocated at w%.lua:4", "and where it was allocated")
  tap.like(text, "\n  of all +bytes +objects   kind\n +%d+%% ",
    "and what the objects are")
  tap.unlike(text, "do not add up", "the sizes add up")
  tap.unlike(read("w.txt") or "", "a child walked", "not at the end")
end

-- -- From Lua ---------------------------------------------------------------

for _, f in ipairs({ "write", "snapshot" }) do
  local ok, msg, errno = mp[f]()
  tap.is(ok, nil, f..": there is no profile")
  tap.like(msg, "not running", f..": said")
  tap.is(type(errno), "number", f..": with an errno")
end

tap.is(mp.start({ options = "hl", period = 1, outputs = dir.."/end.txt",
  min = 0 }), true, "options as a table")
local keep = busy(2000)
tap.is(mp.write(dir.."/b.txt", dir.."/b.html", dir.."/b.folded"), true, "write")
tap.like(read("b.txt"), "while%-running%.lua:%d",
  "by the options of the start")
tap.unlike(read("b.txt"), "in use +cum", "and no others")
tap.like(read("b.html"), "^<!DOCTYPE html>", "a page")
tap.like(read("b.folded"), "while%-running%.lua:[^\n]* %d+\n",
  "folded stacks")
tap.is(read("end.txt"), nil, "the output of the start is for the end")
local s = mp.snapshot()
tap.is(s.heap.period, 1, "the period was in the table")
tap.is(s.info.options, "hlm0b1", "the snapshot has the options as a string")
local again = busy(2000)
tap.ok(mp.snapshot().heap.alloc_objects >= s.heap.alloc_objects + 2000,
  "profiling goes on", #keep + #again)
tap.is(mp.stop(), true, "stop")
tap.like(read("end.txt"), "while%-running%.lua:%d", "and the last report")

tap.is(mp.start({}, dir.."/plain.txt"), true, "an empty table is the default")
tap.is(mp.report({ options = "f", depth = 2 }, dir.."/deep.txt"), true,
  "a report by a table")
mp.stop()
tap.ok(read("plain.txt"), "an output besides the table")

local function raises(t, want)
  local ok, msg = pcall(mp.start, t)
  tap.ok(not ok and msg:find(want, 1, true), "raises: "..want, msg)
end
raises({ option = "f" }, "unknown field 'option'; the fields are options, ")
raises({ "f" }, "unknown field '1'")
raises({ options = 7 }, "the field 'options' must be a string")
raises({ options = print }, "the field 'options' must be a string")
raises({ interval = "fast" }, "the field 'interval' must be a whole number")
raises({ min = 2.5 }, "the field 'min' must be a whole number")
tap.is(select(2, pcall(mp.start, "f", "nul\0.html")),
  "jit.mp: a file name cannot have a zero byte", "a zero byte is refused")
raises({ outputs = { {} } },
  "the field 'outputs' must be a file name or a list")
raises({ every = 0 }, "the field 'every' must be a whole number of seconds "..
  "from 1 to 1000000")
for field, values in pairs({ depth = { 0, 101, -101, 1.5, "2f", {} },
    min = { -1, 101, "5k" }, interval = { 0, 1e7, "4k", 0/0, 1/0 },
    period = { 0, "0", "b", "64 k", 2^41, false }, leak_limit = { 0, "1g" },
    memory = { 5, "1k" } }) do
  for _, value in ipairs(values) do
    raises({ [field] = value },
      ("the field '%s' must be a whole number of "):format(field))
  end
end
raises({ options = "Z" }, "unknown option 'Z'")

tap.done()
