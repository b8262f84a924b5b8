-- SPDX-License-Identifier: MIT
-- Whichever way a program ends, the report is written once, and the exit
-- status stays what it was.

local tap = require("tap")

-- Does something that shows up in the report, and tells when it is under way.
local work = [[
local keep = {}
local function busy(n)
  for i = 1, n do keep[i % 100 + 1] = { i } end
end
busy(50000)
]]

-- Runs a program that ends by itself; returns the result and the report.
local function run(flags, body, before)
  local out = tap.tmpname(".txt")
  local r = tap.luajit(("%s -jm=f,%s %s"):format(flags, out,
    tap.program((before or work)..body)))
  return r, tap.read(out)
end

local function reported(text, name)
  local _, n = (text or ""):gsub("luajit%-mp  ", "")
  tap.is(n, 1, name..": one report")
  tap.like(text or "", "busy", name..": the report has the work")
end

local ends = {
  { "normal end", "", 0 },
  { "error()", "error('stop here')", 1 },
  { "error in a coroutine",
    "coroutine.wrap(function() error('stop here') end)()", 1 },
  { "os.exit(3)", "os.exit(3)", 3 },
  { "os.exit(3, true)", "os.exit(3, true)", 3 },
  { "os.exit in a coroutine",
    "coroutine.wrap(function() os.exit(4) end)()", 4 },
  { "exit() by FFI",
    "local ffi = require('ffi') ffi.cdef 'void exit(int);' ffi.C.exit(5)", 5 },
  { "quick_exit() by FFI", "local ffi = require('ffi') "..
    "ffi.cdef 'void quick_exit(int);' ffi.C.quick_exit(5)", 5 },
  { "exit() by FFI in a loop", [[
    local ffi = require('ffi')
    ffi.cdef 'void exit(int);'
    for i = 1, 1000 do
      keep[i] = { i }
      if i == 999 then ffi.C.exit(6) end
    end]], 6 },
}

for _, flags in ipairs(tap.slow and { "" } or { "", "-joff" }) do
  for _, e in ipairs(ends) do
    local name = e[1]..(flags == "" and "" or " "..flags)
    local r, report = run(flags, e[2])
    tap.is(r.status, e[3], name..": exit status")
    reported(report, name)
    if e[2]:find("stop here") then
      tap.like(r.err, "stop here", name..": the error is shown")
    end
  end
end

-- Signals. The program says "ready", the shell kills it, and we look.
local function kill(flags, body, sig, seconds)
  local out = tap.tmpname(".txt")
  local ready = tap.tmpname()
  os.remove(ready)
  local file = tap.program(work..("io.open(%q, 'w'):close()\n"):format(ready)
    ..body)
  local r = tap.sh(([[
    %s %s %s -jm=fm0,%s %s & pid=$!
    n=0
    while [ ! -e %s ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done
    sleep %s
    kill -%s $pid
    ( sleep 60; kill -9 $pid ) 2>/dev/null & guard=$!
    wait $pid; status=$?
    kill $guard 2>/dev/null
    exit $status]]):format(sig:find("^INT") and "env --default-signal=INT" or
    "", tap.command, flags, out, file, ready, seconds or 0.2, sig))
  return r, tap.read(out)
end

local loops = {
  { "a compiled loop", "local n = 0 while true do n = n + 1 end" },
  { "a compiled loop with calls",
    "local n = 0 while true do n = n + math.floor(n) % 3 end" },
  { "an allocation loop",
    "local i = 0 while true do i = i + 1 keep[i % 100 + 1] = { i } end" },
  { "os.execute", "os.execute('sleep 20') while true do end" },
  { "a blocking FFI call", "local ffi = require('ffi') "..
    "ffi.cdef 'int poll(void *, unsigned long, int);' "..
    "ffi.C.poll(nil, 0, 20000) while true do end" },
}
if tap.slow then loops = { loops[1], loops[3] } end

for _, flags in ipairs(tap.slow and { "" } or { "", "-joff" }) do
  for _, l in ipairs(loops) do
    local name = "SIGTERM in "..l[1]..(flags == "" and "" or " "..flags)
    local r, report = kill(flags, l[2], "TERM")
    tap.is(r.status, 128 + 15, name..": dies of it")
    reported(report, name)
  end
end

local r, report = kill("", loops[1][2], "HUP")
tap.is(r.status, 128 + 1, "SIGHUP: dies of it")
reported(report, "SIGHUP")

-- The luajit command turns SIGINT into an error, by a hook. That must not get
-- lost where the signal comes during a sample: so there are some runs. A shell
-- starts background jobs with SIGINT ignored.
if not tap.slow and tap.sh("env --default-signal=INT true").status == 0 then
  local calls = { { "a compiled loop with calls", [[
      local function add(n) return n + 1 end
      local n = 0 while true do n = add(n) end]] }, { "an allocation loop", [[
      local function add(n) keep[n % 100 + 1] = { n } return n + 1 end
      local n = 0 while true do n = add(n) end]] } }
  for i = 1, 6 do
    local loop = calls[i % 2 + 1]
    r, report = kill("", loop[2], "INT", i * 0.02)
    tap.like(r.err, "interrupted", "SIGINT in "..loop[1].." interrupts it")
    tap.is(r.status, 1, "SIGINT: the command fails")
    reported(report, "SIGINT")
  end

  -- Without a call there is no place for the hook, and the command dies of the
  -- second signal, as it does without a profile. Where the VM's layout is not
  -- known, the profile has a check at each line, which is such a place.
  r, report = kill("", loops[1][2], "INT $pid; sleep 1; kill -INT")
  tap.is(r.status, tap.knows_layout() and 128 + 2 or 1,
    "a second SIGINT: dies of it")
  reported(report, "a second SIGINT")
end

-- A program's own handler is left alone: SIGTERM ignored stays ignored.
r = tap.sh(("trap '' TERM; %s -jm=f,/dev/null %s & pid=$!; sleep 1; "..
  "kill -TERM $pid; wait $pid"):format(tap.command,
  tap.program(work.."local t = os.time() "..
  "while os.time() < t + 3 do end os.exit(7)")))
tap.is(r.status, 7, "an ignored SIGTERM stays ignored")

-- Forks. The child says nothing, unless it has a file of its own.
local fork = [[
local ffi = require("ffi")
ffi.cdef "int fork(void); int wait(int *); int getpid(void);"
local pid = ffi.C.fork()
if pid == 0 then
  local function childish()
    for i = 1, 30000 do keep[i % 100 + 1] = { i } end
  end
  childish()
  os.exit(0)
end
ffi.C.wait(nil)
]]
r, report = run("", fork)
tap.is(r.status, 0, "fork: exit status")
reported(report, "fork")
tap.unlike(report, "childish", "fork: the parent's report is its own")

local base = tap.tmpname()
r = tap.luajit(("-jm=fm0,%s.%%p %s"):format(base, tap.program(work..fork)))
tap.is(r.status, 0, "fork with %p: exit status")
local files = tap.sh("ls "..base..".*").out
local _, n = files:gsub("\n", "\n")
tap.is(n, 2, "fork with %p: two reports")
local children = 0
for file in files:gmatch("[^\n]+") do
  local text = tap.read(file)
  os.remove(file)
  tap.like(text, "luajit%-mp  ", "fork with %p: is a report")
  if text:find("childish") then children = children + 1 end
end
tap.is(children, 1, "fork with %p: one of them is the child's")

-- A script that is not there is luajit's to report; one may be a pipe, of which
-- nobody else may take the writer.
r = tap.luajit("-jm=f nosuch.lua")
tap.is(r.status..r.out, "1", "no such script: no report")
tap.like(r.err, "nosuch.lua", "luajit says so")

-- So is one that cannot be loaded.
for name, script in pairs({ ["syntax error"] = tap.program("x = = 1"),
    directory = "/" }) do
  local plain, out = tap.luajit(script), tap.tmpname(".txt")
  os.remove(out)
  r = tap.luajit(("-jm=f,-,%s %s"):format(out, script))
  tap.is(r.status..r.out..r.err, plain.status..plain.err,
    name..": luajit's own message and no report")
  tap.is(tap.read(out), nil, name..": no file, either")
end
local pipe = tap.tmpname("")
os.remove(pipe)
tap.sh(("mkfifo %s; (echo 'print(42)' >%s) >/dev/null 2>&1 &"):format(pipe,
  pipe))
r = tap.luajit("-jm=f "..pipe)
tap.like(r.out, "42\n", "a script from a named pipe runs")
tap.like(r.out, "luajit%-mp  ", "and is profiled")

tap.done()
