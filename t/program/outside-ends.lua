-- SPDX-License-Identifier: MIT
-- luajit-mp attach --outside -O W where something comes to an end in the midst
-- of it: the memory that the command may have, the program, the command itself.

local process = require("attach.process")
local tap = require("tap")

if tap.slow or (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("attached programs run on the bare machine only")
end

local dir = tap.tmpdir()

tap.write(dir.."/heap.lua", [[
local cache, n = {}, 1e5
for i = 1, n do cache[i] = { i, name = "entry "..i } end
local file = io.open("ready", "w")
file:write("ready\n")
file:close()
repeat
  local sum = 0
  for i = 1, n do sum = sum + cache[i][1] end
  assert(sum == n * (n + 1) / 2 and cache[n].name == "entry "..n)
  os.execute("sleep 0.01")
  file = io.open(arg[1])
  if file then file:close() end
until not file
print("right")
]])

local function start()
  os.remove(dir.."/ready")
  local p = process.start(dir, tap.command.." heap.lua")
  tap.wait(function() return tap.read(dir.."/ready") == "ready\n" end)
  return p
end

local function command(pid)
  return ("%s attach --outside -O W %s"):format(tap.mp, pid)
end

local function now()
  return tonumber(tap.sh("date +%s.%N").out)
end

local p = start()
local began = now()
local r = tap.sh(command(p.pid), { dir = dir })
local took = now() - began
if r.err:find("not permitted", 1, true) or
  r.err:find("not one that luajit-mp can read from outside", 1, true) then
  p:kill()
  tap.skip(r.err:match("[^\n]+"))
end
tap.is(r.status, 0, "it is walked", r.err)
tap.like(r.out, "\nHeap walk: ", "it is walked")

-- -- Memory -------------------------------------------------------------------

local said, walked = 0, 0
for mb = 10, 200, 10 do
  r = tap.sh(("ulimit -v %d; %s"):format(mb * 1024, command(p.pid)),
    { dir = dir })
  local is_walk = r.status == 0 and r.out:find("\nHeap walk: ", 1, true)
  local is_said = r.status ~= 0 and r.err:find("memory", 1, true)
  tap.ok(is_walk or r.status < 128, ("%d MB: no crash"):format(mb),
    r.status..r.out..r.err)
  if is_walk then walked = walked + 1 elseif is_said then said = said + 1 end
end
tap.ok(walked > 0, "memory: enough of it", said)
tap.ok(said > 0, "memory: less is said", walked)
tap.is(p:stop(), "right\n", "memory: the program's results")

-- -- The program --------------------------------------------------------------

local MOMENTS = 12
for i = 1, MOMENTS do
  p = start()
  r = tap.sh(("{ sleep %.3f; kill -KILL %s; } & %s; s=$?; wait; exit $s")
    :format(took * i / MOMENTS, p.pid, command(p.pid)), { dir = dir })
  tap.ok(r.status == 0 or r.err:find("there is no process", 1, true) or
    r.err:find("runs no program", 1, true) or
    r.err:find("it has ended", 1, true), "the program is killed: said "..i,
    r.status..r.out..r.err)
  p:stop() -- Its end has been noted.
end

-- -- The command --------------------------------------------------------------

-- The processes that have these words in their command line.
local function processes_with(words)
  local found = {}
  for name in tap.sh("ls /proc").out:gmatch("[^\n]+") do
    local line = tonumber(name) and tap.read("/proc/"..name.."/cmdline") or ""
    if line:find(words, 1, true) then found[#found+1] = name end
  end
  return table.concat(found, " ")
end

p = start()
local words = "--outside\0-O\0W\0"..p.pid.."\0"
for i = 1, MOMENTS do
  tap.sh(("%s & c=$!; sleep %.3f; kill -KILL $c; wait"):format(command(p.pid),
    took * i / MOMENTS), { dir = dir })
  tap.wait(function() return processes_with(words) == "" end)
  tap.is(processes_with(words), "", "the command is killed: nothing left "..i)
  tap.unlike(tap.read("/proc/"..p.pid.."/status") or "State:\tt",
    "State:\t[tT]", "the command is killed: the program goes on "..i)
end
tap.is(p:stop(), "right\n", "the command is killed: the program's results")

tap.done()
