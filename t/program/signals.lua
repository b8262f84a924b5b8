-- SPDX-License-Identifier: MIT Signals that arrive while a report is written,
-- or in a program that is blocked in C code: a report that has begun is
-- finished, and in the end the signal has the same effect as without a profile.

local tap = require("tap")
local luajit = tap.command

local dir = tap.tmpdir()
local function read(name) return tap.read(dir.."/"..name) end
local function sh(command)
  -- A shell starts background jobs with SIGQUIT ignored.
  return tap.sh("signals='env --default-signal=QUIT'; $signals true || "..
    "signals=; "..command, { dir = dir })
end

-- Runs a program; when it has made the file "ready" the shell does something,
-- with its process id in $pid. Returns what the shell says, with the status.
local function run(flags, program, action)
  tap.write(dir.."/p.lua", [[
local keep = {}
local function busy(n)
  for i = 1, n do keep[i % 100 + 1] = { i } end
end
busy(50000)
local function ready() io.open("ready", "w"):close() end
]]..program)
  return sh(([[
    rm -f ready got after.txt
    $signals %s %s p.lua >out 2>err & pid=$!
    ( sleep 60; kill -9 $pid ) 2>/dev/null & guard=$!
    n=0
    while [ ! -e ready ] && [ $n -lt 600 ]; do sleep 0.05; n=$((n+1)); done
    sleep 0.2
    %s
    wait $pid; status=$?
    kill $guard 2>/dev/null
    wait
    echo status $status]]):format(luajit, flags, action))
end

local loop = "ready() while true do end"
local function reported(name, what)
  local text = read(name) or ""
  local _, n = text:gsub("luajit%-mp  ", "")
  tap.ok(n == 1 and text:find("busy"), what, text)
end

-- -- While a report is written ----------------------------------------------

-- A reader that begins to read late.
local late = "(sleep 1; timeout 60 cat ff >got) & "
assert(os.execute("mkfifo "..dir.."/ff") == 0)
for _, case in ipairs({
  { "one signal", "kill -TERM $pid" },
  { "a second one at once", "kill -TERM $pid; sleep 0.01; kill -TERM $pid" },
  { "a second one later", "kill -TERM $pid; sleep 0.5; kill -HUP $pid" },
}) do
  local r = run("-jm=f,ff,after.txt", loop, late..case[2])
  tap.is(r.out, "status 143\n", case[1]..", a slow reader: status")
  reported("got", case[1]..": the output under way is written")
  reported("after.txt", case[1]..": and the next one")
end

local r = run("-jm=f,ff,after.txt", "ready() os.exit(7)",
  "sleep 0.5; "..late.."kill -TERM $pid; sleep 0.1; kill -HUP $pid")
tap.is(r.out, "status 7\n", "signals after the program's end: status")
reported("got", "signals after the program's end: the output under way")
reported("after.txt", "signals after the program's end: the next output")

-- A pipe whose reader never reads is waited for. Two signals of a kind are one,
-- if the first still waits for a processor.
os.execute("ln -s /dev/fd/9 "..dir.."/full.html")
r = run("-jm=f,full.html 9<>ff", loop, [[
  kill -TERM $pid; sleep 1; kill -HUP $pid; sleep 0.3; kill -USR1 $pid]])
tap.is(r.out, "status 143\n", "the third signal: status")
tap.is(read("err"), "luajit-mp: the report was abandoned on the third signal\n",
  "the third signal: said")
r = run("-jm=f,full.html 9<>ff", loop, [[
  ulimit -c 0; kill -TERM $pid; sleep 1; kill -QUIT $pid]])
tap.is(r.out, "status 131\n", "SIGQUIT: status")
tap.is(read("err"), "luajit-mp: the report was abandoned on SIGQUIT\n",
  "SIGQUIT: said")

-- A report in between is finished, and then the signal does its work.
r = run("-jm=f,after.txt",
  "ready() require('jit.mp').report('f', 'ff') while true do end",
  late.."kill -TERM $pid")
tap.is(r.out, "status 143\n", "a signal during mp.report: status")
reported("got", "a signal during mp.report: that report")
reported("after.txt", "a signal during mp.report: the last report")

-- -- Signals with their default action --------------------------------------

for _, s in ipairs({ { "QUIT", 3 }, { "USR1", 10 }, { "USR2", 12 },
    { "ALRM", 14 }, { "XCPU", 24 }, { "PIPE", 13 } }) do
  r = run("-jm=f,after.txt", "require('ffi').cdef "..
    "'int setrlimit(int, const unsigned long *);' require('ffi').C.setrlimit("..
    "4, require('ffi').new('unsigned long[2]')) "..loop,
    "kill -"..s[1].." $pid")
  tap.is(r.out, ("status %d\n"):format(128 + s[2]), "SIG"..s[1]..": status")
  reported("after.txt", "SIG"..s[1]..": the report")
end

-- The reader of the program's output goes away.
tap.write(dir.."/p.lua", [[
local keep = {}
local function busy(n)
  for i = 1, n do keep[i % 100 + 1] = { i } end
end
while true do
  busy(1000)
  assert(io.write("a line of output\n"))
end
]])
r = sh(("rm -f after.txt; { %s -jm=f,after.txt p.lua; echo status $? >&2; } "..
  "| head -n 1"):format(luajit))
tap.is(r.err, "status 141\n", "a program in a pipe to head: status")
reported("after.txt", "a program in a pipe to head: the report")

-- -- Blocked in C code ------------------------------------------------------

local blocked = [[
local ffi = require("ffi")
ffi.cdef "int usleep(unsigned); void *memset(void *, int, size_t);"
ffi.cdef "unsigned alarm(unsigned);"
local p = ffi.new("char[?]", 1e8)
]]
-- A C function that goes on after each interruption.
r = run("-jm=f,after.txt", blocked..[[
ffi.cdef "typedef struct { int fd; short events, revents; } pollfd_t;"
ffi.cdef "int sem_init(void *, int, unsigned); int sem_wait(void *);"
ffi.cdef "int pthread_mutex_lock(void *);"
local m = ffi.new("char[64]")
ready()
ffi.C.pthread_mutex_lock(m)
ffi.C.pthread_mutex_lock(m) -- For ever.
]], "kill -TERM $pid")
tap.is(r.out, "status 143\n", "blocked for ever: status")
reported("after.txt", "blocked for ever: the report")
tap.is(read("err"), "", "blocked for ever: nothing is said")

-- Two signals that are there at once: it dies of the same one as ever.
local two = [[
ffi.cdef "int getpid(void); int kill(int, int); int sigemptyset(void *);"
ffi.cdef "int sigaddset(void *, int); int sigprocmask(int, void *, void *);"
local set = ffi.new("char[128]")
ffi.C.sigemptyset(set)
for _, sig in ipairs({ %d, %d }) do ffi.C.sigaddset(set, sig) end
ffi.C.sigprocmask(0, set, nil)
for _, sig in ipairs({ %d, %d }) do ffi.C.kill(ffi.C.getpid(), sig) end
ready()
ffi.C.sigprocmask(1, set, nil)
while true do end
]]
for _, case in ipairs({ { 1, 14 }, { 15, 10 }, { 13, 26 } }) do
  local a, b = case[1], case[2]
  local program = blocked..two:format(a, b, a, b)
  local plain = run("", program, "").out
  tap.is(run("-jm=f,after.txt", program, "").out, plain,
    ("signals %d and %d: status"):format(a, b))
  reported("after.txt", ("signals %d and %d: the report"):format(a, b))
end

-- Interrupted in malloc, with another thread beside.
r = run("-jm=f,after.txt", blocked..[[
ffi.cdef "void *malloc(size_t); void qsort(void *, size_t, size_t, void *);"
ffi.cdef "int pthread_create(void *, void *, void *, void *); int pause(void);"
ffi.cdef "void *realloc(void *, size_t);"
local t = ffi.new("size_t[1]")
-- A thread in pause(), and this one holds malloc's lock when it is asked.
ffi.C.pthread_create(t, nil, ffi.cast("void *", ffi.C.pause), nil)
ffi.cdef "void *mallinfo(void); int malloc_info(int, void *);"
ffi.cdef "void *fopen(const char *, const char *);"
local fp = ffi.C.fopen("/dev/null", "w")
ready()
local asked, ask = pcall(function() return ffi.C.malloc_info end)
while asked do ask(0, fp) end
ffi.cdef "void free(void *);"
while true do ffi.C.free(ffi.C.malloc(100)) end
]], "kill -TERM $pid")
tap.is(r.out, "status 143\n", "in malloc, with two threads: status")
local said = read("err")
tap.ok((read("after.txt") or ""):find("busy") or
  said:find("luajit%-mp: the report is lost"),
  "a report, or a word of its loss",
  said)

tap.done()
