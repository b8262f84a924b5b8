-- SPDX-License-Identifier: MIT
-- Programs whose memory is known to leak (leaking.lua) or not (sound.lua):
--   luajit leak-programs.lua NAME STEPS [SEED [exit]]
-- A step is a request: most programs make some garbage for it, and do what
-- their name says. exit: ends by os.exit, as the manual advises.

local name, steps, seed = arg[1], tonumber(arg[2]), tonumber(arg[3] or 1)
math.randomseed(seed)

package.path = (arg[0]:match("^.*/") or "").."?.lua;"..package.path

local kept = (require("leaking")[name] or require("sound")[name])(steps)
if arg[4] == "exit" then os.exit(0) end
return kept
