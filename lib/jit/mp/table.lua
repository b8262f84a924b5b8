----------------------------------------------------------------------------
-- The default report: a table with a group of columns for each view, in one
-- or two levels.
----------------------------------------------------------------------------

local numbers = require("jit.mp.numbers")
local empty = require("jit.mp.empty")

local titles = { cpu = "CPU", alloc = "allocated", inuse = "in use" }

-- What a row counts for on each level, by the options.
local function keys(p, o)
  local depth = math.abs(o.depth)
  local sep = o.depth < 0 and " > " or " < "
  local function joined(names, from)
    local t = {}
    for i = from, #names do
      t[#t+1] = names[o.depth < 0 and #names + from - i or i]
    end
    return table.concat(t, sep)
  end
  local function state(row)
    return o.states == "v" and p:state_name(row) or p:zone_name(row)
  end
  if o.scope == "" then return state end
  local namer = p:namer(o.scope, o.path, depth)
  local function whole(row) return joined(namer(row), 1) end
  if o.split == "state" then return state, whole end
  if o.split == "scope" then return whole, state end
  if o.split == "lines" then
    local lines = p:namer("l", o.path, 1)
    return whole, function(row) return lines(row)[1] end
  elseif o.split == "stack" then
    -- The first level is the function, or with -<n> what called it.
    return function(row)
      local names = namer(row)
      return o.depth < 0 and names[#names] or names[1]
    end, function(row)
      local names = namer(row)
      if #names < 2 then return nil end
      if o.depth > 0 then return joined(names, 2) end
      local t = {}
      for i = #names - 1, 1, -1 do t[#t+1] = names[i] end
      return table.concat(t, sep)
    end
  end
  return whole
end

-- Largest share of an entry in any view, 0 to 1.
local function largest(e, totals)
  local max = 0
  for i, total in ipairs(totals) do
    if total > 0 then max = math.max(max, e[i] / total) end
  end
  return max
end

-- Sorts by largest share; equal ones by name, so that reports can be compared.
local function sort(list, totals)
  for _, e in ipairs(list) do e.share = largest(e, totals) end
  table.sort(list, function(a, b)
    if a.share ~= b.share then return a.share > b.share end
    return a.name < b.name
  end)
end

-- Rows to be shown: { level, entry }.
local function visible(list, totals, o)
  local rows = {}
  local function add(entries, level)
    sort(entries, totals)
    for _, e in ipairs(entries) do
      if math.floor(e.share * 100 + 0.5) >= o.min and e.share > 0 then
	rows[#rows+1] = { level = level, e = e }
	if e.sub then add(e.sub, level + 1) end
      end
    end
  end
  add(list, 0)
  return rows
end

-- Cells of an entry in a view: percentage, and amount.
local function cells(p, o, view, v, total)
  if v <= 0 or total <= 0 then return "", "" end
  if o.raw then return "", ("%.0f"):format(v) end
  local pct = ("%.0f%%"):format(v * 100 / total)
  if view == "cpu" then
    return pct, numbers.seconds(v * p.info.cpu / total)
  end
  return pct, o.objects and numbers.count(v) or numbers.bytes(v)
end

-- Cuts a name in the middle; its line number stays.
local function cut(name, width)
  if #name <= width or width < 8 then return name end
  local tail = name:match(":%d+$") or ""
  local keep = width - 3 - #tail
  if keep < 2 then return name:sub(1, width) end
  local left = math.ceil(keep / 2)
  local body = name:sub(1, #name - #tail)
  return body:sub(1, left).."..."..body:sub(#body - (keep - left) + 1)..tail
end

local function pad(s, n) return (" "):rep(n - #s)..s end

-- Columns of one view: its title and the cells of all rows, equally wide.
local function column(p, o, rows, i, view, total)
  local pcts, amounts, wp, wa = {}, {}, 0, 0
  for k, row in ipairs(rows) do
    local pct, amount = cells(p, o, view, row.e[i], total)
    if row.level > 0 and not o.raw and #o.views > 1 then amount = "" end
    pcts[k], amounts[k] = pct, amount
    wp, wa = math.max(wp, #pct), math.max(wa, #amount)
  end
  local title = titles[view]
  local gap = o.raw and 0 or 2
  local width = math.max(wp + gap + wa, #title)
  wa = width - wp - gap
  local out = { title = pad(title, width) }
  for k, row in ipairs(rows) do
    -- The second level is a little to the right of the first.
    local shift = row.level > 0 and #o.views > 1 and not o.raw and 2 or 0
    local text = pad(pcts[k], wp + shift)..(" "):rep(gap)..amounts[k]
    if shift == 0 then text = pad(pcts[k], wp)..(" "):rep(gap)..
      pad(amounts[k], wa) end
    out[k] = text..(" "):rep(width - #text)
  end
  return out
end

return function(p, o, width)
  local out = {}
  local list, totals = p:sums(o.views, o.objects, keys(p, o))
  local views, columns = {}, {}
  for i, view in ipairs(o.views) do
    if totals[i] > 0 then views[#views+1] = i
    else out[#out+1] = empty(p, view).."\n" end
  end
  local rows = visible(list, totals, o)
  if #rows == 0 then
    if #views > 0 then
      out[#out+1] = ("nothing reaches %d %%; option m sets the limit\n"):format(
	o.min)
    end
    return table.concat(out)
  end
  if #out > 0 then out[#out+1] = "\n" end
  for _, i in ipairs(views) do
    columns[#columns+1] = column(p, o, rows, i, o.views[i], totals[i])
  end
  local head = {}
  for k, c in ipairs(columns) do head[k] = c.title end
  out[#out+1] = "  "..table.concat(head, "   ").."\n"
  for k, row in ipairs(rows) do
    local line = {}
    for j, c in ipairs(columns) do line[j] = c[k] end
    local left = "  "..table.concat(line, "   ").."   "..("  "):rep(row.level)
    local name = row.e.name
    if width then name = cut(name, math.max(width - #left, 8)) end
    out[#out+1] = left..name.."\n"
  end
  return table.concat(out)
end
