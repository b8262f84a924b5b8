-- SPDX-License-Identifier: MIT
-- Kinds of objects in a heap, against programs whose heap is known: option W,
-- and walks from Lua.

local tap = require("tap")
local unjson = require("unjson")

-- Calls check with a program's output, with the compiler and without.
local function each(code, check)
  local file = tap.program(code)
  for _, how in ipairs({ "-jon", "-joff" }) do
    local r = tap.luajit(how.." "..file)
    if r.out:find("no heap walk: not a GC64", 1, true) or
	r.out:find("no heap walk: this processor", 1, true) then
      tap.skip("no heap walk on this build")
    end
    tap.is(r.status, 0, how..": it runs", r.err)
    check(r.out, how)
  end
end

-- grown(f): prints what the objects that f makes add to each kind.
local common = [[
local mp = require("jit.mp")
local function look()
  collectgarbage() collectgarbage()
  local w, why = mp.heap(1)
  if not w then print(why) os.exit(0) end
  local by = {}
  for _, k in ipairs(w.kinds) do
    by[("%s %s %.0f"):format(k.kind, k.name or "-", k.size)] = k
  end
  return by, w
end
local ok, ffi = pcall(require, "ffi")
keep = {}
for i = 1, 20000 do keep[i] = false end
for i = 1, 20000 do keep[i] = nil end
local function grown(f)
  local before = look()
  f()
  local after = look()
  for name, k in pairs(after) do
    local was = before[name] or { count = 0, slots = 0, used = 0 }
    local n = k.count - was.count
    if n > 20 then
      print(("%s: %d, %d of %d"):format(name, n, k.used - was.used,
        k.slots - was.slots))
    end
  end
end
]]

-- -- Tables and strings ------------------------------------------------------

each(common..[[
grown(function()
  for i = 1, 3000 do keep[i] = { i, i, i, i } end
  for i = 3001, 3500 do
    local t = {}
    for k = 1, 128 do t["key"..k] = k end
    for k = 41, 128 do t["key"..k] = nil end
    keep[i] = t
  end
end)
]], function(out, how)
  tap.like(out, "array %- 4: 3000, 12000 of 12000\n", how..": array parts")
  tap.like(out, "hash %- 128: 500, 20000 of 64000\n", how..": hash parts")
end)

each(common..[[
grown(function()
  for i = 1, 5000 do keep[i] = "req_"..i end
  for i = 5001, 8000 do keep[i] = i..":"..(i * 37).."\n\27[1m" end
  for i = 8001, 8300 do keep[i] = ("x"):rep(5000 + i) end
  for i = 8301, 8400 do keep[i] = ("long text "):rep(20)..i end
  for i = 8401, 8440 do keep[i] = "alike "..("#"):rep(i - 8400) end
end)
]], function(out, how)
  tap.like(out, "numbered req_# 0: 5000, ", how..": strings with a number")
  tap.like(out, "numbered #:#\\n\\027%[#m 0: 3000, ",
    how..": with two, spelled")
  tap.like(out, "long %- 16384: 300, ", how..": long ones")
  tap.unlike(out, "numbered long text", how..": too long to be compared")
  tap.unlike(out, "numbered alike", how..": signs that are no numbers")
end)

-- Of many strings, those that are many alike are found, however many differ.
each(common..[[
grown(function()
  for i = 1, 60000 do
    keep[i] = i % 4 == 0 and "often:"..i or
      ("%s%d"):format(("abcdefgh"):sub(i % 8 + 1)..("%x"):format(i * 7919), i)
  end
end)
]], function(out, how)
  tap.like(out, "numbered often:# 0: 15000, ", how..": those alike are counted")
end)

-- -- Userdata ----------------------------------------------------------------

each(common..[[
grown(function()
  local named = newproxy(true)
  getmetatable(named).__name = "my.class"
  for i = 1, 100 do keep[i] = newproxy(named) end
  for i = 101, 150 do
    keep[i] = newproxy(true)
    getmetatable(keep[i]).__name = "my.class"
  end
  local registered = newproxy(true)
  debug.getregistry()["a.class"] = getmetatable(registered)
  debug.getregistry()["b.class"] = getmetatable(registered)
  for i = 151, 250 do keep[i] = newproxy(registered) end
  for i = 251, 300 do keep[i] = io.tmpfile() end
  for i = 301, 400 do keep[i] = newproxy(false) end
end)
]], function(out, how)
  tap.like(out, "userdata my%.class 0: 15[01], ", how..": by __name")
  tap.like(out, "userdata a%.class 0: 10[01], ", how..": by the registry")
  tap.like(out, "userdata FILE%* 0: 50, ", how..": files")
  tap.like(out, "userdata %- 0: 100, ", how..": without a name")
end)

-- More classes than are told, and than are counted.
each(common..[[
for i = 1, 10000 do
  local u = newproxy(true)
  getmetatable(u).__name = i <= 100 and "class"..i or nil
  keep[i] = u
end
local by, w = look()
local count, bytes, others = 0, 0, 0
for name, k in pairs(by) do
  if k.kind == "userdata" then
    count, bytes = count + k.count, bytes + k.bytes
  end
end
for _, t in ipairs(w.types) do
  if t.type == "userdata" then
    print("userdata", count == t.count, bytes == t.bytes)
  end
end
print(by["userdata (others) 0"].count > 60)
]], function(out, how)
  tap.is(out, "userdata\ttrue\ttrue\ntrue\n", how..": the rest is one sum")
end)

-- -- C types -----------------------------------------------------------------

each(common..[[
if not ok then print("no FFI") os.exit(0) end
ffi.cdef("typedef struct { int x, y; } mp_point; "..
  "struct mp_tagged { double d; }; enum mp_colour { MP_RED }; "..
  "union mp_either { int a; float b; };")
local n = 0
local function make(what, ...)
  for i = 1, 50 do
    n = n + 1
    keep[n] = ffi.new(what, ...)
  end
end
grown(function()
  make("mp_point")
  make("struct mp_tagged[10]")
  make("char[?]", 1000)
  make("const char *[3]")
  make("int (*)[4]")
  make("int (*)(double)")
  make("int[2][3]")
  make("complex")
  make("enum mp_colour")
  make("union mp_either *")
  make("uint8_t[7]")
  make("bool")
  make("float")
  for i = 1, 50 do keep[n + i] = 1LL * i end
  for i = 51, 100 do keep[n + i] = ffi.typeof("int[$]", i) end
end)
for i = 1, 40 do
  keep[n + 200 + i] = ffi.new(("struct { int a[%d]; }"):format(i))
  ffi.cdef(("struct mp_many%d { int a; }"):format(i))
  keep[n + 300 + i] = ffi.new("struct mp_many"..i)
end
local by, w = look()
local count = 0
for name, k in pairs(by) do
  if k.kind == "cdata" then count = count + k.count end
end
for _, t in ipairs(w.types) do
  if t.type == "cdata" then print("all", count == t.count) end
end
]], function(out, how)
  if out:find("no FFI", 1, true) then
    tap.ok(true, how..": this build has no FFI # SKIP")
    return
  end
  for _, name in ipairs({ "mp_point", "struct mp_tagged [10]", "char [?]",
      "const char *[3]", "int (*)[4]", "int (*)()", "int [2][3]", "complex",
      "enum mp_colour", "union mp_either *", "bool", "float", "ctype" }) do
    tap.ok(out:find("cdata "..name.." 0: 50, ", 1, true), how..": "..name, out)
  end
  tap.like(out, "cdata %a*%s?char %[7%] 0: 50, ", how..": bytes")
  tap.like(out, "cdata int64_t 0: 5%d, ", how..": boxed integers")
  tap.like(out, "all\ttrue\n", how..": all are counted")
end)

-- -- Lines of holders --------------------------------------------------------

each([[
local ok, ffi = pcall(require, "ffi")
local mp = require("jit.mp")
image = newproxy(true)
getmetatable(image).__name = "my.Image"
getmetatable(image).data = ("x"):rep(300000)
objects = {}
for i = 1, 5000 do objects[i] = newproxy(image) end
if ok then
  blob = ffi.new("char[?]", 300000)
  numbers = {}
  for i = 1, 20000 do numbers[i] = 1ULL * i end
  mixed = {}
  for i = 1, 20000, 2 do
    mixed[i], mixed[i + 1] = 1ULL * i, ffi.new("int[2]")
  end
end
print(assert(mp.heap(0.01)))
if not ok then print("no FFI") end
]], function(out, how)
  tap.like(out, "objects%[%*%]  %(5000 x userdata my%.Image%)\n",
    how..": the class of several")
  if out:find("no FFI", 1, true) then return end
  tap.like(out, "blob  %(cdata char %[%?%]%)\n", how..": a C type")
  tap.like(out, "numbers%[%*%]  %(20000 x cdata uint64_t%)\n",
    how..": that of several")
  tap.like(out, "mixed%[%*%]  %(20000 x cdata%)\n", how..": not all have one")
end)

-- -- Sums --------------------------------------------------------------------

each(common..[[
local by, w = look()
local bytes, slots, used = 0, 0, 0
for _, k in ipairs(w.kinds) do
  slots, used = slots + k.slots, used + k.used
  if k.slots > 0 then bytes = bytes + k.bytes end
end
print(bytes == w.slots_bytes, slots == w.slots, used == w.slots_used)
print(w.chains_used <= w.chains and w.chain_longest >= 1)
]], function(out, how)
  tap.is(out, "true\ttrue\ttrue\ntrue\n", how..": parts of tables add up")
end)

-- -- Reports -----------------------------------------------------------------

local code = [[
t = {}
for i = 1, 5000 do t[i] = "req_"..i end
for i = 5001, 6000 do t[i] = { a = i } t[i].a = nil end
for i = 6001, 6300 do t[i] = newproxy(true) end
os.exit(0)
]]
local mp, json = tap.tmpname(".mp"), tap.tmpname(".json")
local line = '\n +%d+%% +%d+ kB +5000   strings "req_#" that differ in '..
  "numbers only\n"
local r = tap.luajit(("-jm=Wm1,-,%s,%s %s"):format(mp, json, tap.program(code)))
tap.is(r.status..r.err, "0", "a run")
tap.like(r.out, "of all +bytes +objects   kind\n", "the table")
tap.like(r.out, line, "strings")
tap.like(r.out, "hash parts of %d slots, %d+%% used\n",
  "parts of tables")
local function report(file)
  return tap.sh(("%s report -O Wm1 %s"):format(tap.mp, file)).out
end
tap.like(report(mp), line, "a profile file keeps it")
local copy = tap.tmpname(".mp")
tap.is(tap.sh(("%s convert %s %s"):format(tap.mp, mp, copy)).status, 0,
  "it is converted")
tap.is(report(copy), report(mp), "and the same then")
local walk = unjson((tap.read(json):gsub("\n", ""))).heap_walk
local found
for _, k in ipairs(walk.kinds) do
  if k.name == "req_#" then found = k.kind.." "..k.count end
end
tap.is(found, "numbered 5000", "and so is a .json")

-- -- Tables that are resized -------------------------------------------------

local sizes = tap.program([[
local function index() local t = {}
  for i = 1, 500 do t["key"..i] = i end
  return t
end
local function list() local t = {}
  for i = 1, 2000 do t[i] = i end
  return t
end
keep = {}
for i = 1, 300 do
  keep[i] = { index(), list(), { i, i }, { name = i } }
end]])
for _, how in ipairs({ "-jon", "-joff" }) do
  r = tap.luajit(("%s -jm=Wb1t,-,%s %s"):format(how, mp, sizes))
  local text = report(mp):gsub("\n", " ")
  local most, next_one = text:match("Tables were resized most at %S+:(%d+) "..
    "%(%d+ array and hash parts, [%d.]+ MB%), %S+:(%d+) %(%d+ array and hash "..
    "parts, [%d.]+ MB%) ")
  tap.is((most or "").." "..(next_one or ""), "6 2", how..": where tables "..
    "are resized, and not where they are made with their parts")
  for line, n in text:gmatch(":(%d+) %((%d+) array and hash parts") do
    tap.ok(tonumber(n) >= 300 * 7 and tonumber(n) <= 300 * 13,
      ("%s: how often, at line %s"):format(how, line), n)
  end
  tap.like(r.out, "Tables were resized most at ", how..": a table with types "..
    "says so, too")
end

tap.done()
