-- SPDX-License-Identifier: MIT
-- CPU time of small functions that compiled code has inlined, in random
-- programs whose work is known: one chain of divisions, each of which waits
-- for the one before, so that time is their number:
--   ./run luajit t/truth/cpu.lua [PROGRAMS [SECONDS [SEED]]]
--
-- No function is off by more than three points. Shares that random samples
-- would have wrong in one program of some are measured again, for longer.
--
-- A program may take longer than its divisions. If the compiler links a loop of
-- work to one of a function, instead of inlining the function, the value and
-- the frames go through memory from one trace to the next. That takes time in
-- work, too, whose share is 0 here. So the time beyond the divisions is
-- measured, and allowed.

local tap = require("tap")
package.path = tap.srcdir.."/t/truth/?.lua;"..package.path

local LIMIT = 0.03
local programs = tonumber(arg[1] or 20)
local seconds = tonumber(arg[2] or 2)
local seed = tonumber(arg[3] or 1)
local ADDITION = 0.3		-- Its time, in divisions.

local function pick(list) return list[math.random(#list)] end

-- -- Programs ---------------------------------------------------------------

local places = {
  field = { "local st = { x = 1e9 }", "st.x" },
  array = { "local st = { 1e9 }", "st[1]" },
  upvalue = { "local st = 1e9", "st" },
}

-- n divisions of x as statements, on one line or several.
local function divisions(n)
  local t = {}
  for i = 1, n do t[i] = ("x = x / 1.%d"):format(i % 9 + 1) end
  return table.concat(t, pick { " ", "\n  " })
end

-- Calls work for arg[1] seconds, and prints the time of one of its rounds.
local main = [[
local clock, calls = os.clock, 0
local start = clock()
repeat work(1e5) calls = calls + 1 until clock() > start + arg[1]
print(("round: %g ns"):format((clock() - start) / calls * 1e4))]]

-- The bodies of functions: text, and the divisions that it makes itself.
local bodies = {}

function bodies.straight(n) return divisions(n), n end

function bodies.loop(n)
  local rounds = math.random(2, 3)
  return ("for k = 1, %d do %s end"):format(rounds, divisions(n)), n * rounds
end

function bodies.branch(n)
  return ("if x > 0 then %s else x = 1e9 end"):format(divisions(n)), n
end

-- A function of that number. It may call earlier ones: calls[i] is how often
-- one call of it calls f<i>.
local function make_function(number, functions, place)
  local body, own = bodies[pick { "straight", "loop", "branch" }](
    math.random(2, 20))
  local calls = {}
  local result = math.random() < 0.5
  local callee = number > 1 and math.random() < 0.4 and math.random(number - 1)
  local call = ""
  if callee then
    calls[callee] = 1
    call = functions[callee].result and ("x = f%d(x)"):format(callee) or
      ("%s = x f%d() x = %s"):format(place, callee, place)
    if math.random() < 0.5 then body, call = call.." "..body, "" end
  end
  local text = result and
    ("local function f%d(x)\n  %s %s\n  return x + 1e9\nend") or
    ("local function f%%d()\n  local x = %s\n  %%s %%s\n  %s = x + 1e9\nend"):
      format(place, place)
  return { text = text:format(number, body, call), result = result,
    own = own + ADDITION, calls = calls }
end

-- The work of all that one call of f<i> does, added to work.
local function add_work(functions, i, work)
  work[i] = (work[i] or 0) + functions[i].own
  for callee in pairs(functions[i].calls) do
    add_work(functions, callee, work)
  end
end

-- A program, the share of each of its functions, and the divisions of a round.
local function make_program()
  local declared, place = unpack(places[pick { "field", "array", "upvalue" }])
  local functions, out, work, calls = {}, { declared }, {}, {}
  for i = 1, math.random(2, 5) do
    functions[i] = make_function(i, functions, place)
    out[#out+1] = functions[i].text
  end
  for i = 1, math.random(2, 6) do
    local k = i <= #functions and i or math.random(#functions)
    calls[#calls+1] = functions[k].result and
      ("%s = f%d(%s)"):format(place, k, place) or ("f%d()"):format(k)
    add_work(functions, k, work)
  end
  out[#out+1] = ("local function work(n)\n  for i = 1, n do\n    %s\n"..
    "  end\nend"):format(table.concat(calls, pick { " ", "\n    " }))
  out[#out+1] = main
  local sum = 0
  for _, n in pairs(work) do sum = sum + n end
  local shares = { work = 0 }
  for i = 1, #functions do shares["f"..i] = (work[i] or 0) / sum end
  return table.concat(out, "\n"), shares, sum
end

-- -- Measurements -----------------------------------------------------------

-- The share of each function in a report of ours, or of -jp.
local function ours(text)
  local t, sum = {}, 0
  for n, name in text:gmatch("\n +(%d+) +%d* +(%w+)%f[\n%z]") do
    t[name] = tonumber(n)
    sum = sum + tonumber(n)
  end
  for name, n in pairs(t) do t[name] = n / sum end
  return t
end

local function theirs(text)
  local t = {}
  for n, name in text:gmatch("(%d+)%% +(%w+)") do t[name] = n / 100 end
  return t
end

local ways = {
  { "f", "-jm=cri1m0", ours },
  { "fl", "-jm=cflri1m0", ours },
  { "-jp=f", "-jp=fi1m0", theirs },
}

-- The largest error among the functions, and the function.
local function worst(shares, file, way, time)
  local r = tap.luajit(("%s %s %g"):format(way[2], file, time))
  local found, most, where = way[3](r.out), 0, "none"
  for name, share in pairs(shares) do
    local off = (found[name] or 0) - share
    if math.abs(off) > math.abs(most) then most, where = off, name end
  end
  return most, ("%s %+.1f"):format(where, most * 100), r
end

local function round(r) return tonumber(r.out:match("round: (%S+) ns")) end

-- The share of a run's time that its divisions do not take.
local function beyond(r, sum, way, time)
  local number = 50
  local file = tap.program(("local function work(n)\n  local x = 1e9\n"..
    "  for i = 1, n do %s x = x + 1e9 end\nend\n%s"):
      format(divisions(number), main))
  local one = round(tap.luajit(("%s %s %g"):format(way[2], file, time))) /
    (number + ADDITION)
  return math.max(0, 1 - sum * one / round(r))
end

-- -- The trial --------------------------------------------------------------

local probe = tap.luajit("-jm=hb1 "..tap.program("local t = {}"))
if not probe.out:find("capture exact") then
  tap.skip("capture is not exact on this VM")
end

local errors, wrong = { {}, {}, {} }, { 0, 0, 0 }
io.stdout:setvbuf("line")
for number = seed, seed + programs - 1 do
  math.randomseed(number)
  local text, shares, sum = make_program()
  local file, row = tap.program(text), {}
  for k, way in ipairs(ways) do
    local most, where, r = worst(shares, file, way, seconds)
    if way[3] == ours and math.abs(most) > LIMIT then
      most, where, r = worst(shares, file, way, seconds * 5)
    end
    local other = 0
    if math.abs(most) > LIMIT then
      other = beyond(r, sum, way, seconds)
      where = ("%s (%.1f beyond divisions)"):format(where, other * 100)
    end
    row[k] = ("%s: %s"):format(way[1], where)
    errors[k][#errors[k]+1] = math.abs(most)
    wrong[k] = wrong[k] + (math.abs(most) > LIMIT + other and 1 or 0)
    if way[3] == ours and math.abs(most) > LIMIT + other then
      tap.ok(false, ("program %d, %s: %s"):format(number, way[1], where),
	text.."\n"..r.out)
    end
  end
  tap.diag(("program %d  %s"):format(number, table.concat(row, "   ")))
end

for k, way in ipairs(ways) do
  local t, above = errors[k], 0
  table.sort(t)
  for _, off in ipairs(t) do above = above + (off > LIMIT and 1 or 0) end
  local say = ("%s: largest error: median %.1f, of 95 in 100 programs %.1f, "..
    "at most %.1f points; %d of %d above three, %d wrong"):format(way[1],
    t[math.ceil(#t / 2)] * 100, t[math.ceil(#t * 0.95)] * 100,
    t[#t] * 100, above, #t, wrong[k])
  if way[3] == ours then tap.ok(wrong[k] == 0, say) else tap.diag(say) end
end
tap.done()
