-- SPDX-License-Identifier: MIT
-- require("jit.mp"): start, stop, report, and the snapshot.

local tap = require("tap")
local mp = require("jit.mp")
local core = require("jit.mp.core")

local function busy()
  local keep = {}
  for i = 1, 20000 do keep[i % 100 + 1] = { i } end
  return keep
end

-- Not running.
local ok, msg, errno = mp.stop()
tap.is(ok, nil, "stop before start fails")
tap.like(msg, "not running", "stop before start says so")
tap.is(type(errno), "number", "and has an errno")
ok, msg = mp.report("f")
tap.is(ok, nil, "report before start fails")
tap.is(core.snapshot(), nil, "snapshot before start fails")

-- Running.
local out = tap.tmpname(".txt")
tap.is(mp.start("flb1", out), true, "start")
ok, msg, errno = mp.start("f")
tap.is(ok, nil, "a second start fails")
tap.like(msg, "already running", "a second start says so")
tap.is(type(errno), "number", "and has an errno")
local kept = busy()
local early = tap.tmpname(".txt")
tap.is(mp.report("lhr", early), true, "report while running")
tap.like(tap.read(early), "api%.lua:10", "it has the line")
local s = core.snapshot()
tap.is(type(s), "table", "snapshot while running")
tap.is(s.heap.period, 1, "b1 in the snapshot")
tap.like(s.cpu.clock, "^%l+, %l+ %l+$", "what the CPU samples go by")
local sampled = s.heap.inuse_samples
local objects, inuse = 0, 0
for _, row in ipairs(s.rows) do
  objects = objects + row.alloc_objects
  inuse = inuse + row.inuse_objects
end
tap.ok(objects >= 20000 and objects < 25000, "objects of the loop", objects)
tap.ok(inuse < objects, "some of them were freed", inuse)
-- The collector works while a snapshot is made in its VM.
tap.ok(sampled >= inuse and sampled < objects, "samples in use", sampled)
tap.is(tap.read(out), nil, "the file is not there until the end")
tap.is(mp.stop(), true, "stop")
local text = tap.read(out)
tap.like(text, "^luajit%-mp", "the report")
tap.like(text, "busy", "has the function")
tap.unlike(text, "mp%.lua", "and nothing of the profiler")
tap.is(mp.stop(), nil, "a second stop fails")
tap.is(#kept, 100, "the program's own data")

-- Afresh.
tap.is(mp.start("fb1", out), true, "start again")
tap.is(mp.stop(), true, "and stop")
tap.unlike(tap.read(out), "busy", "starts afresh")

-- A report is made of the profile, not part of it. The collector rests: it
-- may shrink a stack, or a buffer.
collectgarbage("stop")
tap.is(mp.start("fb1", "/dev/null"), true, "start with b1")
local function allocated() return core.snapshot().heap.alloc_objects end
mp.report("lh", early)
local before = allocated()
mp.report("flhm0", early)
tap.is(allocated(), before, "a report counts no allocation of its own")
collectgarbage("restart")
ok, msg = pcall(mp.report, "fZ")
tap.like(not ok and msg, "unknown option 'Z' at position 2",
  "a report by wrong options")
ok, msg, errno = mp.report("f", "/nonexistent/file", early)
tap.is(ok, nil, "a report that cannot be opened")
tap.like(msg, "cannot open '/nonexistent/file'", "says so")
tap.is(errno, 2, "with the errno")
tap.is(mp.report("H", early), false, "a report of the options")
tap.like(tap.read(early), "b<n>%[k|m%]", "is the list of them")
mp.stop()

-- Later changes to where modules are found do not matter.
local dir = tap.tmpdir()
os.execute(("mkdir %s/away && cp -r %s %s"):format(dir,
  tap.quote(tap.srcdir.."/lib/jit"), dir))
local r = tap.luajit("-jm=f,/dev/null "..tap.program([[
require("ffi").cdef "int chdir(const char *);"
require("ffi").C.chdir("away")
package.path, package.cpath = "./?.lua", ""
package.loaded["jit.mp.plan"] = nil
print(require("jit.mp").report("g", "-"))
]]), { dir = dir, env = { LUA_PATH = "./?.lua;;" } })
tap.like(r.out, "luajit%-mp.*\ntrue\n$",
  "a report after the program changed its path and directory")
tap.is(r.err, "", "and nothing is said")

-- Snapshots add up, to the byte, with every allocation counted.
tap.is(mp.start("fb1", "/dev/null"), true, "start with b1")
kept = busy()
s = core.snapshot()
local bytes, n = 0, 0
for _, row in ipairs(s.rows) do
  bytes = bytes + row.alloc_bytes
  n = n + row.alloc_objects
end
mp.stop()
if s.info.capture == "exact" then
  tap.is(bytes, s.heap.alloc_bytes, "bytes of all rows")
  tap.is(n, s.heap.alloc_objects, "objects of all rows")
end

-- Frames and stacks are consistent.
local bad = 0
for i, parent in ipairs(s.stacks.parent) do
  if parent >= i or not s.frames[s.stacks.frame[i]] then bad = bad + 1 end
end
tap.is(bad, 0, "stacks refer to earlier stacks and to frames")

-- Wrong arguments raise; what the machine refuses is returned.
local function raises(want, ...)
  local done, why = pcall(mp.start, ...)
  tap.ok(not done and tostring(why):find(want, 1, true), "raises: "..want, why)
end
raises("unknown option 'Z' at position 2", "fZ")
ok, msg = pcall(function() mp.start("fZ") end)
tap.like(not ok and msg, "api%.lua:%d+: jit%.mp: ",
  "with the caller's place")
require("jit").attach(function() end, "texit")
ok, msg = pcall(function() mp.start("fZ") end)
tap.like(not ok and msg, "api%.lua:%d+: jit%.mp: ",
  "with handlers of jit.attach, too")
raises("the options must be a string or a table, not a number", 42)
raises("the output must be a file name, not a table", "f", {})
ok, msg = pcall(mp.report, 7)
tap.like(not ok and msg, "must be a string", "so does a report")
ok, msg, errno = mp.start("f", "/nonexistent/dir/file")
tap.is(ok, nil, "a file that cannot be opened: refused at the start")
tap.like(msg, "/nonexistent/dir/file", "names the file")
tap.like(msg, "No such file", "says why")
tap.is(errno, 2, "with the errno")

-- The command line says the same, and exits with 1.
local function command(opts, want)
  local r = tap.luajit("-jm="..opts.." -e 'print(1)'")
  tap.is(r.status, 1, opts..": exit status 1")
  tap.like(r.err, want, opts..": message")
  tap.unlike(r.out, "1", opts..": the program does not run")
end
command("Z", "^%S+: jit%.mp: unknown option 'Z' at position 1 of \"Z\"")
command("f,/nonexistent/dir/file", "cannot open '/nonexistent/dir/file'")
command("aG", "options 'a' and 'G'")

-- Help, and where reports go.
r = tap.luajit("-jm=H -e 'print(\"ran\")'")
tap.is(r.status, 0, "H: exit status 0")
tap.like(r.out, "b<n>%[k|m%]", "H lists the options")
tap.unlike(r.out, "ran", "H does not run the program")
r = tap.luajit("-jm=f -e 'io.write(\"first\\n\")'")
tap.like(r.out, "^first\nluajit%-mp", "the report comes after the output")
r = tap.sh(("LUAJIT_PROFILEFILE=%s %s -jm -e 'local t = {}'"):format(out,
  tap.command))
tap.is(r.out, "", "LUAJIT_PROFILEFILE: nothing on stdout")
tap.like(tap.read(out), "^luajit%-mp", "LUAJIT_PROFILEFILE: the report")
r = tap.luajit("-jm=f,/dev/full -e 'local t = {}'")
tap.is(r.status, 0, "a full disk: the exit status stays")
tap.like(r.err, "cannot write '/dev/full': No space", "a full disk: said")
r = tap.luajit("-jm=f -e 'io.stdout:close() local f = {}' >&-")
tap.is(r.status, 0, "no standard output: the exit status stays")

-- The collector counts the program's memory, and a few functions of ours.
local count = tap.program([[
collectgarbage() collectgarbage()
io.write(collectgarbage("count"), "\n")
]])
local plain = tonumber(tap.luajit(count).out:match("^%S+"))
local profiled =
  tonumber(tap.luajit("-jm=f,/dev/null "..count).out:match("^%S+"))
tap.ok(profiled > plain and profiled - plain < 13,
  "the profiler keeps less than 13 KB in the program's heap",
  profiled - plain)

-- The start takes memory, at any of which the collector may do a step: here it
-- is a whole collection, sooner or later from one start to the next.
r = tap.luajit(tap.program([[
local mp = require("jit.mp")
collectgarbage("setpause", 101)
collectgarbage("setstepmul", 1e6)
local keep, captures = {}, {}
for k = 1, 600 do
  for i = 1, 10 do keep[#keep + 1] = { i } end
  collectgarbage()
  assert(mp.start("b100k", "/dev/null"))
  captures[mp.snapshot().info.capture] = true
  mp.stop()
end
for capture in pairs(captures) do io.write(capture, " ") end
]]))
tap.is(r.out, tap.knows_layout() and "exact " or "safepoint ",
  "the collector may be at work when a profile starts", r.err)

-- The options asked for: printed where a report would be, and nothing starts.
tap.is(mp.start("fH", out), false, "H: there is no profile")
tap.like(tap.read(out), "b<n>%[k|m%]", "H: the options are printed")
tap.is(mp.stop(), nil, "H: nothing was started")

-- Zones, with jit.zone as it is.
r = tap.luajit("-jm=zhorm0b1 "..tap.program([[
local zone = require("jit.zone")
local keep = {}
zone("outer")
for i = 1, 1000 do keep[i] = { i } end
zone("inner")
for i = 1, 2000 do keep[i] = { i } end
zone()
zone()
for i = 1, 500 do keep[i] = { i } end
]]))
local function zone_count(name)
  return tonumber(r.out:match("(%d+)   "..name.."\n") or 0)
end
if not pcall(require, "jit.zone") then
  tap.like(r.out, "no zones", "without jit.zone the report says so")
  tap.done()
end
tap.ok(zone_count("outer") >= 1000 and zone_count("outer") < 1050,
  "objects in the outer zone", r.out)
tap.ok(zone_count("inner") >= 2000 and zone_count("inner") < 2050,
  "objects in the inner zone", r.out)

tap.done()
