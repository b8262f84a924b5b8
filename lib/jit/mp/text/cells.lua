-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Cells of a text table: padding, cutting, and rows that are aligned.
----------------------------------------------------------------------------

local numbers = require("jit.mp.model.numbers")
local style = require("jit.mp.text.style")
local widths = require("jit.mp.text.width")

local first, last, width_of = widths.first, widths.last, widths.width

local READABLE = 16 -- Columns that are enough to tell names,
local SENTENCE = 50 -- and for names with reasons, or with their callers.

-- A text on the right of n columns.
local function pad(s, n) return (" "):rep(n - width_of(s))..s end

-- Cuts a name in the middle; its line number stays.
local function cut(name, width)
  if width_of(name) <= width then return name end
  local tail = name:match(":%d+%)?$") or ""
  local keep = math.max(width - 3 - #tail, 2)
  local left = math.ceil(keep / 2)
  local body = name:sub(1, #name - #tail)
  return first(body, left).."..."..last(body, keep - left)..tail
end

-- Cuts a line at its end.
local function clip(line, width)
  if width_of(line) <= width then return line end
  return first(line, math.max(width - 3, 0)).."..."
end

local LEVEL = 10 -- Columns that a level of a name has at least.

-- Cuts a name of several levels ("a < b < c"): the longest levels first; where
-- that is not enough the last ones are left out.
local function cut_levels(name, width)
  local levels, sep = {}, name:match(" [<>] ")
  if width_of(name) <= width or not sep then return cut(name, width) end
  for level in (name..sep):gmatch("(.-)"..sep) do levels[#levels+1] = level end
  while true do
    local excess, longest = width_of(table.concat(levels, sep)) - width, 1
    if excess <= 0 then return table.concat(levels, sep) end
    for i, level in ipairs(levels) do
      if width_of(level) > width_of(levels[longest]) then longest = i end
    end
    local room = math.max(width_of(levels[longest]) - excess, LEVEL)
    local shorter = cut(levels[longest], room)
    if width_of(shorter) < width_of(levels[longest]) then
      levels[longest] = shorter
    elseif #levels > 2 then
      levels[#levels-1], levels[#levels] = "...", nil
    else
      return cut(table.concat(levels, sep), width)
    end
  end
end

-- A line broken into several where the terminal is narrower. hang: columns that
-- the others are to the right of the first one, 2 if nil.
local function wrap(line, width, hang)
  if not width or width_of(line) <= width + 1 then return line end
  local indent = line:match("^ *")
  local next_indent = indent..(" "):rep(hang or 2)
  local lines, now = {}, nil
  for word in line:gmatch("%S+") do
    if now and width_of(now) + 1 + width_of(word) > width then
      lines[#lines+1], now = now, next_indent..word
    else
      now = now and now.." "..word or indent..word
    end
  end
  lines[#lines+1] = now
  return table.concat(lines, "\n").."\n"
end

-- Parts of a line, or of several where the terminal is narrower: those after
-- the first line have that indent.
local function parts(list, width, indent)
  local lines, line = {}, nil
  for _, part in ipairs(list) do
    if line and width and width_of(line) + 3 + width_of(part) > width then
      lines[#lines+1], line = line, (" "):rep(indent)..part
    else
      line = line and line.."   "..part or part
    end
  end
  lines[#lines+1] = line
  for i, text in ipairs(lines) do
    lines[i] = wrap(text:gsub(" +$", "").."\n", width)
  end
  return table.concat(lines)
end

-- The arrow before a name on a level below the first, which is 0, as in jit.p:
-- for callers, functions that are called, or parts. kind: as in the options'
-- levels. Raw reports are for programs.
local function arrow(o, kind, level)
  if o.raw then return ("  "):rep(level) end
  return ("   "):rep(level - 1)..(kind ~= "callers" and "-- " or
    o.depth < 0 and "-> " or "<- ")
end

-- Whether names have so little room beside their numbers that they are to
-- stand on lines of their own, above these. longest: columns of the longest
-- name; least: those that are enough, if not as usual.
local function above(room, longest, least)
  return room < math.min(longest, least or READABLE)
end

-- Widths of the cells of rows but the last, their sum with all spaces, and the
-- width of the widest last one.
local function measure(list)
  local w, left, longest = {}, 2, 0
  for _, r in ipairs(list) do
    for i = 1, #r - 1 do w[i] = math.max(w[i] or 0, width_of(r[i])) end
    longest = math.max(longest, width_of(r[#r]))
  end
  for i = 1, #w do left = left + w[i] + 3 end
  return w, left, longest
end

-- Rows of cells as text: all but the last cell of a row, which is a name, are
-- aligned on the right. width: columns of the terminal, or nil. bold: the cells
-- that a row names with its field bold are bold. least: as in above().
local function rows(list, width, bold, least)
  local out, w, left, longest = {}, measure(list)
  local stacked = width and above(width - left, longest, least)
  for _, r in ipairs(list) do
    local t, name = {}, r[#r]
    for i = 1, #r - 1 do
      t[i] = pad(r[i], w[i])
      if bold and r.bold == i then t[i] = style.bold(t[i]) end
    end
    if stacked and name ~= "" then
      out[#out+1] = "  "..cut_levels(name, width - 2).."\n"
    elseif not stacked then
      t[#r] = width and cut_levels(name, width - left) or name
    end
    out[#out+1] = ("  "..table.concat(t, "   ").."\n"):gsub(" +\n", "\n")
  end
  return table.concat(out)
end

-- The line below a table that counts the rows which the limit hides, or "".
local function hidden(n, o, width)
  return n == 0 and "" or wrap(("  and %s below %g%%: option m\n"):format(
    numbers.counted(n, "row"), o.min), width)
end

return {
  above = above, pad = pad, cut = cut, clip = clip, cut_levels = cut_levels,
  wrap = wrap, parts = parts, arrow = arrow, rows = rows,
  hidden = hidden, SENTENCE = SENTENCE
}
