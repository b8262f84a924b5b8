-- SPDX-License-Identifier: MIT
-- Types of objects: where every allocation is counted, they are recorded if
-- something shows them. Blocks of one object count for the place that made it.

local tap = require("tap")
local format = require("jit.mp.format.file")

if not tap.knows_layout() then tap.skip("types are not known there") end

-- Collections shrink the stack, which would be another block.
local program = tap.program([[
collectgarbage("stop")
local function hash(n) return { a = n, b = n, c = n } end
local function odd(n) local t = hash(n) return t end
local function even(n) local t = hash(n) return t end
local function empty() return {} end
local function grow(t) t.x = 1 return t end
local function coroutines(n) local c = coroutine.create(odd) return c end
for i = 1, 300 do odd(i) end
for i = 1, 200 do even(i) end
for i = 1, 100 do grow(empty()) end
for i = 1, 50 do coroutines(i) end
]])

-- -- Numbers -----------------------------------------------------------------

local function number(text, row)
  return tonumber(text:match("\n *(%d+) +"..row.."\n"))
end

-- With types or without, the same blocks are counted for the same callers.
for _, options in ipairs { "2fhorm0b1", "2ftlhorm0b1" } do
  local r = tap.luajit("-joff -jm="..options.." "..program)
  for row, n in pairs { ["hash < odd"] = 600, ["hash < even"] = 400,
      ["empty < main chunk"] = 100, ["grow < main chunk"] = 100,
      ["coroutine.create < coroutines"] = 100 } do
    tap.is(number(r.out, row), n, options..": blocks of "..row)
  end
end

local r = tap.luajit("-joff -jm=2tfhorm0b1 "..program)
for _, case in ipairs { { "table", "hash < odd", 300 },
    { "table", "hash < even", 200 }, { "table", "empty < main chunk", 100 },
    { "table hash", "hash < odd", 300 }, { "table hash", "hash < even", 200 },
    { "table hash", "grow < main chunk", 100 },
    { "thread", "coroutine.create < coroutines", 50 },
    { "thread stack", "coroutine.create < coroutines", 50 } } do
  local kind, row, n = unpack(case)
  local block = r.out:match("\n *%d+   "..kind.."(\n.-\n) *%d+   %S") or ""
  local found = number(block, "  "..row)
  -- The first few of a kind may come while it is being learned.
  tap.ok(found and found <= n and found > n - 12, ("%s of %s: %d"):format(kind,
    row, n), tostring(found).."\n"..r.out)
end

-- -- What is recorded --------------------------------------------------------

local lacking = "no types: a profile has them where the program ran with "..
  "option t, with an output file that shows types, or without options b1 and e"

-- A report made while the program runs, after a start with such options.
local function within(options, outputs, asked)
  return tap.luajit(tap.program(([[
    local mp = require("jit.mp")
    assert(mp.start(%q, "/dev/null"%s))
    local t = {}
    for i = 1, 1e4 do t[i %% 9] = { i } end
    local _, why = mp.report(%q, "/dev/null")
    print(why)
    local typed = false
    for _, row in ipairs(mp.snapshot().rows) do
      typed = typed or row.type == "table"
    end
    print(typed)
    mp.stop()]]):format(options, outputs, asked)))
end

local file = tap.tmpname(".mp")
for _, case in ipairs { { "b1", "", false }, { "lb1", "", false },
    { "b1", "/dev/stderr", false }, { "b1", ".speedscope.json", false },
    { "tb1", "", true }, { "e", "", false }, { "te", "", true },
    { "e", ".mp", true }, { "b1", ".mp", true },
    { "b1", ".html", true }, { "b1", ".pb.gz", true }, { "", "", true },
    { "b64k", "", true } } do
  local options, output, typed = unpack(case)
  local name = ("%q with output %q"):format(options, output)
  if output:find("^%.") then output = tap.tmpname(output) end
  if output ~= "" then output = (", %q"):format(output) end
  r = within(options, output, "tf")
  tap.is(r.status, 0, name..": exit status")
  tap.is(r.out, typed and "nil\ntrue\n" or "cannot make '/dev/null': "..
    lacking.."\nfalse\n",
    name..": types or a message")
  r = within(options, output, "f")
  tap.like(r.out, "^nil\n", name..": a report without them")
end

-- A file of such a profile says so, and so does what is made of it.
r = tap.luajit(tap.program(([[
  local mp = require("jit.mp")
  assert(mp.start("b1", "/dev/null"))
  local t = {}
  for i = 1, 1e4 do t[i %% 9] = { i } end
  print(mp.report("f", %q))
  mp.stop()]]):format(file)))
tap.is(r.status, 0, "a file without types")
local html = tap.tmpname(".html")
for _, case in ipairs { { "report "..file.." t", false },
    { "report "..file.." tf", false }, { "report "..file.." f", true },
    { "convert "..file.." "..html, true },
    { "diff -O t "..file.." "..file, false },
    { "diff -O l "..file.." "..file, false, "no lines: a profile has them" },
    { "diff "..file.." "..file, true } } do
  r = tap.sh(tap.mp.." "..case[1])
  tap.is(r.status == 0, case[2], "luajit-mp "..case[1]:gsub("/%S*/", ""))
  if not case[2] then
    tap.ok(r.err:find(case[3] or lacking, 1, true), "which says why", r.err)
  end
end

-- -- Events ------------------------------------------------------------------

-- Exact events have the totals of all types, whether rows have types or not.
-- The memory that the VM takes for itself has names of its own.
local busy = tap.program([[
  local function work()
    local keep = {}
    for i = 1, 300 do keep[i] = { i, x = i } end
    for i = 1, 300 do keep[i] = coroutine.create(print) end
    for i = 1, 300 do keep[i] = function() return i end end
    for i = 1, 300 do keep[i] = "name " .. i end
    for i = 1, 300 do keep[i] = loadstring("return " .. i) end
  end
  work()
]])
local function totals(list)
  local t = {}
  for _, r in ipairs(list) do
    local name = r.type or "other"
    if r.alloc_objects > 0 then
      t[name] = t[name] or { 0, 0 }
      t[name][1] = t[name][1] + r.alloc_objects
      t[name][2] = t[name][2] + r.alloc_bytes
    end
  end
  local lines = {}
  for name, sums in pairs(t) do
    lines[#lines+1] = ("%s %d %d"):format(name, unpack(sums))
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end
html = tap.tmpname(".html") -- Which needs a record of each object.
for _, case in ipairs { "-joff -jm=e,"..file, "-jon -jm=e,"..file,
    "-joff -jm=e,"..file..","..html, "-jon -jm=e,"..file..","..html } do
  r = tap.luajit(case.." "..busy)
  case = case:gsub("/%S-(%.%w+)%f[,%z]", "%1")
  tap.is(r.status, 0, case..": exit status")
  local p = assert(format.read(tap.read(file)))
  tap.is(totals(p.alloc_types), totals(p.rows), case..": the totals of types "..
    "are those of the rows")
end
-- Not in the midst of a collection, which may make a stack smaller.
local stopped = tap.program('collectgarbage("stop")\n'..tap.read(busy))
local rows, types = {}, {}
for _, options in ipairs { "e", "te" } do
  r = tap.luajit("-joff -jm="..options.." "..stopped)
  rows[options] = r.out:match("ALLOCATIONS\n(.-)\nDEALLOCATIONS")
  local text = r.out:match("\nAllocations of each type:\n(.-)\nIn use:")
  types[options] = { all = 0 }
  for name, n in ("\n"..text):gmatch("\n  (%S[^\n]-) +(%d+)  ") do
    types[options][name] = tonumber(n)
    types[options].all = types[options].all + tonumber(n)
  end
  for _, name in ipairs { "thread stacks", "string table" } do
    tap.like(rows[options], "%("..name.."%): %d+ events", options..": "..name)
  end
  for _, kind in ipairs { "table", "function", "thread", "upvalue", "proto" } do
    local n = types[options][kind]
    tap.ok(n and n >= 300 and n < 1000, options..": a total of type "..kind, n)
  end
end
tap.is(rows.e, rows.te, "rows with types make the same report")
tap.is(types.e.all, types.te.all, "of as many blocks")
-- Until all kinds of blocks are known, which addresses decide, some are other.
local few = math.max(types.e.other or 0, types.te.other or 0)
tap.ok(few < 30, "few are other", few)
for name, n in pairs(types.e) do
  local d = math.abs(n - (types.te[name] or 0))
  tap.ok(d <= few, "nearly as many of type "..name, d)
end

-- The table of strings grows while other blocks, of places that are new, are
-- not known yet. More strings before that never make it smaller.
local loading = tap.program([[
  collectgarbage("stop")
  local keep, text = {}, "local x, y = 'x%d', 'y%d' return function() end"
  for i = 1, arg[1] do keep[i] = "k"..i end
  for i = 1, 200 do keep[-i] = loadstring(text:format(i, i)) end
]])
local least, ordered = 0, true
for n = 0, tap.slow and 40 or 200, 20 do
  r = tap.luajit(("-joff -jm=b1,%s %s %d"):format(file, loading, n))
  local bytes = 0
  for _, row in ipairs(assert(format.read(tap.read(file))).rows) do
    if row.type == "string table" then bytes = bytes + row.alloc_bytes end
  end
  ordered = ordered and bytes >= least
  least = math.max(least, bytes)
end
tap.ok(ordered and least > 0, "all tables of strings are known", least)

-- A window has its own, and the child of a fork those from there on.
r = tap.luajit(tap.program(([[
  local mp = require("jit.mp")
  local ffi = require("ffi")
  ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
  jit.off()
  local function closures(n)
    local t = {}
    for i = 1, n do t[i] = function() return i end end
    return t
  end
  local function count(list)
    for _, r in ipairs(list) do
      if r.type == "function" then return r.alloc_objects end
    end
  end
  assert(mp.start("e", "%s-%%p.txt"))
  local keep = closures(1000)
  mp.window()
  local more = closures(200)
  print(count(mp.window().alloc_types))
  io.flush()
  local pid = ffi.C.fork()
  if pid == 0 then
    local last = closures(30)
    print(count(mp.snapshot().alloc_types))
    io.flush()
    ffi.C._exit(0)
  end
  ffi.C.waitpid(pid, nil, 0)
  print(count(mp.snapshot().alloc_types))
  mp.stop()
]]):format(file)))
tap.sh("rm -f "..file.."-*.txt")
tap.is(r.out, "200\n30\n1200\n", "types of a window, of a child, of the run")

-- The last object, behind which nothing is allocated any more.
for code, kind in pairs { ["{}"] = "table", ["tostring(7.5)"] = "string",
    ["newproxy()"] = "userdata" } do
  r = tap.luajit(tap.program(([[
    local mp = require("jit.mp")
    mp.start("e")
    local x = %s
    mp.stop()]]):format(code)))
  tap.like(r.out, "\n +"..kind.." +1 +%d+ bytes\n", "the last object: "..kind)
end

tap.done()
