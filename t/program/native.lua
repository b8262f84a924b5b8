-- SPDX-License-Identifier: MIT
-- C memory by Lua line: luajit-mp run --native.
local tap = require("tap")

if (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("the sanitizers stand before malloc themselves")
end

local cpath = tap.loadable().."/.uninstalled/?.so;;"

local function run(opts, program, env, args)
  env = env or {}
  env.LUA_CPATH = cpath
  return tap.sh(("%s run --native %s %s %s"):format(tap.mp, opts,
    program, args or ""), { env = env })
end

-- Bytes of the stacks with a frame of that name in a profile: allocated and in
-- use. scope: of names.
local function bytes_of(mp, scope, name)
  local sums = {}
  for i, view in ipairs({ "Y", "U" }) do
    local r = tap.sh(("%s report %s G%s%s"):format(tap.mp, mp, scope, view))
    sums[i] = 0
    for stack, n in r.out:gmatch("([^\n]+) (%d+)\n") do
      if (";"..stack..";"):find(";"..name..";", 1, true) then
	sums[i] = sums[i] + tonumber(n)
      end
    end
  end
  return sums[1], sums[2]
end

local head = [[
local ffi = require("ffi")
ffi.cdef("void *malloc(size_t); void *calloc(size_t, size_t);"..
  "void *realloc(void *, size_t); void free(void *);"..
  "void *aligned_alloc(size_t, size_t); char *strdup(const char *);"..
  "int posix_memalign(void **, size_t, size_t);"..
  "void *mmap(void *, size_t, int, int, int, long);"..
  "int munmap(void *, size_t);"..
  "int pthread_create(uintptr_t *, void *, void *, void *);"..
  "int pthread_join(uintptr_t, void **);")
local C = ffi.C
]]

local exact = tap.program(head..[[
local kept = {}
local function all()
  for i = 1, 3000 do
    kept[i] = C.malloc(1000)
    C.free(C.malloc(600))
  end
  local p = C.calloc(10, 100)
  p = C.realloc(p, 5000)
  C.realloc(p, 2^46)
  C.aligned_alloc(64, 640)
  local to = ffi.new("void *[1]")
  C.posix_memalign(to, 64, 1280)
  C.strdup(("x"):rep(99))
  local m = C.mmap(nil, 81920, 3, 0x22, -1, 0)
  C.mmap(nil, 40960, 3, 0x22, -1, 0)
  C.munmap(m, 81920)
end
all()
os.exit(7)
]])

local mp = tap.tmpname(".mp")
local r = run("-o - -o "..mp.." -O lrm0b1YU", exact)
if r.err:find("is not beside", 1, true) then
  tap.skip("the library is not built")
end
tap.is(r.status, 7, "the program ends as it would")
tap.is(r.err, "", "and says nothing")
local name = exact:match("[^/]+$")
local function is(line, all, held, what)
  local a, h = bytes_of(mp, "l", name..":"..line)
  tap.ok(a == all and h == held, what,
    ("got %d, %d; want %d, %d"):format(a, h, all, held))
end

if r.out:find("capture exact", 1, true) then
  is(14, 3000000, 3000000, "malloc, to the byte")
  is(15, 1800000, 0, "and free")
  is(17, 1000, 0, "calloc")
  is(18, 5000, 5000, "realloc; one that fails changes nothing")
  is(20, 640, 640, "aligned_alloc")
  is(22, 1280, 1280, "posix_memalign")
  is(23, 100, 100, "what the C library allocates")
  is(24, 81920, 0, "mmap and munmap")
  is(25, 40960, 40960, "mmap")
  r = run("-O frm0b1YU2", exact)
  tap.like(r.out, " 4%d%d%d%d%d%d +2%d+ +malloc < all\n",
    "the C function is a frame")
  tap.like(r.out, "\nC memory +[%d.]+ MB +in use, [%d.]+ MB allocated"..
    " +every allocation\n", "the header has the sums")
  for _, jit in ipairs({ "jit.on()", "jit.off()" }) do
    r = run("-O Ufrom0b1", tap.program(jit..head..[[
      local kept = {}
      for i = 1, 1000 do kept[i] = C.malloc(100) end
      os.exit(0)]]))
    tap.like(r.out, "\n +1000 +1000   malloc\n", jit..": malloc has one name")
  end
  -- A shell script that starts luajit leaves it the library.
  r = tap.sh(([[%s run --native -O Yfrm0b1 -o - -- sh -c 'ls / >&2; exec "$@"' \
    sh %s %s]]):format(tap.mp, tap.command, exact),
    { env = { LUA_CPATH = cpath } })
  tap.like(r.out, " 4%d%d%d%d%d%d +[^\n]*malloc", "by a shell: C memory", r.err)
  tap.is(r.status, 7, "by a shell: the program's end")
else
  tap.like(r.out, "%(not known%)", "where the VM cannot be read, this is said")
end

r = tap.luajit("-jm=YU "..exact)
tap.like(r.out, "no C memory: luajit%-mp run %-%-native measures it",
  "without the library the view says how to have it")
tap.is(r.status, 7, "and the program runs")

-- -- Samples -----------------------------------------------------------------

local text = head..[[
local function busy(n) for i = 1, n do C.free(C.malloc(100 + i % 900)) end end
busy(300000)
local kept = {}
local function keep(n) for i = 1, n do kept[i] = C.malloc(2000) end end
keep(20000)
print(#kept)
os.exit(0)
]]
local program = tap.program(text)
r = run("-o "..mp.." -O fb16k", program)
local exactly = tap.sh(tap.mp.." report "..mp.." f").out:find("capture exact",
  1, true)
local all, held = bytes_of(mp, "f", "busy")
tap.diag(("busy %d, %d"):format(all, held))
if exactly then
  local want = 300000 * 549.5
  tap.ok(math.abs(all - want) < 0.08 * want, "what was allocated, by samples",
    r.out)
  tap.ok(held < 2e5, "and no more is in use than the machine code", held)
  all, held = bytes_of(mp, "f", "keep")
  tap.ok(math.abs(held - 4e7) < 0.12 * 4e7, "what is in use, by samples", held)
  tap.ok(all == held, "all of it is")
end
tap.like(r.out, "^20000\n", "the program prints what it prints")

-- -- Memory that is not counted ----------------------------------------------

r = run("-O frm0b1YU", tap.program([[
local t = {}
for i = 1, 50000 do t[i] = { i, tostring(i) } end
local big = ("x"):rep(5e6)
local b2 = {}
for i = 1, 1e6 do b2[i] = i end
local zone = big:upper()
os.exit(0)
]]))
tap.is(r.status, 0, "a program without C memory")
local held_all = r.out:match("\nC memory +(%S+ %wB)")
tap.like(held_all, "^[%d.]+ [k]B$", "the Lua heap is not counted again")

r = run("-O fb1", tap.program([[
print(os.getenv("LD_PRELOAD"))
io.stdout:flush()
os.execute("echo ${LD_PRELOAD-none}")
]]))
tap.like(r.out, "^nil\nnone\n", "programs that it runs do without the library")
r = run("-O fb1", tap.program([[print(os.getenv("LD_PRELOAD"))]]),
  { LD_PRELOAD = "libm.so.6" })
tap.like(r.out, "^libm.so.6\n", "other libraries stay")

-- -- Threads, forks, profiles ------------------------------------------------

r = run("-o "..mp.." -O fb1", tap.program(head..[[
local ids = ffi.new("uintptr_t[20]")
for i = 0, 19 do
  C.pthread_create(ids + i, nil, ffi.cast("void *", C.malloc),
    ffi.cast("void *", 30000))
end
local p = ffi.new("void *[1]")
for i = 0, 19 do
  C.pthread_join(ids[i], p)
  if i % 2 == 0 then C.free(p[0]) end
end
os.exit(0)
]]))
tap.is(r.status, 0, "threads that are not Lua's")
all, held = bytes_of(mp, "f", "(other threads)")
tap.ok(all >= 600000 and all < 650000, "have a row of their own", r.out)
tap.ok(held >= 300000 and held < 350000, "what they made is freed elsewhere",
  held)

local out = tap.tmpname()
r = run("-o "..out..".%p.mp -O fb1", tap.program(head..[[
ffi.cdef("int fork(void); int waitpid(int, int *, int); int getpid(void);")
local function before() return { C.malloc(1000) } end
local function child() return { C.malloc(3000) } end
local a = before()
local pid = C.fork()
if pid == 0 then
  local b = child()
  C.free(a[1])
  os.exit(0)
end
C.waitpid(pid, nil, 0)
print(C.getpid(), pid)
os.exit(0)
]]))
local parent, pid = r.out:match("^(%d+)%s+(%d+)")
local one, two = out.."."..parent..".mp", out.."."..pid..".mp"
if exactly then
  tap.is(select(2, bytes_of(one, "f", "before")), 1000, "a parent has its own")
  tap.is(bytes_of(one, "f", "child"), 0, "and not the child's")
  tap.is(bytes_of(two, "f", "child"), 3000, "a child has its own")
  tap.is(select(2, bytes_of(two, "f", "before")), 0,
    "and frees what was there before")
end
os.remove(one)
os.remove(two)

r = run("-O f", tap.program(head..[[
local mp = require("jit.mp")
mp.stop()
for i = 1, 30 do
  assert(mp.start("frm0b1YU", "/dev/null"))
  local p = C.malloc(4000)
  if i % 2 == 0 then C.free(p) end
  assert(mp.stop())
  C.free(C.malloc(100))
end
assert(mp.start("fb1", arg[1]))
local function last() return { C.malloc(1234) } end
last()
assert(mp.stop())
]]), nil, mp)
tap.is(r.status, 0, "profiles one after the other")
if exactly then
  tap.is(bytes_of(mp, "f", "last"), 1234, "each has what was allocated in it")
end

-- -- Files -------------------------------------------------------------------

local html = tap.tmpname(".html")
r = run(("-o %s -o %s -O fb16k"):format(mp, html), program)
tap.is(r.status, 0, "into files")
r = tap.sh(tap.mp.." report "..mp.." lm0")
tap.like(r.out, "C allocated", "a profile has the views, unless some are named")
local line = exactly and program:match("[^/]+$"):gsub("%p", "%%%0")..":14\n" or
  "%(not known%)\n"
tap.like(r.out, "MB +%d+%%   "..line, "and the rows")
r = tap.sh(tap.mp.." report "..mp.." lU")
tap.like(r.out, "100%% +[34][%d.]+ MB +100%%   "..line, "each by itself")
tap.like(tap.read(html), '%["C memory","', "the page's header has the sums")
r = tap.sh(("%s report %s GU"):format(tap.mp, mp))
tap.like(r.out, exactly and "keep;malloc %d+\n" or "%(not known%) %d+\n",
  "folded stacks")
r = tap.sh(("%s merge -o %s %s %s"):format(tap.mp, mp, mp, mp))
r = tap.sh(tap.mp.." report "..mp.." lU")
tap.like(r.out, "100%% +[78][%d.]+ MB +100%%   "..line, "profiles add up")

-- -- Leaks -------------------------------------------------------------------

-- Blocks that are never freed, blocks that finalizers free, and as many blocks
-- as there were before: `stop` is how the program ends.
local function leaking(stop)
  return tap.program(head..[[
local sums = {}
local function garbage() for i = 1, 20 do sums[i % 7] = { i } end end
local function lost() C.malloc(2000) end
local function owned() return ffi.gc(C.malloc(2000), C.free) end
local ring = {}
local function kept(i)
  if ring[i % 50] then C.free(ring[i % 50]) end
  ring[i % 50] = C.malloc(2000)
end
for i = 1, 15000 do
  lost()
  owned()
  kept(i)
  garbage()
end
]]..stop)
end

-- The verdict on what a function has allocated.
local function verdict(report, name)
  local c = report:match("\nC memory in use at the end.*") or ""
  c = c:match("\nBy stack:\n.*") or c
  for _, v in ipairs({ "grows", "flat", "new", "unclear" }) do
    if c:find(" "..v.."   [^\n]*\n[^\n]*< "..name.."\n") then return v end
  end
  return "none"
end

for _, stop in ipairs({ "os.exit(0)", "" }) do
  r = run("-o "..mp.." -o - -O f2Lm0b1", leaking(stop))
  tap.is(r.status, 0, "leaks of C memory are looked for")
  if exactly then
    local how = stop == "" and ", at a normal end" or ""
    tap.is(verdict(r.out, "lost"), "grows", "what nobody frees grows"..how)
    tap.is(verdict(r.out, "kept"), "flat", "what is replaced is flat"..how)
    local v = verdict(r.out, "owned")
    tap.ok(v ~= "grows", "what finalizers free does not grow"..how, r.out)
    local all, sum = r.out:match("\n([%d.]+) MB held, ([%d.]+) MB of it in "..
      "stacks that grow\n")
    -- The last blocks are new, and not held yet.
    tap.ok(sum and tonumber(sum) > 29.5 and tonumber(all) < 30.6,
      "and the sum is said", r.out)
    r = tap.sh(tap.mp.." report "..mp.." f2Lm0")
    tap.is(verdict(r.out, "lost"), "grows", "a profile in a file tells so, too")
    r = run("-o /dev/null -O f2L1000kb1", leaking(stop))
    tap.is(r.status, 3, "the exit status tells, if asked")
  end
end
tap.unlike(tap.luajit("-jm=L "..tap.program("local t = {}")).out,
  "C memory in use", "without the library there is none of it")

-- -- Owners ------------------------------------------------------------------

local owners = tap.program(head..[[
ffi.cdef("typedef struct node { struct node *next; char *data; } node;")
local function keep(n) return ffi.cast("char *", C.malloc(n)) end
session = { image = keep(300000), inside = keep(1000) + 500 }
list = ffi.new("node")
local function chain()
  local p = list
  for i = 1, 50 do
    local q = ffi.cast("node *", C.malloc(16))
    p.next, q.next = q, nil
    q.data = C.malloc(5000)
    p = q
  end
end
coroutine.wrap(chain)()  -- No slot of a stack keeps a part.
pair = { { keep(70000) } }
pair[2] = { ffi.cast("char *", pair[1][1]) }
local function lose() for i = 1, 10 do C.malloc(9000) end end
lose()
junk = {}
for i = 1, 300 do
  local words = ffi.new("uint32_t[128]")
  for k = 0, 127 do words[k] = math.random(0, 2^32 - 1) end
  junk[i] = words
end
os.exit(0)
]])

-- Bytes of C memory of the line with that path; raw numbers.
local function owned(out, path)
  return tonumber(out:match("\n +%d+%% +%d+ %+ (%d+) C   "..
    path:gsub("%p", "%%%0").."  %(")) or 0
end

if exactly then
  r = run("-o - -o "..mp.." -O Wrm0b1", owners)
  tap.is(owned(r.out, "session.image"), 300000, "a cdata leads to its block")
  tap.is(owned(r.out, "session.inside"), 1000, "and one that points into it")
  tap.is(owned(r.out, "list"), 50 * 5016, "blocks lead to others")
  tap.is(owned(r.out, "pair"), 70000, "a block of two: of what holds both")
  tap.is(owned(r.out, "junk"), 0, "random numbers lead to none")
  local name = owners:match("[^/]+$"):gsub("%p", "%%%0")
  tap.like(r.out, "%(no Lua owner%)\n +allocated at "..name..":%d+ < "..name..
    ":%d+: 90000 C\n", "what no object leads to is told")
  local all, led, none = r.out:match("\nC memory: (%d+) in use; Lua objects "..
    "probably own (%d+) of it; (%d+) has no owner\n")
  tap.is(tonumber(led) + tonumber(none), tonumber(all), "the parts are the sum")
  local sum = 0
  for _, n in tap.sh(tap.mp.." report "..mp.." GfU").out:gmatch(
      "([^\n]+) (%d+)\n") do
    sum = sum + tonumber(n)
  end
  tap.is(tonumber(all), sum, "which the view of C memory has")
  tap.is(tap.sh(tap.mp.." report "..mp.." Wrm0").out:match("\nC memory: .*"),
    r.out:match("\nC memory: .*"), "a profile in a file has all that")
  r = run("-O Wm1", owners)
  tap.like(r.out, "\n +%d+%% +%S+ k?B %+ %S+ kB C   list  "..
    "%(cdata [^)]*; C likely%)", "blocks between that are no samples lead on")
  local one, all = tap.tmpname(".txt"), tap.tmpname(".txt")
  r = run("-O Ww1b1 -o "..all, tap.program(head..[[
    image = ffi.cast("char *", C.malloc(300000))
    local begun = os.time()
    while os.time() - begun < 100 do
      for i = 1, 1e4 do C.free(C.malloc(100 + #tostring(i))) end
      local f = io.open(arg[1])
      if f then
	io.open(arg[2], "w"):write(f:read("*a")):close()
	break
      end
    end]]), nil, all.." "..one)
  local text = tap.read(one) or ""
  tap.like(text, "\nHeap walk: [^\n]*, a child walked for %S+ m?s\n",
    "a child walks while the program goes on")
  tap.like(text, " %+ 300 kB C   image  %(cdata [^)]*; C likely%)",
    "and finds C memory")
  tap.like(text, "%(cdata [^)]*; C likely%)\n +allocated at ",
    "with its stacks")
end

-- -- Another allocator below -------------------------------------------------

local dir = os.getenv("MP_ALLOCATORS") or "/usr/lib/x86_64-linux-gnu"
for _, lib in ipairs({ "libjemalloc.so.2", "libmimalloc.so.2" }) do
  if tap.read(dir.."/"..lib) then
    r = run("-o "..mp.." -O fb1", exact, { LD_PRELOAD = dir.."/"..lib })
    tap.is(r.status, 7, lib..": the program ends as it would")
    if exactly then
      is(14, 3000000, 3000000, lib..": malloc, to the byte")
      is(15, 1800000, 0, lib..": and free")
      is(25, 40960, 40960, lib..": mmap")
      r = tap.sh(("timeout 60 env LD_PRELOAD=%s/%s:%s/.uninstalled/jit/mp/"..
        "libluajit-mp-native.so %s -jm=hm0b1 %s"):format(dir, lib,
        tap.loadable(), tap.command, exact), { env = { LUA_CPATH = cpath } })
      tap.is(r.status, 7, lib.." comes first: the program ends as it would")
      tap.like(r.err, "^luajit%-mp: C memory is not profiled: "..
        "libluajit%-mp%-native%.so must come before [^\n]*"..
        lib:gsub("[.]", "%%.").." in LD_PRELOAD\n", lib.." comes first: said")
      tap.unlike(r.out, "C memory", lib.." comes first: none of it")
    end
  else
    tap.ok(true, lib.." is not installed # SKIP")
  end
end

tap.done()
