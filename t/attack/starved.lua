-- SPDX-License-Identifier: MIT
-- luajit-mp attach while malloc and mmap fail in the program, or in the
-- command: the program's result is the right one, the command succeeds or says
-- that memory is short, and nothing stays in the program.

local process = require("attach.process")
local tap = require("tap")
local trial = require("attack.trial")

local count = trial.count(40)
local library = tap.builddir.."/t/attack/.libs/fail.so"
if not jit.arch:find("^x") then
  tap.skip("attach is for x86-64 and i386")
elseif (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("AddressSanitizer has an allocator of its own")
elseif not tap.read(library) then
  tap.skip("t/attack/fail.la is not built")
end

local dir = tap.tmpdir()
local preload = "env LD_PRELOAD="..tap.quote(library).." "

-- Memory is refused from the moment on at which the file `from` is there, with
-- two numbers, until it is empty; `was` then has the number of calls. The
-- program itself needs none meanwhile.
local program = tap.program([[
local ffi = require("ffi")
ffi.cdef "unsigned long mp_fail_again(unsigned long, unsigned long);"
ffi.cdef "int access(const char *, int);"
local C, running = ffi.C, arg[#arg]
local function there(name) return C.access(name, 0) == 0 end
local function look()
  if not there("from") then return end
  local f = io.open("from")
  local first, n = f:read("*n", "*n")
  f:close()
  os.remove("from")
  C.mp_fail_again(first, n)
  repeat coroutine.yield() until there("from")
  n = tonumber(C.mp_fail_again(0, 0))
  os.remove("from")
  f = io.open("was", "w")
  f:write(n, "\n")
  f:close()
end
local watch = coroutine.wrap(function() while true do
  look()
  coroutine.yield()
end end)
local keep = {}
while there(running) do
  local x = 0
  for i = 1, 1e4 do x = x + i % 7 end
  for i = 1, 50 do keep[i] = { i, name = "n"..i } end
  assert(x == 29998 and keep[50].name == "n50", "another result")
  watch()
end
print("right")
]])

local loop = tap.program([[
local ffi = require("ffi")
ffi.cdef "int access(const char *, int);"
local C, running, x = ffi.C, arg[1], 0
repeat
  for i = 1, 1e6 do x = x + i % 7 end
until C.access(running, 0) ~= 0
print("right")
]])

-- Words where memory is refused.
local words = { "not enough memory", "annot allocate memory", "out of memory",
  "annot map memory", "cannot open a file for the profile",
  "cannot create state", "annot load", "' not found:", "error loading module" }
local function is_about_memory(text)
  for _, w in ipairs(words) do
    if text:find(w, 1, true) then return true end
  end
end

local options = { "f", "fl", "flb1", "h", "W", "e" }

-- env: for a command that lacks memory itself.
local function attach(pid, env)
  return tap.sh(("exec timeout -k 5 50 %s%s attach -t 0.05 -O %s %d"):format(
    env and preload or "", tap.mp, trial.pick(options), pid), { dir = dir,
    env = env })
end

local function gone(name)
  return tap.wait(function() return not tap.read(dir.."/"..name) end)
end

local function refuse(first, n)
  os.remove(dir.."/was")
  tap.write(dir.."/next", ("%d %d\n"):format(first, n))
  os.rename(dir.."/next", dir.."/from")
  return gone("from")
end

local function permit()
  tap.write(dir.."/from", "")
  gone("from")
  tap.wait(function() return (tap.read(dir.."/was") or ""):find("\n") end)
  return tonumber(tap.read(dir.."/was"))
end

local function fault(r)
  if r.signal or r.status > 1 then return "status "..r.status end
  if r.status == 0 and r.out:find("^luajit%-mp  ") then return end
  if r.status == 0 or not is_about_memory(r.err) then
    return "another message"
  end
end

-- One program, whose calls are refused while a command attaches. Returns how
-- many it makes then.
local function try(what, first, n)
  local p = process.start(dir, preload..tap.command.." "..program,
    { MP_FAIL_CALLS = what, MP_FAIL_FROM = "0" })
  local before = process.settled_facts(p.pid)
  local name = ("%s: %d from number %d"):format(what, n, first)
  trial.check(refuse(first, n), name..": begins")
  local r = attach(p.pid)
  local calls = permit()
  if r.err:find("not permitted", 1, true) then
    p:kill()
    tap.skip("processes may not be traced here")
  end
  local why = fault(r)
  trial.check(not why, name..": "..tostring(why), r.err..r.out)
  r = attach(p.pid)
  trial.check(r.status == 0, name..": the next command", r.err)
  local after = process.settled_facts(p.pid)
  trial.check(after == before, name..": left as it was", after.."\nbefore:\n"..
    before)
  local out, status = p:stop()
  trial.check(status == 0 and out == "right\n", name..": its result", out)
  p:kill()
  return calls
end

local known = {}
for _ = 1, count do
  local what = trial.pick({ "malloc", "malloc", "mmap" })
  known[what] = known[what] or try(what, 0, 0)
  try(what, math.random(known[what]), trial.pick({ 1, 1, 2, 10, 1000000000 }))
end
-- The same for the command. The program never leaves a compiled loop.
local function try_command()
  local p = process.start(dir, tap.command.." "..loop)
  local before = process.settled_facts(p.pid)
  local env = { MP_FAIL_CALLS = "malloc", MP_FAIL_COUNT = dir.."/calls" }
  local n
  for i = 0, count do
    env.MP_FAIL_FROM = tostring(i == 0 and 0 or math.random(n))
    env.MP_FAIL_N = tostring(trial.pick({ 1, 2, 10, 1000000000 }))
    local r = attach(p.pid, env)
    n = n or tonumber(tap.read(dir.."/calls"))
    local why = fault(r)
    trial.check(not why, ("the command: %s from number %s of %d: %s"):format(
      env.MP_FAIL_N, env.MP_FAIL_FROM, n, tostring(why)), r.err..r.out)
  end
  local r = attach(p.pid)
  trial.check(r.status == 0, "the command with memory", r.err)
  trial.check(process.settled_facts(p.pid) == before, "left as it was", before)
  local out, status = p:stop()
  trial.check(status == 0 and out == "right\n", "the loop's result", out)
  p:kill()
  tap.diag(("the command: %d calls"):format(n))
end
try_command()

for what, n in pairs(known) do tap.diag(("%s: %d calls"):format(what, n)) end

os.remove(program)
os.remove(loop)
trial.done("attach while memory is refused")
