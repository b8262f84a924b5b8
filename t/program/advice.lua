-- SPDX-License-Identifier: MIT
-- Advice below a table: on programs that have a fault, and on others that look
-- like them.

local tap = require("tap")

if not tap.knows_layout() then tap.skip("lines are not exact") end

-- The advice on a program, without its shares.
local function advice(text)
  local program = tap.program(text)
  local out = tap.luajit("-jm=flb4k "..program).out
  local list = {}
  for line, what in out:gmatch("\n  advice: [^\n]*:(%d+) %(([^\n]*)%f[\n]") do
    list[#list+1] = line.." "..what:gsub("^.-%): ", "")
  end
  return table.concat(list, "; "), out
end

local built = "a string is built by .. in a loop; table.concat of its pieces "..
  "copies each of them once"
local joined = "table.concat of two pieces makes a table for them; .. does not"
local grown = "the hash part of a table grows step by step; table.new "..
  "makes it in its size at once"
local compiled = "the same text is compiled again each time; compile it "..
  "once, outside"

local names = 'local names = { "a", "b", "c", "d", "e", "f", "g", "h", "i" }\n'
local faults = {
  ["4 "..built] = [[
local function build(n)
  local s = ""
  for i = 1, n do
    s = s.."line "..i.."\n"
  end
  return s
end
for i = 1, 3 do build(2000) end
]],
  ["3 "..built] = [[
local function build(n)
  local s = ""
  for i = 1, n do s = s.."line "..i.."\n" end
  return s
end
for i = 1, 3 do build(2000) end
]],
  ["5 "..built] = [[
local page = { text = "" }
local function add(lines)
  local i = 1
  while i <= lines do
    page.text = page.text..("x"):rep(i % 7)
    i = i + 1
  end
end
for i = 1, 3 do page.text = "" add(2500) end
]],
  ["3 "..joined] = [[
local out = {}
for i = 1, 50000 do
  out[i % 100] = table.concat({ "key", i })
end
]],
  ["4 "..joined] = [[
local out = {}

for i = 1, 50000 do
  out[i % 100] = table.concat{ i, "x" }
end
]],
  ["6 "..grown] = names..[[
local keep = {}
for k = 1, 5000 do
  local r = {}
  for i = 1, 9 do
    r[names[i] ] = i
  end
  keep[k % 100] = r
end
]],
  ["2 "..compiled] = [[
local function increment(x)
  local f = loadstring("local x = ... return x + 1")
  return f(x)
end
local n = 0
for i = 1, 3000 do n = n + increment(i) end
]],
}
for want, text in pairs(faults) do
  local got, out = advice(text)
  if not tap.is(got, want, want) then tap.diag(out) end
end

local others = {
  ["short strings"] = [[
for i = 1, 60000 do
  local s = ""
  for k = 1, 3 do
    s = s..k..i
  end
end
]],
  ["a string of each turn"] = [[
local long, keep = ("x"):rep(1000), {}
for i = 1, 5000 do
  local s = long
  s = s..i
  keep[i % 10] = s
end
]],
  ["the same on one line"] = [[
local long, keep = ("x"):rep(1000), {}
for i = 1, 5000 do local s = long s = s..i keep[i % 10] = s end
]],
  ["behind a loop on the line"] = [[
local long, keep = ("x"):rep(1000), {}
local function add(s, n)
  for i = 1, 3 do n = n + #s end s = s..n
  return s
end
for i = 1, 5000 do keep[i % 10] = add(long, i) end
]],
  ["no loop"] = [[
local long, keep = ("x"):rep(1000), {}
local function add(s, i)
  s = s..i
  return s
end
for i = 1, 5000 do keep[i % 10] = add(long, i) end
]],
  ["another string"] = [[
local long, keep, s = ("x"):rep(1000), {}
for i = 1, 5000 do
  s = long..i
  keep[i % 10] = s
end
]],
  ["many pieces"] = [[
local out, t = {}, {}
for i = 1, 50000 do
  out[i % 100] = table.concat({ "key", i, "=", i })
end
]],
  ["a list that may be longer"] = [[
local function f(i) return i, i, i end
local out = {}
for i = 1, 50000 do
  out[i % 100] = table.concat({ "key", f(i) })
end
]],
  ["tables by constructors"] = [[
local keep = {}
for k = 1, 30000 do
  keep[k % 100] = { a = k, b = k, c = k, d = k, e = k }
end
]],
  ["tables of the right size"] = names..[[
local new, keep = require("table.new"), {}
for k = 1, 10000 do
  local r = new(0, 9)
  for i = 1, 9 do
    r[names[i] ] = i
  end
  keep[k % 100] = r
end
]],
  ["a table with many keys"] = [[
local t = {}
for i = 1, 30000 do
  t["key"..i] = i
end
]],
  ["different texts"] = [[
local n = 0
local function increment(x)
  return loadstring("return "..x)()
end
for i = 1, 3000 do n = n + increment(i) end
]],
}
for name, text in pairs(others) do
  local got, out = advice(text)
  if not tap.is(got, "", "none: "..name) then tap.diag(out) end
end

-- At most three, the largest share first; none in raw numbers, without lines or
-- without the source.
local all = {}
for i = 1, 5 do
  all[i] = ("local function f%d(n)\n local s = ''\n for i = 1, n do\n  "..
    "s = s..'0123456789'\n end\nend\n"):format(i)
end
for i = 1, 5 do
  all[#all+1] = ("for _ = 1, 3 do f%d(1000) end\n"):format(i)
end
all = table.concat(all)
local got = advice(all)
tap.is(select(2, got:gsub("%d+ "..built:gsub("%p", "%%%0"), "")), 3,
  "three are enough")
local program = tap.program(all)
for _, options in ipairs({ "rflb4k", "fb4k" }) do
  tap.unlike(tap.luajit("-jm="..options.." "..program).out, "advice",
    "none with "..options)
end
tap.done()
