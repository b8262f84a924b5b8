-- SPDX-License-Identifier: MIT
-- Reports on a terminal: no line is wider than it, names come before amounts,
-- and the largest numbers are bold.

local tap = require("tap")

if tap.slow or tap.sh("script -qec true /dev/null").status ~= 0 then
  tap.skip("there are no pseudo-terminals here, or little time")
end

local program = tap.program([[
local function a_function_of_some_name(n)
  local t = {}
  for i = 1, n do t[i] = { "an object", i } end
  return t
end
local function another_function_that_makes_objects(n)
  local t = a_function_of_some_name(n)
  return t
end
kept = {}
for i = 1, tonumber(arg[1]) do
  kept[i] = another_function_that_makes_objects(500)
  collectgarbage()
end
]])

-- The profile of the program with those options, and that many rounds, or more
-- until there is a CPU sample: without that column names have more room.
local function profile(options, n)
  local name = tap.tmpname(".mp")
  for _ = 1, 5 do
    tap.luajit(("-joff -jm=%s,%s %s %d"):format(options, name, program, n))
    local text = tap.sh(("%s report %s c"):format(tap.mp, name)).out
    if not text:find(" 0 samples", 1, true) then break end
    n = n * 2
  end
  return name
end
local leaks, calls = profile("Li1b1", 40), profile("ni1", 20)
local memory = profile("Mi1", 40)
local file_of = { n = calls, M = memory }

-- The output of a command on a terminal of that many columns.
local function on_terminal(columns, command, env)
  local out = tap.sh(("%s script -qec %s /dev/null"):format(
    env or "TERM=xterm", tap.quote(("stty rows 40 cols %d; %s"):format(columns,
    command)))).out
  return (out:gsub("\r\n", "\n"))
end

local function report(columns, file, options, env)
  return on_terminal(columns, ("%s report %s %s"):format(tap.mp, file, options),
    env)
end

-- The lines of a text that are wider than that many columns.
local function wide(text, columns)
  local lines = {}
  for line in text:gsub("\27%[%d*m", ""):gmatch("[^\n]+") do
    if #line > columns then lines[#lines+1] = line end
  end
  return table.concat(lines, "\n")
end

for _, columns in ipairs({ 80, 60 }) do
  for _, options in ipairs({ "f", "fl", "s", "3", "vf", "g", "L", "M", "a",
      "n" }) do
    local text = report(columns, file_of[options] or leaks, options)
    local name = options.." on "..columns.." columns"
    tap.like(text, "allocated", name..": a report")
    tap.is(wide(text, columns), "", name..": no line is wider")
  end
end

for _, options in ipairs({ "hf", "f", "g", "n" }) do
  tap.like(report(60, file_of[options] or leaks, options),
    " a_function_of_some_name", options.." on 60 columns: the name")
end

-- Narrower still, names stand above their numbers.
for columns, list in pairs({ [50] = { "f", "g", "s" },
    [40] = { "f", "fl", "s", "h", "hg", "n", "L" } }) do
  for _, options in ipairs(list) do
    local text = report(columns, file_of[options] or leaks, options)
    local name = options.." on "..columns.." columns"
    tap.is(wide(text, columns), "", name..": no line is wider")
    if options == "L" then break end
    tap.like(text, options == "s" and "a_functio[%w_.]*ome_name" or
      "a_function_of_some_name", name..": the name")
  end
end
tap.like(report(40, leaks, "f"), "\n  a_function_of_some_name\n +[\27~%d]",
  "a name above its numbers")

local text = report(80, leaks, "hm0")
tap.like(text, "\n +\27%[1m%d+%%[^\27]*\27%[m[^\n]*a_function_of_some_name",
  "the largest number is bold")
local _, n = text:gsub("\27%[1m", "")
tap.is(n, 1, "no other number is")
tap.like(report(80, leaks, "g"), "\27%[1m", "g: bold, too")
tap.unlike(report(80, leaks, "f", "NO_COLOR=1 TERM=xterm"), "\27", "NO_COLOR")
tap.unlike(report(80, leaks, "f", "TERM=dumb"), "\27", "TERM=dumb")
tap.unlike(report(80, leaks, "fr"), "\27", "raw: for programs")
tap.unlike(tap.sh(tap.mp.." report "..leaks.." f").out, "\27", "a pipe")
tap.like(on_terminal(60, ("%s -joff -jm=h %s 40"):format(tap.command, program)),
  "\27%[1m[^\n]*a_function", "the report of a run")

-- A comparison.
local function diff(columns, options)
  return on_terminal(columns, ("%s diff -O %s %s %s"):format(tap.mp, options,
    calls, leaks))
end
text = diff(60, "h3")
tap.is(wide(text, 60), "", "diff: no line is wider")
tap.like(diff(60, "h"), "a_function_of_some_name", "diff: the name")
text = diff(40, "h")
tap.is(wide(text, 40), "", "diff on 40 columns: no line is wider")
tap.like(text, "a_funct[%w_]*%.%.%.[%w_]*me_name",
  "diff on 40 columns: the name can be read")
tap.like(diff(80, "u"), "\n +before +after +change   in use\n",
  "diff: all columns where there is room")

-- Too short for a sample of CPU time.
local short = tap.tmpname(".mp")
tap.luajit(("-jm=i1000b1,%s %s 1"):format(short, program))
for _, options in ipairs({ "f", "g", "a" }) do
  text = report(60, short, "-O "..options)
  tap.like(text, "no CPU samples: ", options..": it says that there are none")
  tap.is(wide(text, 60), "", options..": no line of that is wider")
end

-- A profile is not for a terminal.
for _, columns in ipairs({ 80, 0 }) do
  for _, out in ipairs({ "", "-o - " }) do
    text = on_terminal(columns, tap.mp.." merge "..out..leaks)
    tap.like(text, "^luajit%-mp: merge: a profile is not text [^\n]*%-o",
      ("merge %s: refused on a terminal of %d columns"):format(out, columns))
  end
end

tap.done()
