-- SPDX-License-Identifier: MIT
-- Sources are read where they are files, whatever a chunk is called, and a
-- stranger's profile gets at nothing but the sources of the directory where it
-- is looked at.

local tap = require("tap")
local profile = require("jit.mp.model.profile")
local sources = require("jit.mp.model.sources")

local dir = tap.tmpdir()
assert(os.execute(("mkdir -p %s/test %s/app/.ssh %s/app/lib"):format(dir, dir,
  dir)) == 0)

-- -- Chunks of a program -----------------------------------------------------

-- Their sources are looked for when the report is made, at the end.
tap.sh("mkfifo p", { dir = dir })
tap.write(dir.."/code.luac", "\27LJ\2")
tap.write(dir.."/chunks.lua", [[
for _, name in ipairs({ "=test", "@test", "=p", "@/dev/zero", "@/dev/tty",
    "@code.luac", "@/proc/self/environ", "@nowhere.lua", "@chunks.lua" }) do
  local f = assert(load("local t = {} for i = 1, 3000 do t[i] = { i } end "..
    "return t", name))
  f()
end
]])
local r = tap.luajit("-jm=am0b1,o.txt,o.html chunks.lua", { dir = dir })
tap.is(r.status, 0, "chunks that are no files: the program ends as always")
tap.is(r.err, "", "and says nothing")
local text = tap.read(dir.."/o.txt") or ""
for name, why in pairs({ test = "not a regular file", p = "not a regular file",
    ["/dev/zero"] = "not a regular file", ["code.luac"] = "a bytecode file",
    ["nowhere.lua"] = "No such file or directory" }) do
  tap.like(text, "=== "..name:gsub("%p", "%%%0").." ===[^\n]*\n%[source "..
    "not shown: [^\n]*"..why, name..": "..why)
end
tap.like(text, "=== chunks.lua ===.-| for _, name in ipairs", "a file is read")
tap.unlike(text, "PATH=", "/proc holds nothing")
tap.like(tap.read(dir.."/o.html"), "not a regular file", "the page is there")

-- A file that has changed since the program ran.
local made = [[
local function make(n)
  local t = {}
  for i = 1, n do t[i] = { i } end
  return t
end
make(3000)
os.exit(0)
]]
local function annotated(now)
  tap.write(dir.."/now.lua", made)
  tap.luajit("-jm=b1,now.mp now.lua", { dir = dir })
  tap.write(dir.."/now.lua", now)
  return tap.sh(tap.mp.." report now.mp ah", { dir = dir }).out
end
local changed = "\n%[not the file that ran: the function on line 1 is not "..
  "there%]\n"
tap.unlike(annotated(made), "not the file that ran", "a file as it was")
tap.like(annotated("-- A remark.\n"..made), changed, "a file with a line more")
tap.like(annotated((made:gsub("make", "other"))), changed,
  "a file with another function there")
tap.like(tap.sh(tap.mp.." report now.mp h", { dir = dir }).out,
  "\n +%d+%% [^\n]* make\n", "which gives no name to what ran")

-- A file in another language may be what was compiled to what ran.
tap.unlike(annotated("#lang other\nfn make (n)\n"..made),
  "not the file that ran", "a file that is not Lua")

-- Functions behind texts and remarks, which do not count as code.
tap.write(dir.."/line.lua", [==[
local s = [[don't]]; local function make_one(n) return { n } end
--[[ don't ]] local function make_two(n) return { n, n } end
local function run(f) for i = 1, 1000 do s = f(i) end end
run(make_one)
run(make_two)
os.exit(0)
]==])
text = tap.luajit("-joff -jm=am0b1 line.lua", { dir = dir }).out
tap.unlike(text, "not the file", "a file as it was, too")
text = tap.luajit("-joff -jm=fhm0b1 line.lua", { dir = dir }).out
tap.like(text, " make_one\n", "gives its names")
tap.like(text, " make_two\n", "gives all of them")

-- -- A stranger's profile ----------------------------------------------------

local function write(name, contents) tap.write(dir.."/"..name, contents) end
write("secret.txt", "secret\n")
write("app/main.lua", "print(1)\n\nreturn 2")
write("app/lib/a.lua", "a\n")
write("app/.ssh/id", "secret\n")
write("app/.env", "secret\n")
tap.sh("ln -s ../secret.txt link.lua; ln -s lib/a.lua good.lua",
  { dir = dir.."/app" })

local function stranger(cwd)
  return profile.new({ info = { cwd = cwd, notes = {} }, cpu = {}, heap = {},
    frames = {}, stacks = { parent = {}, frame = {} },
    zones = { parent = {}, name = {} }, rows = {} })
end
local function read(source, cwd, root)
  local p = stranger(cwd)
  p.from_file = true
  return sources.read(p, source, { source_root = root })
end

local p = stranger(dir.."/app")
tap.is(sources.read(p, "main.lua"), "print(1)\n\nreturn 2",
  "a profile of this process reads what it ran")
tap.is(#sources.lines(p, "main.lua"), 3, "by lines")
tap.is(sources.lines(p, "main.lua")[2], "", "an empty line is one")
tap.is(#sources.lines(p, "lib/a.lua"), 1, "a line end ends a line")

local function refused(name, text_, why)
  tap.is(text_, nil, name..": not read")
  tap.like(why, ".", name..": and why")
end
refused("elsewhere", read("main.lua", dir.."/app"))
refused("no directory", read("/etc/passwd"))
refused("all directories", read("/etc/passwd", "/"))
refused("another's directory", read("passwd", "/etc"))
refused("/proc", read("environ", "/proc/self"))
local root = dir.."/app"
for _, cwd in ipairs({ "/srv/app", root, "/" }) do
  tap.is(read("main.lua", cwd, root), "print(1)\n\nreturn 2",
    "--source-root names the directory, run in "..cwd)
end
tap.is(read("/srv/app/lib/a.lua", "/srv/app", root), "a\n",
  "--source-root: an absolute name is moved")
tap.is(read("./lib/a.lua", "/srv/app", root), "a\n", "./ is not a hidden file")
tap.is(read("good.lua", "/srv/app", root), "a\n",
  "links within it are followed")
for _, name in ipairs({ "/etc/passwd", "../secret.txt", "lib/../../secret.txt",
    "link.lua", ".ssh/id", ".env", "lib/../.env", dir.."/secret.txt", "lib",
    "..", "/dev/zero" }) do
  refused("--source-root: "..name, read(name, "/srv/app", root))
end

-- By the command, in the program's directory and in others.
write("app/run.lua", "local t = {}\nfor i = 1, 1e5 do t[i % 9] = { i } end\n")
local command = tap.mp.." "
local function annotate(where, more)
  return tap.sh(command.."report "..(more or "").." "..dir..
    "/app/x.mp am0", { dir = dir..where }).out
end
tap.luajit("-jm=b1,x.mp run.lua", { dir = dir.."/app" })
tap.like(annotate("/app"), "| for i = 1",
  "in its directory a profile has source")
tap.like(annotate(""), "| for i = 1", "and in one above it")
tap.like(annotate("/test"), "source not shown: outside the current directory",
  "in another one it has none, and why")
tap.like(annotate("/test", "--source-root "..dir.."/app"), "| for i = 1",
  "unless it is named")

tap.done()
