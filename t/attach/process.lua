-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- For tests of luajit-mp attach: programs that run in the background until a
-- file has gone, whose name is their last argument, and what the system knows
-- of them.
----------------------------------------------------------------------------

local tap = require("tap")

local process = {}
process.__index = process

local ROUNDS = 300         -- Tenths of a second until a program must end.

-- Starts a command in a directory where its files are, with those variables of
-- the environment. Field pid has its number.
function process.start(dir, command, env)
  local p = setmetatable({ dir = dir, file = dir.."/running" }, process)
  tap.write(p.file, "")
  os.remove(dir.."/pid")
  tap.sh(([[
    rm -f status
    { sh -c %s >out 2>&1; echo $? >status; } &]]):format(tap.quote(
    ("echo $$ >pid; exec %s %s"):format(command, p.file))),
    { dir = dir, env = env })
  p.pid = tap.wait(function()
    return (tap.read(dir.."/pid") or ""):match("(%d+)\n")
  end)
  os.execute("sleep 0.3")
  return p
end

-- Waits until a program that does nothing but compute has used so many ticks of
-- CPU time, or has ended. Returns its number.
function process.under_way(pid, ticks)
  tap.wait(function()
    local stat = tap.read("/proc/"..pid.."/stat") or ""
    local used = stat:match("%) %a"..(" %-?%d+"):rep(10).." (%d+)")
    return not used or tonumber(used) >= ticks
  end)
  return pid
end

-- Lets it end. Returns what it said, and its status; nothing: it does not end.
function process:stop()
  os.remove(self.file)
  for _ = 1, ROUNDS do
    local status = tap.read(self.dir.."/status")
    if status and status ~= "" then
      self.ended = true
      return tap.read(self.dir.."/out"), tonumber(status)
    end
    os.execute("sleep 0.1")
  end
end

function process:kill()
  os.remove(self.file)
  if not self.ended then tap.sh("kill -KILL "..self.pid.." 2>/dev/null") end
  self.ended = true
end

-- The system's view of a process: signals, threads, open files, timers. Signals
-- from 32 on are the C library's: those of the first thread that is made stay.
-- The programs look for the file that keeps them running now and then: it may
-- be closed while its name is read, and has none then.
function process.facts(pid)
  return tap.sh(([[
    grep -E 'Sig(Blk|Ign|Cgt)|Threads' /proc/%s/status |
      sed 's/\t.*\(.\{8\}\)$/ \1/'
    ls -l /proc/%s/fd 2>&1 | grep -e ' -> ' | sed 's/.*fd*[0-9:]* //' |
      grep -Ev 'running$|schedstat$' | sort
    cat /proc/%s/timers]]):format(pid, pid, pid)).out
end

-- The same once it has not changed for three tenths of a second: a program that
-- has just begun still opens what it loads.
function process.settled_facts(pid)
  local last, same = nil, 0
  for _ = 1, ROUNDS do
    local now = process.facts(pid)
    same = now == last and same + 1 or 0
    if same == 3 then return now end
    last = now
    os.execute("sleep 0.1")
  end
  return last
end

-- The mappings there: the names of files, in their order, each once, and the
-- number of lines.
function process.maps(pid)
  local names, seen, lines = {}, {}, 0
  for line in (tap.read("/proc/"..pid.."/maps") or ""):gmatch("[^\n]+") do
    local name = line:match(" (/.*)$")
    lines = lines + 1
    if name and not seen[name] then
      seen[name] = true
      names[#names+1] = name
    end
  end
  return table.concat(names, "\n"), lines
end

-- Bytes of memory that it has in RAM.
function process.rss(pid)
  local text = tap.read("/proc/"..pid.."/status") or ""
  return tonumber(text:match("VmRSS:%s*(%d+)") or 0) * 1024
end

return process
