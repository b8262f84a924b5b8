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
local dir, remove = trial.directory()

tap.write(dir.."/session.lua", limit.session)
tap.write(dir.."/grow.lua", [[
local session = require("session")
local sum = 0
for i = 1, 1e7 do
  session.add(i, SIZE)
  sum = sum + i % 7
end]])
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

local cgroup, remove_cgroup = limit.cgroup(100 * 2^20)
if not cgroup then tap.diag("no memory cgroup can be made here") end
local kinds = {
  addresses = { program = "grow.lua", options = "fB80%", report = "memory",
    before = limit.addresses(200 * 2^20), first = limit.held,
    said = "not enough memory" },
  cgroup = { program = "grow.lua", options = "fB80%", report = "memory",
    before = cgroup, first = limit.held, said = "" },
  busy = { program = "spin.lua", options = "fB1s", report = "busy", before = "",
    first = "^the thread has not waited for [^\n]* at [^\n]*app%.lua:%d",
    said = "^$" },
}

local function run(k, jit, options, size)
  tap.write(dir.."/app.lua", (tap.read(dir.."/"..k.program):gsub("SIZE", size)))
  return tap.sh(("%s%s -j%s %s app.lua"):format(k.before, tap.command, jit,
    options), { dir = dir })
end

for i = 1, count do
  local kind = i % 3 == 0 and "busy" or i % 3 == 1 and cgroup and "cgroup" or
    "addresses"
  local k, size = kinds[kind], trial.pick({ 20000, 50000, 200000 })
  os.execute("rm -f "..dir.."/out-*")
  local jit = trial.pick({ "on", "off" })
  local r = run(k, jit, ("-jm=%s,out-%%e.txt"):format(k.options), size)
  local text = tap.read(dir.."/out-"..k.report..".txt") or ""
  local status = kind == "busy" and 4 or run(k, jit, "", size).status
  local crashes = kind == "addresses" and jit == "on" and status >= 128
  trial.check((crashes or r.status == status and r.err:find(k.said)) and
    (kind ~= "cgroup" or status == 137) and text:find(k.first), kind,
    ("strings of %d, -j%s: status %s, plain %s\n%s\n%s"):format(size, jit,
      tostring(r.status), tostring(status), r.err, text:sub(1, 300)))
end

if cgroup then remove_cgroup() end
remove()
trial.done("reports at limits")
