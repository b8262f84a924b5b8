----------------------------------------------------------------------------
-- The difference of two profiles: each row before and after, by change.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local facts = require("jit.mp.model.facts")
local keys = require("jit.mp.model.keys")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

-- Sums of one view by the first level's key, by name.
local function sums(p, o, view)
  local list, totals = p:sums({ view }, o.objects, (keys(p, o)))
  local by = {}
  for _, e in ipairs(list) do by[e.name] = e[1] end
  return by, totals[1]
end

-- What a number is compared by: its share of the total, or itself; CPU
-- samples in seconds.
local function scale(p, o, view, total, by_share)
  if by_share then return total > 0 and 100 / total or 0 end
  return view == "cpu" and total > 0 and p.info.cpu / total or 1
end

local function format(o, view, by_share, v)
  if by_share then return ("%.1f%%"):format(v) end
  if view == "cpu" then return numbers.seconds(v) end
  return o.objects and numbers.count(v) or numbers.bytes(v, o.kib)
end

local function signed(text, v)
  return (v > 0 and "+" or v < 0 and "-" or "")..text
end

-- Rows of one view: { name, before, after }, the largest change first.
local function compare(old, new, o, view, by_share)
  local a, atotal = sums(old, o, view)
  local b, btotal = sums(new, o, view)
  local ka = scale(old, o, view, atotal, by_share)
  local kb = scale(new, o, view, btotal, by_share)
  local list, seen = {}, {}
  local function add(name)
    if seen[name] then return end
    seen[name] = true
    local before, after = (a[name] or 0) * ka, (b[name] or 0) * kb
    list[#list+1] = { name = name, before = before, after = after,
      change = after - before, size = math.abs(after - before) }
  end
  for name in pairs(a) do add(name) end
  for name in pairs(b) do add(name) end
  return views.sort(list, "size"), atotal * ka, btotal * kb
end

local function put_view(out, old, new, o, view, by_share)
  local list, before, after = compare(old, new, o, view, by_share)
  local rows = { { "before", "after", "change", views.by[view].title } }
  local function row(name, a, b)
    rows[#rows+1] = { format(o, view, by_share, a),
      format(o, view, by_share, b),
      signed(format(o, view, by_share, math.abs(b - a)), b - a), name }
  end
  if before == 0 and after == 0 then return 0 end
  if not by_share then row("(all)", before, after) end
  local largest = by_share and 100 or math.max(before, after)
  local n = 0
  for _, e in ipairs(list) do
    if views.shows(e.size / largest, o) then
      row(e.name, e.before, e.after)
      n = n + 1
    end
  end
  if n == 0 then
    rows[#rows+1] = { "", "", "", ("(no row changes by %d%%)"):format(o.min) }
  end
  out[#out+1] = cells.rows(rows)
  out[#out+1] = "\n"
  local grew = before > 0 and (after - before) / before * 100 or
    after > 0 and math.huge or 0
  return by_share and (list[1] and math.abs(list[1].change) or 0) or grew
end

local function head(p, title)
  return ("%s  %s  %s CPU   %s allocated   in use %s, peak %s\n"):format(title,
    facts.script(p) or "?", numbers.seconds(p.info.cpu),
    numbers.bytes(p.heap.alloc_bytes),
    numbers.bytes(p.heap.inuse), numbers.bytes(p.heap.peak))
end

-- by_share: compares shares of each total, for runs of different length.
-- Returns the text, and the largest growth: of a view's total in percent, or
-- of a row's share in points.
return function(old, new, o, by_share)
  local out = { head(old, "before"), head(new, "after "), "\n" }
  local most = 0
  for _, view in ipairs(o.views) do
    most = math.max(most, put_view(out, old, new, o, view, by_share))
  end
  if #out == 3 then out[4] = "both profiles are empty\n" end
  return table.concat(out), most
end
