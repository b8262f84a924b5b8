-- SPDX-License-Identifier: MIT
-- Random programs that make objects of several kinds, one on a line, most of
-- which the compiler sinks, and keep some of them: program(seed) returns the
-- text of one.

-- Constructors with i for a number, and an expression of their object v.
local kinds = {
  { "{ i }", "v[1]" }, { "{ i, i }", "v[1]" },
  { "{ i, i + 1, i + 2, i, i }", "v[3]" }, { "{ 1, 2, i }", "v[3]" },
  { "{ x = i }", "v.x" }, { "{ x = i, y = i }", "v.y" },
  { "{ x = 1, y = i }", "v.y" }, { "{ 7, x = 2, y = i, z = 4 }", "v.y" },
  { "pack(i, 1, 2)", "v[1]" },
  { "keys(i)", "v[5]" },
  { "point(i, i)", "v.x" }, { "point(i, 1)", "v.y" }, { "small(i)", "v.a" },
}

local function constructor()
  return unpack(kinds[math.random(#kinds)])
end

-- Functions that return a new object; a tail call would hide their line.
local function functions(out)
  local n = math.random(0, 3)
  for f = 1, n do
    out("local function f%d(i)", f)
    out("  local v = %s", constructor())
    out("  return v")
    out("end")
  end
  return n
end

-- Variables with new objects, some of them made by one of n functions.
local function variables(out, n)
  local names, uses = {}, { "i" }
  for k = 1, math.random(2, 6) do
    local name = "v"..k
    local text, use = constructor()
    if n > 0 and math.random(3) == 1 then
      text, use = ("f%d(i)"):format(math.random(n)), nil
    end
    out("  local %s = %s", name, text)
    names[k] = name
    if use then uses[#uses+1] = use:gsub("v", name, 1) end
    if use and math.random(4) == 1 then
      out("  if i %% %d == 0 then keep[%d] = %s end", math.random(2, 9),
	math.random(30), name)
    end
  end
  out("  sum = sum + %s", table.concat(uses, " + "))
  return names
end

local function keeps(out, names)
  out("  if i %% %d == 0 then", math.random(2, 12))
  for _, name in ipairs(names) do
    local what = ({ name, "{ "..name.." }", "tostring(i)" })[math.random(6)]
    if what then out("    keep[%d] = %s", math.random(30), what) end
  end
  out("  end")
end

local function loop(out, n)
  out("for i = 1, %d do", math.random(3000, 6000))
  local names = variables(out, n)
  for _ = 1, math.random(3) do keeps(out, names) end
  out("end")
end

local function program(seed)
  local lines = {}
  local function out(format, ...) lines[#lines+1] = format:format(...) end
  math.randomseed(seed)
  out('local ffi = require("ffi")')
  out('local point = ffi.typeof("struct { double x, y; }")')
  out('local small = ffi.typeof("struct { int a; }")')
  out("local keep, sum = {}, 0")
  out("local function pack(...) local v = { ... } return v end")
  out("local function keys(i)")
  out("  local v = {}")
  out("  v[5] = i")
  out("  v[7] = i")
  out("  return v")
  out("end")
  local n = functions(out)
  for _ = 1, math.random(2) do loop(out, n) end
  return table.concat(lines, "\n").."\n"
end

return { program = program }
