-- SPDX-License-Identifier: MIT
-- The bytes that a program allocates by place, compiled and interpreted.

local tap = require("tap")
local read = require("jit.mp.format.file_read")

local M = {}

M.unknown = { "parser", "strings", "objects", "closures", "coroutines",
  "cdata", "recursion", "library" }
M.classic = { "rays", "queens", "lzw", "life", "scheduler", "sieve", "paths",
  "template" }
M.benched = { "binarytrees", "closures", "coroutines", "json", "matrix",
  "objects", "strings", "tablechurn" }

-- Programs of which the compiler removes something even without sinking.
M.folds = { cdata = true, ["bench/json"] = true }

-- Programs of which LuaJIT for arm64 itself makes more tables compiled than
-- interpreted, depending on its traces. The heap of plain LuaJIT with the
-- collector stopped shows it; a counter in lj_tab.c has the profile's numbers.
M.makes_more = jit.arch == "arm64" and { coroutines = true, parser = true } or
  {}

-- Types of the VM's own memory, as the growing table of strings: that is no
-- place's.
local own = { ["string table"] = true, ["thread stack"] = true,
  ["buffer"] = true, ["JIT recorder"] = true, trace = true }

-- Bytes by place that a program allocated itself, and their sum. namer(p)
-- returns a function from a row to its place, or nil.
function M.by_place(program, flags, options, namer)
  local out = tap.tmpname(".mp")
  local r = tap.luajit(("%s -jm=%s,%s %s"):format(flags, options, out, program))
  if r.status ~= 0 then return nil, r.err end
  local p = assert(read(assert(tap.read(out))))
  local name, places, sum = namer(p), {}, 0
  for _, row in ipairs(p.rows) do
    local key = row.state ~= "G" and not own[row.type] and name(row)
    if key then
      places[key] = (places[key] or 0) + row.alloc_bytes
      sum = sum + row.alloc_bytes
    end
  end
  return places, sum
end

-- Bytes by which places have more, and by which they have less; and a text of
-- the places where it matters.
function M.moved(on, off, limit)
  local more, less, bad, seen = 0, 0, {}, {}
  local function look(place)
    if seen[place] then return end
    seen[place] = true
    local d = (on[place] or 0) - (off[place] or 0)
    if d > 0 then more = more + d else less = less - d end
    if math.abs(d) > limit then
      bad[#bad+1] = ("%s: %.0f compiled, %.0f interpreted"):format(
	place, on[place] or 0, off[place] or 0)
    end
  end
  for place in pairs(on) do look(place) end
  for place in pairs(off) do look(place) end
  table.sort(bad)
  return more, less, table.concat(bad, "\n")
end

-- Compares each program, or those that `only` names, if it names any, which may
-- be other files: compare(name, command line of the program).
function M.each(only, compare)
  local wanted = {}
  for _, name in ipairs(only) do
    wanted[name] = true
    if name:find("%.lua$") then compare(name:match("[^/]*$"), name) end
  end
  local function maybe(name, program)
    if #only == 0 or wanted[name] then compare(name, program) end
  end
  for _, list in ipairs { M.unknown, M.classic } do
    for _, name in ipairs(list) do
      maybe(name, tap.srcdir.."/t/truth/programs/"..name..".lua")
    end
  end
  for _, name in ipairs(M.benched) do
    maybe("bench/"..name, tap.srcdir.."/bench/programs/"..name..".lua 0.02")
  end
end

-- Skips the test where capture is not exact.
function M.need_exact()
  local probe = tap.luajit("-jm=hb1 "..tap.program("local t = {}"))
  if not probe.out:find("capture exact") then
    tap.skip("capture is not exact on this VM")
  end
end

return M
