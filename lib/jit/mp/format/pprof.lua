-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- pprof's format: profile.proto in a gzip frame.
----------------------------------------------------------------------------
--
-- o.pprof says which numbers a sample has: "cpu", "heap", or "all".
--
-- A message of protocol buffers is a sequence of fields: a tag (the field's
-- number times 8, plus 0 for a number or 2 for bytes), and a number in base
-- 128, low digits first, or a length and the bytes.
--
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local gzip = require("jit.mp.format.gzip")
local export = require("jit.mp.format.export")
local names = require("jit.mp.model.names")

local char, concat, floor = string.char, table.concat, math.floor

local cpu_types = {
  { "samples", "count", view = "cpu" },
  { "cpu", "nanoseconds", view = "cpu", time = true },
}
local heap_types = {
  { "alloc_objects", "count", view = "alloc", objects = true },
  { "alloc_space", "bytes", view = "alloc" },
  { "inuse_objects", "count", view = "inuse", objects = true },
  { "inuse_space", "bytes", view = "inuse" },
}
local peak_types = {
  { "peak_objects", "count", view = "peak", objects = true },
  { "peak_space", "bytes", view = "peak" },
}
local native_types = {
  { "native_alloc_objects", "count", view = "native", objects = true },
  { "native_alloc_space", "bytes", view = "native" },
  { "native_inuse_objects", "count", view = "native_inuse", objects = true },
  { "native_inuse_space", "bytes", view = "native_inuse" },
}

-- The numbers of a sample. kind: as o.pprof. Those of the peak are there where
-- they were asked for, those of C memory where it was measured.
local function types_of(kind, views, native)
  local list = {}
  local function add(types)
    for _, t in ipairs(types) do list[#list+1] = t end
  end
  if kind ~= "heap" then add(cpu_types) end
  if kind ~= "cpu" then add(heap_types) end
  for _, view in ipairs(kind ~= "cpu" and views or {}) do
    if view == "peak" then add(peak_types) end
  end
  if kind ~= "cpu" and native then add(native_types) end
  return list
end

-- -- Fields -----------------------------------------------------------------

local MAX = 9223372036854774784 -- The largest double below 2^63.

-- A number from 0 to 2^63: doubles are exact enough to take it apart. A sum of
-- a stranger's profile may be none of these.
local function varint(n)
  if not (n > 0) then return "\0" end
  if n < 128 then return char(n) end
  if n > MAX then n = MAX end
  local t = {}
  while n >= 128 do
    local low = n % 128
    t[#t+1] = char(low + 128)
    n = (n - low) / 128
  end
  t[#t+1] = char(n)
  return concat(t)
end

-- A field with a number. Readers take a missing one for 0.
local function num(field, n)
  return n == 0 and "" or char(field * 8)..varint(n)
end

local function bytes(field, s)
  return char(field * 8 + 2)..varint(#s)..s
end

-- The string table: intern(s) is a string's number, and list the strings.
local function string_table()
  local list, index = { "" }, { [""] = 0 }
  return function(s)
    local i = index[s]
    if not i then
      i = #list
      list[i+1] = names.printable(s)
      index[s] = i
    end
    return i
  end, list
end

-- -- Functions --------------------------------------------------------------

-- Numbers of locations: locate(frame) is that of a frame, as bytes. A
-- location is a line of a function; both are written when first needed.
local function locator(p, intern, out)
  local _, of = export.functions(p)
  local function_ids, location_ids, cache = {}, {}, {}
  local functions, locations = 0, 0
  local function function_id(fn)
    local id = function_ids[fn]
    if id then return id end
    functions = functions + 1
    function_ids[fn] = functions
    out[#out+1] = bytes(5, num(1, functions)..num(2, intern(fn.name))..
      num(4, intern(fn.path or fn.source or ""))..num(5, fn.line or 0))
    return functions
  end
  return function(i)
    local text = cache[i]
    if text then return text end
    local fn, f = of[i], p.frames[i]
    local line = f and f.kind == "Lua" and f.line or 0
    local key = fn.index.."\0"..line
    local id = location_ids[key]
    if not id then
      locations = locations + 1
      id = locations
      location_ids[key] = id
      local at = bytes(4, num(1, function_id(fn))..num(2, line))
      out[#out+1] = bytes(4, num(1, id)..num(2, 1)..at)
    end
    cache[i] = varint(id)
    return cache[i]
  end
end

-- -- Samples ----------------------------------------------------------------

-- Field of a stack's locations, the top one first.
local function stack_field(p, locate)
  local cache, t = {}, {}
  return function(stack)
    local text = cache[stack]
    if text then return text end
    local s, n = stack, 0
    repeat
      n = n + 1
      t[n] = locate(p.frame[s] or 0)
      s = p.parent[s] or 0
    until s == 0
    text = bytes(1, concat(t, "", 1, n))
    cache[stack] = text
    return text
  end
end

-- Labels of a row: the program's, and its zone, VM state and type.
local function labels_field(p, intern)
  local cache = {}
  local function label(key, value)
    local k = key.."\0"..value
    local text = cache[k]
    if not text then
      text = bytes(3, num(1, intern(key))..num(2, intern(value)))
      cache[k] = text
    end
    return text
  end
  local function of_zone(row)
    local text = ""
    for _, l in ipairs(p:labels(row)) do
      text = text..label(l[1], l[2])
    end
    return text..(p:has_zone(row) and label("zone", p:zone_name(row)) or "")
  end
  local by_zone = {}
  return function(row)
    by_zone[row.zone] = by_zone[row.zone] or of_zone(row)
    return by_zone[row.zone]..
      label("vmstate", p:state_name(row))..
      (row.type and label("type", row.type) or "")
  end
end

-- The CPU time of the profile in nanoseconds.
local function nanoseconds(p) return floor(p.info.cpu * 1e9 + 0.5) end

-- Functions from a row to its numbers, and the sums: { [view] = total }.
local function columns(p, types)
  local list, totals = {}, {}
  for i, t in ipairs(types) do
    local value, total = export.values(p, t.view, t.objects)
    local whole = export.rounder(t.time and total > 0 and
      nanoseconds(p) / total or 1)
    totals[t.view] = total
    list[i] = function(row) return whole(value(row)) end
  end
  return list, totals
end

local function add_samples(p, list, intern, out)
  local stack = stack_field(p, locator(p, intern, out))
  local labels = labels_field(p, intern)
  local numbers = {}
  for _, row in ipairs(p.rows) do
    local any = false
    for i, value in ipairs(list) do
      local n = value(row)
      any = any or n ~= 0
      numbers[i] = varint(n)
    end
    if any then
      local where = stack(row.stack) -- Adds locations to the list.
      out[#out+1] = bytes(2, where..bytes(2, concat(numbers))..labels(row))
    end
  end
end

-- -- The rest ---------------------------------------------------------------

local function value_type(field, name, unit, intern)
  return bytes(field, num(1, intern(name))..num(2, intern(unit)))
end

-- The type that a reader shows at first, and the unit of the sampling period.
local function defaults(p, kind, totals)
  local heap = totals.inuse == 0 and "alloc_space" or "inuse_space"
  if kind == "heap" or kind == "all" and not (totals.cpu > 0) then
    return heap, "space", "bytes", floor(p.heap.period + 0.5)
  end
  return "cpu", "cpu", "nanoseconds", totals.cpu > 0 and
    floor(nanoseconds(p) / totals.cpu + 0.5) or p.cpu.interval * 1e6
end

local function add_about(p, kind, totals, intern, out)
  local info = p.info
  local default, of, unit, period = defaults(p, kind, totals)
  out[#out+1] = num(9, floor((info.started or 0) * 1e9))
  out[#out+1] = num(10, floor(info.wall * 1e9 + 0.5))
  out[#out+1] = value_type(11, of, unit, intern)
  out[#out+1] = num(12, period)
  for _, s in ipairs({ "luajit-mp, options "..(info.options or "not known"),
    info.luajit or "LuaJIT", "capture "..info.capture, unpack(info.notes) }) do
    out[#out+1] = num(13, intern(s))
  end
  out[#out+1] = num(14, intern(default))
end

-- One mapping, said to be complete: pprof then looks for no symbols.
local function add_mapping(p, intern, out)
  out[#out+1] = bytes(3, num(1, 1)..
    num(5, intern(p.info.script or "luajit"))..num(7, 1)..num(8, 1)..
    num(9, 1)..num(10, 1))
end

return function(p, o)
  local kind = o.pprof
  local types = types_of(kind, o.views or {}, p.native.enabled)
  local list, totals = columns(p, types)
  local any = false
  for _, total in pairs(totals) do any = any or total > 0 end
  -- A series of windows may have an empty one.
  if not any and not p.info.window then
    return nil, empty(p, kind == "heap" and "alloc" or "cpu")
  end
  local intern, strings = string_table()
  local out = {}
  for _, t in ipairs(types) do
    out[#out+1] = value_type(1, t[1], t[2], intern)
  end
  add_mapping(p, intern, out)
  add_samples(p, list, intern, out)
  add_about(p, kind, totals, intern, out)
  for _, s in ipairs(strings) do out[#out+1] = bytes(6, s) end
  return gzip.pack(concat(out), floor(p.info.started or 0))
end
