-- SPDX-License-Identifier: MIT
-- Verdicts on programs whose leaks are known (leaking.lua, sound.lua), with any
-- number of steps:
--   ./run luajit t/truth/leaks.lua [RUNS [SEED [LEAST MOST [NAME...]]]]
-- Runs each program RUNS times with LEAST to MOST steps, as a seed draws them;
-- three times of four it ends by os.exit. Prints a table, and TAP for what must
-- hold: no leak is flat, nothing else grows, and at most 1 in 100 leaks of
-- 10 MB goes without exit status 3, if a full collection was made.

io.stdout:setvbuf("line")
local srcdir = os.getenv("srcdir") or "."
local luajit = os.getenv("LUAJIT") or "luajit"
local runs, seed = tonumber(arg[1] or 10), tonumber(arg[2] or 1)
local least, most = tonumber(arg[3] or 2e4), tonumber(arg[4] or 4e5)
local LIMIT, LARGE = 1e5, 1e7

package.path = srcdir.."/t/truth/?.lua;"..package.path
local leaking, sound = require("leaking"), require("sound")
math.randomseed(seed)

local out = os.tmpname()

local units = { [""] = 1, k = 1e3, M = 1e6, G = 1e9 }
local function bytes(n, unit) return tonumber(n) * units[unit] end

-- Whether a stack that holds as much as the limit is flat. The collector's own
-- memory does not count, nor, in one program, data that is flat.
local function has_flat(by_stack, name)
  for n, unit, row in by_stack:gmatch(
      "\n +([%d.]+) ([kMG]?)B [^\n]*  flat  [^\n]*\n +([^\n]*)") do
    if bytes(n, unit) >= LIMIT and not row:find("^%(") and
	name ~= "beside_data" then
      return true
    end
  end
  return false
end

-- Runs a program once. Returns its exit status, "grows", "flat" or "unclear",
-- and the bytes that it held.
local function run(name, steps, number, ending)
  os.remove(out)
  local status = os.execute(("%s -jm=L100k,%s '%s/t/truth/leak-programs.lua' "..
    "%s %d %d %s"):format(luajit, out, srcdir, name, steps, number, ending))
  local f = assert(io.open(out))
  local text = f:read("*a")
  f:close()
  if text:find("\nno leak data: ", 1, true) then
    print("1..0 # SKIP this VM does not tell what collections leave")
    os.exit(0, true)
  end
  local by_stack = text:match("\nBy stack:\n(.*)") or ""
  local verdict = by_stack:find("  grows  ", 1, true) and "grows" or
    has_flat(by_stack, name) and "flat" or "unclear"
  local n, unit = by_stack:match("\n([%d.]+) ([kMG]?)B held, ")
  return math.floor(status / 256), verdict, bytes(n or 0, unit or "")
end

-- A leak is missed if it is large, known to be held, and the status is not 3.
local function count(name, leaks)
  local n = { grows = 0, flat = 0, unclear = 0, failed = 0, large = 0,
    missed = 0, wrong = 0 }
  for _ = 1, runs do
    local steps = math.floor(least * (most / least) ^ math.random())
    local number, ends = math.random(1e6), math.random() < 0.75
    local status, verdict, held = run(name, steps, number, ends and "exit" or
      "")
    n[verdict] = n[verdict] + 1
    if status == 3 then n.failed = n.failed + 1 end
    if ends and leaks and held >= LARGE then
      n.large = n.large + 1
      if status ~= 3 then n.missed = n.missed + 1 end
    end
    if verdict == (leaks and "flat" or "grows") or status == 3 and not leaks
    then
      n.wrong = n.wrong + 1
      print(("# wrong: %s, %d steps, seed %d%s: %s"):format(name, steps, number,
	ends and ", exit" or "", verdict))
    end
  end
  return n
end

local tests, all = 0, { runs = 0, wrong = 0, large = 0, missed = 0 }

local function check(ok, text)
  tests = tests + 1
  io.write(ok and "ok " or "not ok ", tests, " - ", text, "\n")
end

local chosen
for i = 5, #arg do
  chosen = chosen or {}
  chosen[arg[i]] = true
end

local function each(programs, leaks)
  local names = {}
  for name in pairs(programs) do
    if not chosen or chosen[name] then names[#names+1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local n = count(name, leaks)
    print(("# %-20s %5d %5d %7d %6d %7d %6d"):format(name, n.grows, n.flat,
      n.unclear, n.failed, n.large, n.missed))
    check(n.wrong == 0, ("%s: %d of %d verdicts are wrong"):format(name,
      n.wrong, runs))
    all.runs, all.wrong = all.runs + runs, all.wrong + n.wrong
    all.large, all.missed = all.large + n.large, all.missed + n.missed
  end
end

print("# program              grows  flat unclear exit 3   10 MB missed")
each(leaking, true)
each(sound, false)
check(all.missed * 100 <= all.large, ("%d of %d leaks of 10 MB are missed")
  :format(all.missed, all.large))
print(("# %d runs, %d wrong"):format(all.runs, all.wrong))
print("1.."..tests)
os.remove(out)
