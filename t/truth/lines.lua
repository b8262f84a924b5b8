-- SPDX-License-Identifier: MIT
-- Bytes by line: compiled code has those of the interpreter, to half a percent
-- of all that a program allocates:
--   ./run luajit t/truth/lines.lua [PROGRAM...]
--
-- As usual the compiler removes allocations: a line may have less, but none has
-- more. Where objects are not sunk no line has less, either, but for programs
-- of which other optimizations remove something. Random programs follow: of
-- objects that are sunk, and of functions that are entered in many ways.

local tap = require("tap")
package.path = tap.srcdir.."/t/truth/?.lua;"..package.path
local bytes = require("bytes")
local entries = require("entries")
local sunken = require("sunken")

local LIMIT = 0.005

local modes = {
  { "", "as usual" },
  { "-O-sink", "nothing sunk", all = true },
  { "-Ohotloop=2 -Ohotexit=2", "compiled early" },
  { "-Ohotexit=250", "with late side traces" },
}

local function namer(p)
  local name = p:namer("l", false, 1)
  return function(row)
    return select(2, p:source_line(row)) and name(row)[1]
  end
end

local function compare(name, program)
  local off, total = bytes.by_place(program, "-joff", "b1", namer)
  if not tap.ok(off, name.." runs interpreted", total) then return end
  for _, mode in ipairs(modes) do
    local on, msg = bytes.by_place(program, mode[1], "b1", namer)
    if tap.ok(on, name.." runs "..mode[2], msg) then
      local more, less, bad = bytes.moved(on, off, total * LIMIT)
      tap.diag(("%s, %s: %.2f%% more, %.2f%% less of %.1f MB"):format(name,
	mode[2], more / total * 100, less / total * 100, total / 1e6))
      local may = bytes.makes_more[name]
      tap.ok(may or more <= total * LIMIT, ("%s, %s: no line has more"):format(
	name, mode[2]), bad)
      if mode.all and not bytes.folds[name] then
	tap.ok(less <= total * LIMIT, ("%s, %s: no line has less"):format(name,
	  mode[2]), bad)
      end
    end
  end
end

bytes.need_exact()
bytes.each(arg, compare)
for what, random in pairs { sunk = sunken, entered = entries } do
  for seed = 1, arg[1] and 0 or 40 do
    local name = what.." "..seed
    bytes.folds[name] = true
    compare(name, tap.program(random.program(seed)))
  end
end
tap.done()
