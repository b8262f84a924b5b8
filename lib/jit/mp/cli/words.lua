-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Words that stand for one of a list: in full, by their beginning, or nearly.
----------------------------------------------------------------------------

-- The words of a list that begin like this one; it alone, if it is one of them.
local function candidates(word, list)
  local found = {}
  for _, w in ipairs(list) do
    if w == word then return { w } end
    if w:sub(1, #word) == word then found[#found+1] = w end
  end
  return found
end

-- The number of letters that differ: left out, too much, changed, or exchanged
-- with the next.
local function distance(a, b)
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local last = row
    row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      row[j] = math.min(last[j] + 1, row[j-1] + 1,
	last[j-1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and
	  a:byte(i - 1) == b:byte(j) then
	row[j] = math.min(row[j], before[j-2] + 1)
      end
    end
    before = last
  end
  return row[#b]
end

-- The word of a list that may have been meant; nil: none is near.
local function nearest(word, list)
  local best, least = nil, math.max(1, math.min(2, math.floor(#word / 3))) + 1
  if #word > 64 then return nil end
  for _, w in ipairs(list) do
    local d = distance(word, w)
    if d < least then best, least = w, d end
  end
  return best
end

-- Finds the word of a list that a word stands for. Otherwise nil, and what a
-- message says of that: "unknown" or "ambiguous", and what it may mean.
local function find(word, list)
  local found = candidates(word, list)
  if #found == 1 then return found[1] end
  if #found > 1 then
    return nil, "ambiguous", (" (%s)"):format(table.concat(found, " or "))
  end
  local near = nearest(word, list)
  return nil, "unknown", near and (" (did you mean %s?)"):format(near) or ""
end

return { find = find }
