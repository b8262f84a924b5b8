-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The growth between two heap walks, by path.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local paths = require("jit.mp.heap.paths")
local views = require("jit.mp.model.views")

local function key_of(line) return line.path.."\0"..line.type end

-- Adds lines up by path and type. field: "before" or "after".
local function add(list, into, field)
  for _, line in ipairs(list) do
    local key = key_of(line)
    local d = into[key]
    if not d then
      d = { path = line.path, type = line.type, before = 0, after = 0,
	count_before = 0, count_after = 0, chain = line.chain,
	above = line.above and into[key_of(line.above)] }
      into[key] = d
      into[#into+1] = d
    end
    d["has_"..field] = true
    d[field] = d[field] + line.bytes
    d["count_"..field] = d["count_"..field] + line.count
  end
end

-- The paths of two lists of lines (heap/paths): path, type, before and after in
-- bytes, count_before and count_after, has_before and has_after (whether there
-- was such a line), above (the holder's entry).
local function between(before, after)
  local all = {}
  add(before, all, "before")
  add(after, all, "after")
  return all
end

-- Sets `was` of the later walk's lines: the bytes of the earlier one's lines of
-- that path, where each walk has one such line.
local function mark(earlier, later)
  local was, many = {}, {}
  for _, line in ipairs((paths.lines(earlier))) do
    local key = key_of(line)
    many[key] = was[key] ~= nil
    was[key] = line.bytes
  end
  local seen = {}
  local list = paths.lines(later)
  for _, line in ipairs(list) do
    local key = key_of(line)
    many[key] = many[key] or seen[key]
    seen[key] = true
  end
  for i, line in ipairs(list) do
    local key = key_of(line)
    later.lines[i].was = not many[key] and was[key] or nil
  end
  later.base_at, later.base_least = earlier.at, earlier.least
end

-- -- As text -----------------------------------------------------------------

local function change_of(d) return d.after - d.before end

-- Whether one path below tells as good as all of the change.
local function set_passes(all)
  for _, d in ipairs(all) do
    local up, change = d.above, change_of(d)
    if up and not d.chain and change * change_of(up) > 0 and
	math.abs(change) >= math.abs(change_of(up)) * 0.9 then
      up.passes = true
    end
  end
end

-- The bytes of a line; a walk without it held less there than each object that
-- has one.
local function amount(has, bytes, walk, o)
  if has then return views.bytes(bytes, o) end
  return walk.least and "< "..views.bytes(walk.least, o) or "-"
end

local function signed(v, o)
  return (v > 0 and "+" or v < 0 and "-" or "")..views.bytes(math.abs(v), o)
end

local function counts(d)
  if d.count_before == d.count_after or not (d.has_before and d.has_after) then
    return ("%.0f x %s"):format(math.max(d.count_before, d.count_after), d.type)
  end
  return ("%.0f > %.0f x %s"):format(d.count_before, d.count_after, d.type)
end

-- Whether a change is large enough to be shown, and known: an object may have
-- held up to `least` bytes without a line of its own.
local function is_shown(d, old, new, o)
  local size = math.abs(change_of(d))
  local without = not d.has_before and old or not d.has_after and new
  return size > 0 and not d.passes and not d.chain and
    size >= math.max(old.held, new.held) * o.min / 100 and
    not (without and size < (without.least or 0))
end

-- The paths to be shown, and the one that grew most.
local function shown(old, new, o)
  local all = between((paths.lines(old.walk)), (paths.lines(new.walk)))
  local list, most = {}, nil
  set_passes(all)
  for _, d in ipairs(all) do
    local change = change_of(d)
    if is_shown(d, old.walk, new.walk, o) then
      d.name, d.size = d.path, math.abs(change)
      list[#list+1] = d
      if change > 0 and (not most or change > change_of(most)) then most = d end
    end
  end
  return views.sort(list, o.diff_sort ~= "name" and (o.diff_sort or "size") or
    nil), most
end

local function growth_of(a, b)
  return a.held > 0 and (b.held - a.held) / a.held * 100 or 0
end

-- The growth between the walks of two profiles, which both have one; that of
-- all that is held, in percent; and the path that grew most, if any.
local function text(old, new, o, env)
  local a, b = old.walk, new.walk
  local list, most = shown(old, new, o)
  local rows = { { "before", "after", "change", "path" },
    { views.bytes(a.held, o), views.bytes(b.held, o),
      signed(b.held - a.held, o), "(all that is held)" } }
  for _, d in ipairs(list) do
    rows[#rows+1] = { amount(d.has_before, d.before, a, o),
      amount(d.has_after, d.after, b, o), signed(change_of(d), o),
      d.path.."  ("..counts(d)..")" }
    if d == most then rows[#rows].bold = 3 end
  end
  if not list[1] then
    rows[#rows+1] = { "", "", "", ("(no path changes by %g%%)"):format(o.min) }
  end
  return "Heap walks, by what holds the memory:\n\n"..
    cells.rows(rows, env.width, env.bold), growth_of(a, b), most and most.path
end

return { between = between, mark = mark, text = text }
