-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The bytes in use from the start of a profile to now, as one line of text.
----------------------------------------------------------------------------

local numbers = require("jit.mp.model.numbers")

local MOST = 60 -- Columns of the curve.
local LEAST = 8

local fine = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }
local plain = { "_", ".", "-", "=", "#" } -- Where UTF-8 cannot be shown.

local function bars()
  local locale = ""
  for _, name in ipairs({ "LC_ALL", "LC_CTYPE", "LANG" }) do
    if locale == "" then locale = os.getenv(name) or "" end
  end
  return locale:lower():find("utf%-?8") and fine or plain
end

-- The most bytes in each part of the run's course, a part for each column. A
-- part without a point has the value of the one before.
local function parts(course, wall, columns)
  local t, last = {}, 0
  for _, point in ipairs(course) do
    local i = math.floor(point.wall / wall * columns) + 1
    i = math.max(1, math.min(columns, i))
    t[i] = math.max(t[i] or 0, point.inuse)
  end
  for i = 1, columns do
    last = t[i] or last
    t[i] = last
  end
  return t
end

-- A bar for each part of the course, with their highest value behind them, as
-- a line; nil where there is nothing to show yet. indent: spaces before them.
return function(p, o, width, indent)
  local wall, high, out = p.info.wall or 0, 0, {}
  local room = (width or 80) - indent - #"   up to 1.00 MiB"
  local columns = math.max(LEAST, math.min(MOST, room))
  if wall <= 0 or #p.course < 2 then return nil end
  local values, signs = parts(p.course, wall, columns), bars()
  for _, v in ipairs(values) do high = math.max(high, v) end
  if high <= 0 then return nil end
  for i, v in ipairs(values) do
    out[i] = signs[math.max(1, math.ceil(v / high * #signs))]
  end
  return (" "):rep(indent)..table.concat(out).."   up to "..
    numbers.bytes(high, o.kib).."\n"
end
