-- SPDX-License-Identifier: MIT
-- Profiles of several Lua states in one report: %m in the name of an output.

local file = require("jit.mp.format.file")
local tap = require("tap")

local dir = tap.tmpdir()

local function read(name)
  local text = tap.read(dir.."/"..name)
  return text and assert(file.read(text))
end

-- -- One state, profiled several times ---------------------------------------

local r = tap.luajit(tap.program([[
local mp = require("jit.mp")
local keep
local function work(n)
  keep = {}
  for i = 1, n do keep[i] = { i } end
end
for n = 1, 3 do
  assert(mp.start("b1", "x.%m.mp", n..".mp"))
  work(n * 1000)
  if n == 3 then
    assert(mp.write("h", "so-far.%m.mp"))
    assert(mp.write("h", "so-far.%m.mp"))
  end
  assert(mp.stop())
end
]]), { dir = dir })
tap.is(r.err, "", "three profiles: nothing is said")
local sum = 0
for n = 1, 3 do sum = sum + read(n..".mp").heap.alloc_objects end
tap.ok(sum > 6000, "three profiles", sum)
tap.is(read("x.all.mp").heap.alloc_objects, sum, "add up")
local so_far = read("so-far.all.mp").heap.alloc_objects
tap.ok(so_far > 3000 and so_far <= sum, "a report meanwhile has its own "..
  "profile once", so_far)

-- -- The child of a fork has profiles of its own -----------------------------

r = tap.luajit(tap.program([[
local ffi = require("ffi")
ffi.cdef "int fork(void); int waitpid(int, int *, int);"
local mp = require("jit.mp")
local function profile(n)
  assert(mp.start("b1", "fork.%m.%p.mp"))
  local keep = {}
  for i = 1, n do keep[i] = { i } end
  assert(mp.stop())
end
profile(1000)
local pid = ffi.C.fork()
profile(pid == 0 and 5000 or 1000)
if pid == 0 then os.exit(0) end
ffi.C.waitpid(pid, nil, 0)
print(pid)
]]), { dir = dir })
local child = r.out:match("%d+")
local n = read("fork.all."..child..".mp").heap.alloc_objects
tap.ok(n >= 5000 and n < 6000, "a child adds up its own", n)

-- -- States in several threads -----------------------------------------------

local asan = os.getenv("LIBASAN") or ""
local built = not tap.is_foreign() and tap.sh(([[cc -O -o host %s \
  $(pkg-config --cflags --libs luajit) -lpthread]]):format(
  tap.quote(tap.srcdir.."/t/attach/host.c")), { dir = dir }).status == 0
local library = tap.loadable().."/.libs/libluajit-mp-preload.so"
if built and asan == "" and tap.read(library) and not tap.slow then
  tap.write(dir.."/running", "")
  r = tap.sh("(sleep 1; rm running) & LD_PRELOAD="..library..
    " ./host running one two three; wait", { dir = dir, env = {
      LUAJIT_MP = "fhb1,threads.%m.mp,threads.%m.txt,thread.%s.mp,plain.mp" } })
  tap.is(r.out, "right\n", "three threads: their results", r.err)
  local all = read("threads.all.mp")
  sum = 0
  for i = 1, 3 do
    local p = read("thread."..i..".mp")
    sum = sum + p.heap.alloc_objects
  end
  tap.is(all.heap.alloc_objects, sum, "three threads add up")
  tap.is(read("plain.mp").heap.alloc_objects, sum,
    "and in an output of one name")
  local text = tap.read(dir.."/threads.all.txt")
  tap.like(text, "^luajit%-mp[^\n]* in 3 profiles\n", "which says so")
  for _, name in ipairs({ "one", "two", "three" }) do
    tap.ok(text:find('[string "'..name..'"]:2', 1, true), "thread "..name, text)
  end
end

-- -- Several programs, one after the other -----------------------------------

local app = tap.program("local t = {} for i = 1, 3e5 do t[i % 9] = { i } end")

-- Runs two by luajit-mp run with that output.
local function run_two(options, name)
  local command = tap.command.." "..app
  r = tap.sh(("exec %s run -O %s -o %s -- sh -c %s"):format(tap.mp, options,
    name, tap.quote(command.."; "..command)), { dir = dir })
  tap.is(r.status..r.err, "0", "two programs with "..name)
end

if not tap.is_foreign() and asan == "" then
  local replaced = "another process or Lua state of this program had"
  for _, options in ipairs({ "f", "L" }) do
    run_two(options, "last.txt")
    tap.like(tap.read(dir.."/last.txt"), replaced, "the last of two says so")
    run_two(options, "each.%p.txt")
    r = tap.sh("cat each.*.txt; rm each.*.txt", { dir = dir })
    tap.is(select(2, r.out:gsub("luajit%-mp ", "")), 2, "each has one")
    tap.unlike(r.out, "another process or", "which replaces none")
  end
  tap.sh("exec "..tap.mp.." run -O f -o last.txt -- "..tap.command.." "..app,
    { dir = dir })
  tap.unlike(tap.read(dir.."/last.txt"), "another process or",
    "a file of an earlier run is no other's")
end

tap.done()
