-- SPDX-License-Identifier: MIT
-- Option J+: bytecode and the compiler's instructions are those that LuaJIT's
-- jit.dump prints of the same traces in a second run.

local tap = require("tap")

if not tap.knows_layout() or not jit.status() then
  tap.skip("there are no listings")
end

-- -- Two texts of the same --------------------------------------------------

-- A line as words that are alike in both: slots of a hash part change from run
-- to run.
local function words(line)
  return (line:gsub("%f[+]%+([%d.])", "%1"):gsub("@%d+", "@")
    :gsub("[, ]+", " "):gsub("^ ", ""):gsub(" $", "")
    :gsub("^(%d+ %u?FUNC[FV] %d+).*", "%1"))
end

-- Traces of a report, without lines of source: lists of lines.
local function reported(text)
  local all, t = {}, nil
  for line in text:gmatch("[^\n]+") do
    local listed = line:match("^  (.*)$")
    if line:find("^Trace %d+") then
      t = {}
      all[#all+1] = t
    elseif t and not listed:find("^%-%-") then
      t[#t+1] = words((listed:gsub("^(%d%d%d%d) +%d+ +(%u)", "%1 %2")))
    end
  end
  return all
end

local primitives = { ["0"] = "nil", ["1"] = "false", ["2"] = "true" }

-- Those that jit.dump printed; it has names of upvalues as comments, and a mark
-- of what is not executed.
local function dumped(text)
  local all, t = {}, nil
  for line in text:gmatch("[^\n]+") do
    local what = line:match("^%-%-%-%- TRACE %d+ (%l*)")
    if what == "start" then
      t = {}
    elseif what == "stop" then
      all[#all+1] = t
      t = nil
    elseif what == "abort" then
      t = nil
    elseif not what and t then
      line = line:gsub("^(%d%d%d%d) [. }]+", "%1 ")
	:gsub(" +%([^ ]+:%d+%)$", "")  -- OpenResty's has lines.
	:gsub("^%d+ FUNCC +; ", "")
	:gsub("^(%d+ KPRI +%d+ +)(%d+)", function(a, b)
	  return a..primitives[b]
	end)
	:gsub("^%.... +SNAP +#(%d+) .*", "exit %1"):gsub("%[0x%x+%]", "pointer")
	:gsub("{0x%x+}", "table")
	:gsub("^%d+ %-+ LOOP.*", "loop"):gsub(" +; [%a_][%w_]*$", "")
      t[#t+1] = words(line)
    end
  end
  return all
end

-- The first line of a trace that is in none of a list at that place; nil: the
-- list has the trace.
local function difference(trace, list)
  local why
  for _, other in ipairs(list) do
    local i = 1
    while trace[i] and trace[i] == other[i] do i = i + 1 end
    if not trace[i] and not other[i] then return nil end
    if trace[1] == other[1] then
      why = ("%s\njit.dump: %s"):format(trace[i] or "end", other[i] or "end")
    end
  end
  return why or "no such trace: "..tostring(trace[1])
end

-- -- Programs ---------------------------------------------------------------

local programs = {
  { "numbers and fields", [[
local t, floor = { x = 1 }, math.floor
local function half(x) return x * 0.5 end
local s = 0
for i = 1, 300 do
  s = s + half(i) - i % 7
  t.x = floor(s)
end]] },
  { "tables and metatables", [[
local class = {}
class.__index = class
function class.add(self, n) self.n = self.n + n return self end
local kept
for i = 1, 300 do
  local o = setmetatable({ n = i }, class)
  kept = o:add(2):add(3)
  kept[i % 3 + 1] = { i, i + 1 }
end]] },
  { "strings", [[
local sub, n, s = string.sub, 0, "some text"
for i = 1, 300 do
  local c = sub(s, i % 9 + 1, i % 9 + 1)
  if c == "e" then n = n + #(c..i) end
end]] },
  { "a while loop, booleans and nil", [[
local n, on, last = 0, false, nil
while n < 300 do
  on = not on
  if on then last = n else last = nil end
  n = n + (last and 1 or 2)
end]] },
  { "calls with varargs and upvalues", [[
local sum, n = 0, 0
local function count(...) n = n + select("#", ...) end
for i = 1, 300 do
  count(i, "x", nil)
  sum = sum + n
end]] }
}
if pcall(require, "ffi") then
  table.insert(programs, { "numbers of C", [[
local ffi = require("ffi")
local a, n = ffi.new("int[4]"), 0LL
for i = 1, 300 do
  a[i % 4] = i
  n = n + a[i % 4]
end]] })
end

-- Two loops that are counted together, as their addresses decide, may be
-- compiled in another order.
local function compare(file)
  local log, why, n = tap.tmpname(), nil, 0
  for _ = 1, 5 do
    local r = tap.luajit("-jm=J+m0 "..file)
    tap.luajit(("-jdump=bis,%s -jm=Jm0,/dev/null %s"):format(log, file))
    local list, others = reported(r.out), dumped(tap.read(log))
    n, why = #list, nil
    for _, trace in ipairs(list) do
      why = why or difference(trace, others)
    end
    if n > 0 and not why then break end
  end
  return n > 0 and not why, why or "no trace"
end

for _, p in ipairs(programs) do
  local right, why = compare(tap.program(p[2].."\n"))
  tap.ok(right, p[1]..": the listing is that of jit.dump", why)
end

-- -- Handlers of the program -------------------------------------------------

local loop = "\nlocal s = 0 for i = 1, 300 do s = s + i end\n"
local r = tap.luajit("-jm=J+m0 "..tap.program([[
local function f() end
jit.attach(f, "record")
jit.attach(f)]]..loop))
tap.like(r.out, "Listings of traces: bytecode is missing since",
  "a handler that is set, and taken away again, is told")
tap.like(r.out, "\nTrace 1[^\n]+:\n  %-%- instructions\n", "the rest is there")

-- Collections while a snapshot is made leave the places of traces as they are.
local r = tap.luajit("-Omaxtrace=4000 -Omaxmcode=4096 "..tap.program([[
local mp = require("jit.mp")
mp.start("J", "/dev/null")
local keep = {}
for i = 1, 900 do
  local code = "local s = 0 for i = 1, 100 do s = s + i * %d end return s"
  keep[i] = loadstring(code:format(i), "=place"..i)
  keep[i]()
end
collectgarbage("setpause", 1)
collectgarbage("setstepmul", 10000)
local right, n = 0, 0
for _ = 1, 3 do
  local s = mp.snapshot()
  for _, t in ipairs(s.traces) do
    local f = s.frames[t.start]
    if f and f.source:find("place%d") then right = right + 1 end
  end
  n = n + #s.traces
end
print(n - right < n / 20 and "right" or right.." of "..n)]]))
tap.is(r.out, "right\n", "a snapshot amid collections: places of traces")

tap.done()
