-- SPDX-License-Identifier: MIT
-- Programs that look at their own stacks while they are profiled: what they
-- see is what they see without us, and nothing crashes. LuaJIT has one buffer
-- for that, which the profiler must not touch inside the allocator.

local tap = require("tap")

local programs = {
  { "dumps by new functions, deeper and deeper", [[
    local profile = require("jit.profile")
    local sum, n = 0, 0
    local function down(k, ...)
      if k == 0 then
        local s = profile.dumpstack("pFl\n", 200)
        sum, n = sum + #s, n + 1
        return s, ...
      end
      local f = assert(loadstring("local d, k, x = ... local t = { k } " ..
        "return d(k - 1, { x }), t", "=chunk" .. k))
      return f(down, k, { k })
    end
    for i = 1, 120 do down(i) end
    print(n, sum)]] },
  { "strings of dumps", [[
    local profile = require("jit.profile")
    local out = {}
    local function g(i)
      local t = { i }
      return profile.dumpstack("F;l;", 50), t
    end
    for i = 1, 200 do
      local f = assert(loadstring("return function(g, i) local s = g(i)\n" ..
        ("\n"):rep(i % 7) .. "return s .. '' end", "=chunk" .. i % 13))()
      out[i] = f(g, i)
    end
    for i = 1, #out do print(out[i]) end]] },
  { "names in every style", [[
    local profile = require("jit.profile")
    local t = {}
    function t.field(x) return profile.dumpstack("fZ|", -100), x end
    function t:method(x) local s = t.field({ x }) return s end
    local mt = setmetatable({}, { __index = function(_, k)
      local s = t:method({ k }) return s end })
    for i = 1, 150 do
      local s = mt["key" .. i]
      io.write(s, "\n")
      table.sort({ 3, 2, 1 }, function(a, b)
        if i % 50 == 0 then io.write(t.field(1), "\n") end
        return a < b
      end)
    end]] },
  { "dumps before, during and after a profile", [[
    local profile = require("jit.profile")
    local mp = package.loaded["jit.mp"]
    local function dump() return #profile.dumpstack("l\n", 20) end
    print(dump())
    for i = 1, 5 do
      print(dump())
      if mp then mp.stop() end
      print(dump(), dump())
      if mp then assert(mp.start("f", "/dev/null")) end
    end]] },
  { "LuaJIT's profiler for a moment", [[
    local profile = require("jit.profile")
    local mp = package.loaded["jit.mp"]
    local keep = {}
    profile.start("i10", function() end)
    for i = 1, 3000 do keep[i % 9] = { i } end
    profile.stop()
    for i = 1, 3000 do keep[i % 9] = { i } end
    if mp then mp.stop() end
    local function g(n) if n > 0 then local s = g(n - 1) return s end
      return profile.dumpstack("pFl\n", 100) end
    print(#g(90))]] },
}

local modes = { "-jm=f", "-jm=fb1", "-jm=e", "-jm=L", "-jm=fb4096",
  "-joff -jm=fb1", "-Ohotloop=2 -Ohotexit=1 -jm=fb1" }
if tap.slow then modes = { "-jm=fb1" } end

-- Addresses of C functions are not the same from run to run.
local function known(text) return (text:gsub("@0x%x+", "@")) end

for _, p in ipairs(programs) do
  local file = tap.program(p[2])
  local plain = tap.luajit(file)
  -- With assertions the VM misses the memory of its buffer at the end.
  local able = plain.status == 0 or plain.err:find("memory leak", 1, true)
  tap.ok(able, p[1]..": runs by itself", plain.err)
  for _, mode in ipairs(plain.status == 0 and modes or {}) do
    local head, opts = mode:match("^(.-)(%-jm=%S+)$")
    for run = 1, tap.slow and 1 or 3 do
      local r = tap.luajit(head..opts..",/dev/null "..file)
      local name = p[1]..", "..mode..", run "..run
      tap.is(r.status, 0, name..": exit status")
      tap.is(known(r.out), known(plain.out), name..": the same strings")
    end
  end
end

-- A callback that looks at the stack at each of its samples sees only Lua.
do
  local file = tap.program([[
    local mp = require("jit.mp")
    local profile = require("jit.profile")
    local bad, n = 0, 0
    mp.start("fb1", "/dev/null")
    mp.stop()
    profile.start("i1", function(thread, samples, state)
      local s = profile.dumpstack(thread, "F;", -20)
      n = n + 1
      if s:find("[^%g ]") then bad = bad + 1 end
    end)
    local core = require("jit.mp.core")
    local t = {}
    while n < 20 do
      for i = 1, 1000 do t[i % 10] = { i, tostring(i) } end
    end
    profile.stop()
    print(bad)]])
  local r = tap.luajit(file)
  tap.is(r.status, 0, "a callback's dumps after a profile: exit status")
  tap.is(r.out, "0\n", "and its strings")
end

-- A name of 400,000 bytes is cut: it neither hangs nor crashes.
do
  local file = tap.program([[
    local name = ("n"):rep(400000)
    local t = {}
    local f = assert(loadstring(
      "local t, n = ...\nif n == 0 then return {} end\n" ..
      "return { t." .. name .. "(t, n - 1) }", "=chunk"))
    t[name] = f
    for i = 1, 200 do f(t, 60) end
    print("done")]])
  for _, opts in ipairs({ "f", "fb1", "eb1", "fb20k" }) do
    local out = tap.tmpname(".txt")
    local r = tap.luajit("-jm="..opts..","..out.." "..file)
    tap.is(r.status, 0, "a long name, "..opts..": exit status")
    tap.is(r.out, "done\n", "a long name, "..opts..": result")
    local text = tap.read(out) or ""
    tap.ok(#text > 0 and #text < 100000,
      "a long name, "..opts..": the report is short",
      #text.." bytes")
  end
end

-- An error of a call of nil has a frame without a function; the handler gets
-- compiled while that is on the stack.
do
  local file = tap.program([[
    local n = 0
    local function handler(msg)
      local t = {}
      for i = 1, 300 do t[i] = { i, msg } n = n + 1 end
      return t
    end
    for i = 1, 200 do
      local ok, t = xpcall(nil, handler)
      assert(not ok and #t == 300)
      if i % 20 == 0 then collectgarbage() end
    end
    print(n)]])
  for _, opts in ipairs({ "-jm=fb1", "-jm=fb256", "-jm=e", "-jm=f",
      "-Ohotloop=2 -jm=fb1" }) do
    local r = tap.luajit(opts..",/dev/null "..file)
    tap.is(r.status, 0, "an error without a function, "..opts..": exit status")
    tap.is(r.out, "60000\n", "an error without a function, "..opts..": result")
  end
end

tap.done()
