-- SPDX-License-Identifier: MIT
-- The lines are true: with every allocation counted, compiled code has the
-- same counts on the same lines as the interpreter, or fewer where the
-- compiler removed allocations.

local tap = require("tap")

-- Each program allocates on many lines, in ways that differ in how the VM's
-- stack looks while they do.
local programs = {}

programs.tables = [[
local keep = {}
local function pair(i) return { i, i + 1 } end
local function named(i)
  return { x = i, y = i }
end
for i = 1, 3000 do
  keep[i % 50 + 1] = pair(i)
  keep[i % 50 + 51] = named(i)
end
]]

programs.strings = [[
local n, s = 0, ""
local function join(a, b)
  return a .. "-" .. b
end
for i = 1, 3000 do
  s = join(i, "x" .. i)
  n = n + #s:upper()
  n = n + #string.format("%d/%s", i, s)
  n = n + #(s:rep(3))
  n = n + #s:sub(2, 4)
end
]]

programs.closures = [[
local function counter(n)
  local function step()
    n = n + 1
    return n
  end
  return step
end
local keep = {}
for i = 1, 3000 do
  local f = counter(i)
  keep[i % 20 + 1] = f
  f()
end
]]

programs.polymorphic = [[
local function maker(k)
  return function(i)
    return { k, i }
  end
end
local fs, keep = {}, {}
for k = 1, 8 do fs[k] = maker(k) end
local function call(f, i)
  local t = f(i)
  return t
end
for i = 1, 4000 do
  keep[i % 16 + 1] = call(fs[i % 8 + 1], i)
end
]]

-- New traces get the numbers and the places of old ones.
programs.flushed = [[
local keep = {}
local function one(i) local t = { i } return t end
local function two(i)
  local x = i * 2
  local t = { x, i }
  return t
end
local function three(i)
  local a, b = i + 1, i - 1
  if a > b then a = b end
  local t = { a, b, i }
  return t
end
local fs = { one, two, three }
for round = 1, 60 do
  jit.flush()
  local f, g = fs[round % 3 + 1], fs[(round + round % 2) % 3 + 1]
  for i = 1, 100 do keep[i % 9 + 1] = f(i) end
  for i = 1, 100 do keep[i % 9 + 1] = g(i) end
end
]]

programs.metamethods = [[
local mt = {}
local function new(v)
  return setmetatable({ v = v }, mt)
end
mt.__add = function(a, b)
  return new(a.v + b.v)
end
mt.__index = function(t, k)
  return "k" .. k .. t.v
end
mt.__concat = function(a, b)
  return new(b.v)
end
mt.__eq = function(a, b)
  local t = { a, b }
  return #t == 2
end
mt.__lt = function(a, b)
  local t = { a, b }
  return #t == 2
end
mt.__call = function(self, x)
  return new(x)
end
mt.__newindex = function(t, k, v)
  rawset(t, "v", #{ k, v })
end
local keep = {}
for i = 1, 2000 do
  local a, b = new(i), new(i + 1)
  keep[1] = a + b
  keep[2] = a[i]
  keep[3] = a .. b
  keep[4] = a == b
  keep[5] = a < b
  keep[6] = a(i)
  a.field = i
end
]]

-- A function of varargs has two frames, of which the lower one need not have
-- been called by Lua code.
programs.varargs = [[
local mt = {}
mt.__add = function(...)
  return { ... }
end
mt.__index = function(...)
  local _, k = ...
  return { k }
end
mt.__lt = function(...)
  local t = { ... }
  return #t == 2
end
mt.__newindex = loadstring("local t, k = ...\nrawset(t, k, { k })", "=load")
local function leaf(...)
  return { ... }
end
local keep = {}
local a, b = setmetatable({}, mt), setmetatable({}, mt)
for i = 1, 2000 do
  a[i] = i
end
for i = 1, 2000 do keep[1] = a + i end
for i = 1, 2000 do keep[2] = a[-i] end
for i = 1, 2000 do keep[3] = a < b end
for i = 1, 2000 do keep[4] = pcall(leaf, i) end
]]

programs.calls = [[
local function leaf(i)
  return { i }
end
local function tail(i)
  return leaf(i)
end
local function many(...)
  local t = { ... }
  return #t, select("#", ...)
end
local function deep(n)
  if n == 0 then return { n } end
  local t = deep(n - 1)
  return t
end
local keep = {}
for i = 1, 2000 do
  keep[1] = tail(i)
  keep[2] = many(i, i, i)
  keep[3] = deep(i % 12)
  keep[4] = pcall(leaf, i)
end
]]

programs.coroutines = [[
local keep = {}
local function producer(n)
  for i = 1, n do
    coroutine.yield({ i })
  end
end
for k = 1, 40 do
  local co = coroutine.wrap(producer)
  keep[1] = co(60)
  for i = 2, 60 do
    keep[2] = co()
    keep[3] = { i }
  end
end
]]

-- Strings that come up again are kept: else it depends on the collector how
-- often they are made.
programs.callbacks = [[
local keep = { [10] = { "a", "b", "c", "d", "a!", "b!", "c!", "d!",
  "a! b! c! d!", "one", "two", "three" } }
local function compare(a, b)
  keep[1] = { a, b }
  return a < b
end
local function replace(s)
  keep[2] = { s }
  return s .. "!"
end
for i = 1, 60 do
  local t = {}
  for k = 1, 40 do t[k] = (k * 7919) % 41 end
  table.sort(t, compare)
  keep[3] = ("a b c d"):gsub("%a", replace)
  for word in ("one two three"):gmatch("%a+") do
    keep[4] = { word }
  end
end
]]

programs.ffi = [[
local ffi = require("ffi")
ffi.cdef "typedef struct { double x, y; } mp_point;"
local point = ffi.typeof("mp_point")
local keep = {}
for i = 1, 3000 do
  keep[i % 10 + 1] = point(i, i)
  keep[11] = ffi.new("int64_t", i)
end
]]

-- An exit needs objects of two kinds, which one function makes.
programs.kinds = [[
local ffi = require("ffi")
ffi.cdef "typedef struct { double x, y, z; int id; } point;"
local points, sum = {}, 0LL
for i = 1, 100 do
  points[i] = ffi.new("point", i)
end
for r = 1, 300 do
  for i = 1, #points do
    local p = points[i]
    local q = ffi.new("point", p.x + 1, p.y, p.z, p.id)
    sum = sum + q.id
    if i % 10 == 0 then
      points[i] = q
    end
  end
end
assert(sum == 0)
]]

-- The same where each kind has a function of its own.
programs.makers = [[
local ffi = require("ffi")
local point = ffi.typeof("struct { double x, y; }")
local keep, sum = {}, 0
for i = 1, 20000 do
  local a = { i, i }
  local b = { 1, 2, i }
  local c = point(i, i)
  local d = { x = 1, y = i }
  sum = sum + a[1] + b[3] + c.x + d.y
  if i % 7 == 0 then
    keep[1] = a
    keep[2] = b
    keep[3] = c
    keep[4] = d
    keep[5] = tostring(i)
  end
end
]]

-- Among the traces and exits are those whose numbers look like two neighbouring
-- parameters of the compiler.
programs.exits = [[
local ffi = require("ffi")
local point = ffi.typeof("struct { double x, y; }")
local keep, sum = {}, 0
for i = 1, 3273 do
  local v1 = { 7, x = 2, y = i, z = 4 }
  local v2 = point(i, i)
  if i % 5 == 0 then keep[27] = v2 end
  local v3 = { i }
  if i % 7 == 0 then keep[21] = v3 end
  local v4 = { i }
  sum = sum + v1.y + v2.x + v3[1] + v4[1]
  if i % 4 == 0 then
    keep[9] = v1
    keep[9] = tostring(i)
    keep[5] = v3
  end
end
]]

programs.errors = [[
local keep = {}
local function fail(i)
  keep[1] = { i }
  if i % 3 == 0 then error({ i }) end
  return { i }
end
for i = 1, 2000 do
  local ok, v = pcall(fail, i)
  keep[2] = { ok, v }
end
]]

programs.chunks = [[
local keep = {}
for i = 1, 30 do
  local f = assert(loadstring("local t = ...\nfor i = 1, 100 do\n" ..
    "t[1] = { i }\nend", "=chunk" .. i % 3))
  f(keep)
end
]]

-- Objects by line: { ["file:line"] = count }, and those of them that were
-- allocated while the collector ran: some are its own, and where it happens
-- to run differs.
local function lines(flags, file)
  local r = tap.luajit(flags.." -jm=vlhorm0b1 "..file)
  if r.status ~= 0 then return nil, r.err end
  local t, collector, state = {}, {}, nil
  for n, indent, name in r.out:gmatch("\n%s*(%d+)   ( *)(%S[^\n]*)") do
    if indent == "" then
      state = name
    elseif name:find(":%d+$") then
      t[name] = (t[name] or 0) + tonumber(n)
      if state == "Garbage Collector" then collector[name] = tonumber(n) end
    end
  end
  return t, collector
end

-- The VM's own blocks (a stack or a buffer that grows) may fall on another
-- line: a few.
local SLACK = 12

-- exact: the compiler cannot have removed any. again: a trace that is left
-- after an allocation is repeated by the interpreter, allocation and all.
local function compare(name, on, off, collector, exact, again)
  local bad = {}
  for line, n in pairs(off) do
    local m, slack = on[line] or 0, SLACK + (collector[line] or 0)
    if (m > n + slack and not again) or (exact and m < n - slack) then
      bad[#bad+1] = ("%s: %d compiled, %d interpreted"):format(line, m, n)
    end
  end
  for line, m in pairs(on) do
    if not off[line] and m > SLACK + (collector[line] or 0) then
      bad[#bad+1] = ("%s: %d compiled, none interpreted"):format(line, m)
    end
  end
  tap.ok(#bad == 0, name, table.concat(bad, "\n"))
end

-- Programs of which the compiler removes allocations even without sinking.
local folds = { exits = true, ffi = true, kinds = true, makers = true,
  strings = true }

local names = {}
for name in pairs(programs) do names[#names+1] = name end
table.sort(names)

-- Where the stack of a sample is not that of the moment, lines are not exact.
local probe = tap.luajit("-jm=hb1 "..tap.program("local t = {}"))
if not probe.out:find("capture exact") then
  tap.skip("capture is not exact on this VM")
end

local modes = { "", "-Ohotloop=2 -Ohotexit=2", "-Ohotexit=250", "-O-sink",
  "-O-loop -O-sink" }
if tap.slow then modes = { "" } end

for _, name in ipairs(names) do
  local file = tap.program(programs[name])
  local off, collected = lines("-joff", file)
  tap.ok(off and next(off), name..": has lines when interpreted", collected)
  for _, mode in ipairs(modes) do
    local on, c = lines(mode, file)
    if tap.ok(on and next(on), name..": runs with "..mode, c) then
      for line, n in pairs(collected) do c[line] = (c[line] or 0) + n end
      compare(name..": lines agree, "..(mode == "" and "as usual" or mode),
	on, off, c, mode:find("-O-sink", 1, true) and not folds[name],
	mode:find("hotexit"))
    end
  end
end

-- Known numbers.
local known = tap.program([[
local t = {}
for i = 1, 10000 do
  t[i] = { i }
end
]])
local counts = lines("", known)
tap.ok(counts, "known program runs")
local module = known:match("[^/]+$")
local n = counts and counts[module..":3"] or 0
tap.ok(n >= 10000 and n < 10030, "10000 tables and the array's growth", n)

-- As many traces as there may be: then their array has an odd size.
known = tap.program([[
local loop = "local n = 0 for i = 1, 200 do n = n + i end return n"
for i = 1, 17 do assert(loadstring(loop))() end
local t = {}
for i = 1, 10000 do
  t[i] = { i }
end
]])
counts = lines("-Omaxtrace=20", known)
n = counts and counts[known:match("[^/]+$")..":5"] or 0
tap.ok(n >= 10000 and n < 10030, "the same with all traces in use", n)

-- Objects that are made when a trace is left, within calls that it has inlined:
-- each of its frames stands once in the stack, also as the VM puts them back.
local exits = tap.program([[
local keep = {}
local function inner(i)
  local t = { i, i + 1 }
  local u = { t }
  if i % 7 == 0 then keep[1] = t keep[2] = u end
  return #keep
end
local function middle(i)
  local n = inner(i)
  return n + 1
end
for i = 1, 3000 do middle(i) end]])
local file = tap.tmpname(".mp")
local r = tap.luajit("-Ohotexit=200 -jm=flb1,"..file.." "..exits)
local p = assert(require("jit.mp.format.file_read")(tap.read(file)))
local name, sunk, twice = p:namer("l", false, 30), 0, 0
for _, row in ipairs(p.rows) do
  local stack = table.concat(name(row), " ").." "
  if stack:find("^%S+:4 ") then sunk = sunk + (row.alloc_objects or 0) end
  if select(2, stack:gsub(":9 ", "")) > 1 then twice = twice + 1 end
end
tap.ok(r.status == 0 and sunk > 400, "objects made at exits have their line",
  sunk)
tap.is(twice, 0, "and each frame of theirs once")
tap.done()
