-- SPDX-License-Identifier: MIT
-- The holders of memory: the walk of the heap, option W.
local tap = require("tap")
local unjson = require("unjson")

-- A report of a program, or nil where the layout cannot be proved.
local function walk(text, opts)
  local r = tap.luajit("-jm="..(opts or "Wm1").." "..tap.program(text))
  if r.out:find("no heap walk: this processor", 1, true) then
    tap.skip("no heap walk on this build")
  end
  tap.is(r.status, 0, "the program ends as it would")
  return r.out
end

-- -- Sizes -------------------------------------------------------------------

local text = walk([[
sessions = {}
for i = 1, 20000 do sessions[i] = { id = i, data = { i, i, i, i } } end
big = ("x"):rep(2000000)
os.exit(0)
]])

tap.like(text, "Heap walk: [%d.]+ MB in %d+ objects held", "totals are said")
tap.like(text, "the program stood still for", "and how long it took")
tap.like(text, "%d+%% +[%d.]+ MB +%d+ +table\n", "what there is, by type")
tap.like(text, "100%% +[%d.]+ MB +all, as the collector counts",
  "which adds up to what the collector counts")
tap.unlike(text, "do not add up", "the sizes add up")
tap.like(text, "sessions%[%*%]  %(20000 x table%)", "siblings share a line")
tap.like(text, "sessions%[%*%]%.data  %(20000 x table%)", "and theirs")
tap.like(text, "\n +%d+%% +2%.00 MB +big  %(string \"xxx", "a large string")
tap.like(text, "sessions%[%*%]  [^\n]*\n +allocated at [^\n]*:2",
  "who allocated what a line holds")
tap.like(text, "born %S+ m?s to %S+ m?s ago", "and when")

tap.like(walk("local t = {} for i = 1, 1000 do t[i] = { i } end", "Wm99"),
  "\nno path reaches 99%%; option m sets the limit\n", "no path is so large")

-- Raw numbers of the table by type, which must add up to the byte.
local function sum(out)
  local total, all = 0, nil
  for bytes, name in out:gmatch("\n +%d+%%   +(%d+)   +([^\n]+)") do
    if name:find("as the collector counts", 1, true) then
      all = tonumber(bytes)
      break
    end
    total = total + tonumber(bytes)
  end
  return total, all
end

local total, all = sum(walk("t = {} for i = 1, 1000 do t[i] = { i } end",
  "Wr"))
tap.ok(all and all > 50000, "raw numbers are bytes", all)
tap.is(total, all, "and add up to the byte")

-- -- Paths -------------------------------------------------------------------

text = walk([[
package.preload.mymod = function()
  local cache = {}
  for i = 1, 2000 do cache["req_"..i] = { i, i } end
  return { handle = function() return cache end }
end
require("mymod")
package.preload.mymod = nil
setmetatable(_G, { __index = { meta = ("m"):rep(200000) } })
local up = { ("u"):rep(200000) }
hold = coroutine.create(function()
  local buffer = ("b"):rep(300000)
  coroutine.yield()
  return buffer
end)
coroutine.resume(hold)
list = nil
for i = 1, 3000 do list = { next = list, i } end
os.exit(0)
]])
tap.like(text, "package%.loaded%.mymod%.handle %^cache%[\"req_%*\"%]",
  "a module, a function, its upvalue, keys with one beginning")
tap.like(text, "_G metatable%.__index%.meta", "a metatable")
tap.like(text, "hold local buffer %(%S+:10%)", "a local of a coroutine")
tap.like(text, "main thread local up %(%S+%)",
  "a local of the main chunk, while it runs")
tap.like(text, "list%.next  %(table, and so on%)", "a linked list")

-- -- Slots that hold nothing -------------------------------------------------

text = walk([[
sessions = {}
for i = 1, 2000 do
  local t = {}
  for k = 1, 16 do t["key"..k] = k end
  for k = 5, 16 do t["key"..k] = nil end
  sessions[i] = t
end
os.exit(0)
]])
tap.like(text, "sessions%[%*%]  %(2000 x table, each 4 of 16 slots used%)",
  "tables with empty slots")
tap.like(text, "\nTables have [%d.]+ kB of array and hash parts, 7%d%% of it "..
  "in slots that are empty: sessions%[%*%], 2000 x table, each 4 of 16 "..
  "slots used\n", "and all of them, with those that have most")
tap.like(walk([[
one = {}
for i = 1, 60000 do one["key"..i] = i end
for i = 9, 60000 do one["key"..i] = nil end
os.exit(0)
]]), " one  %(table, 8 of 65536 slots used%)", "a large table is spelled out")
tap.unlike(walk("t = {} for i = 1, 2000 do t[i] = { i, i, i } end os.exit(0)"),
  "empty", "tables that are full")

-- -- Garbage ----------------------------------------------------------------

text = walk([[
collectgarbage("stop")
keep = {}
for i = 1, 2000 do keep[i] = { i } end
for i = 1, 9000 do last = { i } end
os.exit(0)
]], "Wb1")
tap.like(text, "in use [^\n]*   [5-9]%d%% garbage   peak ",
  "how much of what is in use is garbage")
tap.unlike(walk([[
keep = {}
for i = 1, 9000 do keep[i] = { i } end
collectgarbage()
os.exit(0)
]], "W"), "garbage", "or none is")

-- -- Keys are a stranger's ---------------------------------------------------

-- Keys with terminal escapes, line breaks and bytes that are no text, which a
-- line of its own names, or begins with; and variables of compiled chunks.
local hostile = tap.program([[
local mp = require("jit.mp")
local EVIL = "\n 100%   9 GB   FORGED \27]0;x\7\155\194\155\226\128\174\255"
many = {}
for i = 1, 2000 do many[EVIL..i] = { i } end
for i = 1, 2000 do many["\195"..string.char(128 + i % 64)..i] = { i } end
one = { [EVIL] = { ("x"):rep(300000) } }
local code = string.dump(loadstring("local upvalue_ = ... "..
  "held = function() return upvalue_ end"))
assert(loadstring((code:gsub("upvalue_", "up\27]0;x\7"))))({ ("y"):rep(3e5) })
print(mp.why(one[EVIL]))
print(mp.paths(one[EVIL]))
print(mp.dot(one, 3))
print(mp.why(EVIL))
print(tostring(mp.heap(0.01)))
os.exit(0)
]])
local folder = tap.tmpdir()
r = tap.luajit(("-jm=Wm1b1,%s/w.txt,%s/w.mp,%s/w.folded,%s/w.heapsnapshot %s")
  :format(folder, folder, folder, folder, hostile))
tap.is(r.status, 0, "hostile keys: the program ends as it would", r.err)
local function acts(text)
  return text:find("[%z\1-\9\11-\31\127]") or text:find("\n 100%%   9 GB") or
    text:find("\194\155", 1, true) or text:find("\226\128\174", 1, true) or
    text:gsub("[\194-\223][\128-\191]", ""):find("[\128-\255]")
end
local texts = { printed = r.out }
for _, name in ipairs({ "w.txt", "w.folded", "w.heapsnapshot" }) do
  texts[name] = assert(tap.read(folder.."/"..name))
end
for _, opts in ipairs({ "W", "Wm0", "L", "Lm0" }) do
  texts["report "..opts] = tap.sh(("%s report -O %s %s/w.mp"):format(tap.mp,
    opts, folder)).out
end
for name, out in pairs(texts) do
  local at = acts(out)
  tap.ok(not at, "hostile keys: nothing acts in "..name,
    at and ("%q"):format(out:sub(math.max(1, at - 40), at + 40)))
end
for _, name in ipairs({ "printed", "w.txt", "report W" }) do
  tap.like(texts[name], 'one%["\\n 100%%   9 GB   FORGED', name.." spells it")
end
tap.like(texts["w.txt"], "held %^up\\027%]0;x\\007", "and variables")

-- -- Objects that only a trace holds -----------------------------------------

text = walk([[
do
  local held = { ("t"):rep(500000) }
  local n = 0
  for i = 1, 500 do n = n + #held[1] end
end
collectgarbage()
os.exit(0)
]])
-- Where the compiler makes the table a constant; elsewhere it is garbage.
if text:find("500 kB") then
  tap.like(text, "trace #", "a trace is named as a holder")
else
  tap.ok(true, "no trace holds it # SKIP")
end

-- Traces that lead from one to the next are one line.
local branches = tap.program([[
local s = 0
local function pick(n)
  if n % 2 == 0 then return { "a", n } elseif n % 3 == 0 then return { n, "b" }
  elseif n % 5 == 0 then return { "c", n, n } end
  return { n }
end
for r = 1, 30 do
  for i = 1, 3000 do
    local t = pick(i)
    s = s + #t
    for k = 1, #t do if type(t[k]) == "string" then s = s + #t[k] end end
  end
end
os.exit(0)
]])
local folded = tap.tmpname(".folded")
text = tap.luajit(("-jm=Wm0,-,%s %s"):format(folded, branches)).out
local more = 0
for n in text:gmatch("trace #%d+  %(trace #[^\n]*, and (%d+) more traces?%)") do
  more = more + n
end
local traces = tonumber(text:match(" (%d+)   trace\n"))
if traces then
  local _, lines = text:gsub("  %(trace #", "")
  tap.ok(more > 1, "side traces are told with the first", text)
  tap.is(lines + more, traces, "and have no lines of their own")
  tap.unlike(tap.read(folded), "trace #%d+;trace #", "nor frames")
else
  tap.ok(true, "nothing was compiled # SKIP")
end

-- A closure that traces of two functions hold, by way of others.
text = walk([==[
local function f()
  local t = {}
  for i = 1, 4000 do t[i] = { i } end
  return function(x) return t[x] end
end
local loop = [[
local a, n = ..., 0
for round = 1, 5 do
  for k = 1, 2000 do
    if k < 200 then n = n + 1
    elseif k < 600 then n = n + #a(k)
    elseif k < 900 then n = n + 2
    elseif k < 1200 then n = n + 3
    elseif k < 1500 then n = n - 4
    else n = n + 5 end
  end
end]]
local function run()
  local a = f()
  p, q = loadstring(loop, "=p"), loadstring(loop, "=q")
  p(a)
  q(a)
end
run()
collectgarbage()
os.exit(0)
]==])
if text:find("constant", 1, true) then
  tap.like(text, "   [pq] code trace #%d+ constant %^t%[%*%]  %(4000 x table%)",
    "of traces on a path the first is named")
else
  tap.ok(true, "no trace holds it # SKIP")
end

-- -- The allocator -----------------------------------------------------------

local function free(code)
  local out = walk(code, "Wr")
  return tonumber(out:match("allocator %S+ %S+ are free %((%d+)%%%)"))
end

local full = free("t = {} for i = 1, 1e5 do t[i] = { i } end os.exit(0)")
local holes = free([[
t = {}
for i = 1, 1e5 do t[i] = { i } end
for i = 1, 1e5 do if i % 100 > 0 then t[i] = nil end end
collectgarbage() collectgarbage()
os.exit(0)
]])
if full or walk("t = {}", "Mm0"):find("free in LuaJIT", 1, true) then
  tap.ok(full and full < 40, "a heap that is in use has few holes", full)
  tap.ok(holes and holes > 60, "a pseudo leak is told", holes)
else
  tap.ok(not holes, "LuaJIT's allocator is not known here # SKIP")
end

-- -- Files -------------------------------------------------------------------

-- A .heapsnapshot as tables. It has blanks between values, and \" for quotes.
local function read_snapshot(text)
  text = text:gsub("\n", ""):gsub(' *("nodes":)', "%1")
  return unjson((text:gsub("\\(.)", { ['"'] = "\\u0022" })))
end

-- The values of a field in a .heapsnapshot.
local function column(s, kind, field)
  local fields = s.snapshot.meta[kind.."_fields"]
  for at, name in ipairs(fields) do
    if name == field then
      local values, list = {}, s[kind.."s"]
      for i = at, #list, #fields do values[#values+1] = list[i] end
      return values
    end
  end
end

-- Whether a number counts from 0 in a list of n.
local function is_place(i, n)
  return type(i) == "number" and i >= 0 and i < n and i % 1 == 0
end

-- Names what DevTools' loader would not take of a .heapsnapshot's nodes, or
-- returns nil.
local function wrong_node(s)
  local meta, ids, edges = s.snapshot.meta, {}, 0
  local type, name = column(s, "node", "type"), column(s, "node", "name")
  local id, own = column(s, "node", "id"), column(s, "node", "self_size")
  local count = column(s, "node", "edge_count")
  if #s.nodes ~= s.snapshot.node_count * #meta.node_fields then
    return "number of nodes"
  end
  for i = 1, #type do
    if not is_place(type[i], #meta.node_types[1]) then return "type" end
    if not is_place(name[i], #s.strings) then return "name" end
    if not is_place(id[i], 2^53) or ids[id[i]] then return "id" end
    if not is_place(own[i], 2^53) then return "size" end
    if not is_place(count[i], s.snapshot.edge_count) then return "edges" end
    ids[id[i]], edges = true, edges + count[i]
  end
  if edges ~= s.snapshot.edge_count then return "edges of all nodes" end
end

-- The same for its edges.
local function wrong_edge(s)
  local meta = s.snapshot.meta
  local type, to = column(s, "edge", "type"), column(s, "edge", "to_node")
  local name = column(s, "edge", "name_or_index")
  if #s.edges ~= s.snapshot.edge_count * #meta.edge_fields then
    return "number of edges"
  end
  for i = 1, #type do
    local kind = meta.edge_types[1][type[i] + 1]
    local indexed = kind == "element" or kind == "hidden"
    if not kind then return "type of an edge" end
    if not is_place(name[i], indexed and 2^32 or #s.strings) then
      return "name of an edge"
    end
    if not is_place(to[i], #s.nodes) or to[i] % #meta.node_fields ~= 0 then
      return "end of an edge"
    end
  end
end

-- A node that no path from the first one reaches, or nil.
local function not_reached(s)
  local to, count = column(s, "edge", "to_node"), column(s, "node",
    "edge_count")
  local begins, fields, at = {}, #s.snapshot.meta.node_fields, 0
  for i = 1, #count do begins[i], at = at, at + count[i] end
  local seen, todo = { true }, { 1 }
  while #todo > 0 do
    local i = table.remove(todo)
    for edge = begins[i] + 1, begins[i] + count[i] do
      local node = to[edge] / fields + 1
      if not seen[node] then
        seen[node], todo[#todo+1] = true, node
      end
    end
  end
  for i = 1, #count do if not seen[i] then return "node "..i end end
end

do
  local snapshot = tap.tmpname(".heapsnapshot")
  local folded = tap.tmpname(".folded")
  local r = tap.luajit(("-jm=Wr,-,%s,%s %s"):format(snapshot, folded,
    tap.program("t = {} for i = 1, 3000 do t[i] = { 'x'..i } end os.exit(0)")))
  local all = tonumber(r.out:match("100%%   +(%d+)   +all"))
  local sum, nodes = 0, 0
  local file = tap.read(snapshot)
  local list = file:match('"nodes":%[(.-)%]')
  for size in list:gmatch("%d+,%d+,%d+,(%d+),%d+,0,0") do
    sum, nodes = sum + size, nodes + 1
  end
  tap.is(sum, all, "the nodes of a .heapsnapshot add up")
  tap.is(tonumber(file:match('"node_count":(%d+)')), nodes, "and are counted")
  local _, edges = file:match('"edges":%[(.-)%]'):gsub("\n", "")
  tap.is(tonumber(file:match('"edge_count":(%d+)')), edges + 1, "edges, too")
  local s = read_snapshot(file)
  tap.is(wrong_node(s), nil, "a .heapsnapshot: nodes are what DevTools loads")
  tap.is(wrong_edge(s), nil, "and so are edges")
  tap.is(not_reached(s), nil, "the first node leads to all")
  local text, bytes = tap.read(folded), 0
  for n in text:gmatch(" (%d+)\n") do bytes = bytes + n end
  local held = r.out:match("Heap walk: ([%d.]+) kB")
  tap.ok(math.abs(bytes - held * 1000) <= 500, "folded lines add up to what "..
    "is held", bytes.." of "..held.." kB")
  tap.like(text, "_G;%.t;%[%*%] %(3000 x table%) %d+\n", "a path is a stack")
  r = tap.luajit("-jm=f,/no/such/x.heapsnapshot "..tap.program(""))
  tap.like(r.err, "cannot open '/no/such/x.heapsnapshot'",
    "a file that cannot be written is an error")
end

-- -- Ways to end -------------------------------------------------------------

local keep = "t = {} for i = 1, 5000 do t[i] = { i } end "
local list = "t%[%*%]  %(%d+ x table%)"
tap.like(walk(keep), list, "when the state is closed")
tap.like(walk(keep), "The main chunk had returned", "which is said")
tap.unlike(walk(keep.."os.exit()"), "had returned", "os.exit: while it runs")

-- The variables of a main chunk that has returned, while they are there.
do
  local LEFT, GONE = "local variables are shown as it left", "were gone"
  local fill = " for i = 1, 5000 do t[i] = { i } end "
  local held = "main thread local t %(.-%)%[%*%]  %(5000 x table%)"

  local function left(code, what, opts)
    local out = walk(code, opts)
    tap.like(out, LEFT, what..": that they are shown is said")
    tap.like(out, held, what..": a variable holds what it held")
  end

  left("local t = {}"..fill, "a main chunk that returns")
  left("local t = {}"..fill.."collectgarbage()", "after a collection")
  local r = tap.luajit("-jm=Wm1 "..tap.program("local a, b, c = ... "..
    "local t = {}"..fill.."io.write(a, b, c)").." x y z")
  tap.like(r.out, held, "of a program with arguments")

  local function gone(code, what)
    local out = walk(code)
    tap.like(out, GONE, what..": that they are gone is said")
    tap.unlike(out, "main thread local", what..": no variable is guessed")
  end

  gone("local t = {}"..fill.."if #t > 9 then return end local u = t",
    "a return in the middle")
  gone("local a, b = ... local t = {}"..fill.."return t, a, b",
    "values that take the place of the variables")
  gone("local t = {}"..fill.."local function f() return t end return f(1, 2)",
    "a tail call")
  -- Whether they are there depends on the VM.
  local function either(code, what)
    local out = walk(code)
    tap.ok((out:find(GONE) ~= nil) ~= (out:find(held) ~= nil),
      what..": they are gone, or right", out)
  end

  either("local t = {}"..fill.."return t", "with a value")
  local numbers = {}
  for i = 1, 150 do numbers[i] = "n"..i end
  local names = table.concat(numbers, ", ")
  either("local t = {}"..fill.."getmetatable(newproxy(true)).__gc = "..
    "function() local "..names.." = "..names:gsub("n", "").." return n1 end",
    "after a finalizer")
  local out = walk("do local t = {}"..fill.."end")
  tap.unlike(out, held, "a variable whose block had ended holds nothing")
  r = tap.luajit("-jm=Wm1 "..tap.program("local t = {}"..fill..
    "error('the end', 0)"))
  tap.is(r.status, 1, "an error ends the program as it would")
  tap.unlike(r.out, "main thread local", "and nothing is guessed then")
end

local function run(code)
  return tap.luajit("-jm=Wm1 "..tap.program(code))
end

local r = run(keep.."error('the end', 0)")
tap.is(r.status, 1, "an error ends the program as it would")
tap.like(r.out, list, "and the report is there")
r = run(keep.."io.stdout:write(1) local f = io.open('/proc/self/stat') "..
  "os.execute('kill '..f:read('*n')) while true do end")
tap.is(r.signal, 15, "a signal does")
tap.like(r.out, list, "and the report is there, too")
r = run(keep.."coroutine.wrap(function() os.exit(0) end)()")
tap.like(r.out, list, "the end comes in a coroutine")
r = run(keep.."setmetatable(t, { __index = function() os.exit(0) end }) "..
  "return t.x")
tap.like(r.out, list, "or in a metamethod")
r = run(keep.."for i = 1, 1e4 do if i == 9999 then os.exit(0) end end")
tap.like(r.out, list, "or after a loop was compiled")

r = run(keep.."local p = newproxy(true) "..
  "getmetatable(p).__gc = function() os.exit(0) end p = nil collectgarbage()")
tap.is(r.status, 0, "a finalizer may end the program")
tap.like(r.out, list, "and the heap is walked")
r = run(keep.."local f = io.open('/proc/self/stat') local pid = f:read('*n') "..
  "os.execute('(sleep 0.2; kill '..pid..') & sleep 9')")
tap.is(r.signal, 15, "a signal in a call that does not return")
tap.like(r.out, "no heap walk: the program was not stopped",
  "tells that the heap was not at rest")

-- -- Leaks -------------------------------------------------------------------

r = tap.luajit("-jm=L "..tap.program([[
local sessions = {}
local function remember(i) sessions[i] = { id = i, ("x"):rep(50)..i } end
for i = 1, 30000 do remember(i) end
os.exit(0)
]]))
tap.like(r.out, ":2 < [^\n]*:3\n +held by main thread local sessions "..
  "%(%S+%)%[%*%], %d+%% of it", "a leak report names the holder")

-- -- From Lua ----------------------------------------------------------------

r = tap.luajit(tap.program([[
local mp = require("jit.mp")
local out = os.tmpname()
assert(mp.start("f", "/dev/null"))
small = {}
for i = 1, 100 do small[i] = { i } end
local before = collectgarbage("count")
collectgarbage("stop")
assert(mp.report("W", out))
local after = collectgarbage("count")
print(io.open(out):read("*a"))
assert(mp.report("f", out))
print(io.open(out):read("*a"):find("Heap walk") and "again" or "once")
local ok, msg = pcall(mp.report, "We", out)
print(msg)
assert(mp.stop())
os.remove(out)
]]))
tap.is(r.status, 0, "a walk in the middle of a profile", r.err)
tap.like(r.out, "Heap walk: ", "is a report")
tap.like(r.out, "\nonce\n", "for the one who asked")
tap.like(r.out, "'e' and 'W' are two different reports",
  "two reports at a time are refused")

-- Without a profile, too.
local function lua(code)
  local file = tap.program(code)
  return tap.luajit("-e 'jit.off()' "..file)
end

r = lua([[
local mp = require("jit.mp")
cache = {}
local before = assert(mp.heap())
for i = 1, 2000 do cache["key"..i] = { i } end
local after = assert(mp.heap())
print(after)
print("grew:\n"..tostring(after:since(before)))
for _, line in ipairs(after.list) do
  assert(line.path and line.bytes and line.count and line.type)
end
for _, wrong in ipairs({ { mp.heap, 2 }, { mp.heap, "x" }, { mp.heap, 0.1, 5 },
    { after.since }, { after.since, after }, { after.since, after, 5 } }) do
  local ok, msg = pcall(unpack(wrong))
  print("error:", msg)
end
print(mp.heap(0.1, "/no/such/x.heapsnapshot"))
]])
tap.is(r.status, 0, "walks from Lua", r.err)
tap.like(r.out, 'cache%["key%*"%]  %(2000 x table%)', "say what holds what")
tap.like(r.out, 'grew:\n.*%+%S+ kB  cache%["key%*"%]  %(0 > 2000 x table%)',
  "and what grew between two")
tap.like(r.out, "nil\tcannot write '/no/such/x.heapsnapshot'", "or a file")
tap.is(select(2, r.out:gsub("error:\tjit.mp: heap takes a share of the heap, "..
  "more than 0 and at most 1, not %w+\n", "")), 2, "a wrong share is refused")
tap.like(r.out, "error:\tjit.mp: heap takes a file name, not a number\n",
  "and a wrong name")
tap.is(select(2, r.out:gsub("error:\tjit.mp: since compares two results of "..
  "mp.heap%(%), as in later:since%(earlier%)\n", "")), 3,
  "and what is not a walk")

r = lua([[
local mp = require("jit.mp")
local walk
for i = 1, 100 do
  getmetatable(newproxy(true)).__gc = function()
    walk = walk or assert(mp.heap(0.01))
    saved = { saved, ("s"):rep(i) }
  end
end
collectgarbage()
assert(mp.heap())
for _, line in ipairs(walk.list) do print(line.path, line.count, line.type) end
print(walk.adds_up)
do
  local big = ("c"):rep(300000)
  callback = require("ffi").cast("int (*)(int)", function(x) return #big end)
end
collectgarbage()
print(mp.heap(0.01))
]])
tap.is(r.status, 0, "a walk in a finalizer", r.err)
tap.like(r.out, "waiting for its finalizer", "names the queue of finalizers")
tap.like(r.out, "\ntrue\n", "adds up")
tap.like(r.out, " kB  ffi[^\n]* %^big  %(string",
  "a callback holds its upvalue")

-- -- Why ---------------------------------------------------------------------

r = lua([[
local mp = require("jit.mp")
do
  local thing = { 1 }
  cache = { x = { y = thing }, [thing] = true }
  again = thing
  thing.me = { up = thing }
  function get() return thing end
  weak = setmetatable({ thing }, { __mode = "v" })
end
print(mp.why(again))
print(mp.why(cache.x))
print(mp.why({}))
print(mp.why("constant"))
print(mp.why(12))
print(mp.why(print, 1))
local w = assert(mp.why(again, 2))
print(#w.list, w.referrers, w.references, w.held)
print(pcall(mp.why))
]])
tap.is(r.status, 0, "why a value is alive", r.err)
tap.like(r.out, "5 references\n  again\n", "the references are counted")
for _, path in ipairs({ "cache a key", "cache%.x%.y", "get %^thing",
    "only through itself: table" }) do
  tap.like(r.out, "\n  "..path.."\n", "a reference: "..path)
end
tap.unlike(r.out, "weak", "a weak reference is none")
tap.like(r.out, "held by cache, 1 reference\n  cache%.x\n", "one holder")
tap.like(r.out, "held by nothing: not collected yet",
  "the question itself holds nothing")
tap.like(r.out, 'string "constant"', "strings are objects")
tap.like(r.out, "nil\tno heap walk: only objects", "numbers are not")
tap.like(r.out, "and 1 more\n", "references are limited")
tap.like(r.out, "\n2\t5\t5\ttrue\n", "they are tables, too")
tap.like(r.out, "false\t[^\n]*bad argument", "a value is needed")

-- -- Paths to a value -------------------------------------------------------

r = lua([[
local mp = require("jit.mp")
do
  local thing = { 1 }
  cache = { x = { y = thing, again = thing }, [thing] = true }
  cache.x.up = cache
  again = thing
  thing.me = { up = thing, all = cache }
  function get() return thing end
  weak = setmetatable({ thing }, { __mode = "v" })
end
local p = assert(mp.paths(again))
print(p)
print(p.complete, #p.list, p.list[1].path, p.list[1].length, p.list[4].length)
print(mp.paths(again, 2))
print(mp.paths(cache.x))
print(mp.paths({}))
print(mp.paths(12))
print(pcall(mp.paths))
print(pcall(mp.paths, again, 0))
local long = { next = {} }
long.next.prev = {}
local last = long
for i = 1, 100 do last.next = last.next or {} last = last.next end
p = assert(mp.paths(last, 9))
print(p.list[#p.list].length, p.list[#p.list].path)
nodes = {}
for i = 1, 12 do
  nodes[i] = {}
  for k = 1, i - 1 do nodes[i][k], nodes[k][i] = nodes[k], nodes[i] end
end
p = assert(mp.paths(nodes[1], 1000))
print(p.complete, #p.list)
local seen, last = {}, 0
for _, path in ipairs(p.list) do
  assert(not seen[path.path] and path.length >= last, path.path)
  seen[path.path], last = true, path.length
end
]])
tap.is(r.status, 0, "all paths to a value", r.err)
tap.like(r.out, "^table: 4 paths\n  again\n  cache a key\n  cache%.x%.%a+\n"..
  "  get %^thing\n\n", "are listed, the shortest first")
tap.like(r.out, "\ntrue\t4\t_G%.again\t2\t4\n", "they are tables, too")
tap.like(r.out, "\ntable: 2 paths, and there are or may be more\n",
  "their number is limited")
tap.like(r.out, "\ntable: 3 paths\n  cache%.x\n  again%.me%.all%.x\n"..
  "  get %^thing%.me%.all%.x\n", "a path passes no object twice")
tap.like(r.out, "\ntable: 0 paths\n", "what nothing holds has no path")
tap.like(r.out, "nil\tno heap walk: only objects", "a number has none either")
tap.like(r.out, "false\t[^\n]*bad argument", "a value is needed")
tap.like(r.out, "false\t[^\n]*a number of paths from 1", "and some paths")
tap.like(r.out, "\n102\tmain thread local long[^\n]*%.next%.next %.%.%.%.next"..
  "\n", "the middle of a long path is left out")
tap.like(r.out, "\nfalse\t1000\n$", "many paths are each another one")

-- -- Many --------------------------------------------------------------------

text = walk([[
list = {}
for i = 1, 10000 do
  list[i] = coroutine.create(function(x)
    local mine = { x, x }
    coroutine.yield()
    return mine
  end)
  coroutine.resume(list[i], { i })
end
os.exit(0)
]])
tap.like(text, "list%[%*%]  %(10000 x thread%)", "10,000 coroutines")
tap.like(text, "list%[%*%] local mine %(%S+%)  %(10000 x table%)",
  "and the locals of each")

if not tap.slow then
  text = walk("big = {} for i = 1, 1e6 do big[i] = { i } end os.exit(0)")
  tap.like(text, "big%[%*%]  %(1000000 x table%)", "an array of a million")
end

-- A value that refers to its weak key: LuaJIT has no ephemerons.
text = walk([==[
weak, keys = setmetatable({}, { __mode = "k" }), {}
for i = 1, 3000 do
  keys[i] = {}
  weak[keys[i]] = { ("x"):rep(200)..i }
end
weak[{}] = ("z"):rep(200000)
local lone = {}
weak[lone] = { lone, ("y"):rep(100000) }
lone = nil
collectgarbage() collectgarbage()
os.exit(0)
]==])
tap.like(text, "weak%[%*%]  %(3000 x table%)", "the values of a weak table")
tap.like(text, 'weak%[table%]%[2%]  %(string "yyy',
  "and one that keeps its own key")
tap.like(text, "\n +%d+%% +%S+ kB +keys  %(table%)", "keys are held elsewhere")
tap.unlike(text, '"zzz', "a key that nothing holds is gone with its value")

-- A string that two tables refer to is held by the nearest that holds both.
text = walk([==[
one, two = { {} }, { {} }
one[1].text = ("s"):rep(300000)
two[1].text = one[1].text
a = { b = { { ("t"):rep(300000) } } }
a.b[2] = { a.b[1][1] }
os.exit(0)
]==])
tap.unlike(text, " kB +one  %(table", "a shared string is not held by one")
tap.unlike(text, " kB +two  %(table", "nor by the other")
tap.like(text, 'string "sss', "but by the nearest that holds them both")
tap.like(text, '\n[^\n]* a%.b%[[12]%]%[1%]  %(string "ttt', "with its path")

-- Strings that several elements share, each with another of the list.
text = walk([==[
list, mixed = {}, { a = { b = {} } }
for i = 1, 3000 do
  local name = ("n"):rep(60)..i % 1500
  list[i] = { name = name }
  name = ("m"):rep(60)..i % 1500
  if i % 2 == 0 then mixed[i] = { key = name } else mixed.a.b[i] = name end
  if i > 1500 then mixed.a[i] = { key = name } end
end
os.exit(0)
]==])
tap.like(text, "\n[^\n]* list%[%*%]%.name  %(1500 x string",
  "shared by elements: their pattern")
tap.unlike(text, "list%[%d+%]", "and not one of them")
tap.unlike(text, "mixed[^\n]*%[%d+%]%.key  %(%d%d+", "nor where they differ")

-- -- Drawings ----------------------------------------------------------------

r = lua([[
local mp = require("jit.mp")
local value = { { name = 'a "name"' }, deep = { { { {} } } } }
value.back = value
io.write(mp.dot(value, 1), mp.dot(value))
print(mp.dot(true))
print(pcall(mp.dot, value, -1))
]])
tap.is(r.status, 0, "drawings", r.err)
local small, large = r.out:match("^(digraph.-\n}\n)(digraph.-\n}\n)")
tap.like(small, 'n0 %[label="table", tooltip="%d+ bytes"%]', "have objects")
tap.like(small, 'n0 %-> n%d %[label=".deep"%]', "and references")
tap.like(small, 'n0 %-> n0 %[label=".back"%]', "to themselves, too")
tap.like(small, "and more", "and end at the depth")
tap.like(large, 'string \\"a \'name\'\\"', "quotes are escaped")
tap.like(r.out, "nil\tno heap walk: only objects", "of objects")
tap.like(r.out, "false\t[^\n]*a depth from 0 to 1000", "to a depth")

tap.done()
