-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Makes the -jm option of the luajit command work: it loads jit.m.
-- The profiler itself is jit.mp.
----------------------------------------------------------------------------

local function start(opts, ...)
  require("jit.mp")
  local core = require("jit.mp.core")
  -- Where the script is not there or is none, luajit says so, and nothing runs.
  local script = type(arg) == "table" and arg[0]
  if type(script) == "string" and script ~= "-" and
      core.files.cannot_run(script) then
    return
  end
  return core.by_option(opts, ...)
end

local function stop()
  return require("jit.mp").stop()
end

return {
  start = start, -- For -j command line option.
  stop = stop
}
