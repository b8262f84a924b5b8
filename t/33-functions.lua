-- SPDX-License-Identifier: MIT
-- Stacks of functions in compiled code; and option j: functions and their
-- stacks without lines, at the cost of nearly nothing.

local tap = require("tap")
package.path = tap.srcdir.."/t/truth/?.lua;"..package.path
local bytes = require("bytes")
local stacks = require("stacks")

-- -- Stacks -----------------------------------------------------------------

-- Small functions that compiled code has inlined; the callers allocate before
-- the call and behind the return.
local programs = {
  call = [[
    local keep = {}
    local function leaf(i) return { i } end
    local function nothing(i) return i + 1 end
    local function middle(i)
      local a = { i, i }
      local b = leaf(nothing(i))
      return { a, b, nothing(i) }
    end
    for i = 1, 3000 do
      keep[i % 10] = middle(i)
      keep[i % 10 + 20] = { keep, nothing(i) }
    end]],
  varargs = [[
    local keep = {}
    local function pick(...) return (select(2, ...)) end
    local function tail(i) return pick(i, { i }) end
    for i = 1, 3000 do
      keep[i % 10] = { tail(i), pick(i, i) }
    end]],
  protected = [[
    local keep = {}
    local function may(i) return { i } end
    local function try(i)
      local ok, t = pcall(may, i)
      return { ok, t }
    end
    for i = 1, 3000 do keep[i % 10] = { try(i) } end]],
  metamethods = [[
    local keep, mt = {}, {}
    function mt.__index(t, k) return { k } end
    function mt.__add(a, b) return setmetatable({ a, b }, mt) end
    local x = setmetatable({}, mt)
    local function use(i)
      local a = x[i]
      return { a, x + x }
    end
    for i = 1, 3000 do keep[i % 10] = use(i) end]],
  closures = [[
    local keep = {}
    local function counter(i)
      return function() i = i + 1 return { i } end
    end
    local function use(i)
      local f = counter(i)
      return { f(), f() }
    end
    for i = 1, 3000 do keep[i % 10] = use(i) end]],
  loops = [[
    local keep = {}
    local function inner(n)
      local t = {}
      for i = 1, n do t[i] = { i } end
      return t
    end
    local function outer(n)
      local t = { inner(n), { n }, inner(n) }
      return { t, {} }
    end
    for i = 1, 300 do keep[i % 10] = outer(i % 20) end]],
  recursion = [[
    local keep
    local function tree(depth)
      if depth == 0 then return {} end
      return { tree(depth - 1), tree(depth - 1) }
    end
    for i = 1, 30 do keep = tree(9) end]],
}

local names = {}
for name in pairs(programs) do names[#names+1] = name end
table.sort(names)

local exact = tap.luajit("-jm=hb1 "..tap.program("local t = {}")).out
  :find("capture exact")
local kinds = {
  { "with lines", "b1", stacks.whole },
  { "without lines", "jb1", stacks.collapsed },
}

local function compare(name, file, options, namer)
  local off, total = bytes.by_place(file, "-joff", options, namer)
  if not tap.ok(off, name.." runs interpreted", total) then return end
  for _, flags in ipairs { "-O-sink", "-O-sink -Ohotloop=2 -Ohotexit=2" } do
    local on, msg = bytes.by_place(file, flags, options, namer)
    if tap.ok(on, name.." runs with "..flags, msg) then
      local more, less, bad = bytes.moved(on, off, 0)
      tap.ok(more <= total * 0.005 and less <= total * 0.005,
	name..": stacks of compiled code are those of the interpreter", bad)
    end
  end
end

for _, name in ipairs(exact and names or {}) do
  local file = tap.program(programs[name])
  for _, kind in ipairs(kinds) do
    compare(name..", "..kind[1], file, kind[2], kind[3])
  end
end

-- CPU time behind a return is the caller's.
local r = tap.luajit("-jm=jcs2m0 "..tap.program([[
  local function small(x) return x + 1 end
  local function heavy(n)
    local s = 0
    for i = 1, n do
      local y = small(i)
      s = s + math.sin(y) * math.cos(y) + math.exp(-y) + math.sin(s)
    end
    return s
  end
  local clock = os.clock
  local stop = clock() + 0.4
  repeat heavy(1e4) until clock() > stop]]))
tap.is(r.status, 0, "a program that computes: exit status", r.err)
if exact then
  tap.ok(r.out:match("%d+%%[^\n]*heavy") ~= nil and
    not r.out:match("CPU[^\n]*\n%s*%d+%%[^\n]*small"),
    "time behind a return is not the called function's", r.out)
end

-- -- Reports ----------------------------------------------------------------

local program = tap.program("local t = {} for i = 1, 1e4 do t[i % 9] = {} end")
local file = tap.tmpname(".mp")
r = tap.luajit("-jm=j,"..file.." "..program)
tap.is(r.status, 0, "a file without lines: exit status", r.err)
for _, options in ipairs { "l", "fl", "a", "A", "q" } do
  local out = tap.sh(tap.mp.." report "..file.." "..options)
  if exact then
    tap.ok(out.status ~= 0 and out.err:find("no lines: a profile has them "..
      "where the program ran without option j", 1, true),
      options..": says that there are none", out.err)
  else
    tap.is(out.status, 0, options..": safepoints have lines", out.err)
  end
end
r = tap.sh(tap.mp.." report "..file)
tap.is(r.status, 0, "functions can be shown", r.err)
if exact then
  tap.ok(r.out:find("functions only (option j)", 1, true),
    "the header says so", r.out)
end

for _, options in ipairs { "lj", "ja", "Aj", "je", "jq", "jL", "jW", "Mj" } do
  local letter = options:gsub("j", "")
  r = tap.luajit("-jm="..options.." "..program)
  tap.ok(r.status ~= 0 and r.err:find("option 'j' leaves out the lines, which "
    .."option '"..letter.."' shows", 1, true), options..": refused", r.err)
end

r = tap.luajit(tap.program([[
  local mp = require("jit.mp")
  mp.start("j", "/dev/null")
  local t = {}
  for i = 1, 1e4 do t[i % 9] = { i } end
  print(mp.report("l", "/dev/null"))
  print(mp.report("f", "/dev/null"))
  mp.stop()]]))
tap.is(r.status, 0, "lines from within: exit status", r.err)
if exact then
  tap.ok(r.out:find("^nil\t[^\n]*no lines: a profile has them where"),
    "lines from within: an error", r.out)
end
tap.ok(r.out:find("true[^\n]*\n$"), "functions from within", r.out)

tap.done()
