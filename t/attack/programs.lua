-- SPDX-License-Identifier: MIT
-- The programs of bench/, small, in all modes and with traces that come early:
-- output and status are the plain program's. Meant for builds of LuaJIT with
-- assertions, too.

local tap = require("tap")
local trial = require("attack.trial")

local names = { "binarytrees", "buffers", "cdata", "closures", "coroutines",
  "hashes", "json", "matrix", "nbody", "objects", "strings", "tablechurn" }
local modes = { "f", "fl", "vf", "zl", "tb1", "flb1", "e", "L", "W", "a", "x",
  "J+i1" }
local flags = { "", "-Ohotloop=2 -Ohotexit=1", "-joff" }

local cases = {}
for _, name in ipairs(names) do
  for _, mode in ipairs(modes) do
    for _, flag in ipairs(flags) do cases[#cases+1] = { name, mode, flag } end
  end
end

local count = trial.count(36)

-- Other ones each time, but none twice before all were tried.
for i = #cases, 2, -1 do
  local k = math.random(i)
  cases[i], cases[k] = cases[k], cases[i]
end

local function run(name, options)
  return tap.sh(("exec timeout -s KILL 300 %s %s %s 0.02"):format(tap.command,
    options, tap.quote(tap.srcdir.."/bench/programs/"..name..".lua")))
end

-- Times that a program prints are its own.
local function same(a, b)
  return a.status == b.status and
    a.out:gsub("%d+%.%d+ ?m?s", "") == b.out:gsub("%d+%.%d+ ?m?s", "")
end

local plain = {}
for i = 0, count - 1 do
  local name, mode, flag = unpack(cases[i % #cases + 1])
  plain[name] = plain[name] or run(name, "")
  local r = run(name, ("-jm=%s,/dev/null %s"):format(mode, flag))
  trial.check(same(r, plain[name]) and r.err == "",
    ("%s -jm=%s %s"):format(name, mode, flag),
    ("status %d\n%s\n%s"):format(r.status, r.out, r.err))
end
trial.done("programs of bench/ in all modes")
