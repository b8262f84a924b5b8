-- SPDX-License-Identifier: MIT
-- Coroutines that a host uses again, as OpenResty does by lua_resetthread: they
-- do not pass on their labels. Every allocation is counted.

local tap = require("tap")
local ok, ffi = pcall(require, "ffi")
local has = false
if ok then
  ffi.cdef("void lua_resetthread(void *, void *);")
  has = pcall(function() return ffi.C.lua_resetthread end)
end
if not has then tap.skip("this LuaJIT has no lua_resetthread") end
if not tap.knows_layout() then tap.skip("coroutines are not known") end

local r = tap.luajit("-jm=hb1,/dev/null "..tap.program([[
local mp, ffi = require("jit.mp"), require("ffi")
ffi.cdef("void lua_resetthread(void *, void *);"..
  "void lua_getfield(void *, int, const char *);")
local function address(co)
  return ffi.cast("void *", tonumber(tostring(co):match("0x(%x+)"), 16))
end
local helper = coroutine.create(print)
local pool, made = {}, 0

-- A coroutine that runs the function, a used one if there is one.
local function spawn(f)
  local co = table.remove(pool)
  if not co then
    made = made + 1
    return coroutine.create(f)
  end
  entry = f
  ffi.C.lua_resetthread(address(helper), address(co))
  ffi.C.lua_getfield(address(co), -10002, "entry")
  entry = nil
  return co
end
jit.off(spawn)

local function make(n) local f for _ = 1, n do f = function() end end end

-- Requests overlap; of four, three have labels.
local waiting = {}
for i = 1, 2000 do
  local label = i % 4 ~= 0 and "r"..i % 4
  local co = spawn(function()
    if label then mp.label({ route = label }) end
    make(25)
    coroutine.yield()
    make(25)
  end)
  coroutine.resume(co)
  waiting[#waiting+1] = co
  if #waiting == 7 then
    for _, one in ipairs(waiting) do
      assert(coroutine.resume(one))
      assert(coroutine.status(one) == "dead")
      pool[#pool+1] = one
    end
    waiting = {}
  end
end

-- A tail call keeps labels.
local function tail(n) return make(n) end
coroutine.wrap(function() mp.label({ route = "tail" }) return tail(1000) end)()

-- The first objects of a function may be some that have no name yet.
local p, t = mp.snapshot(), { none = 0, r1 = 0, r2 = 0, r3 = 0, tail = 0 }
for _, row in ipairs(p.rows) do
  local f = p.frames[p.stacks.frame[row.stack] ]
  local route = row.zone ~= 0 and p.zones.name[row.zone] or "none"
  if route == "tail" or (f and f.name == "make") then
    t[route] = t[route] + row.alloc_objects
  end
end
print(made, t.none, t.r1, t.r2, t.r3, t.tail >= 1000)
]]))
local made, none, r1, r2, r3, tail = r.out:match("^(%d+)\t(%d+)\t(%d+)\t"..
  "(%d+)\t(%d+)\t(%a+)\n$")
tap.is(made, "7", "coroutines are used again", r.out..r.err)
for name, n in pairs({ none = none, r1 = r1, r2 = r2, r3 = r3 }) do
  n = tonumber(n)
  tap.ok(n and n > 24800 and n <= 25000, "objects: "..name, r.out)
end
tap.is(tail, "true", "a tail call keeps the label")

tap.done()
