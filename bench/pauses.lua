-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The time that a program stands still for reports that are made meanwhile.
----------------------------------------------------------------------------
--
--   make bench-pauses [PAUSES="COUNT [MB]..."]
--
-- A program has a heap of so many MB of tables and strings (default: 40, 400
-- and 4000), and then changes objects of it without a rest, looking at the
-- clock each time. For each of COUNT reports (default: 20) it notes the longest
-- gap between two looks, by the clock and by the CPU time of its thread, which
-- other programs on the machine disturb less. The collector has stopped, so
-- that gaps are not its own. A larger heap has longer strings: a pause goes by
-- the pages that a fork has to know, and the walk of so many objects more would
-- only make each row take longer.
--
-- For comparison, the first row has no reports: gaps of two seconds each, which
-- show what the machine does by itself (in a virtual one, time that the host
-- takes counts as CPU time). The second row has forks alone, as the program
-- might make them. The last one has a walk in the process itself.
--
----------------------------------------------------------------------------

local ffi = require("ffi")
ffi.cdef[[
typedef struct { long s, ns; } pauses_time;
int clock_gettime(int, pauses_time *);
int nanosleep(const pauses_time *, pauses_time *);
void *mmap(void *, size_t, int, int, int, long);
int munmap(void *, size_t);
int fork(void);
void _exit(int);
int waitpid(int, int *, int);
int getpid(void);
]]
local MONOTONIC, THREAD = 1, 3
local READ_WRITE, SHARED = 3, 0x21  -- Anonymous, too.

local at = ffi.new("pauses_time")
local function now(id)
  ffi.C.clock_gettime(id, at)
  return tonumber(at.s) + tonumber(at.ns) * 1e-9
end

-- -- The program ------------------------------------------------------------

local ENTRIES = 300000  -- Of the list, about: 70 MB with short names.

local function rest(seconds)
  at.s, at.ns = 0, seconds * 1e9
  ffi.C.nanosleep(at, nil)
end

-- No event happens yet: the thread rests, and there is little garbage.
local function build(mb)
  local list, long = {}, ("x"):rep(math.max(0, mb - 70) * 2^20 / ENTRIES)
  collectgarbage("setpause", 110)
  while collectgarbage("count") < mb * 1024 do
    rest(1e-6)
    for _ = 1, 1000 do
      local i = #list + 1
      list[i] = { id = i, name = "name "..i..long, next = { i } }
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
  local to = now(MONOTONIC) + 2
  return function(t) return t >= to end
end

-- The child ends at once.
function kinds.fork()
  local forked = false
  return function()
    if forked then return true end
    forked = true
    local pid = ffi.C.fork()
    if pid == 0 then ffi.C._exit(0) end
    ffi.C.waitpid(pid, nil, 0)
  end
end

-- A file that is written again begins with another running time. The first
-- report may have been under way before.
function kinds.rewritten(file, n)
  local old, left = read(file), n > 1 and 1 or 2
  return function()
    local text = read(file)
    if text and text ~= old then old, left = text, left - 1 end
    return left == 0
  end
end

-- The thread waits, and then does not for a second.
function kinds.busy(file, n)
  rest(1e-3)
  return function()
    return read(file:gsub("%%e", "busy"..(n > 1 and "-"..n or "").."-last"))
  end
end

-- The status of the command is written when it has ended.
function kinds.attached(file, n)
  local there = file.."."..n
  local command = "luajit-mp attach -t 1 -O fW -o '%s' %d"
  os.execute(("("..command.."; echo $? >'%s') &"):format(file, ffi.C.getpid(),
    there))
  return function()
    local status = read(there)
    if status == "" then return false end
    assert(not status or status == "0\n", "cannot attach")
    return status
  end
end

-- Memory that a fork need not copy is taken, a MiB at a time, and given back.
local taken
function kinds.memory(file, n, mb)
  local size, used = (mb + 40) * 2^20, 0
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
local EVENTS = 5  -- Reports of one kind that a run makes, and walks that stop
                  -- the program.
local rows = {
  { "no report", "none", "f" },
  { "a fork alone", "fork", "f" },
  { "L, option w", "rewritten", "fLw1" },
  { "W, option w", "rewritten", "fWw1" },
  { "attach -O fW", "attached" },
  { "event of memory (B)", "memory", "fB%dm", event = true },
  { "busy thread (WB1s)", "busy", "fWB1s", event = true },
  { "mp.report, in the process", "here", "f", slow = true },
}

local function one(row, mb, count, list)
  local file = os.tmpname()
  os.remove(file)
  local out = file..(row.event and "-%e.txt" or ".txt")
  local p = io.popen(("%s %s '%s' --program %s '%s' %d %d"):format(luajit,
    row[3] and ("'-jm=%s,%s'"):format(row[3]:format(mb * 1.5 + 20), out) or "",
    arg[0], row[2], out, mb, count))
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
  if row.slow then count = math.min(EVENTS, count) end
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
if #sizes == 0 then sizes = { 40, 400, 4000 } end
for _, mb in ipairs(sizes) do
  io.write(("%d MB: ms %40s %19s\n"):format(mb, "by the clock", "by CPU time"))
  io.write(("  %-26s %4s %9s %9s %9s %9s\n"):format("", "n", "median",
    "99 in 100", "median", "99 in 100"))
  for _, row in ipairs(rows) do measure(row, mb, count) end
end
