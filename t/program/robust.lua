-- SPDX-License-Identifier: MIT
-- Whatever a program does, profiling it changes neither its result nor its
-- end. Each program prints its result; it is run plain and profiled.

local tap = require("tap")

local programs = {
  { "deep recursion", [[
    local function down(n) if n == 0 then return { 0 } end
      local t = down(n - 1) t[#t+1] = n return t end
    print(#down(5000))]] },
  { "stack overflow", [[
    local function forever(n) return 1 + forever({ n }) end
    local ok, msg = pcall(forever, 1)
    print(ok, (tostring(msg):gsub("^.-:%d+: ", "")))]] },
  { "coroutines in coroutines", [[
    local function nest(n)
      if n == 0 then return { 1 } end
      local co = coroutine.create(nest)
      local ok, t = coroutine.resume(co, n - 1)
      t[#t+1] = { n } return t
    end
    for i = 1, 50 do nest(60) end
    print(#nest(100))]] },
  { "dead coroutines", [[
    local n = 0
    for i = 1, 5000 do
      local co = coroutine.create(function(a) coroutine.yield({ a }) end)
      local _, t = coroutine.resume(co, i) n = n + t[1]
    end
    collectgarbage() print(n)]] },
  { "errors in coroutines", [[
    local n = 0
    for i = 1, 3000 do
      local co = coroutine.wrap(function(a) local t = { a } error(t) end)
      local ok, t = pcall(co, i) n = n + t[1]
    end
    print(n)]] },
  { "finalizers that allocate", [[
    local n = 0
    for i = 1, 3000 do
      local u = newproxy(true)
      getmetatable(u).__gc = function() local t = { i, {} } n = n + #t end
    end
    collectgarbage() collectgarbage()
    print(n)]] },
  { "finalizers while compiled code runs", [[
    local n, keep = 0, {}
    for i = 1, 200000 do
      if i % 100 == 0 then
        local u = newproxy(true)
        getmetatable(u).__gc = function() n = n + #{ 1, 2 } end
      end
      keep[i % 10 + 1] = { i }
    end
    collectgarbage() print(n > 1900)]] },
  { "chunks with huge names", [[
    local n = 0
    for i = 1, 20 do
      local f = loadstring("local t = {} for i = 1, 200 do t[i] = { i } end " ..
        "return #t", "@" .. ("dir\n/"):rep(50000) .. i)
      n = n + f()
    end
    print(n)]] },
  { "loaded and forgotten functions", [[
    local n = 0
    for i = 1, 300 do
      local f = loadstring("local t = {} for k = 1, 80 do t[k] = { k } end " ..
        "return #t + " .. i)
      n = n + f() if i % 20 == 0 then collectgarbage() end
    end
    print(n)]] },
  { "string.dump", [[
    local f = loadstring(string.dump(function(n)
      local t = {} for i = 1, n do t[i] = { i } end return #t end, true))
    print(f(5000))]] },
  { "very large blocks", [[
    local s = ("x"):rep(300 * 1024 * 1024)
    local t = table.concat({ s:sub(1, 10), "y" })
    print(#s, t)]] },
  { "jit.flush and jit.off in the middle", [[
    local keep, n = {}, 0
    for k = 1, 30 do
      for i = 1, 2000 do keep[i % 20 + 1] = { i } n = n + i end
      jit.flush()
      if k == 20 then jit.off() elseif k == 25 then jit.on() end
    end
    print(n)]] },
  { "a stopped collector", [[
    collectgarbage("stop")
    local t
    for i = 1, 50000 do t = { i } end
    print(t[1], collectgarbage("count") > 1000)]] },
  { "an incremental collector", [[
    collectgarbage("setpause", 100) collectgarbage("setstepmul", 1000)
    local t = {}
    for i = 1, 50000 do t[i % 1000] = { i, tostring(i) }
      if i % 5000 == 0 then collectgarbage("step", 10) end end
    print(#t)]] },
  { "varargs and tail calls", [[
    local function sum(...)
      local n = 0
      for i = 1, select("#", ...) do n = n + #{ ..., i } end
      return n
    end
    local function tail(n, ...)
      if n == 0 then return sum(...) end
      return tail(n - 1, n, ...)
    end
    local n = 0
    for i = 1, 500 do n = n + tail(i % 40) end
    print(n)]] },
  { "FFI callbacks", [[
    local ffi = require("ffi")
    ffi.cdef("void qsort(void *, size_t, size_t, "..
      "int (*)(const int *, const int *));")
    local a, n = ffi.new("int[200]"), 0
    for i = 0, 199 do a[i] = (i * 7919) % 211 end
    ffi.C.qsort(a, 200, 4, function(x, y)
      local t = { x[0], y[0] } n = n + #t return t[1] - t[2] end)
    local up = true
    for i = 1, 199 do up = up and a[i-1] <= a[i] end
    print(up, n > 0)]] },
  { "a changed environment", [[
    local write = io.write
    for _, name in ipairs({ "require", "tostring", "io", "os", "string",
      "table", "package", "jit", "type", "ipairs", "pairs", "error" }) do
      _G[name] = nil
    end
    setmetatable(_G, { __index = function() return nil end })
    local t = {} for i = 1, 1000 do t[i] = { i } end
    write(#t, "\n")]] },
  { "another directory", [[
    local ffi = require("ffi") ffi.cdef "int chdir(const char *);"
    print(ffi.C.chdir("/"))]] },
  { "debug hooks", [[
    local n = 0
    debug.sethook(function() n = n + #{ 1 } end, "", 100)
    local t = {} for i = 1, 20000 do t[i % 10] = { i } end
    debug.sethook() print(n > 0)]] },
  { "SIGFPE for invalid arithmetic", [[
    local ffi = require("ffi") ffi.cdef "int feenableexcept(int);"
    local there, m = pcall(ffi.load, "m")
    pcall(function() m.feenableexcept(1) end)
    local t = {} for i = 1, 20000 do t[i % 10] = { i } end
    print(#t)]] },
  { "jit.p's timer taken over", [[
    local p = require("jit.profile")
    p.start("li10", function() end)
    local t = {} for i = 1, 100000 do t[i % 10] = { i } end
    p.dumpstack("fl", 10)
    p.stop() print(#t)]] },
}

-- Under valgrind the signal may still be on its way when LuaJIT stops its own
-- profiler, and kills the process, without us too.
if tap.slow then programs[#programs] = nil end

local modes = { "-jm=f", "-jm=lb1", "-joff -jm=lb1",
  "-Ohotloop=2 -Ohotexit=1 -jm=lb1", "-Ohotloop=2 -Ohotexit=1 -jm=e", "-jm=L" }
if tap.slow then modes = { "-Ohotloop=2 -Ohotexit=1 -jm=lb1" } end

for _, p in ipairs(programs) do
  local file = tap.program(p[2])
  local plain = tap.luajit(file)
  tap.is(plain.status, 0, p[1]..": runs by itself")
  for _, mode in ipairs(modes) do
    local out = tap.tmpname(".txt")
    local head, opts = mode:match("^(.-)(%-jm=%S+)$")
    local r = tap.luajit(head..opts..","..out.." "..file)
    local name = p[1]..", "..mode
    tap.is(r.status, plain.status, name..": exit status")
    tap.is(r.out, plain.out, name..": result")
    tap.is(r.err, plain.err, name..": messages")
    tap.like(tap.read(out) or "", "^luajit%-mp ", name..": report")
  end
end

-- A listener to the compiler is told that all traces are flushed at the end.
do
  local file = tap.program([[
    local mp = require("jit.mp")
    mp.start("fb1", "/dev/null")
    local t = {} for i = 1, 1000 do t[i] = { i } end
    mp.stop()
    print(#t)]])
  local r = tap.luajit("-jv="..tap.tmpname(".txt").." "..file)
  tap.is(r.status, 0, "jit.v listens: the profile stops")
  tap.is(r.out, "1000\n", "jit.v listens: result")
end

-- The registry loses what the profiler has there.
for _, which in ipairs({ "type(R[k]) == 'thread'", "type(k) == 'userdata'" }) do
  local r = tap.luajit("-jm=f,/dev/null "..tap.program(([[
    local R = debug.getregistry()
    for k in next, R do if %s then R[k] = nil end end
    collectgarbage() collectgarbage()
    for i = 1, 400000 do local t = { i, tostring(i) } end
    print("done")]]):format(which)))
  tap.is(r.status..r.out, "0done\n", "without the registry's "..which)
end

do
  local r = tap.luajit(tap.program([[
    local mp = require("jit.mp")
    local calls = 0
    mp.start({ options = "f", interval = 1,
      callback = function() calls = calls + 1 end }, "/dev/null")
    local R = debug.getregistry()
    for k in next, R do if type(R[k]) == "thread" then R[k] = nil end end
    collectgarbage() collectgarbage()
    local clock = os.clock
    local stop = clock() + 0.1
    repeat local t = { {} } until clock() > stop
    print(mp.stop(), calls > 0)]]))
  tap.is(r.status..r.out, "0true\ttrue\n",
    "without the registry's coroutines, with a callback")
end

do
  local r = tap.luajit(tap.program([[
    local core, ffi = require("jit.mp.core"), require("ffi")
    ffi.cdef "int raise(int);"
    local calls = 0
    core.on_signal("12", function() calls = calls + 1 end)
    local R = debug.getregistry()
    for k in next, R do if type(R[k]) == "thread" then R[k] = nil end end
    collectgarbage() collectgarbage()
    local t = {}
    for i = 1, 1e5 do t[i % 50] = { i, tostring(i) } end
    ffi.C.raise(12)
    for i = 1, 1e5 do t[i % 50] = { i, tostring(i) } end
    print(calls)]]))
  tap.is(r.status..r.out, "01\n",
    "without the registry's coroutines, with a function for a signal")
end

-- Ticks come while compiled code writes names of zones, which takes two
-- instructions for each.
for i = 1, tap.slow and 1 or 5 do
  local r = tap.luajit("-jm=czi1,/dev/null "..tap.program([[
    local zone = require("jit.zone")
    for i = 1, 1e7 do zone("a") zone("b") zone() zone() end]]))
  tap.is(r.status, 0, "zones in compiled code, run "..i..": exit status")
end

-- Out of memory: the program's errors stay its own, and are the same.
if not os.getenv("ASAN_OPTIONS") and not tap.slow then
  local file = tap.program([[
    local ok, msg = pcall(function()
      local t = {}
      for i = 1, 1e9 do t[i] = { i, {} } end
    end)
    collectgarbage() collectgarbage()
    print(ok, msg)]])
  local function limited(opts)
    return tap.sh(("ulimit -v 400000; %s %s %s"):format(
      tap.command, opts, file))
  end
  local plain = limited("")
  tap.like(plain.out, "false\tnot enough memory", "out of memory by itself")
  for _, opts in ipairs({ "-jm=f,/dev/null", "-jm=fb1,/dev/null" }) do
    local r = limited(opts)
    tap.is(r.status, plain.status, "out of memory, "..opts..": exit status")
    tap.is(r.out, plain.out, "out of memory, "..opts..": result")
  end
end

tap.done()
