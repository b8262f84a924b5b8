-- SPDX-License-Identifier: MIT
-- Chunks of one name with different code are told apart in every view and
-- format; equal code is one, however often it is loaded.

local tap = require("tap")

local probe = tap.luajit("-jm=hb1 "..tap.program("local t = {}"))
if not probe.out:find("capture exact") then
  tap.skip("code has no identity on this VM")
end

local function report(options, text)
  local r = tap.luajit("-jm="..options.." "..tap.program(text))
  tap.is(r.status, 0, options.." runs")
  return r.out
end

-- Thousands counted in -jm=...r for what a pattern matches, as "1000 2000",
-- the smallest first.
local function counts(out, pattern)
  local t = {}
  for n, name in out:gmatch("\n%s*(%d+) [^\n]*  (%S[^\n]*)") do
    n = math.floor(n / 1000) * 1000
    if n > 0 and name:find(pattern) then t[#t+1] = n end
  end
  table.sort(t)
  return table.concat(t, " ")
end

local two = [[
local load = loadstring
local a = load("for i = 1, 1000 do local t = { i } end", "same")
local b = load("for i = 1, 2000 do local t = { i, 1 } end", "same")
a() b()
]]
for _, jit in ipairs({ "on", "off" }) do
  local text = "jit."..jit.."()\n"..two:gsub("local t = ", "_G.keep = ")
  for _, options in ipairs({ "fhorm0b1", "Fhorm0b1", "lhorm0b1" }) do
    tap.is(counts(report(options, text), "same"), "1000 2000",
      options.." with jit."..jit.."(): two chunks called same")
  end
end
tap.like(report("lhorm0b1", two:gsub("local t = ", "_G.keep = ")),
  'same"%] #2:1', "the second one has a number")

-- Different code of one name whose main chunks are gone.
local returned = [[
local list = {}
for i = 1, 2 do
  list[i] = loadstring("return function() return { "..("i,"):rep(i).." } end",
    "same")()
end
collectgarbage()
for i = 1, 3000 do
  keep = list[i % 3 == 0 and 2 or 1]()
end
]]
for _, options in ipairs({ "fhorm0b1", "lhorm0b1" }) do
  tap.is(counts(report(options, returned), "same"), "1000 2000",
    options..": functions of chunks that are gone")
end

-- Only a constant differs: of a number, a string, a constructor; or a line.
local differ = {
  { "keep = { i, 77 }", "keep = { i, 78 }" },
  { "keep = { i, 0.5 }", "keep = { i, 0.25 }" },
  { "keep = { i, 'a' }", "keep = { i, 'b' }" },
  { "keep = { 1, 2, i }", "keep = { 2, 1, i }" },
  { "keep = { x = 1, y = i }", "keep = { x = 2, y = i }" },
  { "local x = i keep = { x }", "local y = i keep = { y }" },
  { "keep = (function() return { 1 } end)()",
    "keep = (function() return { 2 } end)()" },
}
for _, pair in ipairs(differ) do
  local out = report("lhorm0b1", ([[
for n, text in ipairs({ %q, %q }) do
  local f = loadstring("local from, to = ... for i = from, to do "..text..
    " end", "=same")
  f(1, n * 1000)
end]]):format(pair[1], pair[2]))
  tap.ok(out:find("same:1", 1, true) and out:find("same #2:1", 1, true),
    "told apart: "..pair[1].." and "..pair[2], out)
end

-- The same code is one, compiled or not, with traces or without.
local once = report("lhorm0b1", [[
local text = "local n = ... for i = 1, n do local t = {} keep = { i, t } end"
for i = 1, 30 do
  loadstring(text, "=same")(100)
  if i == 15 then jit.flush() end
end]])
tap.unlike(once, "#2", "equal code is one chunk")
tap.ok(tonumber((counts(once, "^same:1$"))) >= 5000, "with all of its objects",
  once)

-- A closure on the line of the function around it is not another chunk.
tap.unlike(report("lhorm0b1", [[
local f = loadstring("local function f(i) return { i } end "..
  "for i = 1, 1000 do keep = { f(i), function() return i end } end", "=same")
f()]]), "#2", "functions on one line of one chunk")

-- The text of a chunk is known, even where its first line is not all of it.
tap.is(counts(report("lhorm0b1", [[
local fs = {}
for n = 1, 2 do
  fs[n] = loadstring("-- A template.\nreturn function() return {"..
    ("1,"):rep(n).."} end")()
end
for i = 1, 1000 do keep = { fs[1](), fs[2](), fs[2]() } end
]]), "template"), "1000 2000", "chunks with the same first line")

-- Bytecode without lines: its chunks have the same first bytes, and later VMs
-- call each of them "?".
tap.is(counts(report("fhorm0b1", [[
for n = 1, 2 do
  local f = loadstring("for i = 1, 1000 do keep = {"..("i,"):rep(n).."} end")
  for _ = 1, n do loadstring(string.dump(f, true))() end
end
]]), "[%]?]:%(no line%)"), "1000 2000", "bytecode of different code")

-- -- Formats ----------------------------------------------------------------

local file = tap.tmpname(".mp")
local kept = two:gsub("local t = ", "_G.keep = ")
tap.luajit(("-jm=b1,%s %s"):format(file, tap.program(kept)))
local merged = tap.tmpname(".mp")
tap.sh(("%s merge -o %s %s %s"):format(tap.mp, merged, file, file))
local function both(out, what)
  local plain = out:gsub('#2', "")
  tap.ok(plain ~= out and out:find("same"), what.." has both", out:sub(1, 2000))
end
for _, name in ipairs({ file, merged }) do
  for _, options in ipairs({ "fh", "lh", "hg" }) do
    both(tap.sh(("%s report %s %s"):format(tap.mp, name, options)).out,
      (name == file and "a profile, " or "a merged one, ")..options)
  end
end
local function converted(suffix)
  local to = tap.tmpname(suffix)
  local r = tap.sh(("%s convert -O h %s %s"):format(tap.mp, file, to))
  tap.is(r.status, 0, "converts to "..suffix)
  return tap.read(to) or r.err
end
for _, suffix in ipairs({ ".folded", ".speedscope.json", ".heapprofile",
    ".dhat.json", ".html" }) do
  both(converted(suffix), suffix)
end
local r = tap.sh(("%s convert %s %s"):format(tap.mp, merged, file))
tap.is(r.status, 0, "a profile file of a profile file")
tap.unlike(tap.sh(("%s report %s lh"):format(tap.mp, file)).out, "#2 #2",
  "keeps the names as they were")

tap.done()
