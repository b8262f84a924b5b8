-- SPDX-License-Identifier: MIT
-- The heap in depth, on real programs with the JIT on and off: exact events,
-- types, the peak, leaks, and the live view. The expected lines are in
-- golden/heap.txt; after a change that is meant, MP_GOLDEN=new writes them
-- anew.

local tap = require("tap")
local slow = os.getenv("MP_TEST_SLOW")

local function run(opts, program, jit)
  return tap.luajit(("%s -jm=%s %s"):format(jit or "", opts,
    tap.program(program)))
end

local probe = run("fb1", "local t = {}")
if not probe.out:find("\ncapture exact", 1, true) then
  tap.skip("capture is not exact on this VM")
end

local got = {}

-- The lines of a report that speak of the program, by line number.
local function own_lines(text, from, to)
  local t = {}
  text = text:match(from.."[^\n]*\n(.-)\n\n"..to) or ""
  for line, rest in text:gmatch("@[^\n:]*lua_[^\n:]*:(%d+)([^\n]*)") do
    t[#t+1] = line..rest:gsub("\t", " ").."\n"
  end
  return table.concat(t)
end

-- -- Exact events ------------------------------------------------------------

local program = [[
local keep = {}
local function pair(i)
  return { i, i }
end
local function name(i)
  return "name " .. i
end
local function grow(n)
  local t = {}
  for i = 1, n do
    t[i] = i
  end
  return t
end
for i = 1, 3000 do keep[i % 100 + 1] = pair(i) end
for i = 3001, 5000 do keep[i % 100 + 1] = name(i) end
for i = 1, 100 do keep[i] = grow(50) end
]]

-- A tick that meets a trace behind its TNEW makes the interpreter do that
-- again, and then there is truly a table more: there are to be no ticks.
local events = {}
for _, jit in ipairs({ "-joff", "-jon" }) do
  local r = run("ei1000000", program, jit)
  events[jit] = r.out
  got[#got+1] = { name = "events "..jit,
    text = own_lines(r.out, "ALLOCATIONS", "REALLOCATIONS") }
  tap.like(r.out, "In use: %d+ bytes at the start %+ %d+ bytes allocated %- "..
    "%d+ bytes freed = (%d+) bytes; the collector counts %1 bytes, "..
    "0 bytes more",
    jit..": frees and what is in use are what was allocated, to the byte")
  local held, summed = r.out:match("counts (%d+) bytes"), 0
  for bytes in r.out:gmatch("holds (%d+) bytes") do summed = summed + bytes end
  local start = r.out:match("In use: (%d+)")
  tap.ok(summed > 0 and summed <= tonumber(held) and
    summed >= held - start, jit..": the places hold it", summed.." "..held)
end
tap.like(events["-joff"], "\nREALLOCATIONS\n@[^\n]*:11: %d+ events\t%+%d+ "..
  "bytes\t%-%d+ bytes\n\tOverrides:\n\t\t@[^\n]*:11\n",
  "a table that grows: where, and from where")
tap.like(events["-joff"], "\nDEALLOCATIONS\n%(garbage collector%): %d+ events",
  "the collector's frees have its name")
tap.like(events["-jon"], "\n%(traces%): %d+ events", "traces have theirs")
tap.like(events["-jon"], "\n%(JIT recorder%): %d+ events",
  "and so has the compiler's memory")

-- The programs that Tarantool's manual shows its profiler with.
local rep = run("e", [[
local function append(str, rep)
  return string.rep(str, rep)
end
local t = {}
for i = 1, 1e4 do
  table.insert(t,
    append('q', i)
  )
end
]], "-joff")
local n, bytes = rep.out:match("\n@[^\n]*:7: (%d+) events\t%+(%d+) bytes")
local sizes = 0
-- Bytes of a string, by the collector's count.
local function size(len)
  local before = collectgarbage("count")
  return #("x"):rep(len) > 0 and (collectgarbage("count") - before) * 1024
end
size(2000)  -- The buffer grows.
collectgarbage("stop")
local head = size(1003) - 1004
local round = size(1001) == size(1002) and 4 or 1
collectgarbage("restart")
for i = 2, 10000 do
  sizes = sizes + math.floor((head + i + round) / round) * round
end
tap.is(n and tonumber(n), 9999, "string.rep: a string each, but for 'q' itself")
tap.is(bytes and tonumber(bytes), sizes, "string.rep: their sizes")
rep = run("e", [[
local function format(a)
  local nstr = string.format("%sa", a)
  return nstr
end
collectgarbage()
for i = 1, 10000 do
  local f = format(i)
end
collectgarbage()
]], "-joff")
n = tonumber(rep.out:match("\n@[^\n]*:2: (%d+) events"))
tap.ok(n and math.abs(n - 19996) <= 30, "string.format: two strings each", n)

-- -- Types -------------------------------------------------------------------

local types = [[
local keep = {}
for i = 1, 1000 do keep[i] = function() return i end end
for i = 1, 100 do keep[i] = coroutine.create(print) end
for i = 1, 500 do keep[i] = newproxy() end
for i = 1, 2000 do keep[i] = { x = i } end
for i = 1, 2000 do keep[i] = "s" .. i end
local ffi = require("ffi")
local ints = ffi.typeof("int[10]")
for i = 1, 700 do keep[i] = ints() end
]]
for _, jit in ipairs({ "-joff", "-jon" }) do
  local r = run("lthorm0b1", types, jit)
  local function count(line, type)
    local block = r.out:match("\n *%d+   [^\n]*:"..line..
      "\n(.-)\n *%d+   %S+%.lua:")
      or r.out:match("\n *%d+   [^\n]*:"..line.."\n(.*)") or ""
    return tonumber(block:match(" +(%d+) +"..type.."%f[\n%z]")) or 0
  end
  for _, want in ipairs({ { 2, "function", 1000 }, { 2, "upvalue", 1000 },
      { 3, "thread", 100 }, { 3, "thread stack", 100 },
      { 4, "userdata", 500 }, { 5, "table", 2000 },
      { 5, "table hash", 2000 }, { 6, "string", 2000 },
      { 9, "cdata", 700 } }) do
    local c = count(want[1], want[2])
    -- A trace that is left after it allocated does so again; the first few of
    -- a kind may come while it is still being asked what another one is.
    tap.ok(c >= want[3] - 15 and c <= want[3] + 5,
      ("%s: %d of type %s"):format(jit, want[3], want[2]), c.."\n"..r.out)
  end
end

-- -- The peak ----------------------------------------------------------------

local peak = [[
collectgarbage()
local function high()
  local t = {}
  for i = 1, 20000 do t[i] = { i } end
end
local function low()
  local t = {}
  for i = 1, 2000 do t[i] = { i } end
  return t
end
high()
collectgarbage()
collectgarbage("stop")
kept = low()
]]
for _, jit in ipairs({ "-joff", "-jon" }) do
  local function objects(view, name)
    local r = run("f"..view.."orm0b1", peak, jit)
    return tonumber(r.out:match("(%d+) +%d+   "..name.."\n") or 0), r.out
  end
  local n, text = objects("x", "high")
  tap.ok(n > 20000, jit..": what was in use at the peak", text)
  n, text = objects("x", "low")
  tap.ok(n < 10, jit..": and what was not", text)
  n, text = objects("u", "low")
  tap.ok(n > 2000, jit..": what is in use at the end", text)
  n, text = objects("u", "high")
  tap.ok(n < 10, jit..": and what is not", text)
end

-- -- Who called --------------------------------------------------------------

local callers = [[
local keep = {}
local function helper(i) keep[#keep+1] = { i, i, i } return i end
local function a(i) local x = helper(i) return x end
local function b(i) local x = helper(i) return x end
for i = 1, 900 do a(i) end
for i = 1, 100 do b(i) end
]]
for _, jit in ipairs({ "-joff", "-jon" }) do
  local r = run("2huorm0b1", callers, jit)
  local x, y = r.out:match("\n *%d+ +(%d+)   helper < a\n"),
    r.out:match("\n *%d+ +(%d+)   helper < b\n")
  x, y = tonumber(x), tonumber(y)
  tap.ok(x and y and math.abs(x / (x + y) - 0.9) < 0.005,
    jit..": 90% through a, 10% through b", r.out)
end

-- -- Leaks -------------------------------------------------------------------

local leak = [[
local cache, n, leak, static = {}, 0, {}, {}
local function churn(i) return { i, { i }, tostring(i) .. "x" } end
local function remember(v)
  leak[#leak+1] = { v, i = v }
end
local function put(v)
  n = n % SIZE + 1
  cache[n] = { v, i = v }
end
for i = 1, SIZE do
  static[i] = { i, i = i }
end
for i = 1, SIZE * 100 do
  churn(i)
  put(i)
  if i % 100 == 0 then remember(i) end
end
]]
leak = leak:gsub("SIZE", slow and "2000" or "15000")
local every = slow and "b512" or "" -- For as many samples of a smaller heap.

-- The rows of the report by stack as a list of { verdict, where }.
local function verdicts(text)
  local t = {}
  text = text:match("\nBy stack:\n(.*)") or ""
  for verdict, where in text:gmatch(" (%a%a%a+)   [^\n]- > [^\n]*\n"..
      "      [^\n]-:(%d+)") do
    t[#t+1] = { verdict, tonumber(where) }
  end
  return t
end

for _, case in ipairs({ { "-joff", "" }, { "-jon", "" },
    { "-joff", "os.exit(0)\n" }, { "-jon", "os.exit(0)\n" } }) do
  local name = case[1]..(case[2] == "" and ", to its end" or ", os.exit")
  local r = run("Lm1"..every, leak..case[2], case[1])
  local t = verdicts(r.out)
  tap.ok(t[1] and t[1][1] == "grows" and t[1][2] == 4,
    name..": the leak is the first row, and grows", r.out)
  local grows = 0
  for _, v in ipairs(t) do
    if v[1] == "grows" then grows = grows + 1 end
  end
  tap.is(grows, 1, name..": nothing else grows")
end

local r = run("Lb1",
  "kept = {} for i = 1, 1000 do kept[i] = { i } end os.exit()")
tap.like(r.out, "a full one at the end", "a full collection before os.exit")
tap.is(r.status, 0, "the exit status stays")
r = run("L1k"..every, leak.."os.exit(0)")
tap.is(r.status, 3, "exit status 3 for a leak above the limit")
r = run("L1k"..every, leak.."os.exit(5)")
tap.is(r.status, 5, "but not instead of another one")
r = run("L100m"..every, leak.."os.exit(0)")
tap.is(r.status, 0, "nor below the limit")

-- -- Reports that the profile has no data for --------------------------------

r = tap.luajit("-e 'local mp = require(\"jit.mp\") mp.start(\"f\", "..
  "\"/dev/null\") print(mp.report(\"e\")) print(mp.report(\"L\")) "..
  "mp.stop()'")
tap.like(r.out, "nil\t[^\n]*no events: [^\n]* option e", "events need option e")
tap.like(r.out, "nil\t[^\n]*no ages of objects: [^\n]*option L",
  "leaks need option L")

-- -- Golden ------------------------------------------------------------------

local file = tap.srcdir.."/t/golden/heap.txt"
local text = {}
for _, g in ipairs(got) do text[#text+1] = "#### "..g.name.."\n"..g.text end
text = table.concat(text)
if os.getenv("MP_GOLDEN") == "new" then tap.write(file, text) end
if gc64 then  -- Sizes differ elsewhere.
  tap.is(text, tap.read(file), "the lines of the events")
end

local stop = [[
collectgarbage("stop")
local keep, stop = {}, os.clock() + 0.2
while os.clock() < stop do
  for i = 1, 1000 do keep[i] = { i } end
end
]]
tap.like(run("f", stop).out, "GC 0 cycles[^\n]*, stopped",
  "a collector that is stopped is named")
tap.unlike(run("f", stop:gsub("stop", "restart", 1)).out, "stopped",
  "one that runs is not")

tap.done()
