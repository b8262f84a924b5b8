-- SPDX-License-Identifier: MIT
-- Frees in exact events: of which memory, and by whom. What the collector frees
-- is derived from what is allocated and in use, not counted.

local tap = require("tap")

if not tap.knows_layout() then tap.skip("stacks are not known there") end

local prelude = [[
jit.off()
local mp = require("jit.mp")
local ffi = require("ffi")
ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
collectgarbage()
collectgarbage("stop")
local function drop(n) for i = 1, n do local t = { i } end end
local function hold(n)
  local t = {}
  for i = 1, n do t[i] = { i } end
  return t
end
local function grow(n)
  local t = {}
  for i = 1, n do t[i] = i end
end
local function collect() collectgarbage() collectgarbage("stop") end

-- The blocks that a function has allocated and that are gone: the number and
-- the bytes of those that the collector freed, and the numbers of those that
-- others freed or reallocated.
local function count(s, name)
  local by_gc, by_others, again, bytes = 0, 0, 0, 0
  local function top(row)
    local stack = s.rows[row].stack
    return s.frames[s.stacks.frame[stack] ]
  end
  for _, e in ipairs(s.events) do
    local f = e.origin > 0 and top(e.origin)
    if f and f.name == name then
      local at = e.row > 0 and top(e.row).name
      if e.kind == "realloc" then
        again = again + e.count
      elseif at == "(garbage collector)" then
        by_gc, bytes = by_gc + e.count, bytes + e.free_bytes
      else
        by_others = by_others + e.count
      end
    end
  end
  return ("%s %d %d %d %d"):format(name, by_gc, bytes, by_others, again)
end
]]

-- The bytes of a table { i }, which is one block.
local block = tonumber((tap.luajit(tap.program([[
  collectgarbage("stop")
  local i = 1
  local n, t = collectgarbage("count"), { i }
  io.write((collectgarbage("count") - n) * 1024)
]])).out:match("%d+")))

local file = tap.tmpname(".mp")
for _, output in ipairs { "/dev/null", file, "/dev/null,"..file..".html" } do
  local names = '"'..output:gsub(",", '", "')..'"'
  local r = tap.luajit(tap.program(prelude..([[
    assert(mp.start("e", %s))
    drop(100)
    print(count(mp.snapshot(), "drop"))
    collect()
    print(count(mp.snapshot(), "drop"))
    local keep = hold(50)
    mp.window()
    drop(30)
    collect()
    print(count(mp.window(), "drop"))
    collect()
    print(count(mp.window(), "drop"))
    keep = nil
    collect()
    print(count(mp.window(), "drop"))
    local s = mp.snapshot()
    print(count(s, "drop"))
    print((count(s, "hold"):match("^hold %%d+")))
    grow(1000)
    collect()
    print(count(mp.snapshot(), "grow"))
    mp.stop()
  ]]):format(names)))
  tap.is(r.status, 0, output:gsub("/tmp/%w+", "")..": exit status", r.err)
  tap.is(r.out, table.concat({
    "drop 0 0 0 0", -- Nothing was collected yet.
    "drop 100 "..100 * block.." 0 0",
    "drop 30 "..30 * block.." 0 0", -- A window has its own.
    "drop 0 0 0 0", "drop 0 0 0 0",
    "drop 130 "..130 * block.." 0 0",
    "hold 52", -- With the table that had them, and its array.
    "grow 2 8264 0 9" }, "\n").."\n", "frees by the collector and others")
end
os.remove(file..".html")

-- The child of a fork: memory from before is freed there, too.
local report = tap.tmpname()
local r = tap.luajit(tap.program(prelude..([[
  assert(mp.start("e", %q))
  local keep = hold(50)
  drop(40)
  collect()
  drop(7)
  io.flush()
  local pid = ffi.C.fork()
  if pid == 0 then
    print(count(mp.snapshot(), "drop"))
    drop(5)
    collect()
    print(count(mp.snapshot(), "drop"))
    keep = nil
    collect()
    print((count(mp.snapshot(), "hold"):match("^hold %%d+")))
    io.flush()
    ffi.C._exit(0)
  end
  ffi.C.waitpid(pid, nil, 0)
  collect()
  print(count(mp.snapshot(), "drop"))
  mp.stop()
]]):format(report.."-%p.txt")))
tap.is(r.out, ("drop 0 0 0 0\ndrop 12 %d 0 0\nhold 52\ndrop 47 %d 0 0\n")
  :format(12 * block, 47 * block), "a child's frees", r.err)
tap.sh("rm -f "..report.."-*.txt")

-- The profiler's own work can replace a block that a row has: a stack that
-- grows for a snapshot. The totals still agree with the collector's count.
for _, jit in ipairs { "-joff", "-jon" } do
  for name, body in pairs {
    coroutine = [[
      local function deep(n)
        if n > 0 then deep(n - 1) else mp.snapshot() mp.window() end
        return n
      end
      for i = 1, 100 do coroutine.wrap(deep)(i) end]],
    finalizer = [[
      local calls = 0
      local function final()
        calls = calls + 1
        if calls % 7 == 0 then mp.snapshot() end
        if calls % 11 == 0 then mp.window() end
      end
      local keep = {}
      for i = 1, 20000 do
        keep[i % 50] = { i, tostring(i) }
        if i % 100 == 0 then getmetatable(newproxy(true)).__gc = final end
      end
      collectgarbage()
      assert(calls > 150)]],
  } do
    r = tap.luajit(jit.." -jm=e "..tap.program([[
      local mp = require("jit.mp")
]]..body))
    tap.like(r.out, "; the collector counts %d+ bytes, 0 bytes more\n$",
      ("a snapshot in a %s, %s"):format(name, jit))
  end
end

-- The collector goes on while a table is made: all of its numbers are of one
-- moment.
for _, options in ipairs { "e", "te", "b1L" } do
  for _, what in ipairs { "snapshot", "window" } do
    r = tap.luajit(tap.program(([[
      local mp = require("jit.mp")
      assert(mp.start(%q, "/dev/null"))
      local keep = {}
      for i = 1, 20000 do
        keep[i %% 3000] = { i, tostring(i), tonumber }
        if i %% 4000 == 0 then
          local s = mp.%s()
          local h, allocated, inuse, survivors = s.heap, 0, 0, 0
          local freed, bytes, again = 0, 0, 0
          for _, e in ipairs(s.events or {}) do
            freed, bytes = freed + e.count, bytes + e.free_bytes
            again = again + e.alloc_bytes
          end
          for _, row in ipairs(s.rows) do
            allocated = allocated + row.alloc_bytes
            inuse = inuse + row.inuse_objects
          end
          for _, row in ipairs(s.survivors or {}) do
            survivors = survivors + row.objects
            assert(row.objects <= s.rows[row.row].inuse_objects)
          end
          assert((survivors > 0) == (s.survivors ~= nil))
          if not s.events then
            freed, bytes, again = h.free_objects, h.free_bytes, h.realloc_bytes
          end
          print(freed - h.free_objects, bytes - h.free_bytes,
            again - h.realloc_bytes, allocated - h.alloc_bytes,
            inuse - h.inuse_samples)
        end
      end
    ]]):format(options, what)))
    tap.is(r.out, ("0\t0\t0\t0\t0\n"):rep(5),
      ("a %s has the numbers of one moment: %s"):format(what, options), r.err)
  end
end

tap.done()
