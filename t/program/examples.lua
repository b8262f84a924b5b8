-- SPDX-License-Identifier: MIT
-- The examples: they run, and always with the same result.

local tap = require("tap")

local expected = {
  json = "checksum\t752022988\tarchived\t26",
  particles = "checksum\t950\t191556.186720",
  wordcount = "checksum\t144789\twords\t480000\tlines\t7855"
}

for name, sum in pairs(expected) do
  local program = tap.quote(("%s/examples/%s.lua"):format(tap.srcdir, name))
  local r = tap.luajit(program.." 0.02")
  tap.is(r.status, 0, name.." runs")
  tap.is(r.out:match("checksum%s+[^\n]+"), sum, name.." has its checksum")
  local p = tap.luajit("-jm=fb1,/dev/null "..program.." 0.02")
  tap.is(p.out, r.out, name.." has the same result when profiled")
end

-- README's table is one of examples/json.lua: its functions, their lines and,
-- since nothing of it is left to chance, what they allocate.

-- The rows of a table: { [function] = { share of what was allocated, lines =
-- set } }. The share is right of `from`.
local function rows_of(text, from)
  local t, last = {}, nil
  for line in text:match("cum[^\n]*\n(.*)"):gmatch("[^\n]+") do
    local name = line:match("   ([%a_][%w_]*)$")
    local number = line:match("%-%- json.lua:(%d+)$")
    if name then
      last = { share = line:sub(from, from + 13):match("^ *(%d+)%%"),
	lines = {} }
      t[name] = last
    elseif number and last then
      last.lines[number] = true
    elseif not number then
      last = nil
    end
  end
  return t
end

local function line_of(text, number)
  for line in text:gmatch("([^\n]*)\n") do
    number = number - 1
    if number == 0 then return line end
  end
end

local readme = tap.read(tap.srcdir.."/README.md")
readme = readme:match("```\n(luajit%-mp.-)```")
local title = readme:match("\n( +%[?CPU.- allocated)")
local shown = rows_of(readme, #title - 13)
local r = tap.luajit("-jm=flhm0b1 "..tap.quote(tap.srcdir..
  "/examples/json.lua").." 0.3")
local real, n = rows_of(r.out, 1), 0
for name, row in pairs(shown) do
  -- A function that allocates nothing need not have a row here.
  local is = real[name] or not row.share and { share = 0 }
  tap.ok(is, "README: "..name.." is a function of json.lua", r.out)
  tap.ok(is and math.abs((row.share or 0) - (is.share or 0)) <= 4,
    ("README: %s allocates %s%%"):format(name, row.share or 0),
    is and is.share)
  for number in pairs(row.lines) do
    -- b1 sees lines that allocate only.
    local source = tap.read(tap.srcdir.."/examples/json.lua")
    local at, from, to = 0, nil, nil
    for line in source:gmatch("([^\n]*)\n") do
      at = at + 1
      if line:find("function "..name.."%(") or
	  line:find("^"..name.." = function") then from, to = at, nil
      elseif from and not to and line:find("^end") then to = at end
    end
    number = tonumber(number)
    if _G[name] then  -- A builtin has the lines that call it.
      tap.like(line_of(source, number), "%f[%w_]"..name.."%f[^%w_]%(",
	("README: line %d calls %s"):format(number, name))
    else
      tap.ok(from and from <= number and number <= to,
	("README: line %d is in %s"):format(number, name))
    end
  end
  n = n + 1
end
tap.ok(n >= 6, "README has rows", n)

tap.done()
