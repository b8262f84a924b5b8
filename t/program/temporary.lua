-- SPDX-License-Identifier: MIT
-- Objects that the first collection after their birth frees are temporary, and
-- no others, whatever the number of collections that these outlived.

local tap = require("tap")

if not tap.knows_layout() then tap.skip("births are not known there") end

-- The object that the chunk "made<n>" makes outlives n collections.
local app = tap.program([[
local kept, lives = {}, { 0, 1, 2, 3, 125, 126, 127, 128, 129, 252, 253, 254,
  255, 256, 257, 381, 508, 509, 510, 511, 512 }
collectgarbage()
collectgarbage("stop")
for _, n in ipairs(lives) do
  kept[n] = load("return {}", "=made"..n)()
end
for n = 0, 513 do
  kept[n] = nil
  local garbage = { {}, tostring(n).."" }  -- A collection that frees is seen.
  if n == 200 then  -- Others, of a later birth.
    for k = 1, 5 do kept[n + k] = load("return {}", "=young")() end
  end
  collectgarbage()
  collectgarbage("stop")
end
]])

local out = tap.tmpname()
local r = tap.luajit("-jm=e,"..out.." "..app)
tap.is(r.status, 0, "the program runs")
local section, lives = tap.read(out):match("\n(TEMPORARY.-\n\n)"), {}
for n in section:gmatch("made(%d+):") do lives[#lives+1] = n end
tap.is(table.concat(lives, " "), "0", "only the first one")
tap.unlike(section, "young", "none that lived for longer")
tap.done()
