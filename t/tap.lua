-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A small TAP producer, and a way to run luajit and look at what it says.
----------------------------------------------------------------------------
--
--   local tap = require("tap")
--   tap.is(1 + 1, 2, "addition")
--   local r = tap.luajit("-jm=y app.lua")
--   tap.is(r.status, 1, "a wrong option fails")
--   tap.done()
--
-- The environment is made by t/lua-test.
--
----------------------------------------------------------------------------

local tap = {
  srcdir = os.getenv("srcdir") or ".",
  builddir = os.getenv("builddir") or ".",
  -- The luajit under test: a command, possibly of several words.
  command = os.getenv("LUAJIT") or "luajit",
  -- Under valgrind and the like: tests may do less.
  slow = os.getenv("MP_TEST_SLOW") ~= nil
}

local tests, failed = 0, 0
local temps, dirs = {}, {}

-- -- Results ----------------------------------------------------------------

function tap.diag(text)
  for line in (tostring(text).."\n"):gmatch("(.-)\n") do
    io.write("# ", line, "\n")
  end
end

function tap.ok(cond, name, why)
  tests = tests + 1
  -- A # in a name would begin a directive.
  name = tostring(name):gsub("[#\n]", " ")
  io.write(cond and "ok " or "not ok ", tests, " - ", name, "\n")
  if not cond then
    failed = failed + 1
    if why ~= nil then tap.diag(why) end
  end
  io.flush()
  return cond
end

function tap.is(got, want, name)
  return tap.ok(got == want, name,
    "got:  "..tostring(got).."\nwant: "..tostring(want))
end

function tap.like(text, pattern, name)
  return tap.ok(type(text) == "string" and text:find(pattern) ~= nil, name,
    "no "..pattern.." in:\n"..tostring(text))
end

function tap.unlike(text, pattern, name)
  return tap.ok(type(text) == "string" and not text:find(pattern), name,
    pattern.." in:\n"..tostring(text))
end

local function remove_temps()
  for _, name in ipairs(temps) do os.remove(name) end
  for _, dir in ipairs(dirs) do os.execute("rm -rf "..dir) end
end

-- Without this a test fails: its plan is missing.
function tap.done()
  remove_temps()
  io.write("1..", tests, "\n")
  os.exit(failed == 0 and 0 or 1)
end

-- Skips the whole file, or, after some results, the rest of it.
function tap.skip(reason)
  if tests > 0 then
    tests = tests + 1
    io.write("ok ", tests, " # SKIP ", reason, "\n")
    tap.done()
  end
  remove_temps()
  io.write("1..0 # SKIP ", reason, "\n")
  os.exit(0)
end

-- -- Files ------------------------------------------------------------------

-- A name for a file that is removed at the end. The file may exist.
function tap.tmpname(suffix)
  local name = os.tmpname()
  temps[#temps+1] = name
  if suffix then
    name = name..suffix
    temps[#temps+1] = name
  end
  return name
end

-- An empty directory, which is removed at the end.
function tap.tmpdir()
  local dir = os.tmpname()
  os.remove(dir)
  assert(os.execute("mkdir "..dir) == 0)
  dirs[#dirs+1] = dir
  return dir
end

function tap.read(name)
  local f = io.open(name, "rb")
  if not f then return nil end
  local text = f:read("*a")
  f:close()
  return text
end

function tap.write(name, text)
  local f = assert(io.open(name, "wb"))
  f:write(text)
  f:close()
end

-- A file with that program in it.
function tap.program(text)
  local name = tap.tmpname(".lua")
  tap.write(name, text)
  return name
end

-- -- Commands ---------------------------------------------------------------

-- A word of a shell command.
function tap.quote(s) return "'"..s:gsub("'", "'\\''").."'" end
local quote = tap.quote

-- The command luajit-mp, run by the luajit under test.
tap.mp = tap.command.." "..quote(tap.builddir.."/luajit-mp")

-- The build's directory under a name that LD_PRELOAD can have: it takes no path
-- with a space or a colon.
function tap.loadable()
  local dir = tap.builddir
  if dir:find("[: ]") then
    dir = tap.tmpname()
    os.remove(dir)
    os.execute(("ln -s %s %s"):format(quote(tap.builddir), dir))
  end
  return dir
end

-- Waits until the function returns something, and returns that; nil: it has
-- not for half a minute.
function tap.wait(f)
  for _ = 1, 600 do
    local got = f()
    if got then return got end
    os.execute("sleep 0.05")
  end
end

-- Turns the results of os.execute into an exit status, with 128 plus the
-- signal's number as in a shell; and that number.
local function decode(a, how, n)
  if type(a) == "number" then
    if a % 128 ~= 0 then how, n = "signal", a % 128 else n = a / 256 end
  end
  if how == "signal" then return 128 + n, n end
  return n, n > 128 and n - 128 or nil
end

local function setting(opts)
  local t = {}
  for name, value in pairs(opts.env or {}) do
    t[#t+1] = value and ("%s=%s; export %s; "):format(name, quote(value), name)
      or ("unset %s; "):format(name)
  end
  if opts.dir then t[#t+1] = "cd "..quote(opts.dir).." && " end
  return table.concat(t)
end

local function capture(command, opts)
  opts = opts or {}
  local out, err, input = tap.tmpname(), tap.tmpname(), "/dev/null"
  if opts.input then
    input = tap.tmpname()
    tap.write(input, opts.input)
  end
  local status, signal = decode(os.execute(("%s%s <%s >%s 2>%s"):format(
    setting(opts), command, input, out, err)))
  return { out = tap.read(out), err = tap.read(err), status = status,
    signal = signal }
end

-- Runs a shell command. Returns { out, err, status, signal }; where it died
-- of a signal, status is 128 plus its number. opts may have: env, variables
-- to set, or to unset (false); dir, where to run it; input, its stdin.
function tap.sh(command, opts)
  return capture("{ "..command.."\n}", opts)
end

-- Runs the luajit under test with these arguments: one command, no pipe.
function tap.luajit(args, opts)
  return capture("exec "..tap.command.." "..args, opts)
end

-- Whether the build is for another processor than this system's programs, as
-- one with 32 bits is: they cannot load its libraries.
function tap.is_foreign()
  local function machine(file)
    local head = tap.read(file) or ""
    return head:sub(5, 6)..head:sub(19, 20)  -- Bits, byte order, processor.
  end
  return machine("/bin/sh") ~=
    machine(tap.builddir.."/.uninstalled/jit/mp/core.so")
end

-- Whether the VM's layout is known, as a report says.
function tap.knows_layout()
  local r = tap.luajit("-jm=f -e 'local t = {}'")
  return r.out:find("\ncapture exact", 1, true) ~= nil
end

-- Whether LuaJIT's heap has to lie below 2 GiB, in a process that may be
-- larger: a build without GC64.
function tap.has_low_heap()
  local FR2 = 8  -- The flag of bytecode for frames of two slots.
  local ok, jitlib = pcall(require, "jit")
  return ok and jitlib.arch == "x64" and
    string.dump(function() end):byte(5) % (2 * FR2) < FR2
end

return tap
