-- SPDX-License-Identifier: MIT
-- --sort: the order of rows that the user asks for.

local tap = require("tap")

local program = tap.program([[
local function zebra(n)
  local t = {}
  for i = 1, n do t[i] = {} end
  return t
end
local function ant(n)
  local t = {}
  for i = 1, n do t[i] = {} end
end
kept = zebra(tonumber(arg[2]))
ant(tonumber(arg[1]))
collectgarbage()
]])
local function profile(numbers)
  local name = tap.tmpname(".mp")
  tap.luajit(("-joff -jm=fb1i1000000,%s %s %s"):format(name, program, numbers))
  return name
end
local sorted, larger = profile("1000 100"), profile("1100 900")

-- The names of these functions in the order in which a command shows them.
local function rows_of(args)
  local out, list = tap.sh(tap.mp.." "..args).out, {}
  for name in out:gmatch("(%a+)\n") do
    if name == "zebra" or name == "ant" then list[#list+1] = name end
  end
  return table.concat(list, " ")
end
tap.is(rows_of("report --sort=h -O hu "..sorted), "ant zebra", "--sort=h")
tap.is(rows_of("report --sort u -O hu "..sorted), "zebra ant", "--sort u")
tap.is(rows_of("report --sort name -O hum0 "..sorted), "ant zebra",
  "--sort name")
tap.is(rows_of("report -O hu "..sorted), "ant zebra", "by the first view")
tap.is(rows_of("report -O uh "..sorted), "zebra ant",
  "or the one that was asked for first")
tap.like(tap.sh(tap.mp.." report -O uh "..sorted).out,
  "\n +allocated  cum%. +%[in use%]  cum%.\n", "whose title is marked")
tap.like(tap.sh(tap.mp.." report -O g --sort=u "..sorted).out,
  "\n +allocated +%[in use%]\n", "in a call graph, too")
for key, order in pairs({ name = "ant zebra", before = "ant zebra",
    after = "ant zebra", change = "zebra ant" }) do
  tap.is(rows_of(("diff --sort %s -O hm0 %s %s"):format(key, sorted, larger)),
    order, "diff --sort "..key)
end
local r = tap.sh(tap.mp.." run --sort=u -O hum0b1 "..program.." 1000 100")
tap.like(r.out, "zebra\n.*ant\n", "run --sort")
r = tap.luajit("-joff -jm=hum0b1,--sort=h "..program.." 1000 100")
tap.like(r.out, "ant\n.*zebra\n", "-jm=...,--sort=h")
r = tap.luajit(("-joff -e 'require(\"jit.mp\").start{ options = \"hum0b1\", "..
  "sort = \"u\" }' %s"):format(program.." 1000 100"))
tap.like(r.out, "zebra\n.*ant\n", "the field sort")
for _, case in ipairs({
    { "report --sort q "..sorted, "--sort takes c, h, u or name, not \"q\"" },
    { "report --sort x "..sorted, "no such view; option x adds it" },
    { "report --sort u "..sorted.." a", "is for tables and call graphs" },
    { "diff --sort x a b", "takes change, before, after or name" } }) do
  r = tap.sh(tap.mp.." "..case[1])
  tap.is(r.status, 2, case[1]:sub(1, 15)..": status")
  tap.ok(r.err:find(case[2], 1, true), case[1]:sub(1, 15)..": message", r.err)
end
r = tap.luajit("-jm=f,--sort=q "..program.." 1000 100")
tap.is(r.status, 1, "-jm, wrong --sort: status")
tap.like(r.err, "%-%-sort takes c, h, u or name", "-jm, wrong --sort: message")

-- A flat profile: the first rows, and a part of each.
local flat = { "local t" }
local loop = "for _ = 1, 200 do t = {} end"
for i = 1, 45 do
  flat[i + 1] = ("local function f%d() %s\n%s\n%s end f%d()"):format(i, loop,
    loop, loop, i)
end
flat = tap.program(table.concat(flat, "\n"))
local function rows(options)
  r = tap.luajit(("-joff -jm=%s %s"):format(options, flat))
  return select(2, r.out:gsub("   f%d+\n", "")), r.out
end
local n, text = rows("flhb1")
tap.ok(n >= 17 and n <= 20, "as many rows of a flat profile", text)
tap.like(text, "   f%d+\n +1%% [^\n]* %-%- [^\n]*:%d+\n +2%%[^\n]*   f%d+\n",
  "each with a line")
tap.like(text, "\n  and %d+ rows: allocated", "and the others are counted")
tap.is(rows("flm3hb1"), 0, "no such rows below the limit that was given")
tap.is(rows("flm2hb1"), 45, "all of them above it")
tap.is(rows("rflhb1"), 0, "none for a program that reads them")
tap.like(select(2, rows("flm1hb1")), "%-%- [^\n]*:%d+\n[^\n]*%-%- [^\n]*:%d+\n",
  "all lines above another one")
tap.done()
