-- SPDX-License-Identifier: MIT
-- Bytes by stack of functions, with lines and without: compiled code has those
-- of the interpreter, to half a percent of all that a program allocates:
--   ./run luajit t/truth/functions.lua [PROGRAM...]
--
-- As usual the compiler removes allocations: a stack may have less, but none
-- has more. Where objects are not sunk no stack has less, either, but for
-- programs of which other optimizations remove something. Code that is left
-- often may have one percent more: what came after the last snapshot before a
-- guard that fails is done again by the interpreter, allocations too.

local tap = require("tap")
package.path = tap.srcdir.."/t/truth/?.lua;"..package.path
local bytes = require("bytes")
local stacks = require("stacks")

local LIMIT, LEFT = 0.005, 0.01

local modes = {
  { "", "as usual" },
  { "-O-sink", "nothing sunk", all = true },
  { "-Ohotloop=2 -Ohotexit=2", "compiled early", limit = LEFT },
}

local kinds = {
  { "with lines", "b1", stacks.whole },
  { "without lines", "jb1", stacks.collapsed },
}

local function compare_modes(name, program, options, namer)
  local off, total = bytes.by_place(program, "-joff", options, namer)
  if not tap.ok(off, name.." runs interpreted", total) then return end
  for _, mode in ipairs(modes) do
    local on, msg = bytes.by_place(program, mode[1], options, namer)
    if tap.ok(on, name.." runs "..mode[2], msg) then
      local limit = total * (mode.limit or LIMIT)
      local more, less, bad = bytes.moved(on, off, limit)
      tap.diag(("%s, %s: %.2f%% more, %.2f%% less of %.1f MB"):format(name,
	mode[2], more / total * 100, less / total * 100, total / 1e6))
      tap.ok(more <= limit, ("%s, %s: no stack has more"):format(name,
	mode[2]), bad)
      if mode.all and not bytes.folds[name:match("^[^,]*")] then
	tap.ok(less <= limit, ("%s, %s: no stack has less"):format(name,
	  mode[2]), bad)
      end
    end
  end
end

local function compare(name, program)
  for _, kind in ipairs(kinds) do
    compare_modes(name..", "..kind[1], program, kind[2], kind[3])
  end
end

bytes.need_exact()
bytes.each(arg, compare)
tap.done()
