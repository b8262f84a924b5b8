-- SPDX-License-Identifier: MIT
-- A heap walk by a child where children are denied, ended or many, where there
-- is no /proc, and where memory is short: the program's result is the same, and
-- the report says what is missing.

local tap = require("tap")
if not tap.knows_layout() then tap.skip("no heap walk on this build") end

local dir = tap.tmpdir()

-- The program goes on until its report has the pattern, or gives up.
tap.write(dir.."/app.lua", [[
local kind, want = arg[1], arg[2]
local ffi = require("ffi")
ffi.cdef("int fork(void); int waitpid(int, int *, int); void _exit(int);"..
  "int kill(int, int); int prctl(int, long, long, long, long);"..
  "typedef struct { uint16_t code; uint8_t jt, jf; uint32_t k; } filter;"..
  "typedef struct { uint16_t len; filter *list; } filters;")
local C = ffi.C

-- clone without flags fails with that number, as where there is no memory or
-- may be no more processes.
local function deny(number)
  local list = ffi.new("filter[6]", { { 0x20, 0, 0, 0 }, { 0x15, 0, 3, 56 },
    { 0x20, 0, 0, 16 }, { 0x15, 0, 1, 0 }, { 6, 0, 0, 0x50000 + number },
    { 6, 0, 0, 0x7fff0000 } })
  local all = ffi.new("filters[1]", { { 6, list } })
  assert(C.prctl(38, 1, 0, 0, 0) == 0)
  assert(C.prctl(22, 2, tonumber(ffi.cast("intptr_t", all)), 0, 0) == 0)
end

-- Children of the program's, a third of which it ends.
local status = ffi.new("int[1]")
local function storm()
  for i = 1, 5 do
    local pid = C.fork()
    if pid == 0 then
      local t = {}
      for k = 1, 100 do t[k] = { k } end
      C._exit(i)
    end
    if i % 3 == 0 then C.kill(pid, 9) end
    assert(C.waitpid(pid, status, 0) == pid)
    assert(status[0] == i * 256 or i % 3 == 0 and status[0] == 9)
  end
end

local function end_children()
  local f = io.open("/proc/thread-self/children")
  for pid in f:read("*a"):gmatch("%d+") do C.kill(tonumber(pid), 9) end
  f:close()
end

local function there()
  local f = io.open(kind..".txt")
  local text = f and f:read("*a")
  return f and f:close() and text:find(want)
end

if kind == "denied" then deny(11) elseif kind == "short" then deny(12) end
local sessions, begun = {}, os.time()
for i = 1, 1e9 do
  sessions[i % 20000 + 1] = { i, { tostring(i) } }
  if i % 1000 == 0 then
    if kind == "ended" then end_children() end
    if i % 20000 == 0 and kind == "storm" then storm() end
    if there() or os.time() - begun > 100 then break end
  end
end
print(there() and "there", C.waitpid(-1, nil, 1), ffi.errno() == 10)
os.exit(6)]])

local WALKED = "\nHeap walk: [^\n]* a child walked for .* sessions"
local function try(kind, want, what, before)
  local r = tap.sh(("%s%s -jm=fWw1,%s.txt app.lua %s %s"):format(before or "",
    tap.command, kind, kind, tap.quote(want)), { dir = dir })
  tap.is(r.status..r.err..r.out, "6there\t-1\ttrue\n", what)
end

try("plain", WALKED, "a child walks, of which the program sees nothing")
if not tap.slow then
  try("storm", WALKED, "while the program forks and ends children")
  if io.open("/proc/thread-self/children") then
    try("ended", "\nno heap walk: the child that made it was ended",
      "a child that is ended: said")
  end
  if jit.arch == "x64" then
    try("denied", "\nHeap walk: [^\n]* without a child: no more processes "..
      "are allowed\n", "a child that is denied: said")
    try("short", "\nHeap walk: [^\n]* without a child: there is no memory "..
      "for a child\n", "no memory for a child: said")
  end
end
if (os.getenv("LIBASAN") or "") == "" and not tap.slow then
  try("poor", WALKED, "with few addresses", "ulimit -v 90000; ")
  local alone = "unshare -m sh -c 'mount -t tmpfs none /proc && "..
    "exec \"$@\"' sh "
  if tap.sh(alone.."true").status == 0 then
    try("alone", WALKED, "without /proc", alone)
  end
end
tap.done()
