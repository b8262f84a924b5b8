-- SPDX-License-Identifier: MIT
-- The share of CPU that option J says runs interpreted, and that of the
-- compiler itself, beside those that LuaJIT's own profiler counts in a second
-- run, in programs for each reason to give up (t/reasons):
--   ./run luajit t/truth/compiler.lua [SECONDS]
--
-- C functions are left out of both: option J's own handler is one, which takes
-- a tenth of the CPU of a program that does nothing but compile.

local reasons = require("reasons")
local tap = require("tap")

local seconds = tonumber((arg or {})[1]) or 0.6
local LIMIT = 0.04  -- And three times what chance allows.

-- The program's last line again and again, for that CPU time.
local function long(text)
  return (text:gsub("\n([^\n]+)\n$", function(last)
    return ("\nlocal function step()\n%s\nend\nlocal from = os.clock()\n"..
      "repeat step() until os.clock() - from > %g\n"):format(last, seconds)
  end))
end

-- The states that LuaJIT's profiler counts while the program runs.
local count = tap.program([[
local profile, n = require("jit.profile"), {}
profile.start("i1", function(_, samples, state)
  n[state] = (n[state] or 0) + samples
end)
dofile(arg[1])
profile.stop()
local all = 0
for state, samples in pairs(n) do
  all = all + (state == "C" and 0 or samples)
end
print(all, (n.I or 0) / all, (n.J or 0) / all)
]])

-- The samples of a profile, and the shares in its report, without C.
local function shares(out, states)
  local samples = tonumber(out:match("\nCPU +[%d.]+ %S+ +(%d+) samples"))
  local in_c = states:match("\n +([%d.]+)%% +[%d.]+ m?s [^\n]+ C code\n") or 0
  local rest = 1 - in_c / 100
  local sums = { I = 0, J = 0 }
  for share, _, name in out:match("\n  of CPU.-\n\n"):gmatch(
      "\n +([%d.]+)%% +(%d[%d.]* %S+) [^\n]- ([^\n]+)") do
    if name:find("the compiler itself$") then
      sums.J = sums.J + share / 100 / rest
    elseif name:find(" runs? interpreted") then
      sums.I = sums.I + share / 100 / rest
    end
  end
  return samples * rest, sums
end

local function near(a, n, b, m)
  local p = (a + b) / 2
  return math.abs(a - b) <= LIMIT + 3 * math.sqrt(p * (1 - p) * (1 / n + 1 / m))
end

local profile = tap.tmpname(".mp")

-- Both runs: what each has, by state, and the report.
local function compare(file, options)
  local plain = tap.luajit(options..count.." "..file)
  tap.luajit(options.."-jm=Ji1,"..profile.." "..file)
  local r = tap.sh(tap.mp.." report "..profile.." Jm0")
  local states = tap.sh(tap.mp.." report "..profile.." vm0")
  local m, interpreted, compiler = plain.out:match("(%S+)\t(%S+)\t(%S+)")
  local n, sums = shares(r.out, states.out)
  local true_sums = { I = tonumber(interpreted), J = tonumber(compiler) }
  return near(sums.I, n, true_sums.I, m) and near(sums.J, n, true_sums.J, m),
    sums, true_sums, r.out
end

for _, program in ipairs(reasons.list) do
  local file, right, got, want, report = tap.program(long(program[3]))
  for _ = 1, program.tries or 2 do
    right, got, want, report = compare(file, (program[4] or "").." ")
    if right then break end
  end
  tap.ok(right, ("%s: interpreted %.0f%%, compiler %.0f%% (LuaJIT's "..
    "profiler: %.0f%%, %.0f%%)"):format(program[1], 100 * got.I, 100 * got.J,
    100 * want.I, 100 * want.J), report)
end

tap.done()
