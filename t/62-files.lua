-- The command luajit-mp: every command does what its manual says.

local tap = require("tap")
local file = require("jit.mp.format.file")

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
tap.ok(file.read(read("old.mp")), "run: a profile")
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
wrong("report bad.mp", 1, "bad.mp: is damaged: [^\n]*")
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
tap.like(r.err, "^luajit%-mp: cannot make 'none.folded': no CPU samples: "..
  "[^\n]* is too short for a timer "..
  "of 10 ms[^\n]*\n$", "an output that fails: said once")
tap.ok(read("short.txt") and not read("none.folded"), "the other is written")

os.execute("rm -r "..dir)
tap.done()
