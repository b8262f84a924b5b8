-- SPDX-License-Identifier: MIT
-- luajit-mp attach where it cannot: each reason is made true, and is given.

local process = require("attach.process")
local tap = require("tap")

if tap.slow or (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("attached programs run on the bare machine only")
elseif jit.arch ~= "x64" then
  tap.skip("the programs are for x86-64")
end

local dir = tap.tmpdir()
local is_root = tap.sh("id -u").out == "0\n"
local program = ("%s '%s/t/attach/alloc.lua'"):format(tap.command, tap.srcdir)

-- Runs the command, which must refuse with that message about the process.
local function refused(name, pid, pattern, prefix)
  local r = tap.sh(("%s %s attach -t 0.1 %s"):format(prefix or "", tap.mp, pid),
    { dir = dir })
  tap.is(r.status, 1, name..": status")
  tap.is(r.out, "", name..": no report")
  -- On a busy machine the command says before that it waits.
  local said = r.err:gsub("^luajit%-mp: waiting for [^\n]*\n", "")
  tap.like(said, "^luajit%-mp: [^\n]*process "..pid..": [^\n]*"..pattern..
    "[^\n]*\n$", name..": said")
end

-- A command that runs until the test ends.
local commands = {}
local function run(command)
  local pid = tap.sh(command.." >/dev/null 2>&1 & echo $!; sleep 0.2",
    { dir = dir }).out:match("%d+")
  commands[#commands+1] = pid
  return pid
end

local function is_running(pid)
  local stat = tap.read("/proc/"..pid.."/stat")
  return stat and not stat:find("%) Z ")
end

-- Waits until a program that does nothing but compute is well under way.
local TICKS = 10
local function under_way(pid) return process.under_way(pid, TICKS) end

local p = process.start(dir, program)
under_way(p.pid)
local r = tap.sh(tap.mp.." attach -t 0.1 "..p.pid)
if r.err:find("not permitted", 1, true) then
  p:kill()
  tap.skip("processes may not be traced here")
end

-- -- Not permitted -----------------------------------------------------------

local drop = "setpriv --bounding-set=-sys_ptrace"
if not is_root then
  refused("a process of root's", 1, "not permitted: process 1 belongs to "..
    "another user, or has changed its user; run luajit%-mp as root")
elseif tap.sh(drop.." true").status == 0 then
  refused("without the capability", p.pid, "not permitted: .*CAP_SYS_PTRACE",
    drop)
  local other = run("setpriv --reuid=65534 --clear-groups sleep 60")
  refused("another user's", other, "not permitted: process "..other..
    " belongs to another user", drop)
end
tap.is(is_running(p.pid) and "runs" or "ended", "runs",
  "what was refused goes on")

-- -- No LuaJIT, or one that cannot be used -----------------------------------

refused("a program without LuaJIT", run("sleep 60"), "has no LuaJIT in it")

tap.write(dir.."/main.c", "#include <unistd.h>\n"..
  "int main(void) { for (;;) pause(); }\n")
if tap.sh("cc -static -o static main.c", { dir = dir }).status == 0 then
  refused("a static program", run("./static"), "it is linked statically")
end
tap.write(dir.."/none.c", "void _start(void) { for (;;) ; }\n")
if tap.sh("cc -nostdlib -pie -fPIE -Wl,-dynamic-linker,"..
  "/lib64/ld-linux-x86-64.so.2 -o none none.c", { dir = dir }).status == 0 then
  refused("a program before its libraries are loaded", run("./none"),
    "has not loaded a C library: if it is only starting, try again")
end
local archive = tap.sh("pkg-config --variable=libdir luajit").out
  :match("[^\n]+")
archive = (archive or "").."/libluajit-5.1.a"
if tap.read(archive) and tap.sh(("cc -s -o hidden '%s/t/attach/host.c' "..
    "$(pkg-config --cflags luajit) %s -lm -ldl -lpthread"):format(tap.srcdir,
    archive), { dir = dir }).status == 0 then
  refused("a LuaJIT without any symbols", run("./hidden running one"),
    "neither exported nor in a symbol table; link the program with %-Wl,%-E, "..
    "or do not strip it, or install its debug file")
end

if tap.sh("musl-gcc -o musl main.c", { dir = dir }).status == 0 then
  local musl = run("./musl")
  if is_running(musl) then
    refused("a program with another C library", musl, "the program's C "..
      "library is musl, and this luajit%-mp was built with glibc: build it "..
      "with musl, and run that one")
  end
end

tap.write(dir.."/leave.c", "#include <pthread.h>\n#include <unistd.h>\n"..
  "static void *wait(void *p) { for (;;) pause(); return p; }\n"..
  "int main(void) { pthread_t t; pthread_create(&t, 0, wait, 0);\n"..
  "pthread_exit(0); }\n")
if tap.sh("cc -pthread -o leave leave.c", { dir = dir }).status == 0 then
  refused("a program without its main thread", run("./leave"), "the main "..
    "thread of process %d+ has ended, and luajit%-mp needs it")
end

-- A program for i386: it pauses for ever.
local function words(list)
  for i, n in ipairs(list) do
    list[i] = string.char(n % 256, math.floor(n / 256) % 256,
      math.floor(n / 65536) % 256, math.floor(n / 16777216))
  end
  return table.concat(list)
end
local code = "\184\29\0\0\0\205\128\235\247"
local base, size = 0x8048000, 52 + 32 + #code
tap.write(dir.."/i386", "\127ELF\1\1\1"..("\0"):rep(9)..words({ 0x30002, 1,
  base + 84, 52, 0, 0, 0x200034, 1, 0, 1, 0, base, base, size, size, 5, 4096 })
  ..code)
tap.sh("chmod +x i386", { dir = dir })
local i386 = run("./i386")
if is_running(i386) then
  refused("another architecture", i386, "is for i386, and this luajit%-mp "..
    "for x86%-64: run one that was built for i386")
end

-- -- Seccomp filters --------------------------------------------------------

-- Below a filter the program runs on, whether attached to or not.
local IOCTL, PERF, MEMFD, MOUNT, SIGACTION = 16, 298, 319, 165, 13
local function confined(filter)
  return under_way(run(("./confine %s -- %s %s"):format(filter, program,
    p.file)))
end

-- Whether a process below a filter can be attached to: filters can be read.
local function are_read()
  return tap.sh(tap.mp.." attach -t 0.1 "..confined("kill "..MOUNT))
    .status == 0
end

local built = tap.sh(("cc -o confine '%s/t/attach/confine.c'"):format(
  tap.srcdir), { dir = dir }).status == 0
if built and is_root and are_read() then
  for _, f in ipairs({ { "kill "..PERF, "perf_event_open" },
    { "trap "..MEMFD, "memfd_create" }, { "argument "..IOCTL, "ioctl" },
    { "error "..SIGACTION, "rt_sigaction" } }) do
    local pid = confined(f[1])
    refused("a filter: "..f[1], pid, "its seccomp filter would kill it for "..
      "a system call that a profile needs %("..f[2].."%)")
    tap.ok(is_running(pid), "a filter: "..f[1]..": it runs on")
  end
  local pid = confined("error "..PERF)
  local r = tap.sh(tap.mp.." attach -t 0.1 "..pid)
  tap.is(r.status, 0, "a filter that lets a profile be: status", r.err)
  tap.ok(is_running(pid), "a filter that lets a profile be: it runs on")
  local blind = "setpriv --bounding-set=-sys_admin"
  if tap.sh(blind.." true").status == 0 then
    pid = confined("kill "..MOUNT)
    refused("a filter that cannot be read", pid, "run luajit%-mp as root, "..
      "outside of the sandbox", blind)
    r = tap.sh(("./confine kill %d -- %s %s attach -t 0.1 %s"):format(
      MOUNT, blind, tap.mp, pid), { dir = dir })
    tap.is(r.status, 0, "the same filter as ours", r.err)
    refused("another one than ours", pid, "run luajit%-mp as root, outside "..
      "of the sandbox", ("%s/confine kill %d -- %s"):format(dir, MEMFD, blind))
    tap.ok(is_running(pid), "a filter that cannot be read: it runs on")
  end
end

-- -- A process that is not a friend -------------------------------------------

tap.sh("mkfifo fifo", { dir = dir })
if tap.sh(("cc -Wl,-E -o hostile '%s/t/attach/hostile.c' "..
  "$(pkg-config --cflags --libs luajit)"):format(tap.srcdir),
  { dir = dir }).status == 0 then
  for _, name in ipairs({ dir.."/fifo", "/dev/zero", "/etc/passwd" }) do
    refused("the profile is "..name:match("[^/]+$"), under_way(run(
      ("./hostile %s %s"):format(p.file, name))), "its profile is not a file "..
      "that luajit%-mp reads")
  end
end

-- -- Memory that was never touched --------------------------------------------

tap.write(dir.."/sparse.lua", [[
local ffi = require("ffi")
ffi.cdef("void *mmap(void *, size_t, int, int, int, long);")
if ffi.cast("intptr_t", ffi.C.mmap(nil, 2^36, 3, 0x4022, -1, 0)) == -1 then
  os.exit(1)
end
dofile(arg[2])
]])
local sparse = under_way(run(("%s sparse.lua %s '%s/t/attach/alloc.lua'")
  :format(tap.command, p.file, tap.srcdir)))
local function page_tables()
  return tonumber((tap.read("/proc/"..sparse.."/status") or "")
    :match("VmPTE:%s*(%d+)"))
end
local before = page_tables()
if is_running(sparse) and before then
  r = tap.sh(tap.mp.." attach -t 0.1 "..sparse)
  tap.is(r.status, 0, "64 GB of untouched memory: status", r.err)
  tap.ok(page_tables() < before + 1000, "its page tables are as large",
    ("%d kB, then %d"):format(before, page_tables()))
end

-- -- Profiled already, several states, another mount namespace ---------------

local profiled = under_way(run(("%s -jm=f,/dev/null '%s/t/attach/alloc.lua' %s")
  :format(tap.command, tap.srcdir, p.file)))
r = tap.sh(tap.mp.." attach -t 0.1 "..profiled)
tap.is(r.status, 1, "a process with -jm: status")
tap.like(r.err, "process "..profiled.." is being profiled already",
  "a process with -jm: said")

-- Another file system where our library is.
local hide = ("mount -t tmpfs none %s"):format(tap.quote(tap.builddir..
  "/.uninstalled"))
local unshare = is_root and "unshare -m" or "unshare -rm"
if tap.sh(("%s sh -c %s"):format(unshare, tap.quote(hide))).status == 0 then
  local away = run(("%s sh -c %s"):format(unshare, tap.quote(
    ("%s; exec %s %s"):format(hide, program, p.file))))
  os.execute("sleep 0.5")
  refused("another mount namespace", away, "does not see .*/jit/mp/core.so: "..
    "it runs in a container or below another root; install luajit%-mp there, "..
    "and run it there %(docker exec, or nsenter %-t "..away.." %-m %-p%), "..
    "for process "..away)
end

r = tap.sh("exec "..tap.mp.." attach -t 0.1 $$")
tap.is(r.status, 1, "itself: status")
tap.like(r.err, "process %d+ is luajit%-mp itself", "itself: said")

for _, pid in ipairs(commands) do tap.sh("kill -KILL "..pid.." 2>/dev/null") end
tap.like(p:stop(), "^right", "its results are right after all")
tap.done()
