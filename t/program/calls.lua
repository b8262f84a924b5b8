-- SPDX-License-Identifier: MIT
-- Option n: calls, and memory per call.

local tap = require("tap")

local program = tap.program([[
local function leaf(i) return { i } end
local function twice(i) leaf(i) return leaf(i) end
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
for i = 1, 1000 do twice(i) end
fib(15)
local co = coroutine.wrap(function()
  for i = 1, 10 do leaf(i) coroutine.yield() end
end)
for i = 1, 10 do co() end
string.rep("x", 10)
print(jit.status(), debug.gethook())
]])
local r = tap.luajit("-jm=nm0 "..program)
tap.is(r.status..r.err, "0", "a profile")
local function calls(name)
  return tonumber(r.out:match("\n +(%d+) [^\n]* "..name.."\n"))
end
tap.is(calls("leaf"), 2010, "calls of a function, in a coroutine too")
tap.is(calls("twice"), 1000, "of its caller")
tap.is(calls("fib"), 1973, "of one that calls itself")
tap.is(calls("string%.rep"), 1, "of a builtin")
-- A table and its array: smaller if references have 32 bits. Then an allocation
-- of another function can count for the next safepoint, which lies in this one.
local gc64 = require("ffi").abi("gc64")
local callees = gc64 and "88%.0 kB +88 B" or "56%.0 kB +56 B"
local leaf = not gc64 and "11[345] kB +5[67] B" or
  "177 kB +88 B"
tap.like(r.out, "\n +2010 +"..leaf.." +"..leaf.." +leaf\n",
  "what it allocates, per call")
if tap.knows_layout() then
  tap.like(r.out, "\n +1000 +0 B +0 B +"..callees.." +twice\n",
    "and with what it calls")
end
tap.like(r.out, "in all\n", "the sum")

r = tap.luajit("-e 'jit.off() local mp = require(\"jit.mp\") mp.start(\"n\", "..
  "\"/dev/null\") mp.stop() print(jit.status(), debug.gethook())'")
tap.like(r.out, "^false", "the compiler stays off")
r = tap.luajit("-e 'local mp = require(\"jit.mp\") mp.start(\"n\", "..
  "\"/dev/null\") print((jit.status())) mp.stop() print((jit.status()), "..
  "(debug.gethook()))'")
tap.is(r.out, "false\ntrue\tnil\n", "or comes back, and no hook is left")

r = tap.luajit("-e 'debug.sethook(print, \"c\", 0) print(require(\"jit.mp\")"..
  ".start(\"n\", \"/dev/null\"))'")
tap.like(r.out, "nil\toption n cannot set its hook", "a program with a hook")
r = tap.luajit("-jm=n "..tap.program(
  "debug.sethook(function() end, 'l')\nlocal t = {}"))
tap.like(r.out, "until the program set a hook", "or that sets one")

-- Functions that lie where others did, after collections.
r = tap.luajit("-jm=nm0 "..tap.program([[
for i = 1, 100 do
  local f = loadstring("return function(...) return ... end", "@chunk"..i)
  local g = f()
  pcall(g)
  g()
  f, g = nil
  collectgarbage()
  collectgarbage()
end
]]))
if tap.knows_layout() then
  local chunks, functions = 0, 0
  for line in r.out:gmatch("[^\n]+") do
    local n = tonumber(line:match("^ +(%d+) .*chunk%d+"))
    if not n then  -- Another function's.
    elseif line:find("main chunk", 1, true) then chunks = chunks + n
    else functions = functions + n end
  end
  tap.is(chunks, 100, "a chunk each")
  tap.is(functions, 200, "a function each")
end
-- A stack is not looked at from top to bottom at each call.
r = tap.luajit("-jm=n "..tap.program([[
local function down(n) return n == 0 and 0 or 1 + down(n - 1) end
down(15000)
]]))
tap.like(r.out, "\n +15001 [^\n]* down\n", "deep recursion")

local mp = tap.tmpname(".mp")
r = tap.luajit("-jm=n,"..mp.." "..program)
r = tap.sh(tap.mp.." report "..mp.." nm0")
tap.is(calls("leaf"), 2010, "a file has them")
r = tap.sh(tap.mp.." merge "..mp.." "..mp.." | "..tap.mp.." report - nm0")
tap.is(calls("leaf"), 4020, "files are added up")
tap.luajit("-jm=f,"..mp.." "..program)
r = tap.sh(tap.mp.." report "..mp.." n")
tap.like(r.err, "no calls: a profile has them where the program ran with "..
  "option n", "a profile without them")
r = tap.luajit("-jm=nb2k "..program)
tap.like(r.err, "option 'n' counts every allocation", "samples do not do")

tap.done()
