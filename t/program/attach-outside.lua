-- SPDX-License-Identifier: MIT
-- luajit-mp attach --outside: functions, lines and callers by looks alone, and
-- the heap by a copy, of programs that no module can be loaded into, too.

local process = require("attach.process")
local tap = require("tap")

if tap.slow or (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("attached programs run on the bare machine only")
elseif jit.arch ~= "x64" then
  tap.skip("the programs are for x86-64")
end

local dir = tap.tmpdir()

-- Two functions: the one has most of the time, the other, which sorts, calls a
-- C function that calls Lua. Line 3 is the heaviest one.
tap.write(dir.."/app.lua", [[
local function heavy(n)
  local sum = 0
  for i = 1, n do sum = (sum + i * i) % 1000003 end
  return sum
end
local function less(a, b) return a > b end
local function sorts(list)
  table.sort(list, less)
  return list[1]
end
local function work(n)
  local sum = heavy(n)
  local list = {}
  for i = 1, 50 do list[i] = i * 7 % 53 end
  return sum, sorts(list)
end
local want, first = work(2e5)
repeat
  local sum, top = work(2e5)
  assert(sum == want and top == first and top == 52, "another result")
  local file = io.open(arg[1])
  if file then file:close() end
until not file
print("right")
]])

local TICKS = 5
local function start(command)
  local p = process.start(dir, command)
  process.under_way(p.pid, TICKS)
  return p
end

local function outside(pid, args)
  return tap.sh(("%s attach --outside -t 0.4 %s %s"):format(tap.mp, args or "",
    pid), { dir = dir })
end

-- The same until there are some samples, or else the try that has most: on a
-- busy machine a program may hardly run meanwhile.
local ENOUGH, TRIES = 20, 20
local function sampled(pid, args)
  local best, most = nil, -1
  for _ = 1, TRIES do
    local r = outside(pid, args)
    local n = tonumber(r.out:match(" (%d+) samples? ") or 0)
    if n > most then best, most = r, n end
    if r.status ~= 0 or most >= ENOUGH then return r end
  end
  return best
end

local function share(out, name)
  return tonumber(out:match("\n *(%d+)%% [^\n]*"..name) or 0)
end

local p = start(tap.command.." -joff app.lua")
local r = sampled(p.pid, "-O i1f")
if r.err:find("not permitted", 1, true) then
  p:kill()
  tap.skip("processes may not be traced here")
end
local found = r.err:find("not one that luajit%-mp can read from outside")
if found then
  p:kill()
  tap.skip("nothing is known of this LuaJIT's state")
end
tap.is(r.status, 0, "interpreted: status", r.err)
tap.like(r.out, "\ncapture outside", "the header names the level")
tap.like(r.out, "\ncompiled code counts for the function in which it begins",
  "and what it means")
tap.ok(share(r.out, "heavy%f[%W]") >= 60, "interpreted: its function", r.out)
tap.unlike(r.out, "in use", "no memory is shown")
r = sampled(p.pid, "-O i1l")
tap.ok(share(r.out, "app%.lua:3%f[%D]") >= 60, "interpreted: its line", r.out)
r = outside(p.pid, "-O i1G")
tap.like(r.out, "main chunk[^\n]*;work;heavy %d+\n",
  "interpreted: the callers of a function")
tap.unlike(r.out, "heavy;sorts", "no stack that there cannot be")
tap.is(p:stop(), "right\n", "interpreted: its results")

p = start(tap.command.." app.lua")
r = sampled(p.pid, "-O i1f -o %p.html -o -")
tap.is(r.status, 0, "compiled: status", r.err)
tap.ok(share(r.out, "heavy%f[%W]") >= 60, "compiled: its function", r.out)
tap.like(tap.read(dir.."/"..p.pid..".html") or "", "<html",
  "compiled: a page")
tap.unlike(tap.read("/proc/"..p.pid.."/maps"), "jit/mp",
  "compiled: nothing is loaded")
r = outside(p.pid, "-O e")
tap.is(r.status, 2, "memory: status")
tap.like(r.err, "option e has no effect with %-%-outside", "memory: said")
tap.is(p:stop(), "right\n", "compiled: its results")

-- A builtin that is a global, too: its name is the one in its library.
tap.write(dir.."/find.lua", [[
search = string.find
local text = ("x"):rep(1e5)
local function seek()
  local found = search(text, "y+")
  return found
end
repeat
  for _ = 1, 100 do assert(not seek()) end
  local file = io.open(arg[1])
  if file then file:close() end
until not file
print("right")
]])
p = start(tap.command.." find.lua")
r = sampled(p.pid, "-O i1f")
tap.ok(share(r.out, "string%.find%f[%W]") >= 60, "a builtin's name", r.out)
r = outside(p.pid, "-O i1G")
tap.like(r.out, "seek;string%.find %d+\n", "and its caller")
tap.is(p:stop(), "right\n", "a builtin: its results")

-- -- The heap -----------------------------------------------------------------

-- It writes what a walk from within shows, and rests in a C function.
tap.write(dir.."/heap.lua", [[
local mp = require("jit.mp")
cache, users = {}, {}
for i = 1, 5000 do cache[i] = { name = "entry "..i, i } end
for i = 1, 300 do users["user"..i] = ("x"):rep(i) end
local file = io.open("within", "w")
file:write(tostring(mp.heap()))
file:close()
repeat
  os.execute("sleep 0.02")
  file = io.open(arg[1])
  if file then file:close() end
until not file
print("right")
]])

local function walk(pid, args)
  return tap.sh(("%s attach --outside %s %s"):format(tap.mp, args or "-O W",
    pid), { dir = dir })
end

-- The words of a walk that tell of a path.
local function held(out, path)
  return out:match("([%d.]+ %a+) +"..path.."  %(([^\n]*)%)\n") or "nothing"
end

p = process.start(dir, tap.command.." heap.lua")
tap.wait(function() return tap.read(dir.."/within") end)
r = walk(p.pid)
tap.is(r.status, 0, "heap: status", r.err)
tap.like(r.out, "^luajit%-mp  heap%.lua +process %d+\n"..
  "capture outside\n\nHeap walk: ",
  "heap: the header has nothing that was not measured")
for _, path in ipairs({ "cache", "cache%[%*%]", "users" }) do
  local within = held(tap.read(dir.."/within"), path)
  tap.ok(within ~= "nothing", "heap: within, "..path)
  tap.is(held(r.out, path), within, "heap: outside, the same: "..path)
end
r = walk(p.pid, "-t 0.2 -O f -o x.heapsnapshot -o -")
tap.is(r.status, 0, "heap: a walk and CPU time, status", r.err)
tap.like(r.out, "\nCPU  ", "heap: with CPU time")
r = walk(p.pid, "-O W -o x.heapsnapshot -o x.json")
tap.is(r.status, 0, "heap: files, status", r.err)
tap.like(tap.read(dir.."/x.heapsnapshot") or "", '^{"snapshot"', "a snapshot")
tap.like(tap.read(dir.."/x.json") or "", '"heap_walk":{"total":%d', "a report")
r = walk(p.pid, "-O L")
tap.like(r.err, "option L has no effect with %-%-outside", "heap: L is not")
tap.is(p:stop(), "right\n", "heap: its results")

-- Programs that never rest: one in compiled code, and one that makes tables
-- larger all the time, whose heap may be in the midst of a change at each look.
p = start(tap.command.." app.lua")
r = walk(p.pid)
tap.is(r.status, 0, "compiled: a walk", r.err)
tap.is(p:stop(), "right\n", "compiled, walked: its results")
tap.write(dir.."/churn.lua", [[
local round = 0
repeat
  local sum, list = 0, {}
  for i = 1, 2000 do list[i % 97] = { i, tostring(i), [i] = { i } } end
  for i = 1, 96 do sum = sum + list[i][1] end
  assert(sum == 187404, sum)
  round = round + 1
  local file = round % 100 ~= 0 or io.open(arg[1])
  if type(file) == "userdata" then file:close() end
until not file
print("right")
]])
p = start(tap.command.." churn.lua")
for i = 1, 5 do
  r = walk(p.pid)
  tap.ok(r.status == 0 and r.out:find("\nHeap walk: ", 1, true) or
    r.err:find("cannot walk the heap", 1, true), "churn: walked or refused "..i,
    r.out..r.err)
end
tap.is(p:stop(), "right\n", "churn: its results")

-- -- Programs that nothing can be loaded into ---------------------------------

local archive = (tap.sh("pkg-config --variable=libdir luajit").out
  :match("[^\n]+") or "").."/libluajit-5.1.a"
local function compile(name, flags)
  return tap.sh(([[cc -O -s -static -o %s %s '%s/t/attach/host.c' \
    $(pkg-config --cflags luajit) '%s' -lm -ldl -lpthread]]):format(name, flags,
    tap.srcdir, archive), { dir = dir }).status == 0
end
local static = compile("static", "")

-- Runs the program with such states. within: a command that becomes it.
local function host(names, what, within)
  tap.write(dir.."/running", "")
  local pid = tap.sh(("%s running %s >out 2>&1 & echo $!"):format(
    within or "./static", names), { dir = dir }).out:match("%d+")
  process.under_way(pid, TICKS)
  what(pid)
  os.remove(dir.."/running")
  tap.wait(function() return tap.read(dir.."/out"):find("\n") end)
  tap.is(tap.read(dir.."/out"), "right\n", names..": its results")
end

if static then
  host("single", function(pid)
    r = tap.sh(tap.mp.." attach -t 0.1 "..pid)
    tap.like(r.err, "linked statically; %-%-outside shows its CPU time, "..
      "and its heap with %-O W\n",
      "static: attach says what there is")
    r = sampled(pid, "-O i1f")
    tap.is(r.status, 0, "static: status", r.err)
    tap.ok(share(r.out, '%[string "single"%]:2') >= 20,
      "static: its function", r.out..r.err)
    r = walk(pid)
    tap.ok(r.status == 0 and r.out:find("\nHeap walk: ", 1, true),
      "static: its heap", r.out..r.err)
  end)
  tap.ok(compile("allocate", "-DALLOCATE"), "another allocator: it is there")
  host("single", function(pid)
    r = sampled(pid, "-O i1f -o x.heapsnapshot -o -")
    tap.like(r.err, "x%.heapsnapshot: there is no heap walk: its memory is not",
      "another allocator: there is no walk, said")
    tap.ok(share(r.out, '%[string "single"%]:2') >= 20,
      "another allocator: its function is lost by nothing", r.out..r.err)
  end, "./allocate")
  host("first second", function(pid)
    r = outside(pid)
    tap.like(r.err, "has 2 Lua states: choose one with %-%-state",
      "static, two threads: said")
    for i = 1, 2 do
      local name = r.err:match("  "..i.."  (%a+), ") or "?"
      local a = sampled(pid, "-O i1f --state "..i)
      tap.ok(share(a.out, '%[string "'..name..'"%]:2') >= 20,
	"static, two threads: state "..i, a.out..a.err)
    end
  end)
end

-- The program where its file is not to be seen from here, and where it would be
-- killed for what a profile within it does. can: whether that can be tried.
local function confined(what, can, within, is_so)
  if not static or tap.sh(can, { dir = dir }).status ~= 0 then
    tap.diag(what.." cannot be tried here")
    return
  end
  host("single", function(pid)
    tap.ok(is_so(pid), what..": is so")
    r = sampled(pid, "-O i1f")
    tap.is(r.status, 0, what..": status", r.err)
    tap.ok(share(r.out, '%[string "single"%]:2') >= 20, what..": its function",
      r.out..r.err)
    r = walk(pid)
    tap.ok(r.status == 0 and r.out:find("\nHeap walk: ", 1, true),
      what..": its heap", r.out..r.err)
  end, within)
end

local function is_hidden() return not tap.read(dir.."/away/static") end

local unshare = tap.sh("id -u").out == "0\n" and "unshare -m" or "unshare -rm"
local mount = "mkdir -p away && mount -t tmpfs none away"
confined("another mount namespace", ("%s sh -c %s"):format(unshare,
  tap.quote(mount)), ("%s sh -c %s sh"):format(unshare, tap.quote(mount..
    ' && cp static away && exec away/static "$@"')), is_hidden)

-- openat, timer_create, perf_event_open and memfd_create.
local filter = "./confine kill 257 222 298 319 -- "
confined("a sandbox", ("cc -o confine '%s/t/attach/confine.c' && "..
  "./confine kill 319 -- true"):format(tap.srcdir), filter.."./static",
  function(pid)
    return tap.read("/proc/"..pid.."/status"):find("\nSeccomp:%s+2\n")
  end)

-- Where the kernel gives both the same addresses, another try is no cure.
if tap.sh("setarch -R true").status == 0 then
  local p = start("setarch -R "..tap.command.." app.lua")
  local r = tap.sh(("setarch -R %s attach --outside -O W %s"):format(tap.mp,
    p.pid), { dir = dir })
  if r.status ~= 0 then
    tap.like(r.err, "luajit%-mp has its own: start luajit%-mp with randomized",
      "addresses that are not randomized: what helps")
  end
  r = walk(p.pid)
  tap.is(r.status, 0, "addresses of its own are randomized: a walk", r.err)
  tap.is(p:stop(), "right\n", "the program's results")
end

-- -- A thread that seldom runs Lua code --------------------------------------

-- It is found when it does, and its time counts from the beginning.
local function host(pid)
  local function seconds(file, pattern)
    return tonumber(tap.read(file):match(pattern))
  end
  local function now()
    return seconds("/proc/"..pid.."/task/"..pid.."/schedstat", "%d+") / 1e9,
      seconds("/proc/uptime", "%S+")
  end
  local got, want, known = 0, 0, 0
  for _ = 1, TRIES do
    local cpu, wall = now()
    local text = outside(pid, "-t 1").out
    local cpu_after, wall_after = now()
    local n, unit = text:match("\nCPU +([%d.]+) (m?s) ")
    if n then
      known = known + 1
      got = got + n * (unit == "ms" and 1e-3 or 1) / text:match("ran ([%d.]+)")
      want = want + (cpu_after - cpu) / (wall_after - wall)
    else
      tap.like(text, "\nCPU +not known .*\nno CPU samples: no thread was seen ",
	"seldom in Lua: its thread is not found")
    end
    if known >= 4 then break end
  end
  tap.ok(got >= 0.7 * want and got > 0, "seldom in Lua: its CPU time counts",
    ("%.3f, and it was %.3f"):format(got, want))
end

if tap.sh(("cc -O -o idle '%s/t/attach/idle.c' %s -lpthread"):format(
  tap.srcdir, "$(pkg-config --cflags --libs luajit)"), { dir = dir })
  .status == 0 then
  tap.write(dir.."/busy", "")
  p = process.start(dir, "sh -c 'exec ./idle \"$1\" busy resting seldom' idle")
  host(p.pid)
  tap.sh("rm busy; until [ -e resting ]; do sleep 0.1; done", { dir = dir })
  r = outside(p.pid, "-o never.html -o -")
  tap.is(r.status, 0, "never in Lua: status", r.err)
  tap.like(tap.read(dir.."/never.html") or "", '%["CPU","not known"',
    "never in Lua: the page says it, too")
  tap.like(r.out, "\nCPU +not known .*\nno CPU samples: no thread was seen ",
    "never in Lua: said")
  tap.is(p:stop(), "right\n", "never in Lua: the program's results")
end

tap.like(outside(1 + 2^22).err, "there is no process", "no process")
tap.done()
