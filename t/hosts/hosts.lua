-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- For the tests of hosts: programs that have LuaJIT in them, unpacked from
-- Debian's packages.
----------------------------------------------------------------------------

local tap = require("tap")

local hosts = {}

local top = os.getenv("MP_HOSTS") or tap.builddir.."/hosts"

-- Unpacks packages, those of one name side by side. Returns the directory.
-- Without them the test is skipped.
function hosts.unpack(name, packages)
  local dir = top.."/"..name
  local r = tap.sh(("%s %s %s"):format(tap.quote(tap.srcdir.."/t/hosts/unpack"),
    tap.quote(dir), packages))
  if r.status ~= 0 then
    local why = "no packages: "..packages.."\n"..r.err
    if os.getenv("MP_HOSTS_REQUIRED") then
      tap.ok(false, name, why)
      tap.done()
    end
    tap.skip((why:gsub("\n", " ")))
  end
  return dir.."/root"
end

-- The variables of the environment for programs of that directory, with the
-- profiler's modules.
function hosts.env(root, more)
  local libs = "/usr/lib/x86_64-linux-gnu"
  local env = {
    LD_LIBRARY_PATH = root..libs..":"..root.."/lib/x86_64-linux-gnu",
    LUA_PATH = ("%s/lib/?.lua;%s/usr/share/lua/5.1/?.lua;;"):format(tap.srcdir,
      root),
    LUA_CPATH = ("%s/.uninstalled/?.so;%s%s/lua/5.1/?.so;;"):format(
      tap.builddir, root, libs),
  }
  for k, v in pairs(more or {}) do env[k] = v end
  return env
end

-- A port that nobody has just now.
function hosts.port()
  local taken = tap.read("/proc/net/tcp") or ""
  local port = 20000 + tonumber(tap.sh("echo $$").out) % 10000
  while taken:find((":%04X "):format(port), 1, true) do port = port + 1 end
  return port
end

return hosts
