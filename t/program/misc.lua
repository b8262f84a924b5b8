-- SPDX-License-Identifier: MIT
-- misc.memprof as Tarantool's manual uses it.

local memprof = require("jit.mp.format.memprof")
local profile = require("jit.mp.model.profile")
local snapshots = require("snapshots")
local tap = require("tap")

if rawget(_G, "misc") then tap.skip("Tarantool has the module itself") end
if not pcall(require, "ffi") then tap.skip("no FFI: no profile files") end

local dir = tap.tmpdir()
tap.write(dir.."/test.lua", [[
jit.off() require("jit.mp.misc")
print(misc.memprof.start("memprof_new.bin"))

local function append(str, rep)
    return string.rep(str, rep)
end

local t = {}
for i = 1, 1e4 do
    table.insert(t,
        append('q', i)
    )
end
print(misc.memprof.start("memprof_new.bin"))
print(misc.memprof.stop())
print(misc.memprof.stop())
print(misc.memprof.start("no/where.bin"))
print(misc.memprof.start("/dev/null"))
print(misc.memprof.stop())
print(misc.memprof.start("memprof.data"))
print(misc.memprof.stop())
print(pcall(misc.memprof.start))
]])
tap.write(dir.."/parse.lua", 'require("memprof")(arg)')
local r = tap.luajit("test.lua", { dir = dir })
tap.is(r.status, 0, "the program runs")
local lines = {}
for line in r.out:gmatch("[^\n]*") do
  if line ~= "" then lines[#lines+1] = line end
end
for i, want in ipairs({ "^true$", "^nil\tprofiler is running already\t22$",
    "^true$", "^nil\tprofiler is not running\t22$",
    "^nil\t.*no/where.bin.*No such file or directory\t2$",
    "^true$", "^true$", "^true$", "^true$",
    "^false\t.*must be a string, not a nil$" }) do
  tap.like(lines[i], want, "call "..i)
end

-- -- The event stream, as Tarantool's own tools read it ----------------------

-- Functions that read numbers and strings of a text.
local function reader(text)
  local at = 1
  local r = {}
  function r.byte()
    at = at + 1
    return text:byte(at - 1)
  end
  function r.number()
    local n, by, b = 0, 1
    repeat
      b = r.byte()
      n, by = n + b % 128 * by, by * 128
    until b < 128
    return n
  end
  function r.string(n)
    at = at + n
    return text:sub(at - n, at - 1)
  end
  return r
end

-- Names of the functions by their addresses, and the addresses and lines where
-- traces begin by their numbers.
local function read_symbols(next)
  local names, traces = {}, {}
  tap.is(next.string(7), "ljs\3\0\0\0", "the table of symbols begins")
  for kind in next.byte do
    if kind == 128 then return names, traces end
    local address = next.number()
    if kind == 2 then
      traces[address] = { next.number(), next.number() }
    else
      names[address] = next.string(next.number())
      if kind == 0 then next.number() end
    end
  end
end

-- Events by kind and place: { n, allocated, freed }; and the bytes of blocks
-- that are not freed.
local function read_events(next, names, traces)
  local sums, blocks, held = {}, {}, 0
  tap.is(next.string(7), "ljm\3\0\0\0", "the events begin")
  for head in next.byte do
    if head == 128 then return sums, held end
    local kind, by, name = head % 4, math.floor(head / 4), "VM"
    if by == 4 then
      local at = traces[next.number()]
      name = ("trace at %s:%d"):format(names[at[1]], at[2])
    elseif by > 1 then
      name = names[next.number()]
    end
    if by == 2 then name = name..":"..next.number() end
    local sum = sums[kind.." "..name] or { 0, 0, 0 }
    sums[kind.." "..name], sum[1] = sum, sum[1] + 1
    if kind >= 2 then
      local address, size = next.number(), next.number()
      sum[3] = sum[3] + size
      held = held - (blocks[address] and size or 0)
      blocks[address] = nil
    end
    if kind ~= 2 then
      local address, size = next.number(), next.number()
      sum[2], held, blocks[address] = sum[2] + size, held + size, true
    end
  end
end

local next = reader(tap.read(dir.."/memprof_new.bin"))
local sums, held = read_events(next, read_symbols(next))
r = tap.sh(tap.mp.." report memprof_new.bin e", { dir = dir })
local titles = { "ALLOCATIONS", "DEALLOCATIONS", "REALLOCATIONS" }
for kind, title in ipairs(titles) do
  local section = r.out:match("\n"..title.."\n(.-)\n\n[%u\n]")
  local seen = 0
  for name, n, got, lost in section:gmatch(
      "(@test[^\n]-): (%d+) events\t%+(%d+) bytes\t%-(%d+)") do
    local sum = sums[kind.." "..name] or {}
    tap.is(table.concat(sum, " "), table.concat({ n, got, lost }, " "),
      title.." of "..name)
    seen = seen + 1
  end
  tap.ok(seen > 0 or kind == 2, title..": places", section)
end
local kept = 0
for bytes in r.out:match("\nHEAP SUMMARY:\n(.-)\n\n"):gmatch(
    "holds (%d+) bytes") do
  kept = kept + tonumber(bytes)
end
tap.is(held, kept, "what is not freed is what is held")

-- A safepoint may come after the line.
local line = tap.knows_layout() and "@test.lua:11" or "@test.lua:%d+"
tap.like(r.out, "ALLOCATIONS\n"..line..": %d+ events", "the report")
tap.like(r.out, "\nREALLOCATIONS\n", "reallocations")
r = tap.sh(tap.mp.." report --leak-only memprof_new.bin", { dir = dir })
tap.like(r.out, "^HEAP SUMMARY:\n"..line.." holds %d+ bytes: %d+ allocs, "..
  "%d+ frees\n", "what is held")
r = tap.luajit("-ljit.mp.misc parse.lua memprof_new.bin", { dir = dir })
tap.like(r.out, "\nALLOCATIONS\n", "memprof's parser")
r = tap.luajit("-ljit.mp.misc parse.lua --leak-only memprof_new.bin",
  { dir = dir })
tap.like(r.out, "^HEAP SUMMARY:\n"..line.." holds %d+ bytes", "with an option")

-- Compiled code is at its trace, and interpreted code at its line.
tap.write(dir.."/traced.lua", [[
require("jit.mp.misc")
local t = require("table.new")(40, 0)
misc.memprof.start("traced.bin")
jit.opt.start("hotloop=10")
for i = 1, 40 do
  t[i] = "made-" .. i
end
misc.memprof.stop()
]])
tap.luajit("traced.lua", { dir = dir })
next = reader(tap.read(dir.."/traced.bin"))
sums = read_events(next, read_symbols(next))
local by_trace = (sums["1 trace at @traced.lua:5"] or { 0 })[1]
local by_line = (sums["1 @traced.lua:6"] or { 0 })[1]
if jit.status() and tap.knows_layout() then
  tap.ok(by_trace >= 20, "events of compiled code", by_trace)
  tap.is(by_trace + by_line, 40, "and of interpreted code")
end

-- A start leaves nothing behind that is freed within the profile: at most one
-- object, where stacks are captured at safepoints.
tap.write(dir.."/free.lua", [[
jit.off() require("jit.mp.misc")
for _ = 1, 2 do
  collectgarbage() collectgarbage()
  misc.memprof.start("free.bin")
  collectgarbage()
  misc.memprof.stop()
end
]])
tap.luajit("free.lua", { dir = dir })
r = tap.sh(tap.mp.." report free.bin e", { dir = dir })
local freed = tonumber(r.out:match("\nNumber of frees +=%s+(%d+)"))
tap.ok(freed and freed <= 1, "nothing of a start's is freed", r.out)

-- -- sysprof ------------------------------------------------------------------

tap.write(dir.."/sysprof.lua", [[
jit.off() require("jit.mp.misc")
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local function sum()
  local r, n = misc.sysprof.report(), 0
  for _, v in pairs(r.vmstate) do n = n + v end
  return r, n
end
print(sum().samples)
print(misc.sysprof.start())
print(misc.sysprof.start { mode = "A" })
print(misc.sysprof.start { mode = "D", interval = -1 })
print(misc.sysprof.start { mode = "C", path = 1 })
print(misc.sysprof.start { mode = "C", path = "no/where.bin" })
print(misc.sysprof.stop())
print(misc.sysprof.start { mode = "D", interval = 1 })
print(misc.sysprof.start { mode = "D" })
print(misc.memprof.start("memprof.bin"))
print(misc.memprof.stop())
print(misc.sysprof.report())
local stop = os.clock() + 0.2
repeat fib(15) until os.clock() > stop
print(misc.sysprof.stop())
local r, n = sum()
print(r.samples > 0 and n == r.samples, r.vmstate.TRACE + r.vmstate.RECORD)
print(misc.sysprof.start { mode = "C", interval = 1, path = "sys.data" })
stop = os.clock() + 0.2
repeat fib(15) until os.clock() > stop
require("jit.mp").stop()
print(misc.sysprof.stop())
print(misc.sysprof.report().samples)
print(misc.memprof.start("memprof.bin"))
print(misc.sysprof.stop())
print(misc.memprof.stop())
]])
r = tap.luajit("sysprof.lua", { dir = dir })
tap.is(r.out, table.concat({ "0", "nil\tprofiler misuse\t22",
  "nil\tprofiler misuse\t22", "nil\tprofiler misuse\t22",
  "nil\tprofiler misuse\t22",
  r.out:match("nil\t[^\n]*no/where.bin[^\n]*\t2\n") or "said\n" }, "\n")..
  table.concat({ "nil\tprofiler is not running\t22", "true",
  "nil\tprofiler is running already\t22",
  "nil\tprofiler is running already\t22",
  "nil\tprofiler is not running\t22", "nil\tprofiler misuse\t22",
  "true", "true\t0", "true", "nil\tprofiler is not running\t22", "0",
  "true", "nil\tprofiler is not running\t22", "true", "" }, "\n"),
  "sysprof's functions", r.err)
-- Samples by their stacks, as Tarantool's own tools read them: the C stack, and
-- the Lua stack before it, from the top on.
local function read_samples(next, names)
  local stacks, n = {}, 0
  tap.is(next.string(7), "ljp\2\0\0\0", "the samples begin")
  for kind in next.byte do
    if kind == 128 then return stacks, n end
    local lua, c = {}, {}
    while kind < 4 and next.byte() == 1 do
      lua[#lua+1] = names[next.number()]
      next.number()
    end
    for at in next.number do
      if at == 0 then break end
      c[#c+1] = names[at]
    end
    local stack = table.concat(lua, "<").."|"..table.concat(c, "<")
    stacks[stack], n = (stacks[stack] or 0) + 1, n + 1
  end
end

next = reader(tap.read(dir.."/sys.data"))
local stacks, samples = read_samples(next, read_symbols(next))
local fib = 0
for stack, n in pairs(stacks) do
  if stack:find("^@sysprof%.lua<.*@sysprof%.lua|lua_pcall$") then
    fib = fib + n
  end
end
tap.ok(fib >= samples * 0.8 and samples > 0, "its stream has the stacks",
  fib.." of "..samples)

-- Where intervals adapt, a row may have parts of a sample: none gets lost.
local made_up = snapshots.of({ { "a", cpu = 1.25 }, { "b", cpu = 0.5 },
  { "c", cpu = 1.25 } })
next = reader(assert(memprof(profile.new(made_up))))
stacks, samples = read_samples(next, read_symbols(next))
tap.is(samples, 3, "parts of samples are whole ones together")
r = tap.sh(tap.mp.." report sys.data", { dir = dir })
tap.like(r.out, "%d%%.-fib\n", "its file is a profile", r.err)

-- -- getmetrics ---------------------------------------------------------------

-- The loop is one trace.
tap.write(dir.."/metrics.lua", [[
jit.off(true, true) jit.flush()
require("jit.mp.misc")
collectgarbage("stop")
local before = misc.getmetrics()
print(before.gc_total == collectgarbage("count") * 1024)
local text = ("x"):rep(1e6)
local after = misc.getmetrics()
print(after.gc_total - before.gc_total >= #text)
local loop = loadstring("for i = 1, 1000 do end")
loop()
print(misc.getmetrics().jit_trace_num - before.jit_trace_num)
jit.flush()
print(misc.getmetrics().jit_trace_num, misc.getmetrics().strhash_hit)
]])
r = tap.luajit("metrics.lua", { dir = dir })
tap.is(r.out, ("true\ntrue\n%d\n0\tnil\n"):format(jit.status() and 1 or 0),
  "metrics", r.err)
tap.done()
