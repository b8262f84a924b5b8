-- SPDX-License-Identifier: MIT
-- A forked child: it may profile itself, dies of signals as without a profile,
-- and reports only itself.

local tap = require("tap")

-- fork(f) calls f in a child, which exits, and returns its wait status.
local prelude = [[
local ffi = require("ffi")
ffi.cdef "int fork(void); int waitpid(int, int *, int); int getpid(void);"
ffi.cdef "int kill(int, int); int poll(void *, unsigned long, int);"
local function spawn(f)
  io.stdout:flush()
  local pid = ffi.C.fork()
  if pid == 0 then
    f()
    os.exit(0)
  end
  return pid
end
local function wait(pid)
  local status = ffi.new("int[1]")
  ffi.C.waitpid(pid, status, 0)
  return status[0]
end
local keep = {}
local function work()
  for i = 1, 30000 do keep[i % 100 + 1] = { i } end
end
]]

local function run(name, flags, body)
  local r = tap.luajit(flags.." "..tap.program(prelude..body))
  tap.is(r.status, 0, name..": exit status", r.err)
  tap.is(r.err, "", name..": no message")
  return r
end

-- -- A child that profiles itself --------------------------------------------

local file = tap.tmpname(".txt")
for _, flags in ipairs { "-jm=f,/dev/null", "-jm=f,/dev/null%p", "" } do
  flags = flags:gsub("null%%p", "shm/mp-fork-test-%%p")
  local name = "a start in a child ("..flags..")"
  os.remove(file)
  local r = run(name, flags, ([[
    work()
    print(wait(spawn(function()
      local mp = require("jit.mp")
      mp.stop()
      assert(mp.start("f", %q))
      work()
      collectgarbage() collectgarbage()
      work()
      assert(mp.stop())
      collectgarbage() collectgarbage()
    end)))]]):format(file))
  tap.is(r.out, "0\n", name..": the child's status")
  tap.like(tap.read(file) or "", "luajit%-mp  ", name..": the child's report")
end
tap.sh("rm -f /dev/shm/mp-fork-test-*")

-- -- Signals in a child without a report ------------------------------------

local marker = tap.tmpname()
os.remove(marker)
local r = run("SIGTERM in a child", "-jm=f,/dev/null", ([[
  local ready = os.tmpname()
  os.remove(ready)
  local pid = spawn(function()
    io.open(ready, "w"):close()
    ffi.C.poll(nil, 0, 20000)
    io.open(%q, "w"):close()
    local t = os.time() + 5
    while os.time() < t do end
  end)
  while not io.open(ready) do ffi.C.poll(nil, 0, 10) end
  ffi.C.poll(nil, 0, 100)
  ffi.C.kill(pid, 15)
  print(wait(pid))
  os.remove(ready)]]):format(marker))
tap.is(r.out, "15\n", "SIGTERM in a child: it dies of it")
tap.is(tap.read(marker), nil, "SIGTERM in a child: it does not go on before")

-- -- Samples of a child ------------------------------------------------------

-- The samples of a process, by their weights: as sizes differ, so do these.
local draw = [[
local core = require("jit.mp.core")
local function sampled()
  for i = 1, 3000 do keep[i % 100 + 1] = ("x"):rep(i % 997) .. i end
  local sum = 0
  for _, row in ipairs(core.snapshot().rows) do sum = sum + row.alloc_bytes end
  return ("%.17g"):format(sum)
end
]]

local function distinct(out)
  local seen, n = {}, 0
  for line in out:gmatch("[^\n]+") do
    if not seen[line] then seen[line], n = true, n + 1 end
  end
  return n
end

r = run("forked workers", "-joff -jm=f,/dev/shm/mp-fork-test-%p", draw..[[
  local function child() print(sampled()) end
  local pids = { 0, 0, 0, 0 }
  for i = 1, 4 do pids[i] = spawn(child) end
  for i = 1, 4 do wait(pids[i]) end]])
tap.is(distinct(r.out), 4, "forked workers draw different samples")
tap.sh("rm -f /dev/shm/mp-fork-test-*")

r = run("starts within a second", "-joff", draw..[[
  for i = 1, 6 do
    assert(core.start("f", "/dev/null"))
    print(sampled())
    assert(core.stop())
  end]])
tap.is(distinct(r.out), 6, "starts within a second draw different samples")

-- -- Ages in a child ---------------------------------------------------------

local known = tap.knows_layout()
r = run("ages", "-jm=L,/dev/shm/mp-fork-test-%p", [[
  local core = require("jit.mp.core")
  local function hold() for i = 1, 50000 do keep[i] = { i } end end
  hold()
  ffi.C.poll(nil, 0, 700)
  collectgarbage() collectgarbage()
  wait(spawn(function()
    ffi.C.poll(nil, 0, 300)
    collectgarbage() collectgarbage() collectgarbage()
    local objects, births = 0, 0
    for _, s in ipairs(core.snapshot().survivors) do
      objects, births = objects + s.objects, births + s.births
    end
    print(objects > 40000, objects == 0 or births / objects < 0.1)
  end))]])
tap.is(r.out, known and "true\ttrue\n" or "false\ttrue\n",
  "what is older than the fork was born at the fork")
tap.sh("rm -f /dev/shm/mp-fork-test-*")

-- The rows of a child's profile are its own: they add up to its totals.
r = run("a child's rows", "-joff -jm=e,/dev/shm/mp-fork-test-%p.txt", ([[
  local core = require("jit.mp.core")
  local function hold(n) for i = 1, n do keep[#keep + 1] = { i } end end
  hold(3000)
  wait(spawn(function()
    hold(500)
    keep = {}
    collectgarbage() collectgarbage()
    hold(200)
    local s = core.snapshot()
    local objects, bytes = 0, 0
    for _, row in ipairs(s.rows) do
      objects, bytes = objects + row.alloc_objects, bytes + row.alloc_bytes
    end
    print(objects - s.heap.alloc_objects, bytes - s.heap.alloc_bytes)
    assert(require("jit.mp").write(%q))
  end))]]):format(file))
tap.is(r.out, known and "0\t0\n" or r.out,
  "a child's rows add up to its totals")
local allocs, frees = (tap.read(file) or ""):match(
  "HEAP SUMMARY:\n%S+ holds %d+ bytes: (%d+) allocs, (%d+) frees")
tap.ok(allocs and tonumber(allocs) < 800 and tonumber(frees) >= 3500,
  "events of a child: its own allocations and frees", tap.read(file))
tap.sh("rm -f /dev/shm/mp-fork-test-*")

-- -- daemon(3): the parent ends without a report ----------------------------

-- Runs a program that goes to the background; waits for its report, which
-- comes after the program has ended as far as the shell is concerned.
local function daemon(name, body)
  local report = tap.tmpname(".txt")
  os.remove(report)
  local r = tap.luajit(("-jm=fm0,%s %s"):format(report, tap.program(prelude..[[
    ffi.cdef "int daemon(int, int); int setsid(void); void _exit(int);"
    local function later()
      for i = 1, 60000 do keep[i % 100 + 1] = { i } end
    end
    work()
  ]]..body)))
  tap.is(r.status, 0, name..": exit status", r.err)
  tap.sh(("n=0; while [ ! -e %s ] && [ $n -lt 300 ]; do sleep 0.1; "..
    "n=$((n+1)); done"):format(report))
  local text = tap.read(report) or ""
  tap.like(text, "work", name..": the report has what was before the fork")
  tap.like(text, "later", name..": and what came after it")
  tap.like(text, "its child continued", name..": and says so")
end

daemon("daemon(3)", "ffi.C.daemon(1, 0) later()")
daemon("daemon(3) and SIGTERM", [[
  ffi.C.daemon(1, 0)
  local t = os.clock() + 0.3
  repeat later() until os.clock() > t
  ffi.C.kill(ffi.C.getpid(), 15)
  while true do end]])
daemon("daemon(3) and mp.stop()", [[
  ffi.C.daemon(1, 0)
  later()
  assert(require("jit.mp").stop())]])
daemon("two forks", [[
  if ffi.C.fork() ~= 0 then ffi.C._exit(0) end
  ffi.C.setsid()
  if ffi.C.fork() ~= 0 then ffi.C._exit(0) end
  ffi.C.poll(nil, 0, 200)
  later()]])
daemon("a child that takes over and leaves", [[
  ffi.cdef "int getppid(void);"
  if ffi.C.fork() ~= 0 then ffi.C._exit(0) end
  local child = ffi.C.getpid()
  if ffi.C.fork() ~= 0 then
    local t = os.clock() + 0.3
    repeat later() until os.clock() > t
    ffi.C._exit(0)
  end
  repeat ffi.C.poll(nil, 0, 10) until ffi.C.getppid() ~= child
  later()]])

-- On a busy machine the child often ends before its parent leaves.
local list = tap.tmpname(".txt")
local r = tap.sh(("for i in $(seq 20); "..
  "do rm -f %s; %s -jm=f,%s -e %s; n=0; while [ ! -s %s ] && "..
  "[ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; [ -s %s ] || echo lost; "..
  "done"):format(list, tap.command, list, tap.quote(
  [[local ffi = require("ffi") ffi.cdef "int fork(void); void _exit(int);"
    if ffi.C.fork() ~= 0 then ffi.C._exit(0) end]]), list, list))
tap.is(r.out, "", "a child that ends at once has its parent's report", r.err)

-- The parent shares its processor with a program of higher priority: it needs
-- 10 ms of it to leave, and waits many times longer.
r = tap.sh((([[
  cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
  taskset -c $cpu sh -c 'while :; do :; done' & hog=$!
  CPU=$cpu LIST -jm=f,FILE -e PROGRAM; n=0
  while [ ! -s FILE ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done
  grep -q "forked and ended" FILE || echo lost
  kill $hog]]):gsub("%u%u%u%u+", {
    LIST = tap.command, FILE = tap.tmpname(".txt"), PROGRAM = tap.quote([[
      local ffi = require("ffi")
      ffi.cdef("int fork(void); void _exit(int); int nice(int); "..
        "int sched_setaffinity(int, size_t, const void *);")
      local mask, cpu = ffi.new("uint8_t[128]"), tonumber(os.getenv("CPU"))
      mask[math.floor(cpu / 8)] = 2 ^ (cpu % 8)
      if ffi.C.fork() ~= 0 then
        assert(ffi.C.sched_setaffinity(0, 128, mask) == 0)
        ffi.C.nice(10)
        local t = os.clock() + 0.01
        repeat until os.clock() > t
        ffi.C._exit(0)
      end]]) })))
tap.is(r.out, "", "and where the parent waits for a processor", r.err)

tap.done()
