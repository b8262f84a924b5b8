-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The time that a program stands still for reports that are made meanwhile.
----------------------------------------------------------------------------
--
--   make bench-pauses [PAUSES="COUNT [MB]..."]
--
-- A program has a heap of so many MB of tables and strings (default: 40 and
-- 400), and then changes objects of it without a rest, looking at the clock
-- each time. For each of COUNT reports (default: 20) it notes the longest gap
-- between two looks, by the clock and by the CPU time of its thread, which
-- other programs on the machine disturb less. The collector has stopped, so
-- that gaps are not its own. For comparison, the first row has no reports: gaps
-- of half a second each. The last one has a walk in the process itself.
--
----------------------------------------------------------------------------

local ffi = require("ffi")
ffi.cdef[[
typedef struct { long s, ns; } pauses_time;
int clock_gettime(int, pauses_time *);
int nanosleep(const pauses_time *, pauses_time *);
void *mmap(void *, size_t, int, int, int, long);
int munmap(void *, size_t);
]]
local MONOTONIC, THREAD = 1, 3
local READ_WRITE, SHARED = 3, 0x21  -- Anonymous, too.

local at = ffi.new("pauses_time")
local function now(id)
  ffi.C.clock_gettime(id, at)
  return tonumber(at.s) + tonumber(at.ns) * 1e-9
end

-- -- The program ------------------------------------------------------------

local function build(mb)
  local list = {}
  while collectgarbage("count") < mb * 1024 do
    for _ = 1, 1000 do
      local i = #list + 1
      list[i] = { id = i, name = "name "..i, next = { i } }
    end
  end
  collectgarbage()
  collectgarbage("stop")
  return list
end

-- Turns until done() says so, which is asked each 10 ms: the longest gap by the
-- clock, and by CPU time.
local function gaps(list, done)
  local wall, cpu, n = 0, 0, 0
  local w, c = now(MONOTONIC), now(THREAD)
  local again = w
  while true do
    n = n + 1
    list[n % #list + 1].id = n
    local w2, c2 = now(MONOTONIC), now(THREAD)
    if w2 - w > wall then wall = w2 - w end
    if c2 - c > cpu then cpu = c2 - c end
    w, c = w2, c2
    if w >= again then
      if done(w) then return wall, cpu end
      again = w + 0.01
    end
  end
end

local function read(name)
  local f = io.open(name)
  local text = f and f:read(200)
  if f then f:close() end
  return text
end

-- By kind of row: what makes the nth report; returns a function that tells
-- whether it is there.
local kinds = {}

function kinds.none()
  local to = now(MONOTONIC) + 0.5
  return function(t) return t >= to end
end

-- A file that is written again begins with another running time.
function kinds.rewritten(file)
  local old = read(file)
  return function()
    local text = read(file)
    return text and text ~= old
  end
end

-- The thread waits, and then does not for a second.
function kinds.busy(file, n)
  at.s, at.ns = 0, 1e6
  ffi.C.nanosleep(at, nil)
  return function()
    return read(file:gsub("%%e", "busy"..(n > 1 and "-"..n or "").."-last"))
  end
end

-- Memory that a fork need not copy is taken, a MiB at a time, and given back.
local taken
function kinds.memory(file, n, mb)
  local size, used = mb * 2 * 2^20, 0
  if taken then ffi.C.munmap(taken, size) end
  local gone = now(MONOTONIC) + 1
  while now(MONOTONIC) < gone do end  -- Until that has been seen.
  taken = ffi.C.mmap(nil, size, READ_WRITE, SHARED, -1, 0)
  return function()
    if used < size then
      ffi.fill(ffi.cast("char *", taken) + used, 2^20, 1)
      used = used + 2^20
    end
    return read(file:gsub("%%e", "memory"..(n > 1 and "-"..n or "").."-last"))
  end
end

function kinds.here(file)
  local made = false
  return function()
    if made then return true end
    made = true
    assert(require("jit.mp").report("fW", file.."-here.txt"))
  end
end

if arg[1] == "--program" then
  local kind, file, mb, count = arg[2], arg[3], tonumber(arg[4]),
    tonumber(arg[5])
  local list = build(mb)
  for n = 1, count do
    local wall, cpu = gaps(list, kinds[kind](file, n, mb))
    io.write(("%.9f %.9f\n"):format(wall, cpu))
    io.flush()
  end
  os.exit(0, false)
end

-- -- The table ---------------------------------------------------------------

local luajit = os.getenv("LUAJIT") or "luajit"
local EVENTS = 5  -- Reports of one kind that a run makes.
local rows = {
  { "no report", "none", "f" },
  { "L, option w", "rewritten", "fLw1" },
  { "W, option w", "rewritten", "fWw1" },
  { "event of memory (B)", "memory", "fB%dm", event = true },
  { "busy thread (WB1s)", "busy", "fWB1s", event = true },
  { "mp.report, in the process", "here", "f" },
}

local function one(row, mb, count, list)
  local file = os.tmpname()
  os.remove(file)
  local out = file..(row.event and "-%e.txt" or ".txt")
  local p = io.popen(("%s '-jm=%s,%s' '%s' --program %s '%s' %d %d"):format(
    luajit, row[3]:format(mb * 2.2), out, arg[0], row[2], out, mb, count))
  for line in p:lines() do
    local wall, cpu = line:match("^(%S+) (%S+)$")
    list[#list+1] = { wall = tonumber(wall), cpu = tonumber(cpu) }
  end
  p:close()
  os.execute(("rm -f '%s'*"):format(file))
end

local function part(list, field, share)
  local values = {}
  for i, v in ipairs(list) do values[i] = v[field] end
  table.sort(values)
  return values[math.max(1, math.ceil(#values * share))] * 1000
end

local function measure(row, mb, count)
  local list, made = {}, 0
  while made < count do
    local n = row.event and math.min(EVENTS, count - made) or count
    one(row, mb, n, list)
    made = made + n
  end
  io.write(("  %-26s %4d"):format(row[1], #list))
  for _, field in ipairs(#list > 0 and { "wall", "cpu" } or {}) do
    for _, share in ipairs({ 0.5, 0.99 }) do
      io.write((" %9.2f"):format(part(list, field, share)))
    end
  end
  io.write("\n")
  io.flush()
end

local count, sizes = tonumber(arg[1]) or 20, {}
for i = 2, #arg do sizes[i - 1] = assert(tonumber(arg[i])) end
if #sizes == 0 then sizes = { 40, 400 } end
for _, mb in ipairs(sizes) do
  io.write(("%d MB: ms %40s %19s\n"):format(mb, "by the clock", "by CPU time"))
  io.write(("  %-26s %4s %9s %9s %9s %9s\n"):format("", "n", "median",
    "99 in 100", "median", "99 in 100"))
  for _, row in ipairs(rows) do measure(row, mb, count) end
end
