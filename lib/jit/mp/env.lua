-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A profile by the environment alone: LUA_INIT='require"jit.mp.env"', or the
-- preloaded library, makes the program load this module.
--
--   LUAJIT_MP         options and outputs, as after -jm=
--   LUAJIT_MP_SIGNAL  the signal that begins a profile, and ends it
--
-- The program runs, whatever fails here.
----------------------------------------------------------------------------

-- Whether a function of jit.mp did what it should; says why not.
local function check(done, ok, msg)
  if done and ok ~= nil then return true end
  msg = tostring(done and msg or ok):gsub("^.-jit%.mp: ", "")
  io.stderr:write("luajit-mp: ", msg, "\n")
end

local function words(text)
  local list = {}
  for word in (text..","):gmatch("([^,]*),") do list[#list+1] = word end
  return list
end

-- The signal calls this again and again.
local function switch(mp, what)
  local running = false
  return function()
    if running then
      check(pcall(mp.stop))
      running = false
    else
      running = check(pcall(mp.start, unpack(what)))
    end
  end
end

local function begin(what, signal)
  local ok, mp = pcall(require, "jit.mp")
  if not check(ok, mp) then return end
  what = words(what)
  if signal then
    local core = require("jit.mp.core")
    check(pcall(core.on_signal, signal, switch(mp, what)))
  else
    what[#what+1] = "--for=program"
    check(pcall(mp.start, unpack(what)))
  end
end

local what, signal = os.getenv("LUAJIT_MP"), os.getenv("LUAJIT_MP_SIGNAL")
if what == "" then what = nil end
if signal == "" then signal = nil end
if what or signal then begin(what or "f", signal) end
