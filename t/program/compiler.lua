-- SPDX-License-Identifier: MIT
-- Option J: why code runs interpreted. Each program makes the compiler give up
-- for a known reason at a known line; a second run, without the profiler,
-- writes the log of jit.attach, which has to have the same.
local tap = require("tap")

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

local many = [[
local t = {}
for k = 1, 200 do
  t[k] = loadstring("local n, s = ..., 0 for i = 1, n do s = s + i %% "..
    k + 1 .." end return s", "=many")
end
for k = 1, %d do t[k](200) end
]]

-- { reason, place, program, options }; of a place without a line any will do.
local programs = {
  { "NYI: bytecode FNEW", "p.lua:4",
    body("local f = function() return i end s = s + f()") },
  { "NYI: bytecode UCLO", "p.lua:4",
    body("local x = i if x < 0 then g = function() return x end end", "g") },
  { "NYI: bytecode VARG", "p.lua:3", [[
local function f(...) local s = 0
  for i = 1, 100 do
    local t = { ... }
    s = s + #t
  end return s end
for i = 1, 200 do f(1, 2, 3) end
]] },
  { "leaving loop in root trace", "p.lua:2", [[
local function run(n) local s = 0
  for i = 1, n do
    for j = 1, i % 9 do s = s + j end
  end return s end
run(2000)
]] },
  { "inner loop in root trace", "p.lua:3", [[
local function f(...) local s = 0
  for i = 1, 100 do
    local t = { ... }
    s = s + #t
  end return s end
for i = 1, 200 do f(1, 2, 3) end
]] },
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
]], "-Ocallunroll=100 -Orecunroll=100" },
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
  { "failed to allocate mcode memory", "many", many:format(200),
    "-Osizemcode=4 -Omaxmcode=8", flush = "no room for machine code" },
  { "inner loop in root trace", "many", many:format(60), "-Omaxtrace=20",
    flush = "as many as maxtrace allows", unsure = true },
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
}

-- The log of a run, as lines of counts, places and reasons.
local log = tap.program([[
local vmdef, util = require("jit.vmdef"), require("jit.util")
local list, by = {}, {}
jit.attach(function(what, _, f, pc, reason, detail)
  if what ~= "abort" then return end
  local text = vmdef.traceerr[reason] or "error"
  if text:find("^NYI: bytecode") then
    text = "NYI: bytecode "..vmdef.bcnames:sub(detail * 6 + 1,
      detail * 6 + 6):gsub(" ", "")
  end
  local info = util.funcinfo(f, pc)
  local line = (info.loc or vmdef.ffnames[info.ffid])..": "..text
  if not by[line] then list[#list+1] = line end
  by[line] = (by[line] or 0) + 1
end, "trace")
dofile(arg[1])
for _, line in ipairs(list) do print(by[line], line) end
]])

local function run(program)
  local name = tap.tmpname()
  os.remove(name)
  local dir = name..".d"
  os.execute("mkdir "..dir)
  tap.write(dir.."/p.lua", program[3])
  local options = (program[4] or "").." "
  local plain = tap.luajit(options..log.." "..dir.."/p.lua")
  local r = tap.luajit(options.."-jm=Jm0 "..dir.."/p.lua")
  os.remove(dir.."/p.lua")
  os.remove(dir)
  return plain, r
end

-- Whether a report or a log has that reason at that place. Some builds name the
-- builtin that was called, not the line.
local function has(text, place, reason)
  for line in text:gmatch("[^\n]+") do
    local count, at, why = line:match("^%s*(%d+)%s+(.-):%s(.*)$")
    at = at and at:gsub(" #%d+", "")
    if count and tonumber(count) > 0 and why == reason and
	(at == place or not place:find(":") and
	  at:gsub(":%d+$", "") == place or not at:find(":%d+$")) then
      return true
    end
  end
  return false
end

for _, program in ipairs(programs) do
  local reason, place = program[1], program[2]
  local plain, r, found
  for _ = 1, program.tries or 1 do
    plain, r = run(program)
    found = has(plain.out:gsub("/%S*/", ""), place, reason) and
      has(r.out, place, reason)
    if found or r.status ~= 0 then break end
  end
  local name = reason..(program.flush and ", "..program.flush or "")
  tap.is(r.status, 0, name..": the program ends as it would")
  if program.flush then
    tap.like(r.out, program.flush, name..": why all traces were thrown away")
  end
  if not program.unsure then
    tap.ok(found, name..": as jit.attach has it",
      plain.out.."\n"..r.out)
  end
end

-- -- What one reason keeps interpreted --------------------------------------

local r = tap.luajit("-jm=Jm0b1 "..tap.program([[
local function inner(x)
  local f = function() return x end return f()
end
local function parse(n) local t
  for i = 1, n do t = { inner(i) } end return t end
local function lex(n) local t
  for i = 1, n do t = { inner(i), i } end return t end
for _ = 1, 2 do parse(20000) lex(20000) end
]]))
tap.like(r.out, "\n[^\n]+ and %d more functions run interpreted\n",
  "functions that one reason keeps interpreted are one entry")
for _, name in ipairs({ "inner", "parse", "lex" }) do
  tap.like(r.out, "functions run interpreted\n[^\n]*%d%% "..name,
    "it has the share of "..name)
end
tap.like(r.out, "functions run interpreted\n[^\n]+\n%s+given up [^\n]+: "..
  "NYI: bytecode FNEW\n", "and the chief reason first")
tap.like(r.out, "try: a function is made each time", "with advice about it")
tap.like(r.out, "\n +allocated +compiled +interpreted +in C\n",
  "bytes by the state of the VM")
tap.like(r.out, "\n +[%d.]+ MB [^\n]+ inner: NYI: bytecode FNEW\n",
  "those of the interpreter with the reason")
tap.unlike(r.out, "try: it meets what was given up",
  "and not about the places that call it")

r = tap.luajit("-jm=Jm0b1 "..tap.program([[
local s = ("abc"):rep(300)
local function run(n) for i = 1, n do s:gsub("b", i) end end
run(20000)
]]))
tap.like(r.out, "\n +[%d.]+ MB [^\n]+ +[%d.]+ MB +run\n",
  "what a C function allocates is that of C")
tap.unlike(r.out, "MB%s+run runs interpreted",
  "and not interpreted")

r = tap.luajit("-Osizemcode=4 -Omaxmcode=8 -jm=Jm0b1 "..
  tap.program(many:format(200)))
tap.like(r.out, "the compiler itself\n%s+%d+ traces made, %d+ given up\n",
  "the compiler itself: what it does")
tap.like(r.out, "no room for machine code\n%s+try: %-Omaxmcode",
  "and what helps")

-- -- Windows ---------------------------------------------------------------

local one, two = tap.tmpname(), tap.tmpname()
r = tap.luajit(tap.program([[
local mp = require("jit.mp")
local first = loadstring("local n, s = ..., 0 for i = 1, n do local f = "..
  "function() return i end s = s + f() end", "=first")
local second = loadstring("local n = ... local t for i = 1, n do t = { ... } "..
  "end return t", "=second")
mp.start("Jm0b1", "/dev/null")
first(20000)
assert(mp.window(arg[1]))
second(20000)
local w = mp.window()
for _, g in ipairs(w.giveups) do print(w.frames[g.start].source) end
assert(mp.window(arg[2]))
mp.stop()
]]).." "..one.." "..two)
tap.like(r.out, "^=?first\n.*=?second\n", "a window as a table has places")
local text = tap.read(one)
tap.like(text, "JIT compiler, since the profile began: ",
  "a window has the decisions since the start")
tap.like(text, "from first:1: NYI: bytecode FNEW", "the first one")
tap.unlike(text, "second:1", "not what came later")
text = tap.read(two)
tap.like(text, "  first:1: NYI: bytecode FNEW", "a later window has both")
tap.like(text, "  second:1: NYI: bytecode VARG", "with their places")

-- -- The event, and what there is without it -------------------------------

local closures = body("local f = function() return i end s = s + f()", nil,
  200000)

r = tap.luajit("-e "..tap.quote([[
  local mp, n = require("jit.mp"), 0
  local own = {}  -- Newer builds have a handler of their own for an event.
  for _, f in pairs(debug.getregistry()._VMEVENTS or {}) do own[f] = true end
  mp.start("J", "/dev/null")
  ]]..closures..[[
  mp.stop()
  local events = debug.getregistry()._VMEVENTS
  for _, f in pairs(events) do if not own[f] then print("left", f) end end
  jit.attach(function(what) n = n + 1 end, "trace")
  mp.start("J", "]]..tap.tmpname(".txt")..[[")
  ]]..closures..[[
  mp.stop()
  local count = 0
  for _, f in pairs(events) do if not own[f] then count = count + 1 end end
  print(n > 0, count)
]]))
tap.is(r.out, "true\t1\n", "the event is given back, and a handler of the "..
  "program stays")

-- Without the layout there is only what the event tells.
if not tap.knows_layout() then tap.done() end

r = tap.luajit("-jm=Jm0b1 "..tap.program([[
local keep = {}
for k = 1, 20 do
  keep[k] = loadstring("local s = 0 for i = 1, 300 do local f = function() "..
    "return i end s = s + f() end return s", "=text")
  keep[k]()
end
]]))
local words = r.out:gsub("%s+", " ")
tap.like(words, "from text:1: NYI: bytecode FNEW; equal code was loaded "..
  "again %d+ times", "code that is loaded again is named")
tap.like(words, "try: load that code once, and keep the function",
  "with advice about that")
tap.like(words, "the compiler itself %d+ traces made, %d+ given up most "..
  "begin at text:1: %d+", "and most traces begin in it")

local file = tap.program("jit.attach(function() end, 'trace') "..
  "require('jit.mp').start('J')\n"..closures.."os.exit(0)")
r = tap.luajit(file)
tap.like(r.out, "handler of its own %(jit.attach%)", "another handler is named")
tap.like(r.out, "given up from %S+:4: NYI: bytecode\n",
  "LuaJIT's table has the reason")
tap.like(r.out, "the loop at %S+:4 is blacklisted", "what is blacklisted")
tap.unlike(r.out, "traces made", "and no numbers of traces")

-- The reason is from before the start.
file = tap.program(closures..[[
require("jit.mp").start("J")
run(200000)
]])
r = tap.luajit(file)
tap.like(r.out, "the loop at %S+:3 is blacklisted", "from before: blacklisted")
tap.like(r.out, "given up before the profile from %S+:3: NYI: bytecode\n",
  "from before: its reason")

-- -- The profile's file -----------------------------------------------------

local profile = tap.tmpname(".mp")
file = tap.program(closures)
r = tap.luajit("-jm=Jlb1 "..file)
tap.like(r.out, "\n +[%d.]+ MB +%- [^\n]+:4: NYI: bytecode FNEW\n",
  "bytes by line, with option l")
r = tap.luajit("-jm=J,-,"..profile.." "..file)
local read = tap.sh(tap.mp.." report "..profile.." J")
tap.is(read.out..read.err, r.out, "a file has the same report")

-- -- The page ---------------------------------------------------------------

local page = tap.tmpname(".html")
tap.luajit("-jm=J,"..page.." "..tap.program(closures.."jit.flush() run(9)"))
text = tap.read(page)
local jit = text:match('"jit":(%b{})') or ""
tap.like(jit, '"giveups":{"start":%[%d', "the page has traces given up")
tap.like(jit, '"wall":%[[%d.]', "with their moments")
tap.like(jit, '"traces":{"level":%[0', "and traces")
tap.like(jit, '"blacklisted":%[%d', "what is blacklisted")
tap.like(jit, '"flushes":%[{"wall":[%d.]+,"why":"by jit.flush',
  "and the flush")
tap.like(text, '"strings":.*NYI: bytecode FNEW', "and the reason")
tap.luajit("-jm=f,"..page.." "..file)
tap.like(tap.read(page), '"jit":null', "without the option there is none")

r = tap.luajit("-jm=f,"..profile.." "..file)
read = tap.sh(tap.mp.." report "..profile.." J")
tap.is(read.status, 1, "one without the option")
tap.like(read.err, "where the program ran with option J", "says so")

tap.done()
