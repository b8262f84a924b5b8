-- SPDX-License-Identifier: MIT
-- luajit-mp attach where the program takes long to open the profiler's module,
-- as from a disk that hangs: the command says what it waits for, and can be
-- ended; the program's other threads go on, and nothing of the loader's stays
-- locked.

local process = require("attach.process")
local tap = require("tap")
local trial = require("attack.trial")

local count = trial.count(5)
if not jit.arch:find("^x") then
  tap.skip("attach is for x86-64 and i386")
elseif (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("attached programs run on the bare machine only")
end

local opener, disk = tap.builddir.."/t/attack/opener",
  tap.builddir.."/t/attack/disk"
if not tap.read(disk) then tap.skip("t/attack/disk is not built") end

local dir = tap.tmpdir()
local module = tap.sh(("realpath %s/.uninstalled/jit/mp/core.so"):format(
  tap.quote(tap.builddir))).out:match("[^\n]+")

local function size(name) return #(tap.read(dir.."/"..name) or "") end

-- Whether a thread that notes its rounds in that file does another few.
local function goes_on(name)
  local before = size(name)
  return tap.wait(function() return size(name) > before + 2 end)
end

local function there(name) return tap.read(dir.."/"..name) ~= nil end

-- The program, behind the slow disk.
local function start()
  local p = process.start(dir, ("%s running loaded computed"):format(opener))
  tap.write(dir.."/hold", "")
  os.remove(dir.."/ready")
  os.remove(dir.."/refused")
  tap.sh(("{ %s %s %d hold ready 2>refused || mv refused ready; } &"):format(
    tap.quote(disk), tap.quote(module), p.pid), { dir = dir })
  tap.wait(function() return there("ready") end)
  local why = tap.read(dir.."/ready")
  if why ~= "" then
    p:kill()
    tap.skip("no slow disk here: "..tostring(why):gsub("\n", ""))
  end
  return p
end

-- Begins a command; its status is in the file `ended` afterwards.
local function begin(pid)
  os.remove(dir.."/ended")
  os.remove(dir.."/err")
  tap.sh(([[
    { %s attach -t 0.1 %d >report 2>err & echo $! >command; wait $!
      echo $? >code; mv code ended; } &]]):format(tap.mp, pid), { dir = dir })
end

local function ended()
  tap.wait(function() return there("ended") end)
  return tonumber(tap.read(dir.."/ended")), tap.read(dir.."/err")
end

-- Waits for a word of the command, or its end.
local function says(word)
  return tap.wait(function()
    return (tap.read(dir.."/err") or ""):find(word, 1, true) or there("ended")
  end) and (tap.read(dir.."/err") or ""):find(word, 1, true) ~= nil
end

local kinds = {}

-- The disk answers after a while.
function kinds.late(p)
  local seconds = math.random() * 8.5 + 0.5
  begin(p.pid)
  os.execute(("sleep %.2f"):format(seconds))
  os.remove(dir.."/hold")
  local status, err = ended()
  return status == 0 and (tap.read(dir.."/report") or ""):find("^luajit%-mp  "),
    err
end

-- It answers once the command has said that it waits.
function kinds.said(p)
  begin(p.pid)
  local said = says("is slow to load the profiler")
  local moves = goes_on("computed")
  os.remove(dir.."/hold")
  local status, err = ended()
  return said and moves and status == 0, err
end

-- The command is ended while it waits.
local function ends(signal, want)
  return function(p)
    begin(p.pid)
    local said = says("is slow to load the profiler")
    tap.sh(("kill -%s $(cat command)"):format(signal), { dir = dir })
    local status, err = ended()
    local moves = goes_on("computed")
    os.remove(dir.."/hold")
    return said and moves and status == want and
      (signal == "KILL" or err:find("finishes by itself", 1, true)), err
  end
end
kinds.INT, kinds.TERM, kinds.KILL = ends("INT", 1), ends("TERM", 1),
  ends("KILL", 137)

local order = { "said", "INT", "KILL", "late", "TERM" }
for i = 1, count do
  local kind = order[(i - 1) % #order + 1]
  local p = start()
  local ok, why = kinds[kind](p)
  trial.check(ok, kind..": the command", why)
  os.remove(dir.."/hold")
  trial.check(goes_on("loaded"), kind..": another thread loads libraries")
  begin(p.pid)
  local status, err = ended()
  trial.check(status == 0, kind..": the next command", err)
  local out, result = p:stop()
  trial.check(result == 0 and out == "right\n", kind..": its result", out)
  p:kill()
end

trial.done("a module that is opened slowly")
