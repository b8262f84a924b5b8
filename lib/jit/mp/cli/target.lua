-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A process that the command attaches to: chooses its state, and starts and
-- ends its profile.
----------------------------------------------------------------------------

local core = require("jit.mp.core")
local file = require("jit.mp.format.file")
local files = require("jit.mp.cli.files")
local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")
local stop = require("jit.mp.cli.stop")

local FIRST, PATIENCE = 2, 60 -- Seconds until a program must be reached.

-- The name of a module's file. It must be an absolute one.
local function find(module, path)
  local name, msg = package.searchpath(module, path)
  if not name then stop.data(msg) end
  return name
end

-- package.path for the reports' modules in the process.
local function modules()
  local name = find("jit.mp.plan", package.path)
  return name:sub(1, -#"jit/mp/plan.lua" - 1).."?.lua;"..package.path
end

local function is_any(states, field)
  for _, s in ipairs(states) do
    if s[field] then return true end
  end
end

-- The number of the state that is meant.
local function choose(pid, states, given, command)
  local n = tonumber(given)
  if given and not states[n] then
    stop.usage(("%s: --state takes a number from 1 to %d"):format(
      command.name, #states), command)
  end
  if states[n or 1].profiled or not n and is_any(states, "profiled") then
    stop.data(("process %d is being profiled already"):format(pid))
  elseif n or #states == 1 then
    return n or 1
  end
  local list = {}
  for i, s in ipairs(states) do
    list[i] = ("  %2d  %s, %s\n"):format(i, s.chunk == "" and "no Lua code"
      or names.printable((s.chunk:gsub("^[@=]", ""))), numbers.bytes(s.bytes))
  end
  io.stderr:write(table.concat(list))
  stop.data(("process %d has %d Lua states: choose one with --state"):format(
    pid, #states))
end

-- Starts a profile, and says so if that takes long.
local function start(session, pid, state, text)
  local path = modules()
  local ok, msg, late = session:start(state, text, path, FIRST)
  if late then
    io.stderr:write(("luajit-mp: waiting for process %d to run Lua code that "..
      "can be interrupted\n"):format(pid))
    ok, msg = session:start(state, text, path, PATIENCE)
  end
  if ok then return end
  stop.data(("cannot profile process %d: %s"):format(pid, msg))
end

-- The number of a process.
local function number(word, command)
  local pid = word:match("^%d+$") and tonumber(word)
  if pid and pid >= 1 and pid < 2^31 then return pid end
  stop.usage(("%s: %q is not a process ID: pgrep finds those of a name"):format(
    command.name, word), command)
end

-- Attaches to the process of that number, with those options for the profile.
-- Returns a session (attach/module.c).
local function attach(word, text, given, command)
  local pid = number(word, command)
  local session, msg = require("jit.mp.attach").open(pid,
    find("jit.mp.core", package.cpath))
  if not session then
    stop.data(("cannot attach to process %d: %s"):format(pid, msg))
  end
  start(session, pid, choose(pid, session:states(), given.state, command), text)
  return session, pid
end

-- Ends the profile. Returns it. ended: the process has ended by itself, and may
-- have left one.
local function finish(session, pid, ended)
  local ok, how = true, "gone"
  if not ended then ok, how = session:stop(PATIENCE) end
  if not ok then
    stop.data(("no profile of process %d: %s"):format(pid, how))
  end
  local text = session:read()
  local p, msg = file.read(text)
  if p and how == "partial" then
    io.stderr:write(("luajit-mp: process %d runs no Lua code: this is its "..
      "profile so far, which ends when some runs\n"):format(pid))
  end
  if p then
    p.info.attached, p.info.pid = true, pid  -- As the user names it.
    return p
  end
  if how == "gone" or text == "" then
    msg = ("no profile of process %d: it has ended %s"):format(pid,
      text == "" and "without one" or "before all of it was written")
  end
  stop.data(msg)
end

-- The seconds of option -t, or nil.
local function seconds(word, command)
  if not word then return nil end
  local n = tonumber(word)
  if not n or n <= 0 or n > 1e9 then
    stop.usage(("%s: -t takes seconds, more than 0 and at most 1e9, not %q")
      :format(command.name, word), command)
  end
  return n
end

-- Names of outputs with the process and the time in place of %p and %t.
local function expand(name, pid)
  return (name:gsub("%%[pt]", { ["%p"] = tostring(pid),
    ["%t"] = os.date("%Y%m%d-%H%M%S") }))
end

-- Writes the reports. A signal ends the command at once from now on, and a FIFO
-- that nobody reads after ten seconds.
local function write(p, o, outs, pid, given)
  require("jit.mp.attach").leave_signals()
  core.end_waiting()
  for _, out in ipairs(outs) do
    files.write(p, o, expand(out, pid), { source_root = given.source_root })
  end
end

return { seconds = seconds, number = number, choose = choose, attach = attach,
  finish = finish, write = write, find = find }
