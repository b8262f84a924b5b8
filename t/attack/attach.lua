-- SPDX-License-Identifier: MIT
-- luajit-mp attach, very often, to programs that watch themselves
-- (t/attach/witness.lua): none crashes or has another result, and each is as it
-- was afterwards. Then the command is killed at any time, and the next one must
-- succeed. COUNT is for each program.

local process = require("attach.process")
local tap = require("tap")
local trial = require("attack.trial")

local count = trial.count(5)
if not jit.arch:find("^x") then
  tap.skip("attach is for x86-64 and i386")
end

local GROWTH = 16e6        -- Bytes that may come with the last half of it.

local dir = tap.tmpdir()
local options = { "f", "fl", "flb1", "h", "cm0", "fi1" }
-- The signals of the CPU clock cut sleeps short: none may come.
local gentle = { "hi1000000", "hli1000000", "hlb1i1000000" }

local function attach(kind, pid)
  local r = tap.sh(("%s attach -t %.2f -O %s %s"):format(tap.mp,
    math.random() * 0.1 + 0.01,
    trial.pick(kind == "sleep" and gentle or options), pid), { dir = dir })
  return r.status == 0 and r.out:find("^luajit%-mp  "), r.err
end

-- The module stays, and what the first profiles mapped.
local function compare(p, before)
  local files, lines = process.maps(p.pid)
  trial.check(process.facts(p.pid) == before.facts, "left as it was",
    process.facts(p.pid).."\nbefore:\n"..before.facts)
  trial.check(files == before.files, "files that are mapped", files)
  trial.check(lines <= before.lines + 20, "mappings", lines)
  trial.check(process.rss(p.pid) - before.rss < GROWTH, "memory",
    process.rss(p.pid) - before.rss)
end

local function try(kind)
  local p = process.start(dir, ("%s '%s/t/attach/witness.lua' %s"):format(
    tap.command, tap.srcdir, kind))
  local before = { facts = process.settled_facts(p.pid) }
  for i = 1, count do
    local ok, why = attach(kind, p.pid)
    if why:find("not permitted", 1, true) then
      p:kill()
      tap.skip("processes may not be traced here")
    end
    trial.check(ok, kind..": a profile", why)
    if i == math.ceil(count / 2) then
      before.files, before.lines = process.maps(p.pid)
      before.rss = process.rss(p.pid)
    end
  end
  if kind ~= "sleep" then os.execute("sleep 0.3") end
  compare(p, before)
  local out, status = p:stop()
  trial.check(status == 0 and out:find("^right"), kind..": its result",
    tostring(status).." "..tostring(out))
  p:kill()
  local longest, stopped = tostring(out):match("right ([%d.]+) ([%d.]+)")
  tap.diag(("%s: stood still for %s ms at most, %s ms of waiting for a "..
    "processor left out"):format(kind, longest, stopped))
end

for _, kind in ipairs({ "loop", "alloc", "sleep", "coroutines" }) do
  try(kind)
end

-- -- Commands that are killed ------------------------------------------------

-- Every program can be killed at, in whatever phase: most phases last some
-- milliseconds.
local function kill_one(p)
  local after = math.random() < 0.7 and math.random() * 0.25 or math.random()
  return tap.sh(([[
    %s attach -t %.2f -O %s %s >/dev/null 2>&1 & attach=$!
    sleep %.4f; kill -KILL $attach; wait $attach]]):format(tap.mp,
    math.random() * 0.3 + 0.01, trial.pick(options), p.pid, after),
    { dir = dir }).status
end

local killed = 0
local function try_kills(kind)
  local p = process.start(dir, ("%s '%s/t/attach/witness.lua' %s"):format(
    tap.command, tap.srcdir, kind))
  local before = { facts = process.settled_facts(p.pid) }
  for i = 1, count * 4 do
    if kill_one(p) == 137 then killed = killed + 1 end
    if i % 4 == 0 then
      local ok, why = attach(kind, p.pid)
      trial.check(ok, kind..": a profile after a killed command", why)
    end
  end
  os.execute("sleep 0.3")
  trial.check(process.facts(p.pid) == before.facts, kind..": left as it was",
    process.facts(p.pid).."\nbefore:\n"..before.facts)
  local out, status = p:stop()
  trial.check(status == 0 and out:find("^right"), kind..
    ": its result after killed commands", tostring(status).." "..tostring(out))
  p:kill()
end

for _, kind in ipairs({ "loop", "alloc", "coroutines" }) do try_kills(kind) end
tap.diag(killed.." commands killed")
trial.done("programs that are attached to again and again")
