-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Stands in for Tarantool's misc, of which it has the profilers, and of the
-- metrics those that LuaJIT tells:
--
--   local misc = require("jit.mp.misc")
--   misc.memprof.start("memprof.bin")  -- true; or nil, message, errno
--   misc.memprof.stop()                -- the same
--   misc.sysprof.start { mode = "C", interval = 10, path = "sysprof.bin" }
--   misc.sysprof.stop()
--   misc.sysprof.report()              -- { samples =, vmstate = {} }
--   misc.getmetrics()                  -- { gc_total =, jit_trace_num = }
--
-- memprof's file is a profile with exact events, after a collection:
-- luajit-mp report memprof.bin e. Tarantool's own tools read it as memprof's
-- (format/memprof). sysprof's file is a profile of CPU time.
--
-- The module is the global misc, too, where there is none, and
-- require("memprof")(arg) is that report, where there is no such module.
----------------------------------------------------------------------------

local mp = require("jit.mp")
local util = require("jit.util")

local EINVAL = 22

-- The messages of both, by our error numbers: EALREADY and ESRCH.
local messages = {
  [114] = "profiler is running already", [3] = "profiler is not running"
}

local function answer(ok, msg, errno)
  if ok then return true end
  if messages[errno] then return nil, messages[errno], EINVAL end
  return nil, msg, errno
end

-- name: of any file.
local function start(name)
  if type(name) ~= "string" then
    error("misc.memprof.start: the file name must be a string, not a "..
      type(name), 2)
  end
  return answer(mp.start("e", name, "--for=memprof"))
end

local sampling = false -- sysprof's profile is under way, as far as is known.

local function stop()
  if sampling then return answer(nil, nil, 3) end
  return answer(mp.stop())
end

-- -- sysprof ------------------------------------------------------------------

-- The states of LuaJIT's profiler, of which sysprof has more.
local names = { I = "LFUNC", N = "TRACE", C = "CFUNC", G = "GC", J = "RECORD" }

local function counts(rows)
  local n = { INTERP = 0, LFUNC = 0, FFUNC = 0, CFUNC = 0, GC = 0, EXIT = 0,
    RECORD = 0, OPT = 0, ASM = 0, TRACE = 0 }
  local report = { samples = 0, vmstate = n }
  for _, row in ipairs(rows) do
    if row.cpu > 0 then
      report.samples = report.samples + row.cpu
      n[names[row.state]] = n[names[row.state]] + row.cpu
    end
  end
  return report
end

local last = counts({}) -- Of the profile that ended last.

local function misuse() return nil, "profiler misuse", EINVAL end

-- The options, or nil: they are wrong.
local function sysprof_options(o)
  if type(o) ~= "table" then return nil end
  local mode, interval, path = o.mode, o.interval, o.path
  if mode ~= "D" and mode ~= "L" and mode ~= "C" then return nil end
  if type(interval) ~= "number" then interval = 10 end
  if interval < 1 or interval > 1e6 then return nil end
  if mode == "D" then path = "/dev/null"
  elseif path == nil then path = "sysprof.bin" end
  return type(path) == "string" and path, math.floor(interval)
end

-- The stacks are there in each mode; D writes no file.
local function sysprof_start(o)
  local path, interval = sysprof_options(o)
  if not path then return misuse() end
  local ok, msg, errno = mp.start("cfi"..interval, path, "--for=memprof")
  if ok then
    sampling = true
    last = counts({})
  end
  return answer(ok, msg, errno)
end

local function sysprof_stop()
  if not sampling then return answer(nil, nil, 3) end
  local p, msg, errno = mp.snapshot()
  if not p then
    sampling = errno ~= 3 -- It was ended elsewhere.
    return answer(nil, msg, errno)
  end
  sampling, last = false, counts(p.rows)
  return answer(mp.stop())
end

local function sysprof_report()
  if sampling then return misuse() end
  return last
end

-- -- Metrics ------------------------------------------------------------------

local MAX_TRACES = 65535

-- Traces that there are. Not compiled, as a trace of this would be one more.
local function count_traces()
  local traceir, n = util.traceir, 0
  for number = 1, traceir and MAX_TRACES or 0 do
    if traceir(number, 0) then n = n + 1 end
  end
  return n
end
jit.off(count_traces)

-- A number that LuaJIT does not keep is absent, and not 0.
local function getmetrics()
  return {
    gc_total = collectgarbage("count") * 1024, jit_trace_num = count_traces()
  }
end

-- -- The module ---------------------------------------------------------------

-- In place of memprof's parser: its options, and the name of a profile.
local function parse(args)
  local words, opts = { "report" }, "e"
  for _, word in ipairs(args) do
    if word == "--human-readable" then opts = "ek"
    else words[#words+1] = word end
  end
  words[#words+1] = "--options="..opts
  os.exit(require("jit.mp.cli.command").main(words, { luajit = "luajit" }),
    true)
end

local misc = {
  getmetrics = getmetrics,
  memprof = { start = start, stop = stop },
  sysprof = {
    start = sysprof_start, stop = sysprof_stop, report = sysprof_report
  }
}

if rawget(_G, "misc") == nil then rawset(_G, "misc", misc) end
if not package.preload.memprof and
    not package.searchpath("memprof", package.path) then
  package.preload.memprof = function() return parse end
end
return misc
