-- The profile file and the command luajit-mp: what is written is read back,
-- what is damaged is refused with a place, and every command does what its
-- manual says.

local tap = require("tap")
local core = require("jit.mp.core")
local file = require("jit.mp.format.file")
local merge = require("jit.mp.model.merge")
local mp = require("jit.mp")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")
local slow = os.getenv("MP_TEST_SLOW")

-- -- A profile of this process -----------------------------------------------

local function work()
  local keep = {}
  for i = 1, 20000 do keep[i % 500 + 1] = { tostring(i), i } end
  return keep
end

local function profiled(opts)
  assert(mp.start(opts, "/dev/null"))
  local keep = work()
  local snapshot = core.snapshot()
  mp.stop()
  return profile.new(snapshot), keep
end

local function text_of(p, opts)
  return assert(render.render(p, assert(options.parse(opts)), { name = "-" }))
end

-- First difference between two values, as a path; nil: none.
local function difference(a, b, path)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a ~= b and path or nil
  end
  for k, v in pairs(a) do
    local d = difference(v, b[k], path.."."..tostring(k))
    if d then return d end
  end
  for k in pairs(b) do
    if a[k] == nil then return path.."."..tostring(k) end
  end
end

for _, opts in ipairs({ "f", "fb1", "e", "L", "fb4k" }) do
  local p = profiled(opts)
  local text = file.write(p)
  local q, msg = file.read(text)
  tap.is(msg, nil, opts..": a profile is read back")
  tap.is(q and difference(p, q, "profile"), nil, opts..": nothing is lost")
  tap.is(q and file.write(q), text, opts..": and written the same again")
  for _, view in ipairs({ "fl", "tf", "v", "a", "g", "x", "e", "L" }) do
    tap.is(q and text_of(q, view), text_of(p, view),
      opts..": the same report "..view)
  end
end

-- Names hold any byte.
local p = profiled("fb1")
p.frames[1].name = "\n\t\\x41-\0\255"
p.frames[2].name = "-"
p.frames[3].name = ""
p.zones.name[1], p.zones.parent[1] = "\r\n", 0
p.info.notes[1] = "\\e"
local q = assert(file.read(file.write(p)))
tap.is(difference(p, q, "profile"), nil, "names hold any byte")

-- -- Damage ------------------------------------------------------------------

local good = file.write(profiled("L"))
local function refused(text, what)
  local q_, msg = file.read(text)
  tap.ok(q_ == nil, what..": refused")
  tap.ok(msg and not msg:find("\n") and #msg < 200, what..": in one line", msg)
  return msg
end
tap.like(refused("", "an empty file"), "is empty", "an empty file: said")
tap.like(refused("\31\139\8\0", "a foreign file"), "is not a profile",
  "a foreign file: said")
tap.like(refused(good:gsub("profile 1", "profile 7", 1), "another version"),
  "version 7; this luajit%-mp reads version 1", "another version: said")
tap.like(refused(good:sub(1, -2), "no last line end"), "cut off at byte "..
  #good - 1, "where it is cut off")
tap.like(refused(good:sub(1, 300), "half of it"), "cut off at byte 300",
  "where half of it ends")
local at = good:find("\nrow\t", 1, true)
tap.like(refused(good:sub(1, at).."rox"..good:sub(at + 4), "an unknown line"),
  "damaged at byte "..at..": an unknown kind", "where the unknown line is")
tap.like(refused(good:gsub("\nrow\t%d+", "\nrow\t99999", 1), "a wild reference"),
  "at byte %d+: a row that refers to what is not there", "what refers to it")
tap.like(refused(good:gsub("\nheap\tpeak\t[^\n]*", "", 1), "a line less"),
  "%d+ lines instead of %d+", "lines are counted")
tap.like(refused(good:gsub("\npoint\t%d", "\npoint\t7", 1), "another digit"),
  "checksum", "the checksum finds it")
tap.like(refused(good:gsub("cpu\tn[%d.]+", "cpu\tnnan", 1), "not a number"),
  "at byte %d+", "no number: where")

math.randomseed(20261121)
local random = math.random
local mutations = {
  function(t, i) return t:sub(1, i - 1)..string.char(random(0, 255))..
    t:sub(i + 1) end,
  function(t, i) return t:sub(1, i) end,
  function(t, i) return t:sub(1, i - 1)..t:sub(i + random(40)) end,
  function(t, i)
    local k = random(#t)
    return t:sub(1, i)..t:sub(k, k + random(200))..t:sub(i + 1)
  end,
  function(t, i) return t:sub(1, i)..("9"):rep(random(30))..t:sub(i + 1) end,
}
-- With a right end, so that the lines themselves are what is looked at.
local bit, crc32 = require("bit"), require("jit.mp.format.crc32")
local function with_end(text)
  local body = text:gsub("end\t%d+\t%x+\n$", "")
  local _, n = body:gsub("\n", "")
  return body..("end\t%d\t%s\n"):format(n, bit.tohex(crc32(body)))
end
local raised, silent, accepted, memory = 0, 0, 0, collectgarbage("count")
local most = 0
for i = 1, slow and 300 or 10000 do
  local t = good
  for _ = 1, random(3) do t = mutations[random(#mutations)](t, random(#t)) end
  if i % 2 == 0 then t = with_end(t) end
  local ok, r, msg = pcall(file.read, t)
  if not ok then
    raised = raised + 1
  elseif not r and type(msg) ~= "string" then
    silent = silent + 1
  elseif r then
    accepted = accepted + 1
    -- What is accepted can be shown.
    if not pcall(text_of, r, ({ "fl", "L", "t", "g" })[i % 4 + 1]) then
      raised = raised + 1
    end
  end
  most = math.max(most, collectgarbage("count") - memory)
end
tap.is(raised, 0, "mutated files: no error is raised")
tap.is(silent, 0, "mutated files: each is refused with a message")
tap.ok(accepted > 0, "some of them with a right end are accepted", accepted)
tap.ok(most < 100 * 1024, "mutated files: memory stays bounded", most.." KiB")

-- -- Merge -------------------------------------------------------------------

local function totals(p_)
  local t = {}
  for _, field in ipairs({ "cpu", "alloc_objects", "alloc_bytes",
      "inuse_bytes", "peak_bytes" }) do
    t[field] = 0
    for _, row in ipairs(p_.rows) do t[field] = t[field] + row[field] end
  end
  return t
end
local a, b = profiled("fb1"), profiled("b64k")
local m = merge({ a, b, a })
local ta, tb, tm = totals(a), totals(b), totals(m)
for field, sum in pairs(tm) do
  tap.ok(math.abs(sum - 2 * ta[field] - tb[field]) <= 1e-6 * sum,
    "merged: "..field)
end
tap.is(m.heap.alloc_bytes, 2 * a.heap.alloc_bytes + b.heap.alloc_bytes,
  "merged: the totals")
tap.is(m.info.runs, 3, "merged: three runs")
tap.is(difference(m, assert(file.read(file.write(m))), "profile"), nil,
  "a merged profile is a profile")

-- -- The command -------------------------------------------------------------

local dir = tap.tmpname()
os.remove(dir)
assert(os.execute("mkdir "..dir) == 0)
local function run(args, opts)
  opts = opts or {}
  opts.dir = opts.dir or dir
  return tap.sh(tap.mp.." "..args, opts)
end
local function write(name, text) tap.write(dir.."/"..name, text) end
local function read(name) return tap.read(dir.."/"..name) end

local r = run("--version")
tap.like(r.out, "^luajit%-mp %d+%.%d+%.%d+\n$", "--version")
r = run("--help")
tap.like(r.out, "^usage: luajit%-mp run", "--help")
local page = tap.read(tap.srcdir.."/man/luajit-mp.1")
for name in r.out:gmatch("luajit%-mp (%a+)") do
  tap.like(page, "\n%.It Cm "..name.."\n", "the manual has "..name)
end
for name in r.out:gmatch("%-%-(%a[%a-]*)") do
  tap.like(page, "\n%.?[^\n]*Fl %-"..name:gsub("%-", "%%-").."%f[^%w-]",
    "the manual has --"..name)
end

local waste = [[
local keep = {}
local function join(n)
  local s = ""
  for i = 1, n do s = s .. i .. "," end
  return s
end
for i = 1, 100 do keep[i] = #join(300) end
local t0 = os.clock()
while os.clock() - t0 < 0.1 do end -- unmistakable words
print("sum", #keep, ...)
os.exit(7)
]]
write("waste.lua", waste)
write("repaired.lua", (waste:gsub('local s = ""', "local s = {}")
  :gsub('s = s .. i .. ","', 's[i] = i .. ","')
  :gsub("return s", "return table.concat(s)")))
r = run("run -o old.mp -o old.txt -O flb1 waste.lua one 'two words'")
tap.is(r.status, 7, "run: the exit status is the program's")
tap.is(r.out, "sum\t100\tone\ttwo words\n", "run: and so is the output", r.err)
tap.like(read("old.txt"), "^luajit%-mp  waste.lua", "run: a text")
tap.like(read("old.mp"), "^luajit%-mp profile 1\n", "run: a profile")
tap.is(run("report old.mp fl").out, read("old.txt"),
  "report: the same text from the file")
run("run -o old.mp -O b1 waste.lua")
run("run -o new.mp -O b1 repaired.lua")
r = run("diff -O h old.mp new.mp")
tap.is(r.status, 0, "diff")
tap.like(r.out, "allocated\n[^\n]*%(all%)\n[^\n]*%-[%d.]+ MB   join\n",
  "diff: the function that was repaired stands first")
r = run("diff --share --threshold 5 -O lh old.mp new.mp")
tap.is(r.status, 1, "diff: above the threshold")
tap.like(r.err, "^luajit%-mp: diff: a share changed by [%d.]+ %%, more than 5 %%\n$",
  "diff: says so")
tap.is(run("diff --threshold 5 -O h old.mp new.mp").status, 0,
  "diff: less is not more")
tap.is(run("diff --threshold 5 -O h new.mp old.mp").status, 1,
  "diff: the other way round it is")
tap.is(run("diff -o d.html old.mp new.mp").status, 0, "diff: a page")
tap.like(read("d.html"), "^<!DOCTYPE html>", "diff: the page")
run("merge -o both.mp old.mp new.mp")
tap.like(run("report both.mp").out, "^luajit%-mp  ", "merge")
tap.is(run("merge old.mp new.mp").out, read("both.mp"), "merge to stdout")
for _, suffix in ipairs({ ".html", ".speedscope.json", ".cpuprofile",
    ".heapprofile", ".folded", ".mp", ".txt", ".heap.pb.gz" }) do
  tap.is(run("convert -O fh old.mp out"..suffix).status, 0, "convert to "..suffix)
  tap.ok(#(read("out"..suffix) or "") > 20, "there is a file "..suffix)
end
tap.is(read("out.mp"), read("old.mp"), "convert to .mp changes nothing")
tap.is(run("convert old.mp all.pb.gz").status, 0, "convert to .pb.gz")
tap.ok(read("all.heap.pb.gz") and read("all.cpu.pb.gz") and
  not read("all.pb.gz"), "CPU and heap apart")
run("convert -O P old.mp one.pb.gz")
tap.ok(read("one.pb.gz"), "or together")
run("convert --no-source old.mp none.html")
tap.like(read("out.html"), "unmistakable words", "a page with the source")
tap.unlike(read("none.html"), "unmistakable words", "and one without")

local function wrong(args, status, want)
  local w = run(args)
  tap.is(w.status, status, args..": exit status")
  tap.like(w.err, "^luajit%-mp: [^\n]*"..want.."[^\n]*\n$", args..": message")
end
write("bad.mp", read("old.mp"):sub(1, 500))
wrong("", 2, "which command")
wrong("foo", 2, "unknown command foo")
wrong("run", 2, "which script")
wrong("run -x a.lua", 2, "unknown option %-x")
wrong("run -O q a.lua", 2, "unknown option 'q'")
wrong("run -o a,b.mp a.lua", 2, "comma")
wrong("report", 2, "give a profile")
wrong("report old.mp q", 2, "unknown option 'q'")
wrong("report nowhere.mp", 1, "nowhere.mp: No such file")
wrong("report bad.mp", 1, "bad.mp: is cut off at byte 500")
wrong("report waste.lua", 1, "waste.lua: is not a profile")
wrong("diff old.mp", 2, "two profiles")
wrong("diff --threshold x old.mp new.mp", 2, "percentage")
wrong("merge", 2, "which profiles")
wrong("convert old.mp", 2, "give a profile and a file")
wrong("convert old.mp no/where.html", 1, "no/where.html")
wrong("report -o", 2, "%-o needs a value")

-- -- Outputs by name ---------------------------------------------------------

r = tap.luajit("-jm=f,a.html,b%p.mp,c.txt waste.lua", { dir = dir })
tap.is(r.status, 7, "several outputs")
tap.ok(read("a.html") and read("c.txt"), "a page and a text")
local names = tap.sh("ls -A "..dir).out
tap.like(names, "\nb%d+%.mp\n", "%p is the process id")
tap.unlike(names, "%.tmp", "nothing is left beside")
tap.luajit("-jm=f,t%t.txt waste.lua", { dir = dir })
tap.like(tap.sh("ls "..dir).out, "\nt%d%d%d%d%d%d%d%d%-%d%d%d%d%d%d%.txt\n",
  "%t is the time of the start")
write("kept.txt", "old contents")
tap.sh("ln -s kept.txt "..dir.."/link.txt; chmod 640 "..dir.."/kept.txt")
tap.luajit("-jm=f,link.txt waste.lua", { dir = dir })
tap.like(read("kept.txt"), "^luajit%-mp", "a symbolic link is followed")
tap.like(tap.sh("ls -l "..dir.."/kept.txt").out, "^%-rw%-r%-%-%-%-%-",
  "the mode of a file stays")
r = tap.luajit("-jm=f,"..dir.." waste.lua", { dir = dir })
tap.is(r.status, 1, "a directory is refused")
tap.like(r.err, "cannot open '[^\n]*' for the report: Is a directory",
  "and why")

-- Without CPU samples there is nothing to fold, which is said once, and why.
write("short.lua", "local t = {}")
r = tap.luajit("-jm=f,none.folded,short.txt short.lua", { dir = dir })
tap.is(r.status, 0, "an output that fails: the exit status stays")
tap.like(r.err, "^luajit%-mp: no CPU samples: [^\n]* is too short for a timer "..
  "of 10 ms\n$", "an output that fails: said once")
tap.ok(read("short.txt") and not read("none.folded"), "the other is written")

os.execute("rm -r "..dir)
tap.done()
