-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp run: the program takes the place of the command.
----------------------------------------------------------------------------

local files = require("jit.mp.cli.files")
local program = require("jit.mp.cli.program")
local stop = require("jit.mp.cli.stop")

local ffi

local function define()
  if ffi then return ffi end
  ffi = require("ffi")
  ffi.cdef [[
    typedef struct { long sec, nsec; } mp_run_time;
    int clock_gettime(int, mp_run_time *);
    int execvp(const char *, char *const *);
    int setenv(const char *, const char *, int);
    int open(const char *, int, ...);
    char *strerror(int);
    int getpid(void);
  ]]
  return ffi
end

-- Replaces this process: the program keeps its terminal, signals and status.
-- env: further variables of the program.
local function exec(argv, env)
  define()
  for name, value in pairs(env) do ffi.C.setenv(name, value, 1) end
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

local function needed(file, path, what)
  return library(file, path) or
    stop.data(("%s: %s is not beside jit/mp/core.so"):format(what, file))
end

-- LD_PRELOAD with our libraries: with native one that intercepts malloc, which
-- must come before an allocator that is there already; for a program the one
-- that profiles its states; and one that intercepts exec, for a report then.
local function libraries(native, is_program, path)
  local list = {}
  if native then
    list[1] = needed("libluajit-mp-native.so", path, "run --native")
  end
  list[#list+1] = os.getenv("LD_PRELOAD")
  if is_program then
    list[#list+1] = needed("libluajit-mp-preload.so", path, "run")
  end
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
      stop.usage(("run: the name of an output cannot have a comma: %q"):format(
	out), command)
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

-- The environment of a program that runs scripts or has libraries of LuaJIT.
local function environment(given, is_program, path)
  local env = {}
  if path then env.LUA_PATH, env.LUA_CPATH = path.lua, path.c end
  local preloads = libraries(given.native, is_program, path)
  if preloads ~= "" then env.LD_PRELOAD = preloads end
  return env
end

-- A script is run by luajit -jm.
local function run_script(script, arguments, words, env, luajit)
  local argv = { luajit, "-jm="..words }
  -- A script whose name begins with - would be an option.
  argv[3] = script == "-" and "-" or script:gsub("^%-", "./-")
  for _, word in ipairs(arguments) do argv[#argv+1] = word end
  exec(argv, env)
end

-- Unix time by the clock that gives files their times.
local function now()
  define()
  local t = ffi.new("mp_run_time")
  ffi.C.clock_gettime(5, t)  -- CLOCK_REALTIME_COARSE.
  return ("%d.%09d"):format(tonumber(t.sec), tonumber(t.nsec))
end

-- Any other program is profiled by its environment: its own states by the
-- preloaded library, and luajit itself, whose functions are not called through
-- the loader, by LUA_INIT.
local function run_program(name, arguments, words, env)
  env.LUAJIT_MP = words
  env.LUAJIT_MP_BEGAN = now()
  env.LUAJIT_MP_PROGRAM = tostring(define().C.getpid())
  env.LUA_INIT = program.init(os.getenv("LUA_INIT"))
  exec({ name, unpack(arguments) }, env)
end

return function(given, operands, command, env)
  local text, outs = given.opts or "f", given.out or {}
  check_commas(text, outs, command)
  local o = files.parse_options(text, given, command)
  check_views(o, given, command)
  files.check_effects(o, given, outs[1] and outs or
    { os.getenv("LUAJIT_PROFILEFILE") or "-" }, command)
  local name, is_program = program.find(operands[1], operands[2])
  local words = { text..(given.nosource and "N" or ""), unpack(outs) }
  if given.sort then words[#words+1] = "--sort="..given.sort end
  words = table.concat(words, ",")
  local vars = environment(given, is_program, env.path)
  local arguments = { unpack(operands, 2) }
  if is_program then return run_program(name, arguments, words, vars) end
  run_script(name, arguments, words, vars, env.luajit)
end
