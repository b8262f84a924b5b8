-- SPDX-License-Identifier: MIT
-- The command luajit-mp: every command does what its manual says.

local tap = require("tap")
local file = require("jit.mp.format.file")

-- -- The command -------------------------------------------------------------

local dir = tap.tmpdir()
local function run(args, opts)
  opts = opts or {}
  opts.dir = opts.dir or dir
  return tap.sh(tap.mp.." "..args, opts)
end
local function write(name, text) tap.write(dir.."/"..name, text) end
local function read(name) return tap.read(dir.."/"..name) end

local r = run("--version")
tap.like(r.out, "^luajit%-mp %d+%.%d+%.%d+\n$", "--version")
tap.is(run("-V").out, r.out, "-V")
r = run("")
tap.is(r.status, 2, "no arguments: a usage error")
local status = tap.luajit([[-e "require('jit.mp.cli.command').main({ '-V' },]]..
  [[ { version = '' }) print('', jit.status())"]]).out
tap.ok(status:find("\n\t%a+") and not status:find("%sfwd%s"),
  "code that old builds of LuaJIT compile wrongly is not compiled so", status)
tap.like(r.err, "^usage: luajit%-mp COMMAND", "no arguments: the usage")
r = tap.sh("env -u LUA_PATH -u LUA_CPATH "..tap.mp.." --version")
tap.ok(r.status == 0 or r.status == 1 and r.err:find(
  "^luajit%-mp: its modules are not in /[^\n]+ %./run %./luajit%-mp\n$"),
  "not installed: one line says what would help", r.err)

-- A link to itself can be opened by nobody, root included.
local broken = dir.."/broken/jit/mp/cli"
assert(os.execute(("mkdir -p %s && ln -s command.lua %s/command.lua"):format(
  broken, broken)) == 0)
r = tap.sh(("env LUA_PATH='%s/broken/?.lua' %s --version"):format(dir, tap.mp))
tap.ok(r.status == 1 and r.err:find(broken..
  "/command.lua: Too many levels of symbolic links", 1, true) and
  not r.err:find("LUA_PATH", 1, true),
  "a module that cannot be opened: the reason", r.err)

r = run("--help")
tap.is(run("-h").out, r.out, "-h")
tap.like(r.out, "^usage: luajit%-mp COMMAND", "--help")
for _, c in ipairs(require("jit.mp.cli.spec").commands) do
  tap.ok(r.out:find(("  %-8s %s\n           $ luajit-mp %s "):format(c.name,
    c.about, c.name), 1, true), "--help: what "..c.name.." does, by example",
    r.out)
end
tap.like(r.out, "\nReport bugs to ", "--help: where bugs go")
for line in r.out:gmatch("[^\n]+") do
  if #line > 80 then tap.is(line, nil, "--help: lines fit a terminal") end
end
local page = tap.read(tap.srcdir.."/man/luajit-mp.1")
for name in r.out:gmatch("luajit%-mp (%l+)") do
  tap.like(page, "\n%.It Xo\n%.Cm "..name.."\n", "the manual has "..name)
end
for name in r.out:gmatch("%-%-(%a[%a-]*)") do
  tap.like(page, "\n%.?[^\n]*Fl %-"..name:gsub("%-", "%%-").."%f[^%w-]",
    "the manual has --"..name)
end

local list = tap.sh(tap.command.." -jm=H").out
tap.like(list, "^luajit %-jm", "the list of options")
for _, words in ipairs({ "run -O H", "attach --options=H", "report -OH",
    "top -O help", "diff -O H one" }) do
  r = run(words)
  tap.is(r.status..r.out..r.err, "0"..list, words.." lists the options")
end

write("alias.lua", [[
local keep = {}
local function make(i) keep[i % 9] = { i } end
local alias = make
for i = 1, 2000 do alias(i) end
]])
r = run("run -o alias.mp -o alias.txt -O fhorb1 alias.lua")
tap.is(r.err, "", "run: nothing to say")
tap.like(read("alias.txt"), "\n +20%d%d +%d+   make\n",
  "the name that the source gives")
os.remove(dir.."/alias.lua")
tap.like(run("report -O hor alias.mp").out, "\n +20%d%d +%d+   make\n",
  "it stays when the source is gone")
run("merge -o twice.mp alias.mp alias.mp")
tap.like(run("report -O hor twice.mp").out, "\n +40%d%d +%d+   make\n",
  "and when profiles are merged")

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
tap.like(run("diff --help").out, "order of rows: change, before, after or name",
  "diff: the help has its own orders")
r = run("diff -O h old.mp new.mp")
tap.is(r.status, 0, "diff")
tap.like(r.out, "allocated\n[^\n]*%(all%)\n[^\n]*%-[%d.]+ MB   join\n",
  "diff: the function that was repaired stands first")
r = run("diff --share --threshold 1 -O lh old.mp new.mp")
tap.is(r.status, 1, "diff: above the threshold")
tap.like(r.err, "^luajit%-mp: diff: allocated: the share of "..
  "repaired.lua:4 changed by [%d.]+ points, more than 1\n$",
  "diff: says so")
tap.is(run("diff --threshold 5 -O h old.mp new.mp").status, 0,
  "diff: less is not more")
tap.is(run("diff --threshold 5 -O h new.mp old.mp").status, 1,
  "diff: the other way round it is")
tap.is(run("diff --share --threshold 1 --sort name -O lh old.mp new.mp").status,
  1, "diff: above the threshold in any order")
tap.like(run("diff -O flh old.mp new.mp").out, "   join\n[^\n]*\n?"..
  "[^\n]*%-[%d.]+ MB   %-%- repaired.lua:4\n", "diff: the lines of a function")
tap.like(run("diff -O lrh old.mp new.mp").out, "\n +(%d+) +(%d+) +[+-]%d+   "..
  "repaired.lua:4\n", "diff: raw numbers")
tap.like(run("diff -O Y old.mp new.mp").out,
  "\nno C memory: luajit%-mp run %-%-native measures it\n",
  "diff: a view that was not measured")
tap.is(run("diff -o d.html old.mp new.mp").status, 0, "diff: a page")
tap.like(read("d.html"), "^<!DOCTYPE html>", "diff: the page")
tap.is(run("merge -o both.mp old.mp old.mp").err, "", "merge says nothing")
run("merge -o both.mp old.mp new.mp")
tap.like(run("report both.mp").out, "^luajit%-mp  ", "merge")
tap.is(run("merge old.mp new.mp").out, read("both.mp"), "merge to stdout")
run("run -o sampled.mp -O b32k waste.lua")
run("merge -o sum.mp old.mp sampled.mp")
tap.like(run("report sum.mp f").out, "samples, every 32 KiB or less\n",
  "merge: the largest distance of samples")
for _, letter in ipairs({ "e", "L", "W" }) do
  run("run -o one.mp -O "..letter.." waste.lua")
  run("merge -o sum.mp one.mp one.mp")
  tap.like(run("report sum.mp "..letter).out,
    "no [%l ]+ in a sum of profiles: each of them has its own\n",
    letter..": what a merged profile lacks")
end
tap.write(dir.."/keep.lua", [[
local function keep(n) for i = 1, n do kept = { kept } end end
keep(1e4)
os.exit(0)]])
run("run -o one.mp -O Lb1 keep.lua")
r = run("merge -o sum.mp one.mp old.mp")
tap.is(r.status, 0, "profiles of two programs are merged")
tap.like(r.err, "^luajit%-mp: warning: one.mp is a profile of [^ ]*keep.lua, "..
  "old.mp of [^ ]+: the sum mixes them\n$", "with a warning")

-- One script by several names of it; and two whose names are alike.
for name, where in pairs({ ["same1.mp"] = "./keep.lua",
    ["same2.mp"] = dir.."/keep.lua" }) do
  tap.luajit(("-jm=lb1,%s %s"):format(name, where), { dir = dir })
end
tap.sh(("mkdir there; cp keep.lua there; cd there; %s run -O lb1 -o "..
  "../same3.mp ../keep.lua; %s run -O lb1 -o ../same4.mp keep.lua"):format(
  tap.mp, tap.mp), { dir = dir })
r = run("merge -o sum.mp same1.mp same2.mp same3.mp")
tap.is(r.err, "", "one script by two names and another's: no warning")
local text = run("report sum.mp h").out
tap.like(text, "^luajit%-mp  keep.lua   ran [^\n]* in 3 profiles\n",
  "the sum has the script's name")
tap.like(text, "\n *%d+%% +%d[^\n]* +%d+%%   keep\n", "and one function")
tap.unlike(text, "keep %(", "not several")
r = run("merge -o sum.mp same1.mp same4.mp")
tap.like(r.err, "^luajit%-mp: warning: same1.mp is a profile of ./keep.lua, "..
  "same4.mp of keep.lua: ", "a copy in another directory: a warning")
tap.like(run("report sum.mp h").out, "keep %(./keep.lua:1%).*keep %(keep.lua:1",
  "and two functions")
r = run("report one.mp Lf")
if not r.out:find("GC cycles not known", 1, true) then
  tap.like(r.out, "\nBy function:\n", "leaks by function")
  tap.like(run("report one.mp L").out, "\nBy line:\n", "leaks by line")
end
for _, suffix in ipairs({ ".html", ".speedscope.json", ".cpuprofile",
    ".heapprofile", ".folded", ".mp", ".txt", ".heap.pb.gz" }) do
  -- Other files have no views, or CPU alone.
  local view = (suffix == ".mp" or suffix == ".cpuprofile") and "" or "-O fh "
  tap.is(run("convert "..view.."old.mp out"..suffix).status, 0,
    "convert to "..suffix)
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
wrong("foo", 2, "unknown command foo")
wrong("waste.lua", 2, "waste.lua %(did you mean run waste.lua%?%);")
wrong("old.mp", 2, "old.mp %(did you mean report old.mp%?%);")
wrong("-O fl run waste.lua", 2, "option %-O comes after the command;")
wrong("--output=x run waste.lua", 2, "option %-%-output=x comes after the ")
wrong("run fl waste.lua", 1, "cannot open fl: .*; options come with %-O: "..
  "run %-O fl waste.lua")
wrong("--foo", 2, "unknown option %-%-foo")
wrong("diff old.mp new.mp bad.mp", 2, 'extra argument "bad.mp"; see')
wrong("attach 1 2", 2, 'extra argument "2"')
for _, command in ipairs({ "report old.mp", "convert old.mp x.html",
    "diff old.mp new.mp", "attach 1", "open old.mp" }) do
  wrong(command:gsub(" ", " --source-root nowhere ", 1), 2,
    "%-%-source%-root nowhere: No such file or directory;")
end
wrong("run", 2, "no script or program given")
wrong("run -x a.lua", 2, "unknown option %-x")
wrong("run -O Z a.lua", 2, "unknown option 'Z'")
wrong("run -o a,b.mp a.lua", 2, "comma")
wrong("report", 2, "no profile given")
wrong("report old.mp Z", 2, "unknown option 'Z'")
wrong("report fl old.mp", 2, "after the profile: report old.mp fl;")
wrong("report old.mp old.mp", 2, "diff compares two")
wrong("report nowhere.mp", 1, "nowhere.mp: No such file")
wrong("report bad.mp", 1, "bad.mp is damaged or cut short: [^\n]*")
wrong("report waste.lua", 1, "waste.lua is not a profile")
if tap.sh("gzip --version").status == 0 then
  os.execute(("cd %s && gzip -k old.mp"):format(dir))
  wrong("report old.mp.gz", 1, "gzip file of another program; [^\n]*gunzip")
  os.execute(("cd %s && gzip -n <old.mp >twice.mp"):format(dir))
  wrong("report twice.mp", 1, "twice.mp was compressed again; gunzip it")
end
wrong("diff old.mp", 2, "two profiles")
for letter in ("aAgenLMqG"):gmatch(".") do
  wrong(("diff -O %s old.mp new.mp"):format(letter), 2,
    ("option %s is a report of one profile"):format(letter))
end
for _, n in ipairs({ "x", "nan", "inf", "-1" }) do
  wrong("diff --threshold "..n.." old.mp new.mp", 2, "percentage")
end
wrong("merge", 2, "no profiles given")
wrong("convert old.mp x.heapsnapshot", 1, "do not keep each object")
wrong("convert old.mp", 2, "an output file are needed")
wrong("convert old.mp no/where.html", 1, "no/where.html")
wrong("report -o", 2, "%-o needs a value")

-- -- GNU's habits ------------------------------------------------------------

local spec = require("jit.mp.cli.spec")
for _, c in ipairs(spec.commands) do
  r = run(c.name.." --help")
  tap.is(r.status, 0, c.name.." --help")
  tap.like(r.out, "^usage: luajit%-mp "..c.name.." ", c.name.." --help: usage")
  tap.is(run(c.name.." -h").out, r.out, c.name.." -h")
  for line in r.out:gmatch("[^\n]+") do
    if #line > 80 then tap.ok(false, "too wide: "..line) end
  end
  for _, name in ipairs(c.options) do
    local long = spec.options[name].long
    tap.ok(r.out:find(long, 1, true), c.name.." --help: "..long)
  end
end
local want = run("report old.mp -2sl").out
tap.like(want, "^luajit%-mp  ", "-2s is an option string, not an option")
for _, args in ipairs({ "report -O -2sl old.mp", "report -O-2sl old.mp",
    "report --options=-2sl old.mp", "report --options -2sl -- old.mp",
    "report - -2sl <old.mp", "report old.mp -O -2sl",
    "report -o - old.mp -2sl" }) do
  tap.is(run(args).out, want, args)
end
for _, args in ipairs({ "report -ogiven.txt old.mp -2sl",
    "report --output=given.txt old.mp -2sl" }) do
  run(args)
  tap.is(read("given.txt"), want, args)
  os.remove(dir.."/given.txt")
end
tap.is(run("diff --threshold=5 -Oh new.mp old.mp").status, 1, "--threshold=5")
tap.like(run("diff --threshold=5 -Oh new.mp old.mp").err,
  "^luajit%-mp: diff: allocated grew by [%d.]+%%, more than 5%%, most in "..
  "join\n",
  "--threshold names the view and the row")
tap.is(run("run -Ob1 -ogiven.mp waste.lua --help -o x").out,
  "sum\t100\t--help\t-o\tx\n", "run: what follows the script is the script's")
tap.like(run("run --help").out, "Options come before the script",
  "run --help: says so")
wrong("report --share old.mp", 2, "report: unknown option %-%-share")
wrong("report --no-such=1 old.mp", 2, "report: unknown option %-%-no%-such")
wrong("diff --share=1 old.mp new.mp", 2, "%-%-share takes no value")
wrong("report -O f old.mp f", 2, "options once")
wrong("run -O f,x.txt waste.lua", 2, "with %-o, not after a comma")
wrong("report - <bad.mp", 1, "standard input is damaged")

wrong("report -o '' old.mp", 2, "%-o needs a value")
wrong("report --output= old.mp", 2, "%-%-output= needs a value")
for _, options in ipairs({ "T", "fi5", "b1", "lw3", "C1m", "j" }) do
  for _, command in ipairs({ "report -O %s old.mp", "convert -O %s old.mp x",
      "diff -O %s old.mp new.mp", "open -O %s old.mp" }) do
    wrong(command:format(options), 2, "option '"..options:match("[TibwCj]")..
      "' is for the run of a program")
  end
end
tap.is(run("help").out, run("--help").out, "help")
tap.is(run("help diff").out, run("diff --help").out, "help diff")
tap.is(run("help dif").out, run("help diff").out, "a command's beginning")
wrong("help difference", 2, "unknown command difference;")
wrong("help reprot", 2, "unknown command reprot %(did you mean report%?%);")
wrong("r old.mp", 2, "ambiguous command r %(run or report%);")
tap.is(run("rep old.mp h").out, run("report old.mp h").out, "rep is report")
tap.is(run("dif --thr=5 -Oh new.mp old.mp").status, 1, "--thr is --threshold")
tap.is(run("--vers").out, run("--version").out, "--vers")
wrong("--verison", 2, "unknown option %-%-verison %(did you mean %-%-version%?")
wrong("-x", 2, "unknown option %-x;")
wrong("diff --s a b", 2, "ambiguous option %-%-s %(%-%-sort or ")
wrong("diff --trheshold=5 a b", 2, "%(did you mean %-%-threshold%?%)")
tap.like(run("report old.mp H").out, "\n  m<n> +hide rows below n percent",
  "report H lists the options")

-- -- Scripts that cannot be loaded -------------------------------------------

wrong("run -O Y waste.lua", 2, "views Y and U need %-%-native")
wrong("run -O fhU waste.lua", 2, "views Y and U need %-%-native")
write("broken.lua", "x =\n")
wrong("run broken.lua", 1, "run: broken.lua:%d: unexpected symbol")
wrong("run nowhere.lua", 1, "run: cannot open nowhere.lua: No such file")
wrong("run .", 1, "run: . is a directory")
write("it's.lua", "print('quoted')")
tap.like(run([[run "it's.lua"]]).out, "^quoted\n", "any name of a script")
write("from-stdin.lua", "print('hello')")
write("lua-tool", "#!/usr/bin/env luajit\nprint(arg[0]:match('[^/]*$'), ...)")
os.execute("chmod +x "..dir.."/lua-tool")
tap.like(tap.sh("PATH=$PWD:$PATH; "..tap.mp.." run lua-tool a b",
  { dir = dir }).out, "^lua%-tool\ta\tb\n.*allocated", "a script found by PATH")
tap.like(run("run - <from-stdin.lua").out, "^hello\n", "run - reads a script")
tap.like(tap.sh("mkfifo sf; cat from-stdin.lua >sf & "..tap.mp.." run sf; wait",
  { dir = dir }).out, "^hello\n", "a script from a pipe is read once")

-- -- Suffixes ----------------------------------------------------------------

for _, name in ipairs({ "app.jsn", "app.svg", "x.dot", "x.HTML", "x.pb" }) do
  wrong("convert old.mp "..name, 2,
    "unknown output format .*; known formats: .pb.gz")
  wrong("report -o "..name.." old.mp", 2, "unknown output format")
  wrong("run -o "..name.." waste.lua", 2, "unknown output format")
  tap.ok(not read(name), name..": nothing is written")
  r = tap.luajit("-jm=f,"..name.." waste.lua", { dir = dir })
  tap.is(r.status, 1, "-jm=f,"..name)
  tap.like(r.err, name.."\": unknown output format %.%a+; known formats: ",
    "-jm=f,"..name..": said")
end
for _, name in ipairs({ "plain", "x.txt", "x.log", "x.1234", "dir.d/x" }) do
  tap.sh("mkdir -p dir.d", { dir = dir })
  tap.is(run("report -o "..name.." old.mp").status, 0, name.." is text")
end

-- -- Parts that a profile lacks ----------------------------------------------

wrong("report old.mp e", 1, "no events: [^\n]* option e")
wrong("report old.mp L", 1, "no ages of objects: [^\n]* option L")
wrong("report old.mp W", 1, "no heap walk: a profile has it [^\n]* option W")
wrong("report old.mp M", 1, "no table of the memory: [^\n]* option M")
wrong("report --leak-only old.mp", 1, "no events")
wrong("report --leak-only old.mp fl", 2, "option e")
run("run -o events.mp -Oe waste.lua")
r = run("report --leak-only events.mp")
tap.like(r.out, "^HEAP SUMMARY:\n@", "--leak-only: the summary alone")
tap.unlike(r.out, "TOTALS", "--leak-only: no more")

-- -- Outputs that fail -------------------------------------------------------

for _, args in ipairs({ "report old.mp", "diff old.mp new.mp", "merge old.mp",
    "--help", "report --help", "--version" }) do
  r = run(args.." >/dev/full")
  tap.is(r.status, 1, args.." >/dev/full: status")
  tap.like(r.err, "^luajit%-mp: cannot write to? ?standard output: No space",
    args.." >/dev/full: message")
  r = run(args.." >&-")
  tap.is(r.status, 1, args.." >&-: status")
  tap.like(r.err, "^luajit%-mp: cannot write to? ?standard output: ",
    args.." >&-: message")
end

-- A reader that goes, as head does, is not an error.
local function without_reader(first)
  return tap.sh(("rm -f gone; %s{ until [ -e gone ]; do sleep 0.05; done; "..
    "%s report old.mp g; echo status $? >&2; } | { exec <&-; : >gone; }")
    :format(first, tap.mp), { dir = dir }).err
end
tap.is(without_reader(""), "status 141\n",
  "the reader has gone: dies of the signal, silently")
tap.is(without_reader("trap '' PIPE; "), "luajit-mp: cannot write to "..
  "standard output: Broken pipe\nstatus 1\n", "it is ignored: an error")

write("victim.txt", "old")
tap.sh("chmod 600 victim.txt; ln -s victim.txt link2.txt", { dir = dir })
run("report -o link2.txt old.mp")
tap.like(read("victim.txt"), "^luajit%-mp", "a link is followed")
tap.like(tap.sh("ls -l "..dir.."/victim.txt").out, "^%-rw%-%-%-%-%-%-%-",
  "the mode stays")
r = tap.sh("mkfifo ff; cat ff >got & "..tap.mp.." report -o ff old.mp; wait",
  { dir = dir })
tap.is(read("got"), run("report old.mp").out, "a FIFO is written to")

-- -- The page in a browser ---------------------------------------------------

write("xdg-open", '#!/bin/sh\necho "$1" >"$OPENED"\n')
r = tap.sh("chmod +x xdg-open; OPENED=$PWD/opened DISPLAY=:0 TMPDIR=$PWD "..
  "PATH=$PWD:$PATH "..tap.mp.." open old.mp", { dir = dir })
tap.is(r.status, 0, "open: xdg-open is asked")
local opened = (read("opened") or ""):gsub("\n$", "")
tap.like(tap.read(opened), "^<!DOCTYPE html>", "open: the page is there")

-- Serves the page to who knows its name, and to nobody else.
if tap.sh("bash --version").status == 0 then
  write("get", [[
exec 3<>/dev/tcp/127.0.0.1/$1 && printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3 &&
cat <&3
]])
  write("drip", [[
exec 3<>/dev/tcp/127.0.0.1/$1
while printf x >&3; do : >dripping; sleep 0.1; done
]])
  r = tap.sh("unset DISPLAY WAYLAND_DISPLAY; "..tap.mp.." open old.mp >url & "..
    "pid=$!; while [ ! -s url ]; do sleep 0.1; done; "..
    "url=$(sed -n 's|^http://127.0.0.1:||p' url); port=${url%%/*}; "..
    "bash drip $port 2>/dev/null & "..
    "while [ ! -e dripping ]; do sleep 0.1; done; "..
    "bash get $port /${url#*/} >page; bash get $port / >other; kill $pid",
    { dir = dir })
  -- A stranger's request that is never complete is there all the time.
  tap.like(read("page"), "^HTTP/1.0 200 OK\r\n.*\r\n\r\n<!DOCTYPE html>",
    "open: the page is served")
  tap.like(read("other"), "^HTTP/1.0 404", "open: under its name alone")
end

-- -- Modules -----------------------------------------------------------------

-- Never those of the current directory.
tap.sh([[mkdir -p hj/jit/mp
for d in cli format model text page; do
  for m in command args files stop spec formats file profile render names; do
    mkdir -p hj/jit/mp/$d
    echo 'io.stderr:write("HIJACKED\n") os.exit(66)' >hj/jit/mp/$d/$m.lua
  done
done
cp hj/jit/mp/cli/args.lua hj/jit/mp.lua
cp hj/jit/mp/cli/args.lua hj/jit/mp/options.lua
cp old.mp hj]], { dir = dir })
for _, path in ipairs({ "", "LUA_PATH='./?.lua;'\"$LUA_PATH\" " }) do
  r = tap.sh(path..tap.mp.." report old.mp", { dir = dir.."/hj" })
  tap.is(r.status, 0, path.."a directory's own jit/mp is not run")
  tap.unlike(r.err, "HIJACKED", path.."nothing of it")
end

-- -- Memory -----------------------------------------------------------------

if (os.getenv("LIBASAN") or "") == "" then
  write("full.lua", [[
require("jit.mp.core").end_without_memory()
print(pcall(function()
  local t = {}
  for i = 1, 1e9 do t[i] = { i, {} } end
end))]])
  r = tap.sh("ulimit -v 400000; "..tap.command.." full.lua", { dir = dir })
  tap.is(r.status..r.out..r.err, "1luajit-mp: not enough memory\n",
    "compiled code of the command gets no memory")
end

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
r = tap.luajit("-jm=fi500,none.folded,short.txt short.lua", { dir = dir })
tap.is(r.status, 0, "an output that fails: the exit status stays")
tap.like(r.err, "^luajit%-mp: cannot make 'none.folded': no CPU samples: "..
  "[^\n]* is too short for a timer of 500 ms; i1 samples more often\n$",
  "an output that fails: said once")
tap.ok(read("short.txt") and not read("none.folded"), "the other is written")

tap.done()
