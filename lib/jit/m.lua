-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Makes the -jm option of the luajit command work: it loads jit.m.
-- The profiler itself is jit.mp.
----------------------------------------------------------------------------

local function start(opts, ...)
  local mp = require("jit.mp")
  -- Where the script is not there or is none, luajit says so, and nothing runs.
  local script = type(arg) == "table" and arg[0]
  if type(script) == "string" and script ~= "-" and
      require("jit.mp.core").files.cannot_run(script) then
    return
  end
  local valid, ok, msg = pcall(mp.start, opts, ...)
  -- The place in this file where an error was raised is of no use to the user.
  if not valid then error((tostring(ok):gsub("^.-(jit%.mp: )", "%1")), 0) end
  if ok == nil then error("jit.mp: "..msg, 0) end
  if not ok then os.exit(0, true) end -- The options were printed.
end

local function stop()
  return require("jit.mp").stop()
end

return {
  start = start, -- For -j command line option.
  stop = stop
}
