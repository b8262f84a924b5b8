-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Cells of a text table: padding, cutting, and rows that are aligned.
----------------------------------------------------------------------------

-- A text on the right of n columns.
local function pad(s, n) return (" "):rep(n - #s)..s end

-- The first n bytes of a text, or the last ones, without parts of characters.
local function first(s, n)
  while n > 0 and s:find("^[\128-\191]", n + 1) do n = n - 1 end
  return s:sub(1, n)
end

local function last(s, n)
  local from = #s - n + 1
  while s:find("^[\128-\191]", from) do from = from + 1 end
  return s:sub(from)
end

-- Cuts a name in the middle; its line number stays.
local function cut(name, width)
  if #name <= width then return name end
  local tail = name:match(":%d+%)?$") or ""
  local keep = math.max(width - 3 - #tail, 2)
  local left = math.ceil(keep / 2)
  local body = name:sub(1, #name - #tail)
  return first(body, left).."..."..last(body, keep - left)..tail
end

local LEVEL = 10 -- Columns that a level of a name has at least.

-- Cuts a name of several levels ("a < b < c"): the longest levels first; where
-- that is not enough the last ones are left out.
local function cut_levels(name, width)
  local levels, sep = {}, name:match(" [<>] ")
  if #name <= width or not sep then return cut(name, width) end
  for level in (name..sep):gmatch("(.-)"..sep) do levels[#levels+1] = level end
  while true do
    local excess, longest = #table.concat(levels, sep) - width, 1
    if excess <= 0 then return table.concat(levels, sep) end
    for i, level in ipairs(levels) do
      if #level > #levels[longest] then longest = i end
    end
    local room = math.max(#levels[longest] - excess, LEVEL)
    local shorter = cut(levels[longest], room)
    if #shorter < #levels[longest] then
      levels[longest] = shorter
    elseif #levels > 2 then
      levels[#levels-1], levels[#levels] = "...", nil
    else
      return cut(table.concat(levels, sep), width)
    end
  end
end

-- A line broken into several where the terminal is narrower.
local function wrap(line, width)
  if not width or #line <= width + 1 then return line end
  local indent = line:match("^ *")
  local lines, now = {}, nil
  for word in line:gmatch("%S+") do
    if now and #now + 1 + #word > width then
      lines[#lines+1], now = now, indent.."  "..word
    else
      now = now and now.." "..word or indent..word
    end
  end
  lines[#lines+1] = now
  return table.concat(lines, "\n").."\n"
end

-- Rows of cells as text: all but the last cell of a row are aligned on the
-- right.
local function rows(list)
  local w, out = {}, {}
  for _, r in ipairs(list) do
    for i = 1, #r - 1 do w[i] = math.max(w[i] or 0, #r[i]) end
  end
  for _, r in ipairs(list) do
    local t = {}
    for i = 1, #r - 1 do t[i] = pad(r[i], w[i]) end
    t[#r] = r[#r]
    out[#out+1] = "  "..table.concat(t, "   ").."\n"
  end
  return table.concat(out)
end

return {
  pad = pad, cut = cut, cut_levels = cut_levels, wrap = wrap, rows = rows
}
