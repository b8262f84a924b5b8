-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp run: the program takes the place of the command.
----------------------------------------------------------------------------

local files = require("jit.mp.cli.files")
local stop = require("jit.mp.cli.stop")

local function define()
  local ffi = require("ffi")
  ffi.cdef [[
    int execvp(const char *, char *const *);
    int setenv(const char *, const char *, int);
    int open(const char *, int, ...);
    char *strerror(int);
  ]]
  return ffi
end

-- Replaces this process: the program keeps its terminal, signals and status.
local function exec(argv, path, preloads)
  local ffi = define()
  if path then
    ffi.C.setenv("LUA_PATH", path.lua, 1)
    ffi.C.setenv("LUA_CPATH", path.c, 1)
  end
  if preloads ~= "" then ffi.C.setenv("LD_PRELOAD", preloads, 1) end
  local c = ffi.new("const char *[?]", #argv + 1)
  for i, s in ipairs(argv) do c[i-1] = s end
  ffi.C.execvp(argv[1], ffi.cast("char *const *", c))
  stop.data(("cannot run %s: %s"):format(argv[1],
    ffi.string(ffi.C.strerror(ffi.errno()))))
end

-- The name for LD_PRELOAD of a library in the same directory as the core; nil:
-- it is not there. The loader does not take a path with a colon or a space: the
-- library is open then, until it closes itself (src/preload/environment.h).
local function library(file, path)
  local core = package.searchpath("jit.mp.core", path and path.c or
    package.cpath)
  local name = core and core:match("^.*/")..file
  local fp = name and io.open(name, "rb")
  if not fp then return end
  fp:close()
  if not name:find("[: ]") then return name end
  local fd = define().C.open(name, 0)
  return fd >= 0 and "/proc/self/fd/"..fd or nil
end

-- LD_PRELOAD with our libraries: with native one that intercepts malloc, which
-- must come before an allocator that is there already, and one that intercepts
-- exec, for a report then.
local function libraries(native, path)
  local list = {}
  if native then
    list[1] = library("libluajit-mp-native.so", path) or
      stop.data("run --native: libluajit-mp-native.so is not beside "..
	"jit/mp/core.so")
  end
  list[#list+1] = os.getenv("LD_PRELOAD")
  list[#list+1] = library("libluajit-mp-exec.so", path)
  return table.concat(list, ":")
end

-- One word of -jm= has the options and the outputs, with commas between them.
local function check_commas(text, outs, command)
  if text:find(",", 1, true) then
    stop.usage("run: give output files with -o, not after a comma", command)
  end
  for _, out in ipairs(outs) do
    if out:find(",", 1, true) then
      stop.usage(("run: no comma in the name of a file, as in %q"):format(out),
	command)
    end
    files.check_output(out, command)
  end
end

-- C memory is measured only if our library intercepts malloc.
local function check_views(o, given, command)
  local preloaded = given.native or (os.getenv("LD_PRELOAD") or ""):find(
    "libluajit-mp-native", 1, true)
  for _, view in ipairs(o.views) do
    if view:find("^native") and not preloaded then
      stop.usage("run: views Y and U need --native, which measures C memory",
	command)
    end
  end
end

-- Whether test(1) says so of a file, which it does not open: a pipe can be read
-- only once.
local function test(condition, name)
  local status = os.execute(("test %s '%s'"):format(condition,
    (name:gsub("'", "'\\''"))))
  return status == 0 or status == true
end

-- A script that cannot even be loaded has no profile.
local function check_script(name)
  if not test("-e", name) then
    stop.data(("run: cannot open %s: No such file or directory"):format(name))
  elseif test("-f", name) then
    local loaded, msg = loadfile(name)
    if not loaded then stop.data("run: "..msg) end
  end
end

return function(given, operands, command, env)
  local text, outs = given.opts or "f", given.out or {}
  check_commas(text, outs, command)
  local o = files.parse_options(text, given, command)
  check_views(o, given, command)
  files.check_effects(o, given, outs[1] and outs or
    { os.getenv("LUAJIT_PROFILEFILE") or "-" }, command)
  if operands[1] ~= "-" then check_script(operands[1]) end
  local words = { text..(given.nosource and "N" or ""), unpack(outs) }
  if given.sort then words[#words+1] = "--sort="..given.sort end
  local argv = { env.luajit, "-jm="..table.concat(words, ",") }
  -- A script whose name begins with - would be an option.
  argv[3] = operands[1] == "-" and "-" or operands[1]:gsub("^%-", "./-")
  for i = 2, #operands do argv[#argv+1] = operands[i] end
  exec(argv, env.path, libraries(given.native, env.path))
end
