-- SPDX-License-Identifier: MIT
-- Stacks of functions in compiled code; and profiles without lines, at the cost
-- of nearly nothing: where no report shows lines, or with option j.

local tap = require("tap")
package.path = tap.srcdir.."/t/truth/?.lua;"..package.path
local bytes = require("bytes")
local stacks = require("stacks")

-- -- Stacks -----------------------------------------------------------------

-- Small functions that compiled code has inlined; the callers allocate before
-- the call and behind the return.
local programs = {
  call = [[
    local keep = {}
    local function leaf(i) return { i } end
    local function nothing(i) return i + 1 end
    local function middle(i)
      local a = { i, i }
      local b = leaf(nothing(i))
      return { a, b, nothing(i) }
    end
    for i = 1, 3000 do
      keep[i % 10] = middle(i)
      keep[i % 10 + 20] = { keep, nothing(i) }
    end]],
  varargs = [[
    local keep = {}
    local function pick(...) return (select(2, ...)) end
    local function tail(i) return pick(i, { i }) end
    for i = 1, 3000 do
      keep[i % 10] = { tail(i), pick(i, i) }
    end]],
  protected = [[
    local keep = {}
    local function may(i) return { i } end
    local function try(i)
      local ok, t = pcall(may, i)
      return { ok, t }
    end
    for i = 1, 3000 do keep[i % 10] = { try(i) } end]],
  metamethods = [[
    local keep, mt = {}, {}
    function mt.__index(t, k) return { k } end
    function mt.__add(a, b) return setmetatable({ a, b }, mt) end
    local x = setmetatable({}, mt)
    local function use(i)
      local a = x[i]
      return { a, x + x }
    end
    for i = 1, 3000 do keep[i % 10] = use(i) end]],
  closures = [[
    local keep = {}
    local function counter(i)
      return function() i = i + 1 return { i } end
    end
    local function use(i)
      local f = counter(i)
      return { f(), f() }
    end
    for i = 1, 3000 do keep[i % 10] = use(i) end]],
  loops = [[
    local keep = {}
    local function inner(n)
      local t = {}
      for i = 1, n do t[i] = { i } end
      return t
    end
    local function outer(n)
      local t = { inner(n), { n }, inner(n) }
      return { t, {} }
    end
    for i = 1, 300 do keep[i % 10] = outer(i % 20) end]],
  recursion = [[
    local keep
    local function tree(depth)
      if depth == 0 then return {} end
      return { tree(depth - 1), tree(depth - 1) }
    end
    for i = 1, 30 do keep = tree(9) end]],
}

local names = {}
for name in pairs(programs) do names[#names+1] = name end
table.sort(names)

local exact = tap.luajit("-jm=hb1 "..tap.program("local t = {}")).out
  :find("capture exact")
local kinds = {
  { "with lines", "b1", stacks.whole },
  { "without lines", "jb1", stacks.collapsed },
}

local function compare(name, file, options, namer)
  local off, total = bytes.by_place(file, "-joff", options, namer)
  if not tap.ok(off, name.." runs interpreted", total) then return end
  for _, flags in ipairs { "-O-sink", "-O-sink -Ohotloop=2 -Ohotexit=2" } do
    local on, msg = bytes.by_place(file, flags, options, namer)
    if tap.ok(on, name.." runs with "..flags, msg) then
      local more, less, bad = bytes.moved(on, off, 0)
      tap.ok(more <= total * 0.005 and less <= total * 0.005,
	name..": stacks of compiled code are those of the interpreter", bad)
    end
  end
end

for _, name in ipairs(exact and names or {}) do
  local file = tap.program(programs[name])
  for _, kind in ipairs(kinds) do
    compare(name..", "..kind[1], file, kind[2], kind[3])
  end
end

-- CPU time behind a return is the caller's.
local r = tap.luajit("-jm=cs2m0 "..tap.program([[
  local function small(x) return x + 1 end
  local function heavy(n)
    local s = 0
    for i = 1, n do
      local y = small(i)
      s = s + math.sin(y) * math.cos(y) + math.exp(-y) + math.sin(s)
    end
    return s
  end
  local clock = os.clock
  local stop = clock() + 0.4
  repeat heavy(1e4) until clock() > stop]]))
tap.is(r.status, 0, "a program that computes: exit status", r.err)
if exact then
  tap.ok(r.out:match("%d+%%[^\n]*heavy") ~= nil and
    not r.out:match("CPU[^\n]*\n%s*%d+%%[^\n]*small"),
    "time behind a return is not the called function's", r.out)
end

-- -- Compiled code without a safepoint ---------------------------------------

-- The CPU samples of a report, by function.
local function samples(report)
  local t = {}
  for n, name in report:gmatch("\n +(%d+) +%d+ +([%w_ ]+)") do
    t[name] = tonumber(n)
  end
  return t
end

-- Loops that call nothing, for which LuaJIT's profiler has no check. One is of
-- random length: no sampling is in step with it.
r = tap.luajit("-jm=cri1m0 "..tap.program([[
  local function long(n)
    local s = 0
    for i = 1, n do s = s + i % 7 end
    return s
  end
  local function short(n)
    local s = 0
    for i = 1, n do s = s + i % 7 end
    return s
  end
  local clock, t = os.clock, 0
  local stop = clock() + 0.5
  repeat
    t = t + long(math.random(4e5, 12e5)) + short(1e5)
  until clock() > stop]]))
local n = samples(r.out)
if exact then
  tap.ok((n.long or 0) > 2 * (n.short or 0) and (n.short or 0) > 0,
    "loops without calls: time is that of the function with the loop", r.out)
end

-- One trace, in which one function does three times as much as the other. At
-- each sample the trace is left; where that takes long, with sanitizers, the
-- time is work's: 4 ms lie between them.
r = tap.luajit("-jm=cri4m0 "..tap.program([[
  local function little(x) return ((x / 1.1) / 1.2) / 1.3 + 1e9 end
  local function much(x)
    x = ((x / 1.1) / 1.2) / 1.3
    x = ((x / 1.1) / 1.2) / 1.3
    return ((x / 1.1) / 1.2) / 1.3 + 1e9
  end
  local function work(n)
    local x = 1e9
    for i = 1, n do x = much(little(x)) end
  end
  local clock = os.clock
  local stop = clock() + 1
  repeat work(1e6) until clock() > stop]]))
n = samples(r.out)
if exact then
  tap.ok((n.much or 0) > (n.little or 0) and (n.little or 0) > 0 and
    (n.work or 0) < (n.little or 0),
    "functions within one trace: each has its own time", r.out)
end

-- Functions that compiled code cannot leave, as they only compute, or set what
-- is there: nearly all the time is theirs, with lines, too.
local computes = tap.program([[
  local function inner(s, i) for k = 1, 2 do s = s * 3 % 7 + i end return s end
  local function mid(s, i) return inner(s, i) + 1 end
  local function loop(n)
    local s = 0
    for i = 1, n do s = mid(s, i) end
    return s
  end
  local clock = os.clock
  local stop = clock() + 0.4
  repeat loop(1e5) until clock() > stop]])
local sets = tap.program([[
  local st = { a = 0.5, b = 0.5 }
  local function mid(k) st.a = st.a / 1.1 + k end
  local function inner()
    local x = st.b / 1.1 / 1.2 / 1.3 / 1.4 / 1.5 / 1.6 / 1.7
    x = x / 1.1 / 1.2 / 1.3 / 1.4 / 1.5 / 1.6 / 1.7 / 1.8 / 1.9
    st.b = x + 1
  end
  local function loop(n) for i = 1, n do mid(1) inner() end end
  local clock = os.clock
  local stop = clock() + 0.4
  repeat loop(1e5) until clock() > stop]])
for name, file in pairs(exact and { computes = computes, sets = sets } or {}) do
  for _, options in ipairs { "cri4m0", "cflri4m0" } do
    r = tap.luajit(("-jm=%s %s"):format(options, file))
    n = samples(r.out)
    tap.ok((n.inner or 0) > (n.mid or 0) + (n.loop or 0),
      ("a function that only %s has its time, option %s"):format(name, options),
      r.out)
  end
end

-- Where a trace goes on in another one, or returns to a frame below its own,
-- the base changes: no function is under another one than its caller.
local changes = tap.program([[
  local function iterate(cr, ci)
    local zr, zi, n = 0, 0, 0
    while n < 20 and zr * zr + zi * zi < 4 do
      zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
      n = n + 1
    end
    return n
  end
  local function row_of(y, w)
    local s = 0
    for x = 1, w do s = s + iterate(x / w * 3 - 2, y) end
    return s
  end
  local clock, t = os.clock, 0
  local stop = clock() + 1
  while clock() < stop do
    for y = 1, 30 do t = t + row_of(y / 15 - 1, 5) end
  end]])
r = tap.luajit("-jm=cGi1m0 "..changes)
local known = { ["main chunk;row_of"] = true,
  ["main chunk;row_of;iterate"] = true }
for stack in r.out:gmatch("([^\n]+) %d+\n") do
  stack = stack:gsub(";%([^;]*%)$", "")  -- The VM's own work.
  if exact and (stack:find("row_of", 1, true) and not known[stack] or
      stack:find("main chunk.*main chunk")) then
    tap.ok(false, "there are no stacks but the program's", r.out)
  end
end
tap.like(r.out, "main chunk;row_of;iterate %d+",
  "stacks where the base changes")

-- Zones, in each of which compiled code calls C functions: the time is not that
-- of the function where the next safepoint is. With each allocation captured,
-- the captures are the time of the function that allocates.
local zones = tap.program([[
  local zone = require("jit.zone")
  local keep = {}
  local function tables(n)
    for i = 1, n do
      keep[#keep+1] = { a = i, b = { i } }
      if #keep > 20000 then keep = {} end
    end
  end
  local function texts(n)
    local t = {}
    for i = 1, n do t[#t+1] = "s" .. i .. "x" end
    return table.concat(t, ",")
  end
  local clock, sum = os.clock, 0
  local function apply(f, n) local a = clock() f(n) return clock() - a end
  local stop = clock() + 0.5
  repeat
    zone("texts") sum = sum + apply(texts, 3000) zone()
    zone("tables") sum = sum + apply(tables, 3000) zone()
  until clock() > stop]])
local stored = tap.tmpname(".mp")
for _, options in ipairs { "i1", "i1b1" } do
  tap.luajit(("-jm=j%s,%s %s"):format(options, stored, zones))
  r = tap.sh(("%s report %s crm0"):format(tap.mp, stored))
  n = samples(r.out)
  if exact then
    tap.ok((n.apply or 0) * 5 < (n.tables or 0) + (n.texts or 0),
      options..": zones: functions have their own time", r.out)
  end
end

-- Nothing but the handler can report: the program never comes to a safepoint.
local loop = tap.program([[
  io.open(arg[1], "w"):close()
  local x = 0
  while true do x = x + 1 end]])
local ready, written = tap.tmpname(), tap.tmpname(".txt")
local function endless(options, action)
  return tap.sh(([[
    rm -f %s
    %s -jm=%s,%s %s %s & pid=$!
    n=0
    while [ ! -e %s ] && [ $n -lt 600 ]; do sleep 0.05; n=$((n+1)); done
    %s
    kill -TERM $pid; wait $pid; echo status $?]]):format(ready, tap.command,
      options, written, loop, ready, ready, action))
end
r = endless("f", "sleep 0.5")
tap.is(r.out, "status 143\n", "SIGTERM in a loop without calls: status", r.err)
tap.ok((tap.read(written) or ""):find("main chunk"),
  "SIGTERM in a loop without calls: the report")
r = endless("fw1", ([[
    n=0
    while ! grep -q chunk %s && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done
    cat %s]]):format(written, written))
tap.ok(r.out:find("main chunk"), "option w in a loop without calls", r.out)

-- -- Reports ----------------------------------------------------------------

local program = tap.program("local t = {} for i = 1, 1e4 do t[i % 9] = {} end")
local file = tap.tmpname(".mp")
r = tap.luajit("-jm=j,"..file.." "..program)
tap.is(r.status, 0, "a file without lines: exit status", r.err)
for _, options in ipairs { "l", "fl", "a", "A", "q" } do
  local out = tap.sh(tap.mp.." report "..file.." "..options)
  if exact then
    tap.ok(out.status ~= 0 and out.err:find("no lines: a profile has them "..
      "where the program ran with option l, or with an output file that "..
      "shows lines", 1, true),
      options..": says that there are none", out.err)
  else
    tap.is(out.status, 0, options..": safepoints have lines", out.err)
  end
end
r = tap.sh(tap.mp.." report "..file)
tap.is(r.status, 0, "functions can be shown", r.err)
if exact then
  tap.ok(r.out:find("functions; option l shows lines", 1, true),
    "the header says so", r.out)
end

for _, options in ipairs { "lj", "ja", "Aj", "je", "jq", "jL", "jW", "Mj" } do
  local letter = options:gsub("j", "")
  r = tap.luajit("-jm="..options.." "..program)
  tap.ok(r.status ~= 0 and r.err:find("option 'j' leaves out the lines, which "
    .."option '"..letter.."' shows", 1, true), options..": refused", r.err)
end

-- The options and outputs decide.
local with, without = "with a line", "functions; option l shows lines"
for _, case in ipairs { { "", without }, { "f", without }, { "3s", without },
    { "g", without }, { "vf", without }, { "zf", without }, { "G", nil },
    { "l", with }, { "fl", with }, { "a", with }, { "e", with } } do
  r = tap.luajit("-jm="..case[1].." "..program)
  tap.is(r.status, 0, '"'..case[1]..'": exit status', r.err)
  if exact and case[2] then
    tap.ok(r.out:find(case[2], 1, true), '"'..case[1]..'": '..case[2], r.out)
  end
end
for _, suffix in ipairs { ".mp", ".html", ".pb.gz" } do
  local name = tap.tmpname(".txt")
  r = tap.luajit(("-jm=f,%s,%s %s"):format(name, tap.tmpname(suffix), program))
  tap.is(r.status, 0, suffix..": exit status", r.err)
  if exact then
    tap.ok((tap.read(name) or ""):find(with, 1, true), suffix.." has lines")
  end
end

r = tap.luajit(tap.program([[
  local mp = require("jit.mp")
  mp.start("", "/dev/null")
  local t = {}
  for i = 1, 1e4 do t[i % 9] = { i } end
  print(mp.report("l", "/dev/null"))
  print(mp.report("f", "/dev/null"))
  mp.stop()]]))
tap.is(r.status, 0, "lines from within: exit status", r.err)
if exact then
  tap.ok(r.out:find("^nil\t[^\n]*no lines: a profile has them where"),
    "lines from within: an error", r.out)
end
tap.ok(r.out:find("true[^\n]*\n$"), "functions from within", r.out)

tap.done()
