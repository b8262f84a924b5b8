-- SPDX-License-Identifier: MIT
-- Bytes by line: compiled code has those of the interpreter, to half a percent
-- of all that a program allocates:
--   ./run luajit t/truth/lines.lua [PROGRAM...]
--
-- As usual the compiler removes allocations: a line may have less, but none has
-- more. Where objects are not sunk no line has less, either, but for programs
-- of which other optimizations remove something. Memory of the VM's own, as the
-- growing table of strings, is left out: it is no line's.

local tap = require("tap")
local read = require("jit.mp.format.file_read")

local LIMIT = 0.005

local unknown = { "parser", "strings", "objects", "closures", "coroutines",
  "cdata", "recursion", "library" }
local benched = { "binarytrees", "closures", "coroutines", "json", "matrix",
  "objects", "strings", "tablechurn" }

local modes = {
  { "", "as usual" },
  { "-O-sink", "nothing sunk", all = true },
  { "-Ohotloop=2 -Ohotexit=2", "compiled early" },
}

-- Types of the VM's own memory.
local own = { ["string table"] = true, ["thread stack"] = true,
  ["buffer"] = true, ["JIT recorder"] = true, trace = true }

-- Programs of which the compiler removes something even without sinking.
local folds = { cdata = true, ["bench/json"] = true }

-- Bytes by line that the program allocated itself, and their sum.
local function bytes_by_line(file, flags)
  local out = tap.tmpname(".mp")
  local r = tap.luajit(("%s -jm=b1,%s %s"):format(flags, out, file))
  if r.status ~= 0 then return nil, r.err end
  local p = assert(read(assert(tap.read(out))))
  local name = p:namer("l", true, 1)
  local lines, sum = {}, 0
  for _, row in ipairs(p.rows) do
    local _, line = p:source_line(row)
    if line and row.state ~= "G" and not own[row.type] then
      local key = name(row)[1]
      lines[key] = (lines[key] or 0) + row.alloc_bytes
      sum = sum + row.alloc_bytes
    end
  end
  return lines, sum
end

-- Bytes by which lines have more, and by which they have less; and a text of
-- the lines where it matters.
local function moved(on, off, limit)
  local more, less, bad, seen = 0, 0, {}, {}
  local function look(line)
    if seen[line] then return end
    seen[line] = true
    local d = (on[line] or 0) - (off[line] or 0)
    if d > 0 then more = more + d else less = less - d end
    if math.abs(d) > limit then
      bad[#bad+1] = ("%s: %.0f compiled, %.0f interpreted"):format(
	line:match("[^/]*$"), on[line] or 0, off[line] or 0)
    end
  end
  for line in pairs(on) do look(line) end
  for line in pairs(off) do look(line) end
  table.sort(bad)
  return more, less, table.concat(bad, "\n")
end

local function compare(name, file)
  local off, total = bytes_by_line(file, "-joff")
  if not tap.ok(off, name.." runs interpreted", total) then return end
  for _, mode in ipairs(modes) do
    local on, msg = bytes_by_line(file, mode[1])
    if tap.ok(on, name.." runs "..mode[2], msg) then
      local more, less, bad = moved(on, off, total * LIMIT)
      tap.diag(("%s, %s: %.2f%% more, %.2f%% less of %.1f MB"):format(name,
	mode[2], more / total * 100, less / total * 100, total / 1e6))
      tap.ok(more <= total * LIMIT, ("%s, %s: no line has more"):format(name,
	mode[2]), bad)
      if mode.all and not folds[name] then
	tap.ok(less <= total * LIMIT, ("%s, %s: no line has less"):format(name,
	  mode[2]), bad)
      end
    end
  end
end

local probe = tap.luajit("-jm=hb1 "..tap.program("local t = {}"))
if not probe.out:find("capture exact") then
  tap.skip("capture is not exact on this VM")
end

local only = {}
for _, name in ipairs(arg) do only[name] = true end
for _, name in ipairs(unknown) do
  if #arg == 0 or only[name] then
    compare(name, tap.srcdir.."/t/truth/programs/"..name..".lua")
  end
end
for _, name in ipairs(benched) do
  if #arg == 0 or only["bench/"..name] then
    compare("bench/"..name, tap.srcdir.."/bench/programs/"..name..".lua 0.02")
  end
end
tap.done()
