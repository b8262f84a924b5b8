-- SPDX-License-Identifier: MIT
-- A row is a function: its chunk and the line where it begins, with the name
-- that its source gives to it.

local tap = require("tap")
local definitions = require("jit.mp.model.definitions")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")
local snapshots = require("snapshots")
local util = require("jit.util")

local lua = snapshots.lua

-- -- Definitions on a line ---------------------------------------------------

-- The names on the last line of a text.
local function defined(text, want)
  local _, n = text:gsub("\n", "")
  local got = {}
  for i, name in ipairs(definitions.read(text)[n + 1] or {}) do
    got[i] = tostring(name)
  end
  tap.is(table.concat(got, " "), want, text:gsub("\n", " "))
end

defined("local function decode(s, i) end", "decode")
defined("function decode (s) end", "decode")
defined("function a.b.decode(s) end", "decode")
defined("function Account:deposit(n) self.n = n end", "deposit")
defined("decode = function(s) end", "decode")
defined("local decode=function(s) end", "decode")
defined("M.util.decode = function() return function() end end", "decode false")
defined("  encode = function(s) return s end,", "encode")
defined("['encode'] = function(s) end", "encode")
defined("t[\"encode\"] = function(s) end", "encode")
defined("t[\"not a name\"] = function(s) end", "false")
defined("t[name] = function(s) end", "false")
defined("t[#t+1] = function(s) end", "false")
defined("local a, b = function() end", "false")
defined("local decode =\n  function(s) end", "decode")
defined("return\n  function(s) end", "false")
defined("table.sort(t, function(a, b) return a < b end)", "false")
defined("local s = 'function f()' -- function end", "")
defined("local s = \"a \\\" function f()\" function g() end", "g")
defined("myfunction(x)", "")
defined("local x = a - b --[[c]] function f() end", "f")
defined("local x = 1 - 2 function f() end", "f")
defined("local s = [[don't]] function f() end", "f")
defined("--[[ don't ]] function f() end", "f")
defined("local s = [==[\n]] function g()\n]==] function f() end", "f")
defined("local s = 'a\\\nfunction g()' function f() end", "f")
defined("local s = 'a\\z\n\n  function g()' function f() end", "f")
defined("local s = 'no end\nfunction f() end", "f")
defined("#!/usr/bin/luajit function\nfunction f() end", "f")
defined("\239\187\191function f() end", "f")
defined("local a\r\nlocal function f() end", "f")
defined("function f\n\n() end", "")
defined("local function f\n\n() end", "f")
defined("local f = function -- A remark.\n() end", "f")
defined("t = { f = function() local a, g = function() end end,\n"..
  "  h = function() end }", "h")
defined("t = { x, f = function() end, ['g'] = function() end }", "f g")
defined("a, b = { ['f'] = function() end }", "f")
defined("a.x, b.y = function() end", "false")
defined("local naïve = function() end", "naïve")

-- Newer syntax.
defined("local short = x -> { x }", "short")
defined("M.util.short = x -> x", "short")
defined("local short = |a, b| -> a | b", "short")
defined("local short = || -> do return 1 end", "short")
defined("local short = |...| -> ...", "short")
defined("t = { f = x -> x | 1, ['g'] = || -> 3, x -> x }", "f g false")
defined("local add = x -> y -> x + y", "add false")
defined("map(t, x -> x)", "false")
defined("map(t, |a,\n  b| -> a)", "")
defined("local a = b | c || d", "")
defined("local a = f(b) | t[c] | 1 | 'x' | nil | ...", "")
defined("const f = x -> x", "f")
defined("const function f\n() end", "f")
defined("local a, b = x -> x, y -> y", "false false")
defined("local function a(x) return x - 1 end x = y", "a")

-- Every function of these files is where LuaJIT says that it begins.
local function begins(proto, lines)
  local n = -1
  local k = util.funck(proto, n)
  while k ~= nil do
    if type(k) == "proto" then
      local line = util.funcinfo(k).linedefined
      lines[line] = (lines[line] or 0) + 1
      begins(k, lines)
    end
    n = n - 1
    k = util.funck(proto, n)
  end
  return lines
end

local function misread(file)
  local text = tap.read(file)
  local lines, t = begins(assert(loadstring(text)), {}), {}
  local found = definitions.read(text)
  for line, n in pairs(lines) do
    if n ~= #(found[line] or {}) then t[#t+1] = line end
  end
  for line in pairs(found) do
    if not lines[line] then t[#t+1] = line end
  end
  return table.concat(t, " ")
end

local list = tap.sh(("cd %s && find $PWD/lib $PWD/t $PWD/bench $PWD/examples "..
  "-name '*.lua'"):gsub("%$PWD", '"$PWD"'):format(tap.quote(tap.srcdir))).out
local files, wrong = 0, {}
for file in list:gmatch("[^\n]+") do
  local lines = misread(file)
  files = files + 1
  if lines ~= "" then wrong[#wrong+1] = file..": "..lines end
end
tap.ok(files > 100, "sources to read", files)
tap.is(table.concat(wrong, "\n"), "", "functions begin where LuaJIT says")

-- -- Names and labels --------------------------------------------------------

local function names(stacks, frames, scope, path)
  local p = profile.new(snapshots.of(stacks, frames))
  local label, seen, t = p:labeler(scope or "f", path), {}, {}
  for id in ipairs(p.frames) do
    local text = label(id)
    if not seen[text] then t[#t+1] = text end
    seen[text] = true
  end
  table.sort(t)
  return table.concat(t, ", ")
end

tap.is(names({ { "a > b", cpu = 1 } }, { a = lua("new", "A.lua", 2, 1),
  b = lua("new", "B.lua", 2, 1) }), "new (A.lua:1), new (B.lua:1)",
  "methods of one name in two files")
tap.is(names({ { "a > b", cpu = 1 } }, { a = lua("new", "x/A.lua", 2, 1),
  b = lua("new", "y/A.lua", 2, 1) }), "new (x/A.lua:1), new (y/A.lua:1)",
  "in files of one name")
tap.is(names({ { "a > b", cpu = 1 } }, { a = lua("new", "x/A.lua", 2, 1),
  b = lua("new", "y/A.lua", 2, 1) }, "l"), "x/A.lua:2, y/A.lua:2",
  "lines of files of one name")
for _, case in ipairs({
    { "/usr/share/x/mods/a/init.lua", "/usr/share/x/mods/b/init.lua",
      "a/init.lua:2, b/init.lua:2", "as much of a path as tells" },
    { "/x/a/mods/init.lua", "/x/b/mods/init.lua",
      "a/mods/init.lua:2, b/mods/init.lua:2", "more of it, where needed" },
    { "b/c.lua", "/a/b/c.lua", "a/b/c.lua:2, b/c.lua:2",
      "a path that is the other's end" },
    { "/c.lua", "c.lua", "/c.lua:2, c.lua:2", "one in the root" },
    { "/x"..("/y"):rep(9), "/z"..("/y"):rep(9),
      "/x"..("/y"):rep(9)..":2, /z"..("/y"):rep(9)..":2",
      "all of it, rather than long ends" } }) do
  tap.is(names({ { "a > b", cpu = 1 } }, { a = lua("new", case[1], 2, 1),
    b = lua("new", case[2], 2, 1) }, "l"), case[3], case[4])
end
tap.is(names({ { "a > b", cpu = 1 } }, { a = lua("get", "q.lua", 2, 1),
  b = lua("get", "q.lua", 5, 4) }, "F"), "q.lua:1:get, q.lua:4:get",
  "with the module, in one file")
tap.is(names({ { "a > b", cpu = 1 } }, { a = lua("get", "q.lua", 2, 1),
  b = lua("get", "r.lua", 5, 4) }, "F"), "q.lua:get, r.lua:get",
  "with the module, in two")
tap.is(names({ { "a > b", cpu = 1 } }, { a = lua(nil, "d/q.lua", 1, 0),
  b = lua(nil, "d/q.lua", 7, 6) }), "main chunk, q.lua:6",
  "the main chunk, and a function without a name")
tap.is(names({ { "a > b", cpu = 1 } }, { a = lua(nil, "q.lua", 1, 0),
  b = lua("require", "r.lua", 7, 0) }),
  "main chunk (q.lua), main chunk (r.lua)", "two main chunks")
tap.is(names({ { "a > b", cpu = 1 } }, { a = lua(nil, "q.lua", nil, 3) }, "l"),
  "app.lua:21, q.lua:(no line)", "a line that is not known")

-- decode leaves by tail calls: its callees have its name as well.
local site = lua("parse", "j.lua", 90, 80)
tap.is(names({ { "parse > d", cpu = 1 }, { "parse > s1", cpu = 50 },
    { "other > s2", cpu = 1 } },
  { parse = site, d = lua("decode", "j.lua", 52, 50),
    s1 = lua("decode", "j.lua", 22, 20), s2 = lua("string", "j.lua", 23, 20) }),
  "decode, other, parse, string", "a name that a tail call gave")
tap.is(names({ { "parse > d", cpu = 1 }, { "parse > s1", cpu = 50 } },
  { parse = site, d = lua("decode", "j.lua", 52, 50),
    s1 = lua("decode", "j.lua", 22, 20) }),
  "decode (j.lua:20), decode (j.lua:50), parse", "where there is no other one")
tap.is(names({ { "a > b", cpu = 1 } },
  { a = lua("(for generator)", "q.lua", 5, 4) }), "b, q.lua:4",
  "called by a loop")

-- Functions that are not in Lua.
tap.is(names({ { "host > main > c > it > b", cpu = 1 } }, {
  host = { kind = "C", source = "nvim", name = "+0x92c0" },
  c = { kind = "C", source = "x.so", name = "+0x12" },
  it = { kind = "C", source = "luajit", name = "(for generator)" },
  b = { kind = "builtin", name = "string.gsub" } }),
  "(nvim), luajit:(iterator), main, string.gsub, x.so+0x12",
  "the host, C functions, builtins")
tap.is(names({ { "a > b", cpu = 1 } }, { a = lua("print", "q.lua", 5, 4),
  b = { kind = "builtin", name = "print" } }), "print, print (q.lua:4)",
  "a builtin and a Lua function")

-- -- The source --------------------------------------------------------------

local source = tap.tmpname(".lua")
local frames = { f1 = lua("f", source, 2, 1), f2 = lua("f", source, 4, 3),
  f3 = lua("alias", source, 5, 5), f4 = lua("f", source, 6, 6) }
local stacks = { { "f1 > f2 > f3 > f4", cpu = 1 } }
tap.write(source, [[
local function first()
end
function M.second()
end
M.third = function() end
return function() end
]])
tap.is(names(stacks, frames), "f, first, second, third",
  "names that the source gives")
tap.write(source, [[
-- A line more.
local function first()
end
function M.second()
end
M.third = function() end
]])
tap.is(names(stacks, frames):gsub("%([^:]*", "("),
  "alias, f (:1), f (:3), f (:6)", "a source that is not what ran")

-- In a text that is not Lua, or not yet, a function that is not found costs its
-- own name, unless most are not.
tap.write(source, [[
local function first()
end
function M.second()
end
M.third = map xs -> xs
M.fourth = function() end
]])
tap.is(names(stacks, frames), "alias, first, fourth, second",
  "a source with a function that is not understood")
tap.write(source, [[
fn first [x] {
end
function M.second()
end
M.third = (xs) => xs
M.fourth = (xs) => xs
]])
tap.is(names(stacks, frames):gsub("%([^:]*", "("),
  "alias, f (:1), f (:3), f (:6)", "a source in another language")
os.remove(source)
tap.sh("mkfifo "..source)
tap.is(names(stacks, frames):gsub("%([^:]*", "("),
  "alias, f (:1), f (:3), f (:6)", "a pipe is not waited for")

-- -- Views -------------------------------------------------------------------

local two = { main = lua(nil, "m.lua", 9, 0), a = lua("get", "q.lua", 2, 1),
  b = lua("get", "q.lua", 5, 4) }
local rows = { { "main > a", cpu = 60, alloc_objects = 6, alloc_bytes = 600 },
  { "main > b", cpu = 40, alloc_objects = 4, alloc_bytes = 400 } }
for _, text in ipairs({ "c", "cF", "cs", "c2", "c-2", "cg", "Gc", "cvf", "cfl",
    "hr" }) do
  local out = assert(render.render(profile.new(snapshots.of(rows, two)),
    assert(options.parse(text)), {}))
  tap.ok(out:find("q.lua:1", 1, true) and out:find("q.lua:4", 1, true),
    "-jm="..text.." tells functions of one name apart", out)
end

-- -- Programs ----------------------------------------------------------------

local program = tap.program([[
local keep = {}
local function decode_string(i) keep[i % 9] = { i } return 1 end
local function decode_value(i) return decode_string(i) end
local function run(f) for i = 1, 1000 do f(i) end end
for i = 1, 2000 do local n = decode_value(i) end
run(function(i) keep[1] = { i } end)
run(function(i) keep[2] = { i } end)
]])
-- A safepoint in compiled code may come after the function.
for _, jit in ipairs(tap.knows_layout() and { "-joff", "-jon" } or
    { "-joff" }) do
  local r = tap.luajit(jit.." -jm=fhorm0b1 "..program)
  tap.like(r.out, " 20%d%d +%d+   decode_string\n",
    jit..": a tail-called function")
  tap.unlike(r.out, "decode_value", jit..": has not its caller's name")
  tap.like(r.out, " 10%d%d +%d+   f %([^)]*:6%)\n",
    jit..": a function called f")
  tap.like(r.out, " 10%d%d +%d+   f %([^)]*:7%)\n", jit..": and another one")
end

-- Without a source names are those of calls: leaf has its own, although most
-- calls of it are tail calls of middle; only has none but its caller's.
program = tap.program([[
assert(loadstring([=[
local keep = {}
local function leaf(i) keep[i % 9] = { i } return 1 end
local function middle(i) return leaf(i) end
local function only(i) keep[i % 9] = { i } return 1 end
local function outer(i) return only(i) end
for i = 1, 2000 do local n = middle(i) end
for i = 1, 3 do local n = leaf(i) end
for i = 1, 1000 do local n = outer(i) end
]=], "=generated"))()
]])
for _, jit in ipairs({ "-joff", "-jon" }) do
  local out = tap.luajit(jit.." -jm=fhorm0b1 "..program).out
  tap.like(out, " 20%d%d +%d+   leaf\n", jit..": a name that no tail call gave")
  tap.unlike(out, "middle", jit..": in place of its caller's")
  tap.like(out, " 10%d%d +%d+   outer\n",
    jit..": the caller's where there is no other one")
end

-- Interpreted, a builtin in a tail call has replaced the function, and counts
-- for the line that called it; compiled, it counts for its own.
program = tap.program([[
local keep = {}
local function text(i)
  return tostring(i + 0.5)
end
for i = 1, 2000 do
  keep[i % 9] = text(i)
end
os.exit(0)
]])
local interpreted = tap.luajit("-joff -jm=lhorm0b1 "..program).out
tap.like(interpreted, " 20%d%d +20%d%d   [^\n]*:6\n",
  "a builtin in a tail call, interpreted")
local compiled = tap.luajit("-jm=lhorm0b1 "..program).out
if compiled:find("(JIT compiler)", 1, true) then
  tap.like(compiled, " 1[89]%d%d +1[89]%d%d   [^\n]*:3\n", "and compiled")
end

-- Functions that begin on one line, and those that an instruction did not call
-- but failed or was interrupted at: none has another one's name.
program = tap.program([[
local keep = {}
local T = {}
T.__index = function() return {} end T.__unm = function() return { {} } end
local mt = setmetatable({}, T)
local function fails() local none return none.field end
local function handler(m) keep[1] = { m, m, m } keep[2] = { m } end
for i = 1, 1000 do
  keep[3] = mt[i]
  keep[4] = -mt
  xpcall(fails, handler)
end
debug.sethook(function() keep[5] = { 1, 2 } keep[6] = {} keep[7] = {} end, "l")
for i = 1, 1000 do
  keep[8] = i
end
debug.sethook()
os.exit(0)
]])
local known = tap.knows_layout()  -- Else functions of one place are one.
for _, jit in ipairs({ "-joff", "-jon" }) do
  local out = tap.luajit(jit.." -jm=fhorm0b1 "..program).out
  if known then
    tap.like(out, " 10%d%d +%d+   __index\n", jit..": a metamethod")
    tap.like(out, " 20%d%d +%d+   __unm\n", jit..": another one of its line")
  end
  tap.like(out, " 20%d%d +%d+   handler\n", jit..": the handler of an error")
  tap.like(out, " %d+ +%d+   [^\n]*:12\n", jit..": a hook")
end

-- Bytecode without debug information: no function poses as the main chunk, and
-- those of different code stay apart, with the name that a call gave.
program = tap.program([[
local keep = {}
local function one(i) keep[i % 9] = { i } end
local function two(i) keep[i % 9] = { i, i } keep[i % 7] = { i } end
function three(i)
  keep[i % 9] = { i } keep[i % 7] = { i } keep[i % 5] = { i }
end
for i = 1, 1000 do one(i) two(i) three(i) end
os.exit(0)
]])
local stripped = tap.tmpname(".luac")
tap.is(tap.luajit(("-bs %s %s"):format(program, stripped)).status, 0, "-bs")
for _, jit in ipairs({ "-joff", "-jon" }) do
  local file = tap.tmpname(".mp")
  tap.luajit(("%s -jm=b1,%s %s"):format(jit, file, stripped))
  local out = tap.sh(("%s report %s fhorm0"):format(tap.mp, file)).out
  tap.unlike(out, "main chunk", jit..": bytecode has no main chunk")
  if known then
    tap.like(out, " 10%d%d +%d+   [^\n]*:%(no line%)", jit..": a function")
    tap.like(out, " 20%d%d +%d+   [^\n]*:%(no line%)", jit..": another one")
  end
  tap.like(out, " 30%d%d +%d+   three\n", jit..": one that has a name")
  local diff = tap.sh(("%s diff -O fhorm0 %s %s"):format(tap.mp, file, file))
  tap.is(diff.status, 0, jit..": a diff of it")
  tap.unlike(diff.out, "%(before%)", jit..": has each function once")
end

-- -- CPU time of C functions -------------------------------------------------

-- The function that a tick has interrupted has it, below its caller, whether it
-- returns before LuaJIT takes the sample, or calls back.
program = tap.program([[
local text, stop = ("hello world "):rep(2000), os.clock() + 0.3
local function replace() local s = text:gsub("o", "0") return s end
local function before(a, b) return a < b end
local function sorted()
  local t = {}
  for i = 1, 500 do t[i] = i * 7919 % 503 end
  table.sort(t, before)
  return t
end
while os.clock() < stop do
  replace()
  sorted()
  pcall(string.rep, text, 9)
end
]])
-- Its ticks are few where only the kernel's tick is there for a timer.
for _, jit in ipairs(known and { "-joff", "-jon" } or {}) do
  local r
  for _ = 1, 10 do
    r = tap.luajit(jit.." -jm=c2ri1m0 "..program)
    if r.out:find("string.rep < pcall", 1, true) and
      r.out:find("before < table.sort", 1, true) then break end
  end
  local rows, sum = {}, 0
  for n, row in r.out:gmatch("\n +(%d+)   ([^\n]+)") do
    rows[row] = tonumber(n)
    sum = sum + n
  end
  tap.is(r.out:match("(%d+) samples"), tostring(sum), jit..": all have a row")
  for builtin, by in pairs { ["string.gsub"] = "replace",
      ["table.sort"] = "sorted", ["string.rep"] = "pcall" } do
    local name = ("%s: %s called by %s"):format(jit, builtin, by)
    tap.ok(rows[builtin.." < "..by], name.." has CPU time", r.out)
  end
  tap.ok((rows["string.gsub < replace"] or 0) > (rows["replace < main chunk"] or
    0), jit..": most of it is the builtin's", r.out)
  tap.ok(rows["before < table.sort"], jit..": called back by a builtin", r.out)
end

tap.done()
