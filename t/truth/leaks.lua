-- SPDX-License-Identifier: MIT
-- Verdicts on twelve programs whose leaks are known, at three lengths:
--   ./run luajit t/truth/leaks.lua [RUNS [LENGTH...]]
-- Prints a table, and TAP for what must hold: where there is a verdict, at
-- most 1 in 100 is wrong; and no short run without a leak fails.

io.stdout:setvbuf("line")
local srcdir = os.getenv("srcdir") or "."
local luajit = os.getenv("LUAJIT") or "luajit"
local runs = tonumber(arg[1] or 10)

local leaking = { "keyed_cache", "closure_chain", "coroutines", "key_set",
  "array", "appended_string", "userdata" }
local sound = { "replacing_cache", "ring", "warm_up", "least_recently_used",
  "pool" }

-- Steps; "short" is about 5 ms.
local lengths = { full = 500000, tenth = 50000, short = 2500 }
local order = { "full", "tenth", "short" }
if arg[2] then order = { unpack(arg, 2) } end

local out = os.tmpname()

-- Whether a row that holds as much as the limit is flat.
local function has_flat(by_stack)
  for n, unit in by_stack:gmatch("\n +([%d.]+) ([kM]?)B [^\n]*  flat  ") do
    if unit == "M" or unit == "k" and tonumber(n) >= 100 then return true end
  end
  return false
end

-- Runs a program once. Returns its exit status and what the report says:
-- "grows", "flat" (of a row above the limit), or "unclear".
local function run(name, steps, seed)
  os.remove(out)
  local status = os.execute(("%s -jm=L100k,%s '%s/t/truth/leak-programs.lua' "..
    "%s %d %d"):format(luajit, out, srcdir, name, steps, seed))
  local f = assert(io.open(out))
  local text = f:read("*a")
  f:close()
  if text:find("\nno leak data: ", 1, true) then
    print("1..0 # SKIP this VM does not tell what collections leave")
    os.exit(0, true)
  end
  local by_stack = assert(text:match("\nBy stack:\n(.*)"), text)
  local verdict = by_stack:find("  grows  ", 1, true) and "grows" or
    has_flat(by_stack) and "flat" or "unclear"
  return math.floor(status / 256), verdict
end

local function count(name, steps)
  local n = { grows = 0, flat = 0, unclear = 0, failed = 0 }
  for seed = 1, runs do
    local status, verdict = run(name, steps, seed)
    n[verdict] = n[verdict] + 1
    if status == 3 then n.failed = n.failed + 1 end
  end
  return n
end

local tests, wrong_verdicts, verdicts, false_alarms = 0, 0, 0, 0

local function check(ok, text)
  tests = tests + 1
  io.write(ok and "ok " or "not ok ", tests, " - ", text, "\n")
end

local function row(length, name, leaks)
  local n = count(name, lengths[length])
  -- Short of the limit nothing has to be said of a leak.
  local wrong = leaks and n.flat or n.failed
  if length == "short" and leaks then wrong = 0 end
  io.write(("# %-6s %-20s %5d %5d %7d %6d\n"):format(length, name, n.grows,
    n.flat, n.unclear, n.failed))
  wrong_verdicts = wrong_verdicts + wrong
  verdicts = verdicts + n.grows + n.flat
  if length == "short" and not leaks then
    false_alarms = false_alarms + n.failed
  end
  check(wrong * 100 <= runs, ("%s, %s: %d of %d verdicts are wrong"):format(
    name,
    length, wrong, runs))
end

io.write("# length program              grows  flat unclear exit 3\n")
for _, length in ipairs(order) do
  for _, name in ipairs(leaking) do row(length, name, true) end
  for _, name in ipairs(sound) do row(length, name, false) end
end
check(false_alarms == 0, "no short run without a leak has exit status 3")
io.write("# ", verdicts, " verdicts, ", wrong_verdicts, " wrong\n")
io.write("1..", tests, "\n")
os.remove(out)
