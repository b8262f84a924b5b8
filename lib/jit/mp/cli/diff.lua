-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp diff: two profiles beside each other.
----------------------------------------------------------------------------

local compare = require("jit.mp.text.diff")
local files = require("jit.mp.cli.files")
local formats = require("jit.mp.format.formats")
local growth = require("jit.mp.heap.growth")
local paths = require("jit.mp.heap.paths")
local render = require("jit.mp.render")
local stop = require("jit.mp.cli.stop")

-- A percentage; nil: none is given.
local function threshold(text, command)
  if not text then return nil end
  local n = tonumber(text)
  if n and n >= 0 and n < math.huge then return n end
  stop.usage("diff: --threshold needs a percentage of 0 or more, as in 10",
    command)
end

-- The field of a row that orders them; nil: the size of the change.
local function order(word, command)
  if not word or word == "change" then return nil end
  if word == "before" or word == "after" or word == "name" then return word end
  stop.usage(("diff: --sort takes change, before, after or name, not %q")
    :format(word), command)
end

-- Fails where the profiles differ by more.
local function check(limit, by_share, amount, view, row)
  if not limit or amount <= limit then return end
  if by_share then
    stop.data(("diff: %s: the share of %s changed by %.1f points, more than %g")
      :format(view, row, amount, limit))
  end
  local change = amount == math.huge and "from nothing" or
    ("by %.1f%%"):format(amount)
  stop.data(("diff: %s grew %s, more than %g%%%s"):format(view, change,
    limit, row and ", most in "..row or ""))
end

-- Fails if an option has no effect: --share has one in text and on the
-- threshold.
local function check_effects(o, given, format, out, command)
  o.target = "diff"
  files.check_effects(o, given, { out or "-" }, command)
  if given.share and format and not given.threshold then
    stop.usage("diff: --share has no effect with .html: the page shows both",
      command)
  end
end

-- The tables of both, and the growth of their heaps where both were walked.
local function compare_all(old, new, o, given, env)
  if o.report then
    local text, amount, row = growth.text(old, new, o, env)
    return text, amount, "the heap that is held", row
  end
  local text, amount, view, row = compare(old, new, o, given.share, env)
  if not given.opts and not (paths.absent(old.walk) or
      paths.absent(new.walk)) then
    text = text..(growth.text(old, new, o, env))
  end
  return text, amount, view, row
end

return function(given, operands, command)
  local o = files.parse_options(given.opts or "f", given, command)
  local other = o.report ~= "W" and o.report or o.second
  if other then
    stop.usage(("diff: option %s is a report of one profile: here options "..
      "such as fl, s, t and z choose the rows, and c, h, u, x the views")
      :format(other), command)
  elseif o.report and given.share then
    stop.usage("diff: --share has no effect with option W", command)
  end
  o.diff_sort = order(given.sort, command)
  local limit = threshold(given.threshold, command)
  local out = files.check_output(given.out and given.out[1], command)
  local format = out and formats.of(out)
  if format and format[1] ~= ".html" then
    stop.usage("diff: writes text or .html", command)
  end
  check_effects(o, given, format, out, command)
  if operands[1] == "-" and operands[2] == "-" then
    stop.usage("diff: standard input can be read only once", command)
  end
  local old, new = files.read(operands[1]), files.read(operands[2])
  for i, p in ipairs { old, new } do
    local msg = render.lacking(p, o) or o.report and paths.absent(p.walk) and
      "no heap walk: "..paths.absent(p.walk)
    if msg then stop.data(operands[i]..": "..msg) end
  end
  local env = {}
  env.width, env.bold = files.looks(out)
  local text, amount, view, row = compare_all(old, new, o, given, env)
  if format then
    files.write(new, o, out, { before = old, source_root = given.source_root })
  else
    files.write_text(out, text)
  end
  check(limit, given.share, amount, view, row)
end
