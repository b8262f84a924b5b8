-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Parts that pprof and OTLP files have in common: the measures of a profile,
-- and the stacks and labels of its rows.
----------------------------------------------------------------------------

local export = require("jit.mp.format.export")
local protobuf = require("jit.mp.format.protobuf")
local wall = require("jit.mp.model.wall")

local bytes, concat, floor = protobuf.bytes, table.concat, math.floor

local cpu = {
  { "samples", "count", view = "cpu" },
  { "cpu", "nanoseconds", view = "cpu", time = true },
}
local heap = {
  { "alloc_objects", "count", view = "alloc", objects = true },
  { "alloc_space", "bytes", view = "alloc" },
  { "inuse_objects", "count", view = "inuse", objects = true },
  { "inuse_space", "bytes", view = "inuse" },
}
local peak = {
  { "peak_objects", "count", view = "peak", objects = true },
  { "peak_space", "bytes", view = "peak" },
}
local native = {
  { "native_alloc_objects", "count", view = "native", objects = true },
  { "native_alloc_space", "bytes", view = "native" },
  { "native_inuse_objects", "count", view = "native_inuse", objects = true },
  { "native_inuse_space", "bytes", view = "native_inuse" },
}
-- The measures of a file: { name, unit, view = }. kind: "cpu", "heap" or "all".
-- Those of the peak are there where they were asked for, those of C memory and
-- the wall times where they were measured.
local function of(p, kind, views)
  local list = {}
  local function add(types)
    for _, t in ipairs(types) do list[#list+1] = t end
  end
  if kind ~= "heap" then add(cpu) end
  for _, time in ipairs(kind ~= "heap" and p.waits.enabled and wall.list or
      {}) do
    list[#list+1] = { time.name, "nanoseconds", view = time.name, wall = time }
  end
  if kind ~= "cpu" then add(heap) end
  for _, view in ipairs(kind ~= "cpu" and views or {}) do
    if view == "peak" then add(peak) end
  end
  if kind ~= "cpu" and p.native.enabled then add(native) end
  return list
end

-- The CPU time of the profile in nanoseconds.
local function nanoseconds(p) return floor(p.info.cpu * 1e9 + 0.5) end

-- The same as export.values, of a wall time.
local function wall_values(p, time)
  local seconds, total = wall.values(p, time), 0
  for _, row in ipairs(p.rows) do total = total + (seconds(row)) end
  return function(row) return (seconds(row)) end, total
end

-- Functions from a row to its numbers, the sums { [view] = total }, and whether
-- there is anything.
local function columns(p, list)
  local out, totals, any = {}, {}, false
  for i, t in ipairs(list) do
    local value, total
    if t.wall then value, total = wall_values(p, t.wall)
    else value, total = export.values(p, t.view, t.objects) end
    local whole = export.rounder(t.wall and 1e9 or t.time and total > 0 and
      nanoseconds(p) / total or 1)
    totals[t.view], any = total, any or total > 0
    out[i] = function(row) return whole(value(row)) end
  end
  return out, totals, any
end

-- Kind, unit and length of the distance between samples: of CPU, or of memory.
local function period(p, is_cpu, cpu_total)
  if not is_cpu then return "space", "bytes", floor(p.heap.period + 0.5) end
  return "cpu", "nanoseconds", cpu_total > 0 and
    floor(nanoseconds(p) / cpu_total + 0.5) or p.cpu.interval * 1e6
end

-- A function from a stack to its locations, the top one first, as field 1 of a
-- message. locate(frame): the number of a frame's location, as bytes.
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

-- A function from a row to the texts that label(key, value) makes of its
-- labels, joined: the program's, and its zone, VM state and type, whose keys
-- begin with a prefix.
local function labels(p, prefix, label)
  local function of_zone(row)
    local text = ""
    for _, l in ipairs(p:labels(row)) do text = text..label(l[1], l[2]) end
    return text..(p:has_zone(row) and
      label(prefix.."zone", p:zone_name(row)) or "")
  end
  local by_zone = {}
  return function(row)
    by_zone[row.zone] = by_zone[row.zone] or of_zone(row)
    return by_zone[row.zone]..label(prefix.."vmstate", p:state_name(row))..
      (row.type and label(prefix.."type", row.type) or "")
  end
end

return { of = of, columns = columns, period = period,
  stack_field = stack_field, labels = labels }
