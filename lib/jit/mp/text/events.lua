-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Exact events: the allocations, reallocations and frees of each place, the
-- places that had allocated the freed memory, and the totals.
----------------------------------------------------------------------------

local numbers = require("jit.mp.model.numbers")
local places = require("jit.mp.model.places")
local profile = require("jit.mp.model.profile")
local terms = require("jit.mp.model.terms")
local views = require("jit.mp.model.views")

-- Name of the place that a frame is: "@file:line", a C function's name, or a
-- name for the VM's own work. fn: the frame's function.
local function place_name(f, fn)
  if f.kind == "Lua" then
    local source = f.source or "?"
    return (source:match("^%[") and "" or "@")..profile.printable(source)..
      ":"..(f.line or terms.no_line)
  elseif f.kind == "C" then
    return fn.name
  end
  return profile.printable(f.name or "(not known)")
end

-- A function from a row's number to the name of its place.
local function placer(p)
  local _, function_of = p:functions()
  local cache = {}
  local function name(row)
    local id, own = places.of_row(p, row)
    return id and place_name(p.frames[id], function_of[id]) or own or
      "(not known)"
  end
  return function(i)
    if not cache[i] then
      cache[i] = i == 0 and "(not known)" or name(p.rows[i])
    end
    return cache[i]
  end
end

-- A section: places, each with counts of events and bytes, and the places that
-- the memory came from.
local function new_section()
  local s = { list = {}, by = {} }
  function s.add(place, count, alloc, freed, origin)
    local e = s.by[place]
    if not e then
      e = { place = place, count = 0, alloc = 0, freed = 0, origins = {} }
      s.by[place] = e
      s.list[#s.list+1] = e
    end
    e.count, e.alloc = e.count + count, e.alloc + alloc
    e.freed = e.freed + freed
    if origin then e.origins[origin] = (e.origins[origin] or 0) + freed end
  end
  return s
end

local function collect(p)
  local place = placer(p)
  local alloc, realloc, free = new_section(), new_section(), new_section()
  for i, row in ipairs(p.rows) do
    if row.alloc_objects > 0 then
      alloc.add(place(i), row.alloc_objects, row.alloc_bytes, 0)
    end
  end
  for _, e in ipairs(p.events) do
    local origin = e.origin ~= 0 and place(e.origin) or nil
    if e.kind == "realloc" then  -- The core counts it as an allocation, too.
      local at = place(e.row)
      alloc.add(at, -e.count, -e.alloc_bytes, 0)
      realloc.add(at, e.count, e.alloc_bytes, e.free_bytes, origin)
    else
      free.add(place(e.row), e.count, 0, e.free_bytes, origin)
    end
  end
  return alloc, realloc, free, place
end

local function sorted(list, by)
  table.sort(list, function(a, b)
    if a[by] ~= b[by] then return a[by] > b[by] end
    return a.place < b.place
  end)
  return list
end

-- Bytes: exact, or for people.
local function amount(o, n)
  if o.kib then return (numbers.bytes(n, true):gsub(" ", "")) end
  return ("%.0f bytes"):format(n)
end

local function origins(e)
  local t = {}
  for place, bytes in pairs(e.origins) do
    t[#t+1] = { place = place, bytes = bytes }
  end
  return sorted(t, "bytes")
end

-- A function from an entry to whether option m, if it is given, shows one: by
-- the largest of its shares in the sums of these fields.
local function chooser(o, list, ...)
  local fields, totals = { ... }, {}
  for k, field in ipairs(fields) do
    totals[k] = 0
    for _, e in ipairs(list) do totals[k] = totals[k] + e[field] end
  end
  return function(e)
    local share = 0
    for k, field in ipairs(fields) do
      if totals[k] > 0 then share = math.max(share, e[field] / totals[k]) end
    end
    return not o.min_given or views.shows(share, o)
  end
end

local function put_section(out, o, title, section)
  local shown = chooser(o, section.list, "count", "alloc", "freed")
  out[#out+1] = title.."\n"
  for _, e in ipairs(sorted(section.list, "count")) do
    if e.count > 0 and shown(e) then
      out[#out+1] = ("%s: %.0f events\t+%s\t-%s\n"):format(e.place, e.count,
	amount(o, e.alloc), amount(o, e.freed))
      local from = origins(e)
      if #from > 0 then
	out[#out+1] = "\tOverrides:\n"
	for _, f in ipairs(from) do out[#out+1] = "\t\t"..f.place.."\n" end
	out[#out+1] = "\n"
      end
    end
  end
  out[#out+1] = "\n"
end

-- Sums of the rows by place: memory that is held, and that was temporary.
local function by_place(p, place)
  local list, by = {}, {}
  local function entry(name)
    local e = by[name]
    if not e then
      e = { place = name, holds = 0, allocs = 0, frees = 0, temp = 0,
	temp_bytes = 0, bytes = 0 }
      by[name] = e
      list[#list+1] = e
    end
    return e
  end
  for i, row in ipairs(p.rows) do
    local e = entry(p:is_before(row) and terms.before or place(i))
    e.holds = e.holds + row.inuse_bytes
    e.allocs = e.allocs + row.alloc_objects
    e.bytes = e.bytes + row.alloc_bytes
    e.temp = e.temp + (row.temp_objects or 0)
    e.temp_bytes = e.temp_bytes + (row.temp_bytes or 0)
  end
  for _, event in ipairs(p.events) do
    if event.origin ~= 0 then
      local e = entry(place(event.origin))
      e.frees = e.frees + event.count
    end
  end
  return list
end

local function put_summary(out, o, list)
  local shown = chooser(o, list, "holds", "allocs", "frees")
  out[#out+1] = "HEAP SUMMARY:\n"
  for _, e in ipairs(sorted(list, "holds")) do
    if e.holds > 0 and e.place ~= terms.before and shown(e) then
      out[#out+1] = ("%s holds %s: %.0f allocs, %.0f frees\n"):format(e.place,
	amount(o, e.holds), e.allocs, e.frees)
    end
  end
  out[#out+1] = "\n"
end

local function put_temporary(out, o, list)
  local shown = chooser(o, list, "temp", "temp_bytes")
  out[#out+1] = "TEMPORARY (freed by the collection that came next)\n"
  for _, e in ipairs(sorted(list, "temp_bytes")) do
    if e.temp > 0 and shown(e) then
      out[#out+1] = ("%s: %.0f objects\t%s\t%s of its bytes\n"):format(
	e.place, e.temp, amount(o, e.temp_bytes),
	numbers.share(e.temp_bytes, e.bytes))
    end
  end
  out[#out+1] = "\n"
end

local function put_types(out, o, p)
  local list, by = {}, {}
  for _, sum in ipairs(p.alloc_types or {}) do
    local name = p:type_name(sum)
    local e = by[name]
    if not e then
      e = { place = name, objects = 0, bytes = 0 }
      by[name] = e
      list[#list+1] = e
    end
    e.objects = e.objects + sum.alloc_objects
    e.bytes = e.bytes + sum.alloc_bytes
  end
  out[#out+1] = "Allocations of each type:\n"
  for _, e in ipairs(sorted(list, "bytes")) do
    out[#out+1] = ("  %-14s %10.0f  %s\n"):format(e.place, e.objects,
      amount(o, e.bytes))
  end
end

-- The bytes that were freed, and the difference between the total that follows
-- and the collector's own count.
local function put_totals(out, o, p)
  local h, freed, frees = p.heap, 0, 0
  for _, e in ipairs(p.events) do
    if e.kind == "free" then
      freed, frees = freed + e.free_bytes, frees + e.count
    end
  end
  out[#out+1] = ([[
TOTALS
Number of allocations   = %-12.0f Total size = %s
Number of reallocations = %-12.0f Total size = %s, from %s
Number of frees         = %-12.0f Total size = %s
Maximum memory used     = %s
]]):format(h.alloc_objects - h.realloc_objects,
    amount(o, h.alloc_bytes - h.realloc_bytes), h.realloc_objects,
    amount(o, h.realloc_bytes), amount(o, h.realloc_freed), frees,
    amount(o, freed), amount(o, h.peak))
  put_types(out, o, p)
  local expected = h.inuse_start + h.alloc_bytes - freed - h.realloc_freed
  local rest = h.inuse - expected
  out[#out+1] = ("In use: %s at the start + %s allocated - %s freed = %s; "..
    "the collector counts %s, %s%s\n"):format(amount(o, h.inuse_start),
    amount(o, h.alloc_bytes), amount(o, freed + h.realloc_freed),
    amount(o, expected), amount(o, h.inuse),
    amount(o, math.abs(rest)), rest < 0 and " less" or " more")
end

return function(p, o)
  local out = {}
  local alloc, realloc, free, place = collect(p)
  if o.leak_only then
    put_summary(out, o, by_place(p, place))
    return table.concat(out)
  end
  put_section(out, o, "ALLOCATIONS", alloc)
  put_section(out, o, "REALLOCATIONS", realloc)
  put_section(out, o, "DEALLOCATIONS", free)
  local list = by_place(p, place)
  put_summary(out, o, list)
  put_temporary(out, o, list)
  put_totals(out, o, p)
  return table.concat(out)
end
