-- SPDX-License-Identifier: MIT
-- LÖVE, where it is installed: a game that the command runs, one that starts
-- the profile itself, and one that is attached to. It has no window.

local tap = require("tap")

if tap.sh("love --version").status ~= 0 then tap.skip("no love") end

local dir = tap.tmpdir()
tap.write(dir.."/conf.lua", [[
function love.conf(t)
  for _, name in ipairs({ "audio", "sound", "video", "joystick", "window",
      "graphics" }) do
    t.modules[name] = false
  end
end
]])
local function game(start)
  tap.write(dir.."/main.lua", start..[[

local keep, frames = {}, 0
local function step(n)
  for i = 1, n do keep[i % 10] = { i } end
end
function love.update()
  step(20000)
  frames = frames + 1
  if frames == 200 then love.event.quit(7) end
end
]])
end
local function is_right(text, how)
  tap.like(text, "   step\n", how..": the function of a callback")
  tap.like(text, "%-%- main%.lua:4\n", how..": its line")
  tap.like(text, "\nCPU +[%d.]+ m?s +%d%d+ samples", how..": CPU samples")
end

game("")
local r = tap.sh(tap.mp.." run -O fl -o game.txt -- love .", { dir = dir })
tap.is(r.status, 7, "the game ends as it would", r.err)
is_right(tap.read(dir.."/game.txt"), "run")

game('require("jit.mp").start("fl", "own.txt")')
r = tap.sh("love .", { dir = dir })
tap.is(r.status, 7, "a game with a start: ends as it would", r.err)
is_right(tap.read(dir.."/own.txt"), "a start in main.lua")

tap.done()
