-- SPDX-License-Identifier: MIT
-- Counts instructions with valgrind's callgrind, without the compiler: the
-- price of an allocation with its free, and of the rest (start, report), for
-- each mode. Load and clock do not matter.
--
--   ./run luajit bench/instructions.lua
--
-- Each program runs at two lengths: the difference of the two, profiled less
-- plain, over the allocations that one has more, is the price; an allocation's
-- free is in it. For a sample of the default mode compare fb512 with fb100m.
-- bench/instructions.txt has results.

local luajit = arg[-1] or "luajit"
local here = arg[0]:match("^(.*)instructions%.lua$")

local modes = { "fb100m", "flb100m", "fb512", "f", "fb1", "e" }
-- Two lengths of each.
local programs = { objects = { 0.001, 0.004 }, strings = { 0.001, 0.004 },
  compiler = { 0.002, 0.008 }, recursion = { 0.005, 0.02 } }

local function output(command)
  local p = assert(io.popen(command))
  local s = p:read("*a")
  p:close()
  return s
end

local function quote(s) return "'"..s:gsub("'", "'\\''").."'" end

local function count(mode, path, scale)
  local command = ("valgrind --tool=callgrind --callgrind-out-file=/dev/null "..
    "%s -joff %s %s %g 2>&1 >/dev/null"):format(quote(luajit),
    mode and "-jm="..mode..",/dev/null" or "", quote(path), scale)
  local s = output(command)
  return tonumber(s:match("Collected : (%d+)")) or error(s, 0)
end

-- Allocations between two lengths, as a profile counts them.
local function allocations(path, scales)
  local n = {}
  for k, scale in ipairs(scales) do
    local code = ("local mp = require 'jit.mp' mp.start('b1', '/dev/null') "..
      "arg = { [0] = %q } loadfile(%q)('%g') "..
      "io.stderr:write(mp.snapshot().heap.alloc_objects)"):format(
      path, path, scale)
    n[k] = tonumber(output(("%s -joff -e %s 2>&1 >/dev/null"):format(
      quote(luajit), quote(code)))) or error("no count of "..path, 0)
  end
  return n[2] - n[1]
end

print("instructions that a profile adds for each allocation, with its free")
local head = { ("%-12s %8s"):format("program", "plain") }
for _, mode in ipairs(modes) do head[#head + 1] = ("%9s"):format(mode) end
print(table.concat(head))
local names = {}
for name in pairs(programs) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  local scales, path = programs[name], here.."programs/"..name..".lua"
  local n = allocations(path, scales)
  local plain = count(nil, path, scales[2]) - count(nil, path, scales[1])
  local cells = { ("%-12s %8.1f"):format(name, plain / n) }
  for _, mode in ipairs(modes) do
    local more = count(mode, path, scales[2]) - count(mode, path, scales[1])
    cells[#cells + 1] = ("%9.1f"):format((more - plain) / n)
  end
  print(table.concat(cells))
  io.flush()
end
