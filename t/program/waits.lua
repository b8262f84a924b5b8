-- SPDX-License-Identifier: MIT
-- Option I: where coroutines wait. So few coroutines are all looked at each
-- time: the sums then lie near what the program and the profiler know.

local tap = require("tap")

if not tap.knows_layout() then
  local r = tap.luajit("-jm=I -e 'print(1)'")
  tap.is(r.status, 1, "without the layout: refused")
  tap.like(r.err, "option I has to read the stacks", "with a reason")
  tap.done()
end

local clock = require("clock")

-- -- Sums --------------------------------------------------------------------

local waiting = clock..[[
collectgarbage() -- Coroutines of the start.
local kept = {}
local function one(n)
  coroutine.yield()
  return n
end
local function two() return (one(2)) end
local function three(f, ...)
  local t = setmetatable({}, { __index = function(_, k) return (one(k)) end })
  return t.x
end
local function start(f, n)
  for i = 1, n do
    local co = coroutine.create(f)
    kept[#kept+1] = co
    assert(coroutine.resume(co))
  end
end
start(one, 1)
start(two, 2)
start(three, 3)
-- This one does not wait.
kept[#kept+1] = coroutine.create(print)
local from = now()
rest(0.3)
io.stderr:write(("%.6f\n"):format(now() - from))
]]

local file = tap.program(waiting)
local profile = tap.tmpname(".mp")

-- The seconds, and the number now, of the place in a raw report.
local function at(out, place)
  local s, now = out:match("\n +%d+%%~? +(%d+%.%d+) +%d+%.%d +(%d+) +"..place)
  return tonumber(s or -1), tonumber(now)
end

local r = tap.luajit("-jm=I3r,-,"..profile.." "..file)
local least = tonumber(r.err) or 1e9
local most = tonumber((r.out:match("in ([%d.]+ m?s): "):gsub(" m?s", "")))
if r.out:find("in [%d.]+ ms: ") then most = most / 1000 end
local name = file:match("[^/]+$"):gsub("%p", "%%%0")
for _, case in ipairs {
    { "one", 1, name..":17\n" },
    { "two", 2, name..":17 < "..name..":20\n" },
    { "three", 3, name..":17 < "..name..":22 < "..name..":23\n" } } do
  local s, now = at(r.out, "coroutine%.yield < "..case[3])
  -- Unbiased, but looks are late where others have the processors.
  tap.ok(s >= case[2] * least * 0.8 and s <= case[2] * most * 1.2,
    case[1]..": they waited that long", r.out..s..": "..least.." to "..most)
  tap.is(now, case[2], case[1]..": so many wait now")
end
tap.like(r.out, "Coroutines have waited [%d.]+ m?s in [%d.]+ m?s: [%d.]+ of "..
  "them at a time\n", "all together")

local read = tap.sh(tap.mp.." report "..profile.." I3r")
tap.is(read.out..read.err, r.out:match("luajit%-mp.*"),
  "a file has the same report")

read = tap.sh(tap.mp.." report "..profile.." I1m40")
tap.like(read.out, "\n +100%%~? .* 6 +coroutine%.yield < "..name..":17\n",
  "a depth of 1")
read = tap.sh(tap.mp.." report "..profile.." I3m50")
tap.like(read.out, "and 2 rows below 50%%: option m", "option m")

local sum = tap.tmpname(".mp")
tap.sh(("%s merge -o %s %s %s"):format(tap.mp, sum, profile, profile))
read = tap.sh(tap.mp.." report "..sum.." I3r")
tap.ok(math.abs(at(read.out, "coroutine%.yield < "..name..":17\n") -
  2 * at(r.out, "coroutine%.yield < "..name..":17\n")) < 0.002,
  "a sum of profiles has the sums", read.out)

tap.luajit("-jm=f,"..profile.." "..file)
read = tap.sh(tap.mp.." report "..profile.." I")
tap.is(read.status, 1, "a file without it: an error")
tap.like(read.err, "where the program ran with option I", "which says so")

read = tap.luajit("-jm=It -e ''")
tap.like(read.err, "option 't' has no effect with option 'I'",
  "an option without effect")
read = tap.luajit("-jm=I,x.folded -e ''")
tap.like(read.err, "option 'I' has no effect with %.folded",
  "a file that cannot show it")

-- -- Labels ------------------------------------------------------------------

-- Looks that come before all wait have little weight.
r = tap.luajit("-jm=Iym0 "..tap.program(clock..[[
local mp = require("jit.mp")
collectgarbage()
local kept = {}
local function serve(route)
  mp.label { route = route }
  coroutine.wrap(function() kept[#kept+1] = coroutine.running()
    coroutine.yield()
  end)()
  coroutine.yield()
end
for i = 1, 4 do
  kept[#kept+1] = coroutine.create(serve)
  assert(coroutine.resume(kept[#kept], i > 1 and "/cart" or "/"))
end
rest(0.3)
]]))
tap.like(r.out, "\n +7[2-8]%%~? .* 6 +route=/cart\n +3[6-9]%%~? .* 3 +%-%- cor",
  "places are below labels")
tap.like(r.out, "\n +2[2-8]%%~? .* 2 +route=/\n", "and those of each coroutine")

-- -- Code that is freed -------------------------------------------------------

-- Functions are loaded and collected while others wait in their like: each
-- place has the name that it had.
file = tap.program(clock..[[
local kept = {}
for i = 1, 6 do
  local code = ("\n"):rep(i).."coroutine.yield()"
  kept[i] = coroutine.create(assert(loadstring(code, "=wait"..i)))
  coroutine.resume(kept[i])
end
local function churn(seconds)
  local stop = now() + seconds
  repeat
    for i = 1, 50 do
      local code = ("\n"):rep(i).."coroutine.yield() coroutine.yield(1)"
      local co = coroutine.create(assert(loadstring(code, "=gone"..i)))
      coroutine.resume(co)
    end
    collectgarbage()
  until now() > stop
end
churn(0.3)
collectgarbage() -- The last look is at all that wait.
]])
r = tap.luajit("-jm=I1m0 "..file)
tap.is(r.status, 0, "code is freed", r.err)
for i = 1, 6 do
  tap.like(r.out, "coroutine%.yield < wait"..i..":"..(i + 1).."\n",
    "waits in code that stays")
end
local wrong
for which, line in r.out:gmatch("gone(%d+):(%d+)\n") do
  if tonumber(line) ~= which + 1 then wrong = which..":"..line end
end
tap.is(wrong, nil, "code that was freed has its own name")

-- -- Coroutines come and go ---------------------------------------------------

file = tap.program([[
local function work(a)
  local b = coroutine.yield(a)
  return pcall(coroutine.yield, b)
end
local kept = {}
for i = 1, 60000 do
  local co = coroutine.wrap(work)
  co(i)
  if i % 3 == 0 then co(i) end
  kept[i % 512] = co
end
print("done")
]])
for _, options in ipairs { "I", "Ib1", "Ib1,"..profile } do
  r = tap.luajit("-jm="..options.." "..file)
  tap.is(r.status, 0, "many coroutines: "..options:sub(1, 3), r.err)
  tap.like(r.out, "^done\n", "and the program is the same")
end

-- -- Starts, stops and forks --------------------------------------------------

r = tap.luajit("-e "..tap.quote([[
  local mp = require("jit.mp")
  local co = coroutine.wrap(function() while true do coroutine.yield() end end)
  for i = 1, 20 do
    co()
    assert(mp.start("I", "/dev/null"))
    co()
    assert(mp.stop())
  end
  print("ok")
]]))
tap.is(r.out, "ok\n", "starts and stops", r.err)

r = tap.luajit("-jm=I -e "..tap.quote([[
  local ffi = require("ffi")
  ffi.cdef("int fork(void); int waitpid(int, int *, int); void _exit(int);")
  local co = coroutine.wrap(function() while true do coroutine.yield() end end)
  co()
  local pid = ffi.C.fork()
  if pid == 0 then
    for i = 1, 1000 do coroutine.wrap(co)() end
    collectgarbage()
    os.exit(7)
  end
  local status = ffi.new("int[1]")
  ffi.C.waitpid(pid, status, 0)
  print(status[0] / 256)
]]))
tap.like(r.out, "^7\n", "a child of a fork goes on", r.err)
tap.like(r.out, "Coroutines have waited", "and its parent")

-- More coroutines than are known, in half a gigabyte.
if not tap.slow and (os.getenv("LIBASAN") or "") == "" then
  r = tap.luajit("-jm=I "..tap.program([[
    local list = {}
    for i = 1, 2^20 + 100 do list[i] = coroutine.create(print) end
  ]]))
  tap.like(r.out, "more coroutines than are known %(1,048,576%)",
    "those beyond are said not to be known", r.err)
end

-- No thread can be made.
r = tap.sh("ulimit -u 1; exec "..tap.command.." -jm=I -e 'print(1)'")
tap.like(r.out, "^1\n", "without a thread the program runs")

tap.done()
