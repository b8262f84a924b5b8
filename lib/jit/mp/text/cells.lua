----------------------------------------------------------------------------
-- Cells of a text table: padding, cutting, and rows that are aligned.
----------------------------------------------------------------------------

-- A text on the right of n columns.
local function pad(s, n) return (" "):rep(n - #s)..s end

-- Cuts a name in the middle; its line number stays.
local function cut(name, width)
  if #name <= width then return name end
  local tail = name:match(":%d+%)?$") or ""
  local keep = math.max(width - 3 - #tail, 2)
  local left = math.ceil(keep / 2)
  local body = name:sub(1, #name - #tail)
  return body:sub(1, left).."..."..body:sub(#body - (keep - left) + 1)..tail
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

return { pad = pad, cut = cut, rows = rows }
