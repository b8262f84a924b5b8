-- SPDX-License-Identifier: MIT
-- Counts instructions with valgrind's callgrind, without the compiler, for each
-- mode: the price of an allocation, of a free, of a sample, and of an
-- allocation in whole programs. Load and clock do not matter.
--
--   ./run luajit bench/instructions.lua [PATTERN]
--
-- The pattern chooses rows. Each program runs at two lengths: the difference of
-- the two, profiled less plain, over the allocations that one has more, is the
-- price. In mode b100m nothing is sampled, in b1 and e each allocation is; s is
-- a sample of mode b512, by itself. bench/instructions.txt has results.

local luajit = arg[-1] or "luajit"
local here = arg[0]:match("^(.*)instructions%.lua$")
local only = arg[1] or ""

local modes = { "fb100m", "fb512", "fb1", "e" }

-- Loops of n rounds with one allocation each. Where they are freed, they are
-- freed by few collections, so that these cost next to nothing by themselves.
local loops = {
  { "allocation", "for i = 1, n do local t = {} end" },
  { "and its free", "for i = 1, n do local t = {} COLLECT end" },
  { "at depth 10", [[
local function down(d)
  if d > 0 then local r = down(d - 1) return r end
  for i = 1, n do local t = {} COLLECT end
end
down(10)]] },
  { "at depth 100", [[
local function down(d)
  if d > 0 then local r = down(d - 1) return r end
  for i = 1, n do local t = {} COLLECT end
end
down(100)]] },
  { "other callers", [[
local function make() local t = {} return t end
local function a(d) local t = d > 0 and a(d - 1) or make() return t end
for i = 1, n do a(i % 16) COLLECT end]] },
  { "1024 stacks", [[
local function a(d, i)
  local r
  if d == 0 then r = {}
  elseif i % 2 == 0 then r = a(d - 1, i / 2)
  else
    r = a(d - 1, (i - 1) / 2)
  end
  return r
end
for i = 1, n do a(10, i % 1024) COLLECT end]] },
}
local START = 'collectgarbage("stop") local n = %d\n'
local COLLECT = 'if i % 10000 == 0 then collectgarbage() '..
  'collectgarbage("stop") end'

-- Whole programs, with two lengths of each.
local programs = { { "compiler", 0.002, 0.008 }, { "objects", 0.001, 0.004 },
  { "recursion", 0.005, 0.02 }, { "strings", 0.001, 0.004 } }
local MEAN, SIZE = 512, 64  -- Of fb512; of a table, in bytes.

local function output(command)
  local p = assert(io.popen(command))
  local s = p:read("*a")
  p:close()
  return s
end

local function quote(s) return "'"..s:gsub("'", "'\\''").."'" end

-- Instructions of a command line of luajit.
local function count(mode, command)
  local s = output(("valgrind --tool=callgrind --callgrind-out-file=/dev/null "
    .."%s -joff %s %s 2>&1 >/dev/null"):format(quote(luajit),
    mode and "-jm="..mode..",/dev/null" or "", command))
  return tonumber(s:match("Collected : (%d+)")) or error(s, 0)
end

-- Allocations that a command line makes, as a profile counts them.
local function allocations(path, scale)
  local code = ("local mp = require 'jit.mp' mp.start('b1', '/dev/null') "..
    "arg = { [0] = %q } loadfile(%q)('%g') "..
    "io.stderr:write(mp.snapshot().heap.alloc_objects)"):format(
    path, path, scale)
  return tonumber(output(("%s -joff -e %s 2>&1 >/dev/null"):format(
    quote(luajit), quote(code)))) or error("no count of "..path, 0)
end

-- Prints what each mode adds to n allocations, by which the longer command has
-- more than the shorter one.
local function row(name, short, long, n, samples)
  local plain = count(nil, long) - count(nil, short)
  local cells = { ("%-14s %8.1f"):format(name, plain / n) }
  local none, sparse
  for _, mode in ipairs(modes) do
    local more = count(mode, long) - count(mode, short) - plain
    if mode == "fb100m" then none = more end
    if mode == "fb512" then sparse = more end
    cells[#cells + 1] = ("%9.1f"):format(more / n)
  end
  cells[#cells + 1] = samples and ("%9.1f"):format((sparse - none) / samples)
  print(table.concat(cells))
  io.flush()
end

local function head(title)
  print(title)
  local cells = { ("%-14s %8s"):format("", "plain") }
  for _, mode in ipairs(modes) do cells[#cells + 1] = ("%9s"):format(mode) end
  cells[#cells + 1] = ("%9s"):format("s")
  print(table.concat(cells))
end

local function loop(name, text)
  local lengths = { 10000, 50000 }
  local commands = {}
  for k, n in ipairs(lengths) do
    commands[k] = "-e "..quote(START:format(n)..text:gsub("COLLECT",
      (COLLECT:gsub("%%", "%%%%"))))
  end
  local n = lengths[2] - lengths[1]
  row(name, commands[1], commands[2], n, n * (1 - math.exp(-SIZE / MEAN)))
end

head("instructions that a profile adds for a table of 64 bytes")
for _, l in ipairs(loops) do
  if l[1]:find(only) then loop(l[1], l[2]) end
end

print()
head("instructions that a profile adds for each allocation, with its free")
for _, p in ipairs(programs) do
  local path = here.."programs/"..p[1]..".lua"
  if p[1]:find(only) then
    row(p[1], quote(path).." "..p[2], quote(path).." "..p[3],
      allocations(path, p[3]) - allocations(path, p[2]))
  end
end
