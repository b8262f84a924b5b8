-- SPDX-License-Identifier: MIT
-- Lines at the edges of compiled code: where traces begin and end, where the
-- collector or the compiler takes memory, and objects that the compiler put off
-- until a trace is left.

local tap = require("tap")

-- Prints a line for each place that has counts: its name and line, its objects,
-- its CPU samples, its state.
local rows = [==[
local core = require("jit.mp.core")
local function rows()
  local s, n, out = core.snapshot(), {}, {}
  for _, r in ipairs(s.rows) do
    local f = s.frames[s.stacks.frame[r.stack]]
    local where = (f.kind == "pseudo" and f.name or
      f.source and "line "..(f.line or 0) or f.name or f.kind).." "..r.state
    n[where] = n[where] or { 0, 0 }
    n[where][1] = n[where][1] + r.alloc_objects
    n[where][2] = n[where][2] + r.cpu
  end
  for where, c in pairs(n) do
    out[#out+1] = ("%s objects %d cpu %d\n"):format(where, c[1], c[2])
  end
  table.sort(out)
  io.write(s.info.capture, "\n", table.concat(out))
end
]==]
local _, above = rows:gsub("\n", "")

local function run(name, program, opts)
  local r = tap.luajit((opts or "").." "..tap.program(rows..program))
  tap.is(r.status, 0, name..": runs", r.err)
  return r.out
end

local out = run("probe", "core.start('flb1', '/dev/null') rows()")
if not out:find("^exact") then tap.skip("capture is not exact on this VM") end

-- Objects counted on a line of a program, 0 if there are none; and on all other
-- lines.
local function objects(text, line)
  local here, all = 0, 0
  for where, n in text:gmatch("(.-) %u objects (%d+) cpu %d+\n") do
    all = all + n
    if where:match("line "..(line + above).."$") then here = here + n end
  end
  return here, all - here
end

-- Compiled recursion returns into traces all the time.
out = run("recursion", [[
local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end
core.start("fli1", "/dev/null")
for i = 1, 300 do fib(24) end
rows()]])
tap.unlike(out, "line 0 ",
  "CPU samples in compiled recursion have a line")
tap.like(out, "line %d+ %u objects %d+ cpu [1-9]", "and there are some")

-- A table of strings that is gone lets the collector shrink what is the VM's.
out = run("shrinking", [[
core.start("flb1", "/dev/null")
for round = 1, 4 do
  local t = {}
  for i = 1, 60000 do t[i] = "a string of round " .. round .. ", " .. i end
  local function down(n) if n > 0 then local x = down(n - 1) return x end end
  down(3000)
  t = nil
  for i = 1, 4 do collectgarbage() end
  for i = 1, 20000 do local x = { i } end
end
rows()]])
tap.like(out, "%(garbage collector%) G objects [1-9]",
  "what the collector shrinks is its own")
tap.unlike(out, "line %d+ G objects [1-9]", "and no line's")

-- Objects that are needed only where a trace is left belong to the lines that
-- make them, whether the VM makes them again, a side trace, or one that leaves
-- a side trace.
local sunk = [[
local function pair(i)
  return { i, i }
end
local keep = {}
core.start("flb1", "/dev/null")
for i = 1, 30000 do
  local a = pair(i)
  local b = { i }
  local c = pair(i + 1)
  if i % 5 == 3 then
    keep[1] = a
    keep[2] = b
    if i % 3 == 1 then
      keep[3] = c
    end
  end
end
rows()]]
for _, opts in ipairs({ "", "-Ohotexit=1", "-Ohotexit=60000",
    "-Ohotloop=2 -Ohotexit=2" }) do
  out = run("sunk objects "..opts, sunk, opts)
  local pairs_made, elsewhere = objects(out, 2)
  local ones = objects(out, 8)
  tap.ok(pairs_made >= 7000, "sunk objects "..opts..": made by a function", out)
  tap.ok(ones >= 5500, "sunk objects "..opts..": and beside it", out)
  elsewhere = elsewhere - ones
  tap.ok(elsewhere < 200, "sunk objects "..opts..": and nowhere else", out)
end

-- So does the memory that such a table takes for a key beyond its array.
local packed = [[
local function pack(...)
  local t = { ... }
  return t
end
local keep = {}
core.start("flb1", "/dev/null")
for i = 1, 10000 do
  local t = pack(i, 1, 2)
  if i % 5 < 1 then
    keep[1] = t
  else
    keep[2] = i
  end
end
rows()]]
for _, opts in ipairs({ "", "-Ohotexit=1", "-Ohotloop=2 -Ohotexit=2" }) do
  out = run("sunk tables "..opts, packed, opts)
  local made, elsewhere = objects(out, 2)
  tap.ok(made >= 3000, "sunk tables "..opts..": made by a function", out)
  tap.ok(elsewhere < 200, "sunk tables "..opts..": and nowhere else", out)
end

-- A loop on one line, with a call that is inlined: in the loop no snapshot is
-- left between the call and what is allocated after it.
local inlined = [[
local n, s = 0, 0
local function note(i)
  n = n + i
end
core.start("flb1", "/dev/null")
for i = 1, 10000 do note(i) s = s + #tostring(i) end
rows()]]
for _, opts in ipairs({ "", "-O-loop", "-O-fold", "-Ohotloop=2" }) do
  out = run("an inlined call "..opts, inlined, opts)
  tap.ok(objects(out, 6) >= 9800 and objects(out, 3) == 0,
    "an inlined call "..opts..": what comes after it is not its own", out)
end

tap.done()
