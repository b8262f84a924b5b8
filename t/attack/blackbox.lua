-- SPDX-License-Identifier: MIT
-- Option B at real limits: the report is there and names the planted holder,
-- and the program's result and exit status are those without a profile. The
-- compiler is on in half of the runs. Builds of LuaJIT before June 2023 may
-- crash by themselves where compiled code gets no memory: then only the report
-- counts.

local tap = require("tap")
local trial = require("attack.trial")

if not tap.knows_layout() then tap.skip("no heap walk on this build") end
if (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("AddressSanitizer takes all addresses")
end

local count = trial.count(12)
local dir, remove = trial.directory()

-- The holder is a table that only the functions of a module have.
tap.write(dir.."/session.lua", [[
local sessions = {}
return { add = function(n, size)
  sessions[#sessions+1] = { n, ("x"):rep(size)..n }
end }]])
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
  local f = io.open(FILE)
  if f then
    f:close()
    print("seen")
    os.exit(4)
  end
end]])

local HELD = "held at package%.loaded%.session%.add %^sessions"
local limits = {
  addresses = { "grow.lua", "fB80%", "memory", HELD },
  busy = { "spin.lua", "fB1s", "busy",
    "^the thread has not waited for [^\n]* at [^\n]*app%.lua:%d" },
}

local function run(l, jit, options, size)
  local program = tap.read(dir.."/"..l[1]):gsub("SIZE", size):gsub("FILE",
    ("%q"):format("out-"..l[3]..".txt"))
  tap.write(dir.."/app.lua", program)
  return tap.sh(("%s exec %s -j%s %s app.lua"):format(
    l == limits.addresses and "ulimit -v 200000;" or "", tap.command, jit,
    options),
    { dir = dir })
end

for i = 1, count do
  local kind = i % 3 == 0 and "busy" or "addresses"
  local l, size = limits[kind], trial.pick({ 20000, 50000, 200000 })
  os.execute("rm -f "..dir.."/out-*")
  local jit = trial.pick({ "on", "off" })
  local r = run(l, jit, ("-jm=%s,out-%%e.txt"):format(l[2]), size)
  local text = tap.read(dir.."/out-"..l[3]..".txt") or ""
  local status, message, crashes = 4, "^$", false
  if kind == "addresses" then
    local plain = run(l, jit, "", size)
    crashes = jit == "on" and plain.status >= 128
    status, message = plain.status, "not enough memory"
  end
  trial.check((crashes or r.status == status and r.err:find(message)) and
    text:match("^[^\n]*"):find(l[4]), kind,
    ("strings of %d, -j%s: status %s, plain %s\n%s\n%s"):format(size, jit,
      tostring(r.status), tostring(status), r.err, text:sub(1, 300)))
end

remove()
trial.done("reports at limits")
