-- SPDX-License-Identifier: MIT
-- Option J: why code runs interpreted. Each program makes the compiler give up
-- for a known reason at a known line; a second run, without the profiler,
-- writes the log of jit.attach, which has to have the same.
local decisions = require("jit.mp.model.decisions")
local remedies = require("jit.mp.model.remedies")
local reasons = require("reasons")
local tap = require("tap")

local body, many = reasons.body, reasons.many

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
  if type(detail) == "function" then
    text = text:gsub("%%s", vmdef.ffnames[util.funcinfo(detail).ffid] or "?")
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

for _, program in ipairs(reasons.list) do
  local reason, place = program[1], program[2]
  local plain, r, found
  for _ = 1, program.tries or 1 do
    plain, r = run(program)
    local known = has(plain.out:gsub("/%S*/", ""), place, reason)
    found = (known or program.rare) and has(r.out, place, reason) == known
    if found or r.status ~= 0 then break end
  end
  local name = reason..(program.flush and ", "..program.flush or "")
  tap.is(r.status, 0, name..": the program ends as it would")
  if program.flush then
    tap.like(r.out, program.flush, name..": why all traces were thrown away")
  end
  if program.also and tap.knows_layout() then
    tap.like(r.out, program.also, name..": and what it leads to")
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
tap.like(r.out, "try: a function is created here each time",
  "with advice about it")
tap.like(r.out, "\n +allocated +compiled +interpreted +in C\n",
  "bytes by the state of the VM")
tap.like(r.out, "\n +[%d.]+ MB [^\n]+ inner: NYI: bytecode FNEW\n",
  "those of the interpreter with the reason")
tap.unlike(r.out, "try: it runs into code that is blacklisted",
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
  tap.program(many))
tap.like(r.out, "the compiler itself\n%s+%d+ traces made, %d+ given up\n",
  "the compiler itself: what it does")
tap.like(r.out, "no room for machine code\n%s+try: %-Omaxmcode=%d%d",
  "and what helps: more than twice the 8 KiB")

local again = tap.program((many:gsub("\nfor k[^\n]+\n$", function(last)
  return "\nlocal from = os.clock()\nrepeat"..last..
    "until os.clock() - from > 0.3"
end)))
r = tap.luajit("-Osizemcode=4 -Omaxmcode=8 -Omaxtrace=100 -jm=Ji1 "..again)
tap.like(r.out, "it takes more CPU than compiled code, which has %d+%%: "..
  "compare with luajit %-joff\n", "and that compiling may not be worth while")
tap.like(r.out, "no room for machine code\n%s+try: %-Omaxmcode=128 "..
  "%-Omaxtrace=%d+", "16 times as much, and as many traces, if all were "..
  "thrown away often")

-- -- Reasons that lead on to others ---------------------------------------

-- The chief reason of interpreted code in function 1. list: traces given up:
-- { function where it began, function where it was given up, reason, final }.
local function chief(list)
  local fns = { { kind = "Lua" }, { kind = "Lua" }, { kind = "Lua" } }
  local p = { frames = {}, frame = { 1 }, parent = { 0 }, giveups = {},
    blacklisted = {}, traces = {},
    rows = { { stack = 1, state = "I", cpu = 1, alloc_bytes = 0,
      alloc_objects = 0 } } }
  p.functions = function() return nil, fns end
  p.line_stack = function(_, stack) return stack end
  p.is_before = function() return false end
  p.function_name = function() return "f" end
  p.labeler = p.functions
  for i, g in ipairs(list) do
    p.giveups[i] = { start = g[1], at = g[2], reason = g[3], final = g[4],
      count = #list - i + 1 }
  end
  return decisions.join(p).list[1].chief.reason
end

local inner, unroll = "inner loop in root trace", "loop unroll limit reached"
tap.is(chief({ { 1, 1, inner, true }, { 1, 2, unroll } }), unroll,
  "behind an inner loop: what is given up in the same function")
tap.is(chief({ { 1, 2, inner, true }, { 2, 3, unroll } }), unroll,
  "what is given up in the function that has it")
tap.is(chief({ { 1, 2, inner, true }, { 2, 3, inner }, { 3, 3, unroll } }),
  unroll, "or in the next one")
tap.is(chief({ { 1, 2, "blacklisted", true }, { 2, 2, inner, true } }),
  "blacklisted", "a call of what is blacklisted, where nothing else is known")
tap.is(chief({ { 1, 2, inner, true }, { 2, 1, inner, true } }), inner,
  "or the inner loop itself")
tap.is(chief({ { 1, 1, unroll, true }, { 1, 2, inner }, { 2, 2, "none" } }),
  unroll, "but first the reason for which the place was given up for good")

-- Two functions: the first has more CPU, the second allocates.
local function first_of(collected)
  local names = { "first", "second" }
  local fns = { { kind = "Lua" }, { kind = "Lua" } }
  local p = { frames = {}, frame = { 1, 2 }, parent = { 0, 0 }, giveups = {},
    blacklisted = {}, traces = {}, rows = {} }
  for i, row in ipairs({ { "I", 10, 0 }, { "I", 9, 50 },
      { "G", collected, 0 } }) do
    p.rows[i] = { stack = i < 3 and i or 1, state = row[1], cpu = row[2],
      alloc_bytes = row[3], alloc_objects = 0 }
  end
  p.functions = function() return nil, fns end
  p.line_stack = function(_, stack) return stack end
  p.is_before = function() return false end
  p.function_name = function(_, fn)
    return names[fn == fns[1] and 1 or 2]
  end
  p.labeler = p.functions
  return decisions.join(p).list[1].name
end
tap.is(first_of(0), "first", "the order is that of CPU time")
tap.is(first_of(5), "second", "with the collector's, by bytes")

-- -- The compiler's own row ------------------------------------------------

-- Its lines in one string. n: of 100 recordings, those given up for one reason;
-- own and compiled: the CPU time of the compiler and of compiled code. head:
-- other facts.
local function own_lines(n, own, compiled, head)
  local p = { frames = {}, traces = {}, flushes = {}, compiler = {
    events = true, made = 60, given_up = 40 }, giveups = { { start = 1, at = 1,
    count = n, reason = "NYI: bytecode VARG" } } }
  for k, v in pairs(head or {}) do
    local to = p[k] and p or p.compiler
    to[k] = v
  end
  local entries = remedies.entries(p, { list = {}, own = { cpu = own,
    bytes = 0, cost = own }, all = { cpu = 100, compiled = compiled },
    place = function() return "x" end }, function() return true end)
  return table.concat(entries[1].lines, "\n")
end

tap.like(own_lines(25, 50, 30), "given up 25 times from x: NYI: bytecode "..
  "VARG\ntry: this use of", "advice about what most recordings end with")
tap.unlike(own_lines(24, 50, 30), "try:", "none about what few of them do")
tap.like(own_lines(24, 50, 24), "it takes more CPU than compiled code, "..
  "which has 24%%: compare with luajit %-joff",
  "the compiler has far more CPU time than compiled code")
tap.unlike(own_lines(24, 50, 26), "joff", "not where it has a little more")

-- Of 40 samples in the compiler, n in the kernel, with those limits in KiB.
local function kernel_lines(n, size, most, head)
  head = head or {}
  head.compiling, head.protecting = 40, n
  head.sizemcode, head.maxmcode = size, most
  head.traces = head.traces or { { state = "live", bytes = 33 * 1024,
    parent = 0, start = 1 } }
  return own_lines(head.n or 1, 50, 50, head)
end

tap.like(kernel_lines(10, 32, 512), "\ntry: %-Osizemcode=512\n25%% of its "..
  "time is the kernel's, which changes the protection of machine code$",
  "the kernel's part, and larger areas of machine code")
tap.like(kernel_lines(40, 32, 2048), "\ntry: %-Osizemcode=512\n100%% of its",
  "which need not be as large as all")
tap.unlike(kernel_lines(9, 32, 512), "kernel", "not where it is a small part")
for _, none in ipairs { { 512, 512 }, { 64, 512 }, { 32 } } do
  local lines = kernel_lines(40, none[1], none[2])
  tap.like(lines, "the kernel's", "its part alone")
  tap.unlike(lines, "sizemcode", "no option where an area is as large as all "..
    "may be, where there is one, or where the limits are not known")
end
tap.like(kernel_lines(40, 64, 512, { flushes = { { why = "machine code" } } }),
  "try: %-Omaxmcode=1024 %-Osizemcode=512, or compile less code",
  "beside more room")
tap.like(kernel_lines(40, 32, 512, { n = 25 }), "try: this use of [^\n]+; "..
  "and %-Osizemcode=512\n", "and beside advice about a reason")

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

-- -- Objects that compiled code makes ----------------------------------------

-- Lines of a loop, the first is line 7; where, and how their objects escape.
local escapes = {
  { "a field", "t = { i }\nkept.x = t", 7, "stored in a table at %S+:8" },
  { "a list", "t = { i }\nkept[1] = t", 7, "stored in a table at %S+:8" },
  { "a key", "kept[{ i }] = 1", 7, "stored in a table at %S+:7" },
  { "an object of a class", "kept.x = setmetatable({ i }, kept)", 7,
    "stored in a table at %S+:7" },
  { "another table", "local o = { { i } }\ns = s + o[1][1]", 7,
    "stored in another new object at %S+:7" },
  { "an upvalue", "up = { i }", 7, "stored in an upvalue at %S+:7" },
  { "a key that is not known", "t = { i, i }\nt[i % 2 + 1] = 3", 7,
    "filled by a key that is not constant at %S+:8" },
  { "the next turn", "a, b = b, { i }", 7,
    "kept from one turn of the loop to the next" },
  { "an interpreted caller", "t = make(i)", 1,
    "needed after the trace ends at %S+:1", "jit.off(run)" },
}
if pcall(require, "ffi") then
  table.insert(escapes, { "a function of C", "ffi.C.time(long())", 7,
    "passed to a C function at %S+:7" })
end
local program = [[
local function make(i) return { i } end
local _, ffi = pcall(require, "ffi") local long = ffi.cdef and
  (ffi.cdef("long time(long *);") or ffi.typeof("long[1]"))
local kept, up = {}, nil
local function run(n) local s, t, a, b = 0, nil, {}, {}
  for i = 1, n do
    LINES
  end return s, t, a, b, up
end
BEFORE run(20000)
]]
for _, e in ipairs(escapes) do
  r = tap.luajit("-jm=Jlm0b1 "..tap.program((program:gsub("%u%u+",
    { LINES = e[2], BEFORE = e[5] or "" }))))
  tap.like(r.out, ("\n +[%%d.]+ [kM]B +[%%d.]+ [kM]B +%%S[^\n]- +%%S+:%d: %s\n")
    :format(e[3], e[4]), e[1]..": why compiled code makes an object")
end

r = tap.luajit("-jm=Jlm0b1 "..tap.program([[
local function run(n) local s = 0
  for i = 1, n do
    local p = { x = i }
    s = s + p.x
  end return s end
run(20000)
]]))
tap.unlike(r.out:match("allocated +compiled.-\n\n"), "%S+:3: ",
  "an object that the compiler avoids has no reason")

r = tap.luajit("-jm=Jm0b1 "..tap.program([[
local kept, s = {}, 0
for i = 1, 1000 do s = s + i end
for i = 1, 50000 do kept[1] = { i } end
]]))
-- The run may be too short for a CPU sample.
tap.like(r.out, "\n[~%d. ms]- +%d[%d.]+ MB +%d+ +%d+ +%d+: [^\n]+:3, loop\n",
  "what a trace allocates")
tap.like(r.out, "\n[~%d. ms]- +%d+ +%d+ +%d+: [^\n]+:2, loop\n",
  "one that allocates nothing")

-- -- Listings ---------------------------------------------------------------

file = tap.program([[
local kept, key = {}, "name"
local function half(x) return x * 0.5 end
local function run(n) local s = 0
  for i = 1, n do
    s = s + half(i)
    kept[key] = math.floor(i)
  end
  return s
end
run(1000)
]])
r = tap.luajit("-jm=J+m0 "..file)
local listing = r.out:match("\nTrace 1, %S+:4[^\n]*:\n(.*)") or ""
tap.like(listing, "^  %-%- %S+:3\n  %d+ +5 UGET +%d+ +%d+\n",
  "J+: the function, and a bytecode with its line")
tap.like(listing, "\n  %-%- %S+:2\n  0000 +2   FUNCF [^\n]+\n"..
  "  0001 +2   MULVN +%d+ +%d+ +0  ; 0%.5\n", "in a call, with a constant")
tap.like(listing, "; \"floor\"\n", "a constant that is a string")
tap.like(listing, "\n +math%.floor\n", "a builtin")
tap.like(listing, "\n  (%d+) +4 FORL +%d+ => %d+\n", "a jump")
tap.like(listing, "\n  %-%- instructions\n +exit 0\n  0001 >? +int SLOAD  #%d",
  "the compiler's instructions, with the exit")
tap.like(listing, "num MUL +%d+  0%.5\n.*\n    loop\n.*num MUL +%d+  0%.5\n",
  "a number, before the loop and in it")
tap.like(listing, " fun EQ +%d+  math%.floor\n", "a function")
tap.like(listing, " HREFK? +%d+  \"name\"", "a string")
tap.like(listing, "int PHI +%d+  %d+", "and the end")
tap.unlike(r.out, "Listings of traces", "nothing is missing")
tap.unlike(tap.luajit("-jm=Jm0 "..file).out, "\nTrace 1", "J alone has none")

local saved, shown = tap.tmpname(".mp"), tap.tmpname(".html")
r = tap.luajit(("-jm=J+,-,%s,%s %s"):format(saved, shown, file))
local again = tap.sh(tap.mp.." report "..saved.." J+")
tap.is(again.out..again.err, r.out, "a file has the listings")
tap.like(tap.read(shown), '"listing":%[%d', "and a page")
tap.luajit("-jm=J,"..saved.." "..file)
again = tap.sh(tap.mp.." report "..saved.." J+")
tap.like(again.err, "where the program ran with option J%+",
  "a file without them says so")

r = tap.luajit("-jm=J+m0 "..tap.program(
  'jit.attach(function() end, "record")\n'..tap.read(file)))
tap.like(r.out, "Listings of traces: bytecode is missing since",
  "a handler that is set later is not missed")
r = tap.luajit(tap.program(
  'jit.attach(function() end, "record") require("jit.mp").start("J+m0")\n'..
  tap.read(file)))
tap.like(r.out, "Listings of traces: bytecode is missing",
  "with a handler of the program's own it is said what is missing")
tap.like(r.out, "\nTrace 1[^\n]+:\n  %-%- instructions\n", "the rest is there")
r = tap.luajit(tap.program(
  'jit.attach(function() end, "trace") require("jit.mp").start("J+m0")\n'..
  tap.read(file)))
tap.like(r.out, "No trace has a listing", "without the event there is none")

-- Listings that have no room are left out, and that is said.
r = tap.luajit("-Omaxmcode=16384 -jm=J+ "..tap.program([[
local keep = {}
for k = 1, 150 do
  local t = { "local s = 0 for i = 1, 100 do s = s + i" }
  for i = 1, 300 do t[#t+1] = ("s = s + (i + %d) * i"):format(k * i) end
  keep[k] = loadstring(table.concat(t, "\n").." end")
  keep[k]()
end
]]))
tap.like(r.out, "The listings of %d+ traces were left out", "no room for all")

-- The report does not change what the program does, or what it allocates.
r = tap.luajit(tap.program([[
local mp = require("jit.mp")
local function run(n) local s, t = 0, {}
  for i = 1, n do t[i % 7] = s s = s + i end return s end
local function given_up(n) local f
  for i = 1, n do f = function() return i end end return f end
local function used(options)
  collectgarbage() collectgarbage() collectgarbage("stop")
  assert(mp.start(options, "/dev/null"))
  local before = collectgarbage("count")
  run(2000)
  given_up(200)
  coroutine.wrap(run)(300)
  jit.flush()
  local n = collectgarbage("count") - before
  mp.stop()
  collectgarbage("restart")
  return n
end
used("f") used("J") used("J+")
local plain, decisions, listed = used("f"), used("J"), used("J+")
print(decisions == plain, listed == plain, plain, decisions, listed)
]]))
tap.like(r.out, "^true\ttrue\t", "neither the compiler's decisions nor "..
  "listings take anything from the program's heap")

-- -- Code that is loaded again ----------------------------------------------

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
tap.like(words, "the compiler itself %d+ traces made, %d+ given up %d+ "..
  "traces begin at text:1", "and most traces begin in it")

r = tap.luajit("-jm=Jm0b1 "..tap.program([[
for k = 1, 300 do
  loadstring("local s = 0 for i = 1, 100 do s = s + i end", "=text")()
end
]]))
tap.like(r.out, "the compiler itself\n[^\n]+\n +%d%d%d traces begin "..
  "at text:1\n[^\n]* +try: load that code once, and keep the function\n",
  "code that is loaded again and compiled each time")

r = tap.luajit("-jm=Jm0b1 "..tap.program([[
for k = 1, 200 do
  loadstring("local s = 0 for i = 1, 200 do if i % 3 == 0 then s = s + 1 "..
    "elseif i % 3 == 1 then s = s + 2 end end", "=text")()
end
]]))
tap.like(r.out, " traces begin at text:1\n[^\n]* +try: load that code once, ",
  "with side traces, too")

-- Those that are gone and used nothing are forgotten, not their number.
r = tap.luajit("-jm=Jm0b1 "..tap.program([[
for k = 1, 1400 do
  loadstring("local s = 0 for i = 1, 100 do s = s + i end", "=text")()
  if k % 100 == 0 then jit.flush() end
end
]]))
words = tonumber(r.out:match("\n +(%d+) traces begin at text:1\n"))
tap.ok(words and words >= 1300 and
  words <= tonumber(r.out:match("compiler: (%d+) traces made")),
  "traces that used nothing count for their place", r.out)

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

-- -- jit.off ----------------------------------------------------------------

local busy = [[
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
OFF
local from = os.clock()
repeat fib(15) until os.clock() - from > 0.3
]]
r = tap.luajit("-jm=Jm0i1 "..tap.program((busy:gsub("OFF", "jit.off(fib)"))))
tap.like(r.out, "\n +jit%.off was called for the function at %S+:1\n",
  "a function for which jit.off was called")
tap.like(r.out, "\n +try: jit%.off was called for it: remove that call, ",
  "with advice")
tap.unlike(r.out, "deal with that place first", "and for those that call it")
tap.unlike(r.out, "at %S+:1 is blacklisted: never", "it is not blacklisted")
tap.unlike(r.out, "\nJIT compiler: off", "the compiler is on")
for name, run in pairs({ ["jit.off()"] = { "", "jit.off()" },
    ["-joff"] = { "-joff ", "" } }) do
  r = tap.luajit(run[1].."-jm=Jm0i1 "..tap.program((busy:gsub("OFF", run[2]))))
  tap.like(r.out, "\nJIT compiler: off, by jit%.off or %-joff; 0 traces made",
    name..": the compiler is off")
  tap.like(r.out, "fib runs interpreted\n +the compiler was off\n +try: "..
    "remove the call of jit%.off, or %-joff\n", name..": with advice")
end
r = tap.luajit("-jm=Jm0i1 "..tap.program((busy:gsub("OFF", ""))..
  "jit.off()"..busy:gsub("OFF", "")))
tap.like(r.out, "\nJIT compiler: off, by jit%.off or %-joff, for a part of "..
  "the time; [1-9]", "it was off later")

-- The handler is set later.
r = tap.luajit("-jm=Jm0 "..tap.program(closures..
  "jit.attach(function() end, 'trace')\nrun(200)"))
tap.like(r.out, "\nDecisions after that are not known: the program has set a "..
  "handler of its own %(jit%.attach%) since%.\n", "a handler that is set later")
tap.like(r.out, ":4: NYI: bytecode FNEW\n", "what was told before is there")

-- -- Much of it -------------------------------------------------------------

r = tap.luajit("-jm=Jm0 "..tap.program([[
for i = 1, 5000 do jit.flush() end
local s = 0
for k = 1, 200 do for i = 1, 100 do s = s + i end jit.flush() end
]]))
tap.like(r.out, "; all thrown away 5200 times: by jit%.flush or the like\n",
  "each time that all traces were thrown away is counted")
tap.like(r.out, ":3, loop, gone; 1%d%d more like it\n",
  "those that are gone and alike are one row")
tap.like(r.out, "the compiler itself\n.- try: do not call jit%.flush again",
  "with advice")

if not tap.slow then
  r = tap.luajit("-Omaxtrace=20000 -Omaxmcode=65536 -jm=Jm0 "..tap.program([[
local keep, s = {}, 0
for k = 1, 9000 do
  keep[k] = loadstring("local s = 0 for i = 1, 100 do s = s + i end")
  keep[k]()
end
]]))
  local made, kept = r.out:match("compiler: (%d+) traces made, .-; (%d+) of ")
  tap.ok(tonumber(kept) >= 9000 and made == kept, "all traces have room",
    r.out:sub(1, 1000))
  tap.unlike(r.out, "dropped for lack of room", "none is dropped")
end

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

-- A number that is given again, as 1 here, is another trace.
local order = {}
for i, node in ipairs(decisions.tree({ traces = {
  { number = 1, parent = 0, ticks = 1, start = "a" },
  { number = 2, parent = 0, ticks = 9, start = "b" },
  { number = 3, parent = 1, ticks = 5, start = "c" },
  { number = 4, parent = 1, ticks = 6, start = "d" },
  { number = 1, parent = 0, start = "e" },
  { number = 5, parent = 1, start = "f" }
} })) do order[i] = node.level..node.trace.start end
tap.is(table.concat(order, " "), "0a 1d 1c 0b 0e 1f",
  "traces: what takes most with its side traces is first")

-- Traces that are gone and alike are one.
local function made(number, parent, start, state)
  return { number = number, parent = parent, exit = 3, link = 1, ticks = number,
    bytes = 10, taken = 1, start = start, ends = "root", state = state }
end
local nodes, rows = decisions.tree({ traces = {
  made(2, 0, 7, "gone"), made(3, 2, 8, "gone"), made(2, 0, 7, "gone"),
  made(3, 2, 8, "gone"), made(4, 2, 9, "gone"), made(5, 0, 7, "live"),
  made(6, 0, 7, "live")
} }), {}
for i, node in ipairs(nodes) do
  local t = node.trace
  rows[i] = ("%d %d %d %d%s"):format(node.level, t.start, t.ticks, t.bytes,
    decisions.gone(t))
end
tap.is(table.concat(rows, "\n"), "0 7 4 20, gone; 1 more like it\n"..
  "1 8 6 20, gone; 1 more like it\n1 9 4 10, gone\n0 7 6 10\n0 7 5 10",
  "traces that are gone and alike are one, with their sides")

tap.done()
