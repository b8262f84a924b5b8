-- SPDX-License-Identifier: MIT
-- Each output that can be written is written, whatever happens to the others;
-- the others are named with the reason; the program notices nothing.

local tap = require("tap")
local core = require("jit.mp.core")
local luajit = tap.command
local asan = os.getenv("LIBASAN") and os.getenv("LIBASAN") ~= ""

local dir = tap.tmpdir()
local function read(name) return tap.read(dir.."/"..name) end
local function sh(command, env)
  return tap.sh(command, { dir = dir, env = env })
end
local function left()
  return sh("ls -A | grep tmp").out
end

tap.write(dir.."/work.lua", [[
local keep = {}
local function busy(n)
  for i = 1, n do keep[i % 100 + 1] = { i } end
end
busy(50000)
]])
tap.write(dir.."/wait.lua", "dofile('work.lua') os.execute('sleep 0.5')")
local function is_report(name, what)
  tap.like(read(name) or "", "^luajit%-mp  .*busy", what)
end

-- -- FIFOs and pipes that nobody reads ---------------------------------------

-- They take their time, and are looked at in the end.
tap.write(dir.."/dies.lua", [[
dofile("work.lua")
local ffi = require("ffi")
ffi.cdef "int raise(int);"
ffi.C.raise(15)
while true do end]])
local function begin(name, output, program)
  sh(("mkfifo %s; { %s timeout -s KILL 300 %s -jm=f,%s,%s.txt %s 2>%s.err; "..
    "echo $? >%s.new; mv %s.new %s.status; } >/dev/null 2>&1 &"):format(output,
    name == "full" and "exec 3<>"..output..";" or "", luajit, output, name,
    program, name, name, name, name))
end
local unread = {
  { "ended", "ended.fifo.txt", "work.lua", 0, "the program's end" },
  { "asked", "asked.fifo.txt", "dies.lua", 143, "a signal" },
  { "full", "full.fifo.html", "dies.lua", 143, "a signal, nobody reads on" },
}
for _, u in ipairs(unread) do begin(u[1], u[2], u[3]) end
-- A reader that does not read: its pipe is full.
sh(([[{ timeout 2 cat /dev/zero
  timeout -s KILL 300 %s -jm=f,-,pipe.txt dies.lua 2>pipe.err
  echo $? >pipe.new; mv pipe.new pipe.status; } 2>/dev/null |
  while [ ! -e pipe.status ]; do sleep 0.1; done >/dev/null 2>&1 &]]):format(
  luajit))
-- The same with a socket.
tap.write(dir.."/socket.lua", [[
dofile("work.lua")
local ffi = require("ffi")
ffi.cdef [=[ int socketpair(int, int, int, int *); int dup2(int, int);
  ssize_t send(int, const void *, size_t, int); int raise(int); ]=]
local two, bytes = ffi.new("int[2]"), ffi.new("char[4096]")
assert(ffi.C.socketpair(1, 1, 0, two) == 0)
while ffi.C.send(two[0], bytes, 4096, 64) > 0 do end  -- MSG_DONTWAIT
while ffi.C.send(two[0], bytes, 1, 64) > 0 do end
assert(ffi.C.dup2(two[0], 1) == 1)
ffi.C.raise(15)
while true do end]])
sh(([[{ timeout -s KILL 300 %s -jm=f,-,socket.txt socket.lua 2>socket.err
  echo $? >socket.new; mv socket.new socket.status; } >/dev/null 2>&1 &]])
  :format(luajit))
-- A reader that reads little: no page of the pipe is read for a while.
sh(([[{ timeout 2 cat /dev/zero
  timeout -s KILL 300 %s -jm=f,-,slow.txt dies.lua 2>slow.err
  echo $? >slow.new; mv slow.new slow.status; } 2>/dev/null |
  { sleep 4; n=0; while [ $n -lt 7 ]; do LD_PRELOAD= dd bs=500 count=1; sleep 1
    n=$((n+1)); done; tr -d '\0' >slow.report; } >/dev/null 2>&1 &]]):format(
  luajit))
-- One program is replaced by another, which would get the signal, too.
local replaces = not tap.slow and not asan
if replaces then
  tap.write(dir.."/exec.lua", [[
  dofile("work.lua")
  local ffi = require("ffi")
  ffi.cdef "unsigned alarm(unsigned); int execv(const char *, char *const *);"
  local words = ffi.new("const char *[3]", { "sleep", "200" })
  ffi.C.alarm(2)
  ffi.C.execv("/bin/sleep", ffi.cast("char *const *", words))]])
  sh(([[mkfifo exec.fifo.html
  { exec 3<>exec.fifo.html
  LUA_CPATH='%s/.uninstalled/?.so;;' timeout -s KILL 300 %s run -O f \
    -o exec.fifo.html -o exec.txt -- %s exec.lua 2>exec.err
  echo $? >exec.new; mv exec.new exec.status; } >/dev/null 2>&1 &]]):format(
    tap.builddir, tap.mp, luajit))
end

-- A reader that is there has all of it.
local r = sh(("mkfifo read.html; timeout 60 cat read.html >got.html & "..
  "timeout -s KILL 60 %s -jm=f,read.html work.lua; echo $?; wait"):format(
  luajit))
tap.is(r.out..r.err, "0\n", "a FIFO with a reader: status")
tap.like(read("got.html") or "", "^<!.*</html>%s*$", "has all of the report")

-- -- Readers that go, limits ------------------------------------------------

local leaves = "{ %s%s -jm=f,-,after.txt wait.lua; echo status $? >&2; } | true"
r = sh(leaves:format("", luajit))
tap.is(r.err, "status 0\n",
  "the reader of stdout has gone, as head does: status, no message")
is_report("after.txt", "the next output is written")
r = sh(leaves:format("trap '' PIPE; ", luajit))
tap.is(r.err, "luajit-mp: cannot write to standard output: Broken pipe\n"..
  "status 0\n", "a program that ignores SIGPIPE: said")

-- A program that prints dies of it, as it does alone.
local prints = "print(('x'):rep(100)) os.execute('sleep 0.5')"
local function status_of(flags)
  r = sh(([[{ %s %s -e "%s"; echo status $? >&2; } | true]]):format(luajit,
    flags, prints))
  return r.err:match("status (%d+)")
end
local plain = status_of("")
tap.is(status_of("-jm=f,prints.txt"), plain,
  "a program that prints: its status")
tap.is(status_of("-jm=f,-,prints2.txt"), plain, "also where the report follows")
tap.ok(read("prints2.txt"), "with its other output")

r = sh(("ulimit -f 2; %s -jm=fb1,a.txt,large.html,b.txt,large2.html work.lua; "
  .."echo status $?"):format(luajit))
tap.is(r.out, "status 0\n", "a limit of file sizes: status")
tap.is(r.err, "luajit-mp: cannot write 'large2.html': File too large\n"..
  "luajit-mp: cannot write 'large.html': File too large\n", "both are named")
is_report("a.txt", "the output before it")
is_report("b.txt", "and the one after it")
tap.is(left(), "", "no temporary file is left")

-- -- Failures have names ----------------------------------------------------

r = sh(luajit.." -jm=fi1000,x.folded,x.cpuprofile,/dev/full,c.txt "..
  "-e 'local t = {}'")
tap.is(r.status, 0, "three of four outputs fail: status")
for _, name in ipairs({ "x.folded", "x.cpuprofile" }) do
  tap.like(r.err, "luajit%-mp: cannot make '"..name.."': no CPU samples",
    name.." is named, and why")
end
tap.like(r.err, "luajit%-mp: cannot write '/dev/full': No space",
  "/dev/full too")
tap.like(read("c.txt") or "", "^luajit%-mp", "the fourth is written")

-- Memory that is refused while the report is made.
if not asan and not tap.slow and require("ffi").os == "Linux" then
  tap.write(dir.."/poor.lua", [[
dofile("work.lua")
local ffi = require("ffi")
ffi.cdef "struct rl { unsigned long now, max; };"
ffi.cdef "int setrlimit(int, const struct rl *);"
ffi.C.setrlimit(9, ffi.new("struct rl", 1, 1)) -- RLIMIT_AS
]])
  r = sh(luajit.." -jm=fb1,poor.html,poor.txt poor.lua")
  tap.is(r.status, 0, "no memory for a report: status")
  tap.like(r.err, "cannot make 'poor.html': not enough memory\n",
    "no memory for a report: said")
end

-- -- Directories and names --------------------------------------------------

r = sh("mkdir out; "..luajit.." -jm=f,out/a.txt -e 'dofile(\"work.lua\") "..
  "os.execute(\"rm -r out; mkdir out\")'")
tap.is(r.err, "", "a directory removed and made again")
is_report("out/a.txt", "it has the report")
-- The directory's descriptor is closed like others.
tap.write(dir.."/closes.lua", [[
  local ffi = require("ffi")
  ffi.cdef "int close(int);"
  for fd = 3, 999 do ffi.C.close(fd) end
  dofile("work.lua")]])
for _, outputs in ipairs { "c.txt", "c.html,c.txt", "c.txt,d/c.txt" } do
  r = sh("rm -f c.txt; mkdir -p d; "..luajit.." -jm=f,"..outputs..
    " closes.lua")
  tap.is(r.err, "", "descriptors closed, "..outputs..": no message")
  is_report("c.txt", "descriptors closed, "..outputs..": the report")
end
is_report("d/c.txt", "descriptors closed: the report in another directory")

-- The program's descriptors have the numbers that they have without a profile.
tap.write(dir.."/numbers.lua", [[
  local ffi = require("ffi")
  ffi.cdef "int close(int); int dup(int);"
  local numbers = {}
  for i = 1, 3 do
    dofile("work.lua")
    numbers[i] = ffi.C.dup(0)
    for fd = 3, 999 do ffi.C.close(fd) end
  end
  local f = io.open("numbers.txt", "w")
  f:write(table.concat(numbers, " "))
  f:close()]])
sh(luajit.." numbers.lua </dev/null")
local numbers = tap.read(dir.."/numbers.txt")
tap.like(numbers, "^%d+ %d+ %d+$", "numbers of descriptors")
if (tonumber(sh("ulimit -n").out) or 999) > 300 then
  sh(luajit.." -jm=fw1,c.txt,d/c.txt numbers.lua </dev/null")
  tap.is(tap.read(dir.."/numbers.txt"), numbers, "the same with a profile")
end

-- A stream that the program does not have is not a file of the profiler's.
tap.write(dir.."/streams.lua", [[
  local ffi = require("ffi")
  ffi.cdef "int readlink(const char *, char *, size_t);"
  dofile("work.lua")
  local to, buf = assert(io.open("streams.txt", "w")), ffi.new("char[99]")
  for fd = 0, 2 do
    local n = ffi.C.readlink("/proc/self/fd/"..fd, buf, 99)
    to:write(n < 0 and "closed" or ffi.string(buf, n):match("[^/]*$"), "\n")
  end
  to:write(tostring(io.read(1)), "\n", tostring(io.write("")), "\n")
  to:close()]])
for _, closed in ipairs { "<&-", ">&-", "2>&-", "<&- >&- 2>&-" } do
  local run = " -jm=fw1,c.txt,c.html streams.lua </dev/null "..closed
  sh(luajit.." streams.lua </dev/null "..closed)
  local want = tap.read(dir.."/streams.txt")
  sh("rm -f c.txt; "..luajit..run)
  local got = tap.read(dir.."/streams.txt"):gsub("lua_%w+", "file")
  tap.is(got, (want:gsub("lua_%w+", "file")), closed..
    ": the program finds what it would")
  is_report("c.txt", closed..": the report")
end
r = sh("ln -s far.txt near.txt; "..luajit.." -jm=f,near.txt work.lua")
is_report("far.txt", "a dangling link: its target is made")
r = sh(luajit.." -jm=f,/dev/stdout -e 'dofile(\"work.lua\") print(\"first\")' "
  ..">log.txt")
tap.like(read("log.txt"), "^first\nluajit%-mp  .*busy",
  "/dev/stdout: after the program's own output")

-- pprof: one file under its own name, or two, and then both names are said.
r = sh(luajit.." -jm=fh,h.pb.gz work.lua; ls *.pb.gz; rm *.pb.gz")
tap.is(r.out..r.err, "h.pb.gz\n", "heap alone is written under the name")
r = sh(luajit.." -jm=f,both.pb.gz work.lua; ls *.pb.gz; rm *.pb.gz")
tap.like(r.out, "both.heap.pb.gz\n", "CPU and heap apart")
tap.like(r.err, "luajit%-mp: both.pb.gz stands for both.cpu.pb.gz and "..
  "both.heap.pb.gz; option P writes one file\n", "both names are said")
r = sh(luajit.." -jm=fP,one.pb.gz work.lua; ls *.pb.gz; rm *.pb.gz")
tap.is(r.out..r.err, "one.pb.gz\n", "option P writes one")

-- -- The writer for Lua -----------------------------------------------------

local name = dir.."/put%p.txt"
tap.is(core.write(name, "a\0b"), true, "core.write")
tap.is(tap.read(name), "a\0b", "writes the text, by that name")
os.execute("chmod 600 '"..name.."'")
core.write(name, "more")
tap.like(sh("ls -l put*").out, "^%-rw%-%-%-%-%-%-%-", "the mode stays")
local ok, msg, errno = core.write(dir, "x")
tap.is(ok, nil, "core.write: a directory")
tap.like(msg, "cannot write '[^\n]+': Is a directory", "core.write: a message")
tap.is(errno, 21, "core.write: errno")
ok, msg, errno = core.write("/dev/full", "x")
tap.is(errno, 28, "core.write: a full device", msg)
tap.is(pcall(core.write, dir), false, "core.write needs a text")

-- -- The FIFOs again --------------------------------------------------------

if replaces then
  unread[#unread+1] = { "exec", "exec.fifo.html", nil, 142, "exec" }
end
unread[#unread+1] = { "pipe", nil, nil, 143, "a full pipe" }
unread[#unread+1] = { "socket", nil, nil, 143, "a full socket" }
for _, u in ipairs(unread) do
  local name, output, what = u[1], u[2], "nobody reads, "..u[5]
  sh("n=0; while [ ! -e "..name..".status ] && [ $n -lt 3000 ]; do "..
    "sleep 0.1; n=$((n+1)); done")
  tap.is(read(name..".status"), u[4].."\n", what..": status")
  tap.like(read(name..".err") or "", "^luajit%-mp: cannot write "..(output and
    "'"..output.."': nobody reads this FIFO\n" or
    "to standard output: nobody reads the other end\n"), what..": said")
  is_report(name..".txt", what..": the next output is written")
end

sh("n=0; while [ ! -e slow.status ] && [ $n -lt 3000 ]; do sleep 0.1; "..
  "n=$((n+1)); done; n=0; while ! grep -q busy slow.report && "..
  "[ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done")
tap.unlike(read("slow.err"), "luajit%-mp", "a slow reader: nothing is said")
is_report("slow.report", "and it has the report")

tap.done()
