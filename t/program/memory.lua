-- SPDX-License-Identifier: MIT
-- Where the memory of the process is: option M.
local tap = require("tap")

local programs = tap.srcdir.."/bench/programs/"

-- The parts of the table in bytes, by name; and the RSS below it.
local function parts(text)
  local t, sum = {}, 0
  for bytes, name in text:gmatch("\n +%-?%d+%%   +(%-?%d+)   ([^\n]+)") do
    if name == "RSS" then return t, sum, tonumber(bytes) end
    t[name] = tonumber(bytes)
    sum = sum + t[name]
  end
  return t, sum
end

local function table_of(name, args, env)
  local r = tap.luajit("-jm=Mr "..args, { env = env })
  tap.is(r.status, 0, name.." ends as it would")
  local t, sum, rss = parts(r.out)
  if not tap.ok(rss, name.." has a table", r.out) then tap.done() end
  tap.ok(math.abs(sum - rss) <= 0.05 * rss, name.." adds up to the RSS",
    ("sum %d, RSS %d\n%s"):format(sum, rss, r.out))
  return t, rss, r.out
end

-- -- Programs ----------------------------------------------------------------

local function check(name, path, work)
  local t, rss, text = table_of(name, tap.quote(path).." "..work)
  if t["other"] then
    tap.ok(math.abs(t.other) <= 0.05 * rss, name..": little is not known",
      text)
  end
end

for _, name in ipairs({ "binarytrees", "buffers", "cdata", "closures",
    "combinators", "compiler", "coroutines", "hashes", "json", "malloc",
    "matrix", "nbody", "numeric", "objects", "recursion", "strings",
    "tablechurn" }) do
  check(name, programs..name..".lua", tap.slow and "0.002" or "0.02")
end
for _, name in ipairs({ "leak-timer", "leak-trace", "pseudo-leak",
    "leak-regex" }) do
  check(name, tap.srcdir.."/examples/"..name..".lua", "")
end

-- -- A pseudo leak -----------------------------------------------------------

local example = tap.quote(tap.srcdir.."/examples/pseudo-leak.lua")
local free = "free in LuaJIT's allocator"
local t, rss, text = table_of("the pseudo leak", example)
if not t[free] then tap.skip("LuaJIT's allocator is not known here") end
tap.ok(t["Lua objects in use, as the collector counts"] < 2e6,
  "the collector's count is healthy", text)
tap.ok(t[free] > rss / 2, "most of the process is free memory", text)
tap.like(text, "at least half free: %d+ free, kept by %d+ in use",
  "which small objects keep")
tap.like(text, "allocated at [^\n]*pseudo%-leak.lua:%d+", "and whose they are")
tap.like(text, "\nRSS +[%d.]+ MB +free in LuaJIT's allocator %d+%%",
  "the header says so, too")

-- -- malloc and the system ---------------------------------------------------

t, rss, text = table_of("malloc", tap.program([[
local ffi = require("ffi")
ffi.cdef("void *malloc(size_t); void *memset(void *, int, size_t);")
for i = 1, 400 do ffi.C.memset(ffi.C.malloc(20000), 1, 20000) end
big = ffi.C.memset(ffi.C.malloc(9000000), 1, 9000000)
os.exit(0)
]]))
local used = t["malloc, in use"]
local asan = (os.getenv("LIBASAN") or "") ~= ""  -- It has a malloc of its own.
tap.ok(asan or used and used >= 16.5e6 and used < 17.5e6,
  "the bytes that malloc has in use", text)

t, rss, text = table_of("mmap", tap.program([[
local ffi = require("ffi")
ffi.cdef("void *mmap(void *, size_t, int, int, int, long);"..
  "void *memset(void *, int, size_t);")
ffi.C.memset(ffi.C.mmap(nil, 8000000, 3, 0x22, -1, 0), 1, 8000000)
os.exit(0)
]]))
tap.ok(asan or t.other and t.other >= 7.5e6 and t.other < 8.5e6,
  "other memory is called so", text)

-- -- Large objects, which are no part of a segment ----------------------------

t, rss, text = table_of("a large string", tap.program([[
s = ("x"):rep(20000000)
os.exit(0)
]]))
tap.ok(t["Lua objects in use, as the collector counts"] > 20e6,
  "large objects are objects", text)

-- -- From a file, on the page, while running ----------------------------------

local mp = tap.tmpname(".mp")
local html = tap.tmpname(".html")
local r = tap.luajit(("-jm=M,%s,%s %s"):format(mp, html, example))
tap.is(r.status, 0, "into files")
r = tap.sh(tap.mp.." report "..mp.." M")
tap.like(r.out, "free in LuaJIT's allocator\n", "a profile has the table")
tap.like(r.out, "allocated at [^\n]*pseudo%-leak.lua:%d+", "and the rows")
tap.like(tap.read(html), '%["RSS","[%d.]+ MB","free in LuaJIT', "so has a page")

r = tap.luajit("-jm=f "..tap.program([[
local mp = require("jit.mp")
local t = {}
for i = 1, 1e5 do t[i] = { i } end
mp.report("M")
]]))
tap.like(r.out, "\n +%d+%% +[%d.]+ MB +RSS\n", "mp.report gives it any time")

r = tap.sh(tap.mp.." report "..mp.." Mf")
tap.like(r.err, "option 'f' has no effect with option 'M'",
  "a letter that changes nothing")
r = tap.luajit("-jm=MW -e 1")
tap.like(r.err, "'W' and 'M' are two different reports", "but not with W")

-- Files have several reports, whose parts are those of the reports alone.
local json = tap.tmpname(".json")
r = tap.luajit(("-jm=fLWMJI,%s,%s,%s %s"):format(mp, html, json, example))
tap.is(r.status..r.err, "0", "all reports into files")
for letter, pattern in pairs({
  L = "\nHeld after the last collection", W = "\nHeap walk: ",
  M = " RSS\n", J = "\nJIT compiler: %d+ traces made",
  I = "\nno coroutine was seen waiting"
}) do
  tap.like(tap.sh(tap.mp.." report "..mp.." "..letter).out, pattern,
    "a profile has report "..letter)
end
local parts = {
  [json] = { L = '"verdicts":', W = '"heap_walk":', M = '"memory":',
    J = '"compiler":' },
  [html] = { L = '"leaks":{', W = '"heap":{"total"', M = '["RSS","',
    J = '"jit":{' }
}
for name, list in pairs(parts) do
  for letter, part in pairs(list) do
    tap.ok((tap.read(name) or ""):find(part, 1, true),
      name:match("%.%a+$").." has the part of "..letter)
  end
end
for _, outputs in ipairs({ "", ","..mp..",-", ",x.folded" }) do
  r = tap.luajit("-jm=LW"..outputs.." -e 1")
  tap.like(r.err, "two different reports: give one of them, or only outputs "..
    "that have both", "a text has one: '"..outputs.."'")
end
r = tap.luajit("-jm=WI,"..mp.." "..tap.program([[
  local waiting = coroutine.wrap(coroutine.yield)
  waiting()
  kept = {}
  for i = 1, 3e5 do kept[i] = { i } end
]]))
tap.is(r.status..r.err, "0", "a walk at the end, and waits")
local p = require("jit.mp.format.file").read(tap.read(mp))
tap.ok(p.waits.enabled and p.waits.time <= p.info.wall * 1.05,
  "coroutines do not wait during the walk",
  ("%g s of waits in a run of %g s"):format(p.waits.time or 0, p.info.wall))
r = tap.sh(tap.mp.." report "..mp.." WJ")
tap.like(r.err, "are two different reports: give one of them; see",
  "so has one of a profile")
r = tap.sh(tap.mp.." diff -O WJ "..mp.." "..mp)
tap.like(r.err, "diff: option J is a report of one profile", "so has a diff")

-- A process that ends inside a compiled loop: the VM is not at rest.
r = tap.luajit("-jm=M "..tap.program([[
io.popen("sleep 1; kill -TERM "..io.open("/proc/self/stat"):read("*n"))
while true do end
]]))
tap.is(r.signal, 15, "a signal ends the program")
tap.like(r.out, "100%% +[%d.]+ MB +RSS\n", "and there is a table")

tap.done()
