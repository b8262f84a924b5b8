-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Programs in which the compiler gives up for a known reason at a known line.
----------------------------------------------------------------------------

local loop = [[
local %s
local function run(n) local s = 0
  for i = 1, n do
    %s
  end return s end
run(%d)
]]

-- A loop whose body is on line 4; before: declarations.
local function body(text, before, n)
  return loop:format(before or "_", text, n or 2000)
end

-- A function of many lines, in a chunk of its own.
local function lines(line, n, rest)
  return ([[
local t, x, y = {}, {}, {}
for i = 1, %d do t[i] = (%q):gsub("#", i) end
for i = 1, 1000 do x[i], y[i] = i + 0.5, 1.5 end
local run = loadstring("local x, y, n = ... local s = 0 for i = 1, n do\n"..
  table.concat(t, "\n").."\nend return s", "=many")
run(x, y, %s)
]]):format(n, line, rest or "500")
end

-- Its loop makes a table of varargs.
local varargs = [[
local function f(...) local s = 0
  for i = 1, 100 do
    local t = { ... }
    s = s + #t
  end return s end
for i = 1, 200 do f(1, 2, 3) end
]]

local many = [[
local t = {}
for k = 1, 200 do
  t[k] = loadstring("local n, s = ..., 0 for i = 1, n do s = s + i % "..
    k + 1 .." end return s", "=many")
end
for k = 1, 200 do t[k](200) end
]]

-- { reason, place, program, options }; of a place without a line any will do.
-- flush: why all traces were thrown away; unsure: the reason need not be in a
-- log; rare: some builds do not give up there; tries: chance decides; also:
-- what else the report has.
local list = {
  { "NYI: bytecode FNEW", "p.lua:4",
    body("local f = function() return i end s = s + f()") },
  { "NYI: bytecode UCLO", "p.lua:4",
    body("local x = i if x < 0 then g = function() return x end end", "g") },
  { "NYI: bytecode VARG", "p.lua:3", varargs },
  { "leaving loop in root trace", "p.lua:2", [[
local function run(n) local s = 0
  for i = 1, n do
    for j = 1, i % 9 do s = s + j end
  end return s end
run(2000)
]] },
  { "inner loop in root trace", "p.lua:3", varargs, tries = 10 },
  { "call unroll limit reached", "p.lua", [[
local function tree(n)
  if n < 2 then return 1 end
  return tree(n - 1) + tree(n - 2)
end
local s = 0
for i = 1, 300 do s = s + tree(6) end
]] },
  { "blacklisted", "p.lua:1", body("s = s + f(i)",
    "f = function(x) return x end jit.off(f)") },
  -- Only where the loop is hot before the function, as addresses decide.
  { "JIT compilation disabled for function", "p.lua:1",
    body("s = s + f(i)", "f = function(x) return x end jit.off(f)"),
    tries = 10 },
  { "trace too long", "many", lines("s = s + (x[#] or i) % 7", 400),
    "-Omaxrecord=500" },
  { "too many snapshots", "many",
    lines("if i % (# + 1) == 0 then s = s + x[i] end", 60), "-Omaxsnap=20" },
  { "trace too deep", "p.lua:1", [[
local function f(n) if n == 0 then return 0 end
  local a, b, c, d, e = n, n, n, n, n return a + f(n - 1) + b end
for i = 1, 100 do f(100) end
]], "-Ocallunroll=100 -Orecunroll=100", tries = 10 },
  { "too many PHIs", "many", [[
local t, u = {}, {}
for i = 1, 100 do
  t[i] = "v"..i
  u[i] = "v"..i.." = v"..i % 100 + 1 .." + 1"
end
local run = loadstring("local n = ... local "..table.concat(t, ", ").." = "..
  ("1, "):rep(99).."1\nfor i = 1, n do\n"..table.concat(u, "\n")..
  "\nend return v1", "=many")
run(300)
]] },
  { "too many spill slots", "many", [[
local t, u = {}, {}
for i = 1, 180 do
  t[i], u[i] = "local a"..i.." = x[i + "..i.."]", "a"..i
end
local run = loadstring("local x, y, n = ... local s = 0 for i = 1, n do\n"..
  table.concat(t, "\n").."\n y[1] = i s = s + "..table.concat(u, " * ")..
  "\nend return s", "=many")
local x = {}
for i = 1, 1000 do x[i] = i + 0.5 end
run(x, {}, 300)
]] },
  { "failed to allocate mcode memory", "many", many,
    "-Osizemcode=4 -Omaxmcode=8", flush = "no room for machine code" },
  { "inner loop in root trace", "many", many:gsub("200 do", "60 do"),
    "-Omaxtrace=20", flush = "as many as maxtrace allows", unsure = true },
  { "bad argument type", "p.lua:4", body("pcall(math.abs, {})") },
  { "store with nil or NaN key", "p.lua:1",
    body("pcall(f, {}, i)", "f = function(t, i) t[0/0] = i end") },
  { "missing metamethod", "p.lua:1",
    body("pcall(f, i)", "f = function(i) return i + {} end") },
  { "looping index lookup", "p.lua:1",
    body("pcall(f, t)", "t, f = {}, function(t) return t.x end "..
      "for i = 1, 105 do t = setmetatable({}, { __index = t }) end", 300) },
  { "NYI: mixed sparse/dense table", "p.lua:4",
    body("t[i] = i t[-i] = i", "t = {}") },
  { "trace too short", "p.lua:4", body('s = s + #("abc"):gsub("b", "c")'),
    "-Ominstitch=1000" },
  { "symbol not in cache", "p.lua:4",
    body("s = s + (i < 57 and 1 or ffi.C.toupper(i % 50))",
      'ffi = require("ffi") ffi.cdef "int toupper(int);"') },
  { "NYI: unsupported C function type", "p.lua:4",
    body("s = s + ffi.C.div(i, 3).quot", 'ffi = require("ffi") ffi.cdef '..
      '"typedef struct { int quot, rem; } d; d div(int, int);"') },
  { "NYI: unsupported C type conversion", "p.lua:4",
    body("c.v = d", 'ffi = require("ffi") local c = ffi.new("struct { float '..
      '__attribute__((vector_size(16))) v; }") local d = ffi.typeof("float '..
      '__attribute__((vector_size(16)))")()') },
  { "NYI: unsupported variant of FastFunc ffi.typeof", "p.lua:4",
    body('s = s + (ffi.typeof("int") and 1 or 2)', 'ffi = require("ffi")') },
  { "loop unroll limit reached", "p.lua:4", [[
local function run(n) local s = 0
  for i = 1, n do
    if i % 500 == 0 then
      for j = 1, 20 do s = s + j end
    end
  end return s end
run(3000)
]], "-Ohotexit=2", tries = 10 },
  { "down-recursion, restarting", "p.lua:3", [[
local function sum(n)
  if n == 0 then return 0 end
  return n + sum(n - 1)
end
for i = 1, 200 do sum(50) end
]], rare = true },
  { "NYI: return to lower frame", "p.lua:6", [[
local function f(i, n)
  local s = 0
  while true do
    s = s + i
    n = n - 1
    if n < 0 then return s end
  end
end
for i = 1, 2000 do pcall(f, i, 3) end
]] },
  { "persistent type instability", "p.lua:4",
    body("a, b, c, d, e, f, g, h = b, c, d, e, f, g, h, a",
      "a, b, c, d, e, f, g, h = 1, 'x', true, false, 2, 3, {}, print") },
  { "guard would always fail", "p.lua:4",
    body("x = x == 1 and 2 or x == 2 and 3 or x == 3 and 4 or x == 4 and 5 "..
      "or x == 5 and 6 or x == 6 and 7 or x == 7 and 8 or x == 8 and 9 or 1",
      "x = 1") },
  { "machine code too long", "many", [[
local t = {}
for i = 1, 180 do
  t[i] = ("if i %% %d == 0 then s = s + 1 end"):format(i + 500)
end
local run = loadstring("local n = ... local s = 0 for i = 1, n do\n"..
  table.concat(t, "\n").."\nend return s", "=many")
run(400)
]], "-Osizemcode=4" },
  { "error thrown or hook called during recording", "p.lua:2", [[
local function run(n) local s = 0
  debug.sethook(function() end, "l")
  for i = 1, n do
    s = s + i % 7
  end debug.sethook() return s end
run(5000)
]] },
  -- The exit of a trace, from which no side trace can begin: from then on it
  -- leads back to the interpreter.
  { "NYI: bytecode FNEW", "p.lua:4", [[
local function run(n) local s = 0
  for i = 1, n do
    if i % 5 == 0 then
      local f = function() return n end s = s + f()
    end
  end return s end
run(2000)
]], also = "exit %d+ of trace %d+ leads back to the interpreter at %S+:4\n" },
  -- A function that was given up again and again is given up for good, and so
  -- is what calls it.
  { "blacklisted", "p.lua:1", [[
local function f(x)
  local g = function() return x end return g()
end
local function run(n) local s = 0
  for i = 1, n do
    s = s + f(i)
  end return s end
for i = 1, 100000 do f(i) end run(20000)
]], also = "the function at %S+:1 is blacklisted: never compiled again\n" },
}

return { list = list, body = body, many = many }
