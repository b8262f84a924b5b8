-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Limits of memory, for tests of programs that come to them.
----------------------------------------------------------------------------

local tap = require("tap")

local limit = {}

-- Makes a memory cgroup: its directory, or nil where there can be none. A
-- kernel's namespace may show another path than the process has: then the
-- profiler does not find it either.
local make = [[
for top in /sys/fs/cgroup/memory /sys/fs/cgroup; do
  g=$top/luajit-mp-$$
  mkdir $g || continue
  for f in limit_in_bytes memsw.limit_in_bytes max; do
    [ ! -e $g/memory.$f ] || echo %d >$g/memory.$f
  done
  [ ! -e $g/memory.swap.max ] || echo 0 >$g/memory.swap.max
  if { [ -e $g/memory.limit_in_bytes ] || [ -e $g/memory.max ]; } &&
      sh -c "echo \$\$ >$g/cgroup.procs && cat /proc/self/cgroup" |
      grep -q ":/${g##*/}\$"; then
    echo $g
    exit
  fi
  rmdir $g
done]]

-- A cgroup with so many bytes: what a shell puts before a command that is to
-- run in it, and a function that removes it, once all of that has ended. Nil:
-- this system has none for us.
function limit.cgroup(bytes)
  local dir = tap.sh(make:format(bytes)).out:match("^(/%S+)\n$")
  if not dir then return nil end
  return ([[sh -c 'echo $$ >%s/cgroup.procs; exec "$@"' sh ]]):format(dir),
    function()
      tap.wait(function() return os.execute("rmdir "..dir) == 0 end)
    end
end

-- The same for its addresses.
function limit.addresses(bytes)
  return ([[sh -c 'ulimit -v %d; exec "$@"' sh ]]):format(bytes / 1024)
end

-- A module, of which a function alone has the table that grows.
limit.session = [[
local sessions = {}
return {
  add = function(n, size) sessions[#sessions+1] = { n, ("x"):rep(size)..n } end,
  drop = function() sessions = {} end,
}]]

-- In the first line of a report: this module holds the memory; and the line's
-- beginning.
limit.holder = "held at [^;\n]*%.session%.%a+ %^sessions"
limit.held = "^in use [^\n]*"..limit.holder

return limit
