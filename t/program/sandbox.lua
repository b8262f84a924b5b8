-- SPDX-License-Identifier: MIT
-- A program enters a sandbox that kills it for system calls which it does not
-- make: under luajit-mp run its result is the same, and it has a report.

local tap = require("tap")

if jit.arch ~= "x64" or not tap.knows_layout() then
  tap.skip("filters are followed on x86-64, and the profile ends where the "..
    "VM is known")
end

local head = [[
local ffi = require("ffi")
ffi.cdef [=[
  int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);
  long syscall(long, ...);
  int fork(void);
  int getpid(void);
  int kill(int, int);
  int waitpid(int, int *, int);
  typedef struct { uint16_t code; uint8_t jt, jf; uint32_t k; } insn;
  typedef struct { uint16_t len; insn *filter; } filter;
]=]
local C = ffi.C
local KILL, EPERM, ALLOW = 0x80000000, 0x50001, 0x7fff0000
local keep = {}
local function early()
  for i = 1, 50000 do keep[i % 100] = { i, tostring(i) } end
end
local function late()
  for i = 1, 200000 do keep[i % 100] = { i, tostring(i) } end
end
local function pack(p, n)
  local f = ffi.new("filter", n, p)
  keep.filter = { p, f }
  return ffi.cast("unsigned long", ffi.cast("filter *", f))
end
-- A filter with one action for these system calls, and one for all others.
local function filter(calls, these, others)
  local n = #calls
  local p = ffi.new("insn[?]", n + 3, { { 0x20, 0, 0, 0 } })
  for i, call in ipairs(calls) do
    p[i] = ffi.new("insn", 0x15, n - i + 1, 0, call)
  end
  p[n + 1] = ffi.new("insn", 0x06, 0, 0, others)
  p[n + 2] = ffi.new("insn", 0x06, 0, 0, these)
  return pack(p, n + 3)
end
assert(C.prctl(38, 1, 0, 0, 0) == 0)
-- These calls fail, and a signal to all processes does, too.
local function failing(calls)
  local n = #calls
  local p = ffi.new("insn[?]", n + 6, { { 0x20, 0, 0, 0 } })
  for i, call in ipairs(calls) do
    p[i] = ffi.new("insn", 0x15, n - i + 4, 0, call)
  end
  p[n + 1] = ffi.new("insn", 0x15, 0, 2, 62)
  p[n + 2] = ffi.new("insn", 0x20, 0, 0, 16)
  p[n + 3] = ffi.new("insn", 0x15, 1, 0, 0xffffffff)
  p[n + 4] = ffi.new("insn", 0x06, 0, 0, ALLOW)
  p[n + 5] = ffi.new("insn", 0x06, 0, 0, EPERM)
  return pack(p, n + 6)
end
local function by_prctl(f) assert(C.prctl(22, 2, f, 0, 0) == 0) end
local function by_syscall(f)
  local function long(n) return ffi.cast("long", n) end
  assert(C.syscall(317, long(1), long(0), long(f)) == 0)
end
-- read, write, fstat, mmap, mprotect, munmap, brk, rt_sigreturn, mremap, futex,
-- exit_group, newfstatat
local STRICT = { 0, 1, 5, 9, 10, 11, 12, 15, 25, 202, 231, 262 }
early()
]]

local cpath = tap.builddir.."/.uninstalled/?.so;;"
local NOTE = "the profile ended when the program entered a sandbox"

-- The program with a profile and without, named to the command, or run by
-- LuaJIT as any other program is; and with option -jm, which says the same.
-- Returns the report.
local function compare(name, body, options, words)
  local program = tap.program(head..body)
  local out = tap.tmpname(".txt")
  local plain = tap.luajit(program)
  local function try(way, command)
    local r = tap.sh("exec timeout -s KILL 300 "..command,
      { env = { LUA_CPATH = cpath } })
    tap.is(r.status..r.out..r.err, plain.status..plain.out..plain.err,
      name..way..": the result is as without a profile")
    local text = tap.read(out) or ""
    os.remove(out)
    return text
  end
  local text = try("", ("%s run -O %s -o %s %s %s"):format(tap.mp,
    options or "f", out, words or "", program))
  if words == nil then
    local other = try(", -jm", ("%s -jm=%s,%s %s"):format(tap.command,
      options or "f", out, program))
    tap.is(other:match(NOTE), text:match(NOTE), name..", -jm: what it says")
    tap.is(other:match("late") or "", text:match("late") or "",
      name..", -jm: it lasts as long")
  end
  return text, plain
end

local text, plain = compare("few calls are allowed", [[
by_prctl(filter(STRICT, ALLOW, KILL))
late()
print("done")
os.exit(5)]])
if plain.status ~= 5 then tap.skip("no such filters") end
tap.like(text, NOTE, "the report says why it ends")
tap.like(text, "early", "it has what was before")
tap.unlike(text, "late", "and nothing else")

for options, part in pairs {
  fli1 = "early", b1i1 = "early", e = "events", W = "Heap walk: ",
  Lw1 = "in use"
} do
  tap.like(compare("few calls are allowed, "..options, [[
by_syscall(filter(STRICT, ALLOW, KILL))
late()
print("done")
os.exit(5)]], options), part, options..": there is a report")
end

-- Tools that check memory have a library of their own to be loaded first.
local tool = (os.getenv("LIBASAN") or "") ~= "" or tap.slow
local shell = [[ sh -c 'exec "$@"' sh]]
for name, words in pairs(tool and {} or {
  ["as a command"] = "--", ["with C memory"] = "--native --",
  ["by a shell"] = "--"..shell,
  ["by a shell, with C memory"] = "--native --"..shell
}) do
  tap.like(compare("few calls are allowed, "..name, [[
by_prctl(filter(STRICT, ALLOW, KILL))
late()
print("done")
os.exit(5)]], "f", words.." "..tap.command), NOTE, name..": it ends")
end

for name, call in pairs {
  ioctl = 16, gettid = 186, getpid = 39, clock_gettime = 228,
  process_vm_readv = 310, rt_sigaction = 13, openat = 257
} do
  tap.like(compare(name.." is forbidden", [[
by_prctl(filter({ ]]..call..[[ }, KILL, ALLOW))
late()
print("done")
os.exit(5, ]]..tostring(name ~= "rt_sigaction")..")"), NOTE,
    name.." is forbidden: it ends")
end

-- The C library takes the error for the end of its memory.
tap.like(compare("brk fails", [[
by_prctl(filter({ 12 }, EPERM, ALLOW))
late()
print("done")
os.exit(5)]]), NOTE, "brk fails: it ends")

for name, body in pairs {
  ["getrandom fails"] = "by_prctl(filter({ 318 }, EPERM, ALLOW))",
  ["calls fail"] = "by_prctl(filter({ 16, 186, 310, 298 }, EPERM, ALLOW))",
  ["other calls are forbidden"] = "by_prctl(filter({ 101, 59 }, KILL, ALLOW))",
  ["no filter"] = "print(C.prctl(22, 2, 8, 0, 0), C.prctl(22, 7, 0, 0, 0))"
} do
  text = compare(name, body.." late() print('done')")
  tap.like(text, "late", name..": the profile goes on")
  tap.unlike(text, NOTE, name..": to the end")
end

-- Without numbers of processes, or of threads: reports, and the right process
-- dies of the signal, and no other one.
-- A file that cannot be closed has the report all the same.
for name, calls in pairs { getpid = "39", close = "3",
    ["getpid and gettid"] = "39, 186" } do
  for how, last in pairs {
    ends = "os.exit(5)", ["dies of a signal"] = "C.kill(pid, 15) late()",
    forks = [[
if C.fork() == 0 then os.exit(7) end
C.waitpid(-1, nil, 0)
late()]]
  } do
    text = compare(name.." fail, it "..how, [[
local pid = C.getpid()
by_prctl(failing { ]]..calls..[[ })
late()
print("done")
io.stdout:flush()
]]..last)
    tap.like(text, "late", name.." fail, it "..how..": there is a report")
  end
end

-- Modules in C, whose calls are those of an object that is loaded later.
if not tap.is_foreign() and not tap.slow and (os.getenv("LIBASAN") or "") == ""
then
  local dir = tap.tmpdir()
  tap.write(dir.."/confine.c", [[
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct lua_State lua_State;

static const int calls[] = { 0, 1, 5, 9, 10, 11, 12, 15, 25, 202, 231, 262 };
#define N	((int)(sizeof(calls) / sizeof(*calls)))

int confine(void)
{
  struct sock_filter f[N + 3];
  struct sock_fprog p = { N + 3, f };
  int i;
  f[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
  for (i = 0; i < N; i++)
    f[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					    calls[i], N - i, 0);
  f[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0x80000000);
  f[N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0x7fff0000);
  return CALL;
}

int luaopen_confine(lua_State *L) { (void)L; return confine() != 0; }
]])
  local load = ("package.cpath = %q..package.cpath "):format(dir.."/?.so;")
  for how, flags in pairs {
    ["by prctl"] = "-DCALL='prctl(22, 2, &p)'",
    ["by syscall"] = "-DCALL='syscall(SYS_seccomp, 1, 0, &p)'",
    ["by prctl, read-only"] = "-Wl,-z,now,-z,relro -DCALL='prctl(22, 2, &p)'",
    ["by an address"] = "-fno-plt -DCALL='(&prctl)(22, 2, &p)'"
  } do
    local cc = tap.sh("cc -shared -fPIC -O1 "..flags..
      " -o confine.so confine.c", { dir = dir })
    if cc.status == 0 then
      tap.like(compare("a module, "..how, load..[[
require("confine")
late()
print("done")
os.exit(5)]]), NOTE, "a module, "..how..": it ends")
    end
  end
  tap.like(compare("a library", ([[
ffi.cdef "int confine(void);"
assert(ffi.load(%q).confine() == 0)
late()
print("done")
os.exit(5)]]):format(dir.."/confine.so")), NOTE, "a library: it ends")
end

text = compare("a child enters one", [[
local pid = C.fork()
if pid == 0 then
  by_prctl(filter(STRICT, ALLOW, KILL))
  late()
  os.exit(7)
end
local status = ffi.new("int[1]")
C.waitpid(pid, status, 0)
print(status[0])
late()]])
tap.like(text, "late", "a child enters one: the parent's profile goes on")

tap.done()
