-- SPDX-License-Identifier: MIT
-- Windows: the profile since the last one.

local tap = require("tap")
local mp = require("jit.mp")
local core = require("jit.mp.core")

local function sum(s, field)
  local n = 0
  for _, row in ipairs(s.rows) do n = n + (row[field] or 0) end
  return n
end

local keep = {}
local function work(n)
  for i = 1, n do keep[i % 100 + 1] = { i, tostring(i) } end
end

local function other(n)
  for i = 1, n do keep[i % 100 + 1] = { tostring(-i) } end
end

local function early(n)
  local t = {}
  for i = 1, n do t[i] = { i } end
end

-- The names of the functions that a window tells of.
local function functions(s)
  local names = {}
  for _, f in ipairs(s.frames) do names[f.name or ""] = true end
  return names
end

tap.is(mp.window(), nil, "no window without a profile")
tap.like(select(2, mp.window()), "not running", "and why")
tap.is(core.mark(), nil, "no mark either")

-- The rows add up to all allocated bytes. Where allocations wait for a
-- safepoint, the profile counts those that were lost before one came.
local function whole(rows, heap, name)
  local lost = not tap.knows_layout() and heap.dropped > 0
  tap.ok(rows == heap.alloc_bytes or lost and rows < heap.alloc_bytes, name,
    ("%d of %d bytes"):format(rows, heap.alloc_bytes))
end

-- Windows add up, with every allocation counted.
local groups = { "alloc_objects", "alloc_bytes", "realloc_objects",
  "realloc_bytes", "samples", "gc_cycles" }
assert(mp.start("fb1", "/dev/null"))
early(1)
collectgarbage()
local first = mp.window()
tap.ok(functions(first).early, "the first window begins at the start")
local sums, bytes, wall, started = {}, sum(first, "alloc_bytes"), 0, nil
for _, name in ipairs(groups) do sums[name] = first.heap[name] end
for i = 1, 6 do
  if i % 2 == 1 then work(1000) else other(1000) end
  -- A collection would free more between the last two, and with that a string
  -- that each window needs.
  if i == 6 then collectgarbage("stop") end
  local w = mp.window()
  for _, name in ipairs(groups) do
    sums[name] = (sums[name] or 0) + (w.heap[name] or 0)
  end
  bytes, wall = bytes + sum(w, "alloc_bytes"), wall + w.info.wall
  whole(sum(w, "alloc_bytes"), w.heap, "rows of window "..i)
  tap.ok(w.heap.alloc_objects >= 1000 and w.heap.alloc_objects < 4000,
    "its objects", w.heap.alloc_objects)
  tap.is(#w.course + #w.timeline, 0, "neither course nor timeline")
  tap.ok(w.heap.inuse > 0 and sum(w, "inuse_bytes") <= w.heap.inuse,
    "in use is all that is")
  tap.ok(not started or w.info.started >= started, "begins later")
  started = w.info.started
end
work(100)
local s = mp.snapshot()
local last = mp.window()
collectgarbage("restart")
for _, name in ipairs(groups) do
  sums[name] = (sums[name] or 0) + (last.heap[name] or 0)
end
bytes, wall = bytes + sum(last, "alloc_bytes"), wall + last.info.wall
for _, name in ipairs(groups) do
  if s.heap[name] then
    tap.is(sums[name], s.heap[name], "windows add up: "..name)
  end
end
whole(bytes, s.heap, "and so do their rows")
tap.ok(wall <= mp.snapshot().info.wall + 1e-6, "and their time")
tap.is(s.info.window, nil, "a snapshot is not a window")

-- A row that did nothing in a window, and holds nothing, is not in it.
for i = 1, #keep do keep[i] = nil end
collectgarbage()
mp.window()
other(500)
local names = functions(mp.window())
tap.ok(names.other, "a function that ran is there")
local bad = 0
local w = mp.window()
for i, parent in ipairs(w.stacks.parent) do
  if parent >= i or not w.frames[w.stacks.frame[i]] then bad = bad + 1 end
end
for _, row in ipairs(w.rows) do
  if row.stack > #w.stacks.parent then bad = bad + 1 end
end
tap.is(bad, 0, "stacks and frames are those that it has")
tap.ok(not functions(w).early, "what is over and gone has none of them")

-- Written, in any format; a window that cannot be written continues.
local name = tap.tmpname(".txt")
work(300)
local ok, msg, errno = mp.window("/nonexistent/file")
tap.is(ok, nil, "a window that cannot be written")
tap.like(msg, "cannot open '/nonexistent/file'", "says so")
tap.is(errno, 2, "with the errno")
tap.is(mp.window(name), true, "it is written later")
tap.like(tap.read(name), "window of .- from .- on",
  "the report says what it is")
tap.like(tap.read(name), "work\n", "and has what happened")
tap.is(mp.window(name), true, "the next one")
tap.unlike(tap.read(name), "99%%.-work\n", "has nothing of it allocated")
ok, msg = pcall(mp.window, "x.zip")
tap.like(not ok and msg, "unknown output format %.zip", "a wrong format")
ok, msg = pcall(mp.window, {})
tap.like(not ok and msg, "must be a file name, not a table", "a table")

-- Each mark is a window of its own.
local mark = core.mark()
work(200)
mp.window()
local since = core.since(mark)
tap.ok(sum(since, "alloc_objects") >= 200, "since a mark",
  sum(since, "alloc_objects"))
work(200)
tap.ok(sum(core.since(mark), "alloc_objects") >= 400, "which stays there")
tap.is(core.since(mark, name), true, "written")
tap.ok(sum(core.since(core.mark()), "alloc_objects") < 10,
  "a mark that nothing else holds")
tap.ok(not pcall(core.since, 1), "something else is not a mark")
mp.stop()
tap.is(core.since(mark), nil, "a mark after the stop")
tap.is(mp.start("f", "/dev/null"), true, "another profile")
ok, msg = core.since(mark)
tap.is(ok, nil, "a mark of the former one")
tap.like(msg, "has ended", "is told from its own")
tap.is(mp.window().info.window, 0, "whose first window begins at its start")
mp.stop()

-- Sampled, and as a profile file.
local file = tap.tmpname(".mp")
assert(mp.start("fb64i1", "/dev/null"))
work(20000)
tap.is(mp.window(file), true, "as a profile file")
mp.stop()
local r = tap.sh(tap.mp.." report "..tap.quote(file).." fh")
tap.like(r.out..r.err, "window of .-\n.*work\n", "which can be read again")
local p = assert(require("jit.mp.format.file").read(tap.read(file)))
tap.is(p.info.window, 0, "as the window that it is")

-- Exact events, and ages.
assert(mp.start("eb1", "/dev/null"))
work(100)
mp.window()
local list
local function grow()
  list = {}
  for i = 1, 100 do list[i] = i end
end
grow()
w = mp.window()
local count = 0
for _, e in ipairs(w.events) do count = count + e.count end
tap.is(count, w.heap.free_objects, "the frees and reallocations of a window")
mp.stop()
assert(mp.start("L", "/dev/null"))
work(100)
tap.is(mp.window(name), true, "a window of a profile of leaks")
tap.like(tap.read(name), "no ages of objects in a window", "has none")
mp.stop()

-- Finalizers may run anywhere.
assert(mp.start("f", "/dev/null"))
local finalizer, answers = newproxy and newproxy(true), {}
if finalizer then
  local meta = getmetatable(finalizer)
  meta.__gc = function()
    local _, message = mp.window()
    answers[#answers+1] = message or "a window"
    finalizer = setmetatable and newproxy(meta.proxy or true)
    getmetatable(finalizer).__gc = meta.__gc
    finalizer = nil
  end
  finalizer = nil
  for _ = 1, 20 do
    collectgarbage("step", 1)
    mp.window()
    mp.window(name)
  end
  collectgarbage()
  tap.ok(#answers > 0, "windows from finalizers")
end
tap.is(mp.stop(), true, "and a stop")

-- A fork begins anew.
r = tap.luajit("-jm=fb1,/dev/null "..tap.program([[
local ffi = require("ffi")
ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
local mp = require("jit.mp")
local keep = {}
for i = 1, 5000 do keep[i] = {} end
mp.window()
if ffi.C.fork() == 0 then
  for i = 1, 100 do keep[i] = {} end
  local mp = require("jit.mp")
  local w, message = mp.window()
  io.write(w and w.heap.alloc_objects or message, "\n")
  io.flush()
  ffi.C._exit(0)
end
ffi.C.waitpid(-1, nil, 0)
]]))
tap.like(r.out, "^the profiler is not running\n", "a child has no profile")
-- Merged, they have the memory of the process once.
local file = require("jit.mp.format.file")
local merge = require("jit.mp.model.merge")
local held, largest, list = {}, 0, {}
assert(mp.start("fb1", "/dev/null"))
for i = 1, 4 do
  for k = 1, 1000 * (i == 4 and 0 or 1) do held[#held+1] = { k } end
  if i == 4 then held = nil; collectgarbage() end
  local name = tap.tmpname(".mp")
  assert(mp.window(name))
  list[i] = assert(file.read(tap.read(name)))
  largest = math.max(largest, list[i].heap.peak)
end
mp.stop()
local merged = merge({ list[2], list[4], list[1], list[3] })
tap.is(merged.heap.inuse, list[4].heap.inuse, "merged: in use at the end")
tap.is(sum(merged, "inuse_bytes"), sum(list[4], "inuse_bytes"),
  "merged: and so are the rows")
tap.is(merged.heap.peak, largest, "merged: the largest peak")
tap.is(merged.heap.alloc_bytes, list[1].heap.alloc_bytes +
  list[2].heap.alloc_bytes + list[3].heap.alloc_bytes +
  list[4].heap.alloc_bytes, "merged: all that was allocated")

tap.done()
