-- SPDX-License-Identifier: MIT
-- luajit-mp run --native in a host whose threads allocate C memory all the time
-- while it forks: no child may wait for a lock that a thread of its parent had.
local tap = require("tap")

if (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("the sanitizers stand before malloc themselves")
end

local dir = tap.tmpdir()

-- busy(n): n threads that allocate until the process ends. spawn(n, end_here):
-- n children that allocate, one after the other, forked by a thread that is not
-- Lua's; returns how many of them did not end by themselves.
tap.write(dir.."/busy.c", [[
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(unsigned n)
{
  void *kept[64] = { 0 };
  unsigned i;
  for (i = 0; i < n; i++) {
    void **p = &kept[i * 7 % 64];
    if (i % 3 == 0) *p = realloc(*p, 1 + i * 37 % 5000);
    else { free(*p); *p = i % 5 ? malloc(1 + i % 900) : calloc(3, i % 400); }
    if (i % 64 == 0) munmap(mmap(0, 8192, 3, 0x22, -1, 0), 8192);
  }
  for (i = 0; i < 64; i++) free(kept[i]);
}

static void *work_always(void *data)
{
  for (;;) work(1000);
  return data;
}

int busy(int n)
{
  pthread_t t;
  while (n-- > 0) if (pthread_create(&t, 0, work_always, 0) != 0) return 0;
  return 1;
}

static int wanted;

static void *spawn_all(void *data)
{
  long bad = 0;
  int i, status;
  for (i = 0; i < wanted; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(30);
      work(200);
      free(strdup("a text"));
      _exit(0);
    }
    bad += pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
  }
  return (void *)bad;
}

int spawn(int n)
{
  pthread_t t;
  void *bad;
  wanted = n;
  if (pthread_create(&t, 0, spawn_all, 0) != 0) return -1;
  pthread_join(t, &bad);
  return (int)(long)bad;
}
]])
local cc = os.getenv("CC") or "cc"
local built = tap.sh(cc.." -O -fPIC -shared -pthread -o busy.so busy.c",
  { dir = dir }).status == 0
local load = tap.program(("require('ffi').load(%q)"):format(dir.."/busy.so"))
if not built or tap.luajit(load).status ~= 0 then
  tap.skip("no library can be built here")
end

-- Children of the Lua thread go on in Lua, and end with a report of their own.
local program = tap.program(([[
local ffi = require("ffi")
ffi.cdef("int busy(int); int spawn(int); int fork(void);"..
  "unsigned alarm(unsigned); int waitpid(int, int *, int);"..
  "void *malloc(size_t); void free(void *);")
local lib, forks = ffi.load("%s/busy.so"), tonumber(arg[1])
assert(lib.busy(3) == 1)
local bad, status = 0, ffi.new("int[1]")
for i = 1, forks / 10 do
  local pid = ffi.C.fork()
  if pid == 0 then
    ffi.C.alarm(30)
    for k = 1, 200 do ffi.C.free(ffi.C.malloc(k)) end
    os.exit(0)
  end
  ffi.C.waitpid(pid, status, 0)
  if status[0] ~= 0 then bad = bad + 1 end
end
print(bad, lib.spawn(forks))
os.exit(0)
]]):format(dir))

local function run(name, opts, env)
  env.LUA_CPATH = tap.loadable().."/.uninstalled/?.so;;"
  local r = tap.sh(("timeout 120 %s run --native -o %s/%%p.mp -O %s %s %d")
    :format(tap.mp, dir, opts, program, tap.slow and 20 or 40), { env = env })
  if r.err:find("is not beside", 1, true) then
    tap.skip("the library is not built")
  end
  tap.is(r.status, 0, name..": the host ends as it would")
  tap.is(r.out, "0\t0\n", name..": and so do its children")
  local reports = tap.sh("ls "..dir.." | grep -c mp$; rm -f "..dir.."/*.mp")
  tap.is(reports.out, tap.slow and "3\n" or "5\n", name..": with reports")
end

run("every allocation", "fb1", {})
run("samples", "f", {})
local libs = os.getenv("MP_ALLOCATORS") or "/usr/lib/x86_64-linux-gnu"
for _, lib in ipairs({ "libjemalloc.so.2", "libmimalloc.so.2" }) do
  if tap.read(libs.."/"..lib) then
    run(lib, "fb1", { LD_PRELOAD = libs.."/"..lib })
  else
    tap.ok(true, lib.." is not installed # SKIP")
  end
end

tap.done()
