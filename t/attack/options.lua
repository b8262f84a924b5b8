-- SPDX-License-Identifier: MIT
-- Random option strings and outputs, by jit.mp.start and by -jm: each gives a
-- report, or an error that names what is wrong.

local effects = require("jit.mp.effects")
local options = require("jit.mp.options")
local tap = require("tap")
local trial = require("attack.trial")
local mp = require("jit.mp")

local count = trial.count(400)
local pick, random = trial.pick, math.random
local dir = tap.tmpdir()

-- -- Options -----------------------------------------------------------------

-- All but T, which needs a terminal.
local words = { "f", "F", "l", "s", "R", "p", "v", "z", "t", "c", "h", "u",
  "x", "o", "r", "k", "a", "A", "g", "e", "L", "W", "N", "P", "q", "G", "H",
  "J", "J+", "1", "-1", "-3s", "7", "m0", "m5", "m100", "i1", "i", "i20",
  "w60", "b1", "b64k", "b2m", "L100k", "L1" }
local numbers = { "0", "-0", "-", "101", "99999999999999999999", "1e3", "0x1",
  "00000", "1048577m", "1.5", "k", "m", "9007199254740993" }

local function junk()
  local kind = random(4)
  if kind == 1 then return string.char(random(1, 255)) end
  if kind == 2 then return pick(words):sub(1, 1)..pick(numbers) end
  if kind == 3 then return pick({ "\27[31m", "\194\155", "%s", "%", "'", '"',
    "\\", "\n", "é", "\226\128\174", ("x"):rep(random(3000)) }) end
  return pick(numbers)
end

local function words_of(wrong)
  local list = {}
  for i = 1, random(0, 6) do
    list[i] = wrong and random(4) == 1 and junk() or pick(words)
  end
  return table.concat(list)
end

local function has_effect(text, name)
  local o = options.parse(text)
  return o and not effects.check(o, { name }, true)
end

-- One in two should be right for that output: most that are made up have an
-- option without effect.
local function option_string(name)
  if random(2) == 1 then return words_of(true) end
  for _ = 1, 100 do
    local text = words_of(false)
    if has_effect(text, name) then return text end
  end
  return "f"
end

-- -- Outputs -----------------------------------------------------------------

local suffixes = { "", ".txt", ".mp", ".html", ".pb.gz", ".cpu.pb.gz",
  ".speedscope.json", ".cpuprofile", ".heapprofile", ".dhat.json", ".prom",
  ".folded", ".heapsnapshot", ".json", ".mp.gz", ".html%p", ".%t.txt" }

local function output(i)
  if random(20) == 1 then
    return pick({ "/nonexistent/x.txt", dir, "/", "/dev/full",
      "/nonexistent/\27[1m.txt", dir.."/x.\194\155",
      dir.."/"..("n"):rep(300), dir.."/\27[1m.txt" })
  end
  return dir.."/r"..i..pick(suffixes)
end

-- -- Messages ----------------------------------------------------------------

-- Words by which messages say what is wrong.
local subjects = { "option", "depth", "output", "cannot write ", "cannot open ",
  "cannot make ", "unknown output format" }
local inner = { "attempt to ", "traceback", "bad argument", "stack overflow",
  "%.lua:%d+:.*%.lua:%d+:" }

-- The reason why the message is not a good one; nil if it is.
local function fault(msg)
  if type(msg) ~= "string" then return "no message but "..tostring(msg) end
  for _, pattern in ipairs(inner) do
    if msg:find(pattern) then return "an inner error: "..msg end
  end
  if msg:find("[%z\1-\9\11-\31\127]") then
    return ("control characters: %q"):format(msg)
  end
  for _, subject in ipairs(subjects) do
    if msg:find(subject, 1, true) then return nil end
  end
  return "does not name what is wrong: "..msg
end

local keep = {}
local function work()
  for i = 1, 300 do keep[i % 50 + 1] = { i, tostring(i) } end
end

-- -- By start ----------------------------------------------------------------

-- The options were printed: nothing runs.
local function stop_if(ok)
  if ok == false then return true end
  work()
  return mp.stop()
end

local function by_start(i)
  local name = output(i)
  local text = option_string(name)
  local valid, ok, msg = pcall(mp.start, text, name)
  local why
  if not valid then
    why = fault(ok)
  elseif ok == nil then
    why = fault(msg)
  else
    ok, msg = stop_if(ok)
    why = not ok and fault(msg)
  end
  trial.check(not why, "start", ("%q %q: %s"):format(text, name, why or ""))
end

-- -- By -jm ------------------------------------------------------------------

local program = tap.program(
  "local t = {} for i = 1, 300 do t[i % 50 + 1] = { i } end print('done')")

local function by_command(i)
  local name = output(i)
  local text = option_string(name)
  local r = tap.luajit(("%s %s"):format(
    tap.quote("-jm="..text..","..name), program))
  local why
  local help = text:find("H", 1, true)
  if r.status ~= 0 or not (r.out:find("done\n", 1, true) or help) then
    why = fault(r.err)
    if not why and r.status ~= 1 and r.status ~= 3 then
      why = "status "..r.status
    end
  elseif r.err ~= "" then
    why = fault(r.err)
  end
  trial.check(not why, "-jm", ("%q %q: %s"):format(text, name, why or ""))
end

for i = 1, count do
  if i % 5 == 0 then by_command(i) else by_start(i) end
  if i % 100 == 0 then os.execute("rm -rf "..dir.."/*") end
end
-- The output of H is a report, too.
io.write("\n")
trial.done("option strings and outputs")
