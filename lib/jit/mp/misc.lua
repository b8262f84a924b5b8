-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Stands in for Tarantool's misc, of which it has the memory profiler:
--
--   local misc = require("jit.mp.misc")
--   misc.memprof.start("memprof.bin")  -- true; or nil, message, errno
--   misc.memprof.stop()                -- the same
--
-- The file is a profile with exact events: luajit-mp report memprof.bin e
-- Tarantool's own tools read it as memprof's (format/memprof).
--
-- The module is the global misc, too, where there is none, and
-- require("memprof")(arg) is that report, where there is no such module.
----------------------------------------------------------------------------

local mp = require("jit.mp")

local EINVAL = 22

-- The messages of memprof, by our error numbers: EALREADY and ESRCH.
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

local function stop()
  return answer(mp.stop())
end

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

local misc = { memprof = { start = start, stop = stop } }

if rawget(_G, "misc") == nil then rawset(_G, "misc", misc) end
if not package.preload.memprof and
    not package.searchpath("memprof", package.path) then
  package.preload.memprof = function() return parse end
end
return misc
