-- SPDX-License-Identifier: MIT
-- Option B at real limits: the report is there and names the planted holder,
-- and the program's result and exit status are those without a profile. The
-- compiler is on in half of the runs. Builds of LuaJIT before June 2023 may
-- crash by themselves where compiled code gets no memory: then only the report
-- counts. Where a memory cgroup can be made, the kernel ends the program there.

local limit = require("limit")
local tap = require("tap")
local trial = require("attack.trial")

if not tap.knows_layout() then tap.skip("no heap walk on this build") end
if (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("AddressSanitizer takes all addresses")
end

local count = trial.count(6)
local dir = tap.tmpdir()

tap.write(dir.."/session.lua", limit.session)
tap.write(dir.."/grow.lua", [[
local session = require("session")
local sum = 0
for i = 1, 1e7 do
  session.add(i, SIZE)
  sum = sum + i % 7
end]])
tap.write(dir.."/large.lua", [[
local session = require("session")
for i = 1, 3e7 / SIZE do session.add(i, SIZE) end
print(#("x"):rep(8e7))]])
tap.write(dir.."/spin.lua", [[
local session = require("session")
for i = 1, 50 do session.add(i, SIZE) end
local function spin()
  local n = 0
  for i = 1, 2e6 do n = n + i % 3 end
  return n
end
for i = 1, 1e5 do
  spin()
  local f = io.open("out-busy.txt")
  if f then
    f:close()
    print("seen")
    os.exit(4)
  end
end]])


-- -- Kinds -------------------------------------------------------------------

local cgroup, remove_cgroup = limit.cgroup(100 * 2^20)
if not cgroup then tap.diag("no memory cgroup can be made here") end
local poor = tap.builddir.."/t/attack/poor"
local list = {
  { name = "addresses", program = "grow.lua", options = "fB80%",
    report = "memory", before = limit.addresses(200 * 2^20), first = limit.held,
    said = "not enough memory", may_crash = true },
  { name = "busy", program = "spin.lua", options = "fB1s", report = "busy",
    first = "^the thread has not waited for [^\n]* at [^\n]*app%.lua:%d",
    said = "^$", status = 4 },
}
if cgroup then
  list[#list+1] = { name = "cgroup", program = "grow.lua", options = "fB80%",
    report = "memory", before = cgroup, first = limit.held, said = "",
    status = 137 }
  list[#list+1] = { name = "large", program = "large.lua", options = "fB80%",
    report = "memory", before = cgroup, first = "^in use [^\n]* of a limit "..
      "of 105 MB %(the memory cgroup%), and [%d.]+ MB more are asked for; "..
      "[^\n]*"..limit.holder, said = "", status = 137 }
end
if tap.has_low_heap() then
  list[#list+1] = { name = "own", program = "grow.lua", options = "fB80%",
    report = "memory", first = "^in use [^\n]* of a limit of 2%.15 GB %("..
      "LuaJIT without GC64%); [^\n]*"..limit.holder,
    said = "not enough memory", may_crash = true }
elseif tap.read(poor) then  -- Such a VM lets nobody have another allocator.
  list[#list+1] = { name = "allocator", program = "grow.lua", options = "fB1g",
    report = "refused", first = "^[^\n]* were refused, with [78]%d%.%d MB in "..
      "use; [^\n]*"..limit.holder, said = "not enough memory",
    may_crash = true, host = (os.getenv("MP_RUN") or "").." "..
      tap.quote(poor).." limit 80" }
end

-- -- The trial ---------------------------------------------------------------

-- A host has neither -jm nor -joff.
local function run(k, jit, profiled, size)
  local text = tap.read(dir.."/"..k.program):gsub("SIZE", size)
  local options, name = "", "out-%e.txt"
  if k.host then
    text = (profiled and ("assert(require('jit.mp').start(%q, %q)) "):format(
      k.options, name) or "")..("jit.%s() "):format(jit)..text
  elseif profiled then
    options = ("-jm=%s,%s"):format(k.options, name)
  end
  tap.write(dir.."/app.lua", text)
  return tap.sh(("%s%s %s app.lua"):format(k.before or "", k.host or
    tap.command.." -j"..jit, options), { dir = dir })
end

for i = 1, count do
  local k = list[i % #list + 1]
  local size = trial.pick({ 20000, 50000, 200000 })
  local jit = trial.pick({ "on", "off" })
  os.execute("rm -f "..dir.."/out-*")
  local r = run(k, jit, true, size)
  local text = tap.read(dir.."/out-"..k.report..".txt") or ""
  local status = k.status or run(k, jit, false, size).status
  local crashes = k.may_crash and jit == "on" and status >= 128
  trial.check((crashes or r.status == status and r.err:find(k.said)) and
    text:find(k.first), k.name,
    ("strings of %d, -j%s: status %s, plain %s\n%s\n%s"):format(size, jit,
      tostring(r.status), tostring(status), r.err, text:sub(1, 300)))
end

if cgroup then remove_cgroup() end
trial.done("reports at limits")
