-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The totals as OpenMetrics text, for scrapers such as Prometheus; where the
-- program has set labels (jit.mp.label), also the sums of each set of them.
----------------------------------------------------------------------------

local export = require("jit.mp.format.export")
local names = require("jit.mp.model.names")
local wall = require("jit.mp.model.wall")

-- Counters and gauges: name, unit, where the profile has it, and help.
local metrics = {
  { "cpu_seconds", "counter", "seconds", "info", "cpu", "CPU time" },
  { "wall_seconds", "counter", "seconds", "info", "wall", "Time" },
  { "cpu_samples", "counter", nil, "cpu", "samples", "CPU samples" },
  { "allocated_bytes", "counter", "bytes", "heap", "alloc_bytes",
    "Bytes allocated" },
  { "allocated_objects", "counter", nil, "heap", "alloc_objects",
    "Objects allocated" },
  { "freed_bytes", "counter", "bytes", "heap", "free_bytes", "Bytes freed" },
  { "freed_objects", "counter", nil, "heap", "free_objects",
    "Objects freed" },
  { "gc_cycles", "counter", nil, "heap", "gc_cycles",
    "Cycles of the garbage collector" },
  { "lost_samples", "counter", nil, "heap", "dropped",
    "Allocation samples lost" },
  { "heap_inuse_bytes", "gauge", "bytes", "heap", "inuse",
    "Bytes of the Lua heap" },
  { "heap_peak_bytes", "gauge", "bytes", "heap", "peak",
    "Most bytes of the Lua heap" },
}

-- A value of a label.
local function quoted(s)
  return '"'..names.printable(s):gsub('[\\"]', "\\%0")..'"'
end

-- A family: what stands before its samples, and a function that adds one.
local function family(out, name, kind, unit, help)
  name = "luajit_"..name
  out[#out+1] = ("# TYPE %s %s\n"):format(name, kind)
  if unit then out[#out+1] = ("# UNIT %s %s\n"):format(name, unit) end
  out[#out+1] = ("# HELP %s %s under profile.\n"):format(name, help)
  return function(labels, value)
    out[#out+1] = ("%s%s%s %.15g\n"):format(name,
      kind == "counter" and "_total" or "", labels, value)
  end
end

-- In braces; none is "".
local function braced(list)
  return list[1] and "{"..table.concat(list, ",").."}" or ""
end

-- -- Sums by labels ----------------------------------------------------------

-- The names of labels as scrapers permit them: no two become the same, and none
-- that of the script.
local function label_names(p)
  local list, known, used = {}, {}, { script = true }
  for _, key in pairs(p.zones.key) do
    if not known[key] then
      known[key] = true
      list[#list+1] = key
    end
  end
  table.sort(list)
  for _, key in ipairs(list) do
    local name = key:gsub("[^%w_]", "_"):gsub("^%d", "_%0"):gsub("^__+", "_")
    while used[name] do name = name.."_" end
    known[key], used[name] = name, true
  end
  return list[1] and known
end

-- A function from a row to its labels, the script's name before them.
local function labeler(p, script)
  local name_of, by_zone = label_names(p), {}
  return name_of and function(row)
    local text = by_zone[row.zone]
    if text then return text end
    local list = { script }
    for _, label in ipairs(p:labels(row)) do
      list[#list+1] = name_of[label[1]].."="..quoted(label[2])
    end
    by_zone[row.zone] = braced(list)
    return by_zone[row.zone]
  end
end

-- The sums: a list of name, kind, unit and help, as above; a function from a
-- row to its number, and a factor.
local function measured(p)
  local list = {}
  local function add(view, objects, name, kind, unit, help)
    if not p:measures(view) then return end
    local value, total = export.values(p, view, objects)
    list[#list+1] = { name, kind, unit, help, value,
      view ~= "cpu" and 1 or total > 0 and p.info.cpu / total or 0 }
  end
  add("cpu", false, "cpu_seconds", "counter", "seconds", "CPU time")
  add("alloc", false, "allocated_bytes", "counter", "bytes", "Bytes allocated")
  add("alloc", true, "allocated_objects", "counter", nil, "Objects allocated")
  add("inuse", false, "heap_inuse_bytes", "gauge", "bytes",
    "Bytes of the Lua heap")
  for _, time in ipairs(p.waits.enabled and wall.list or {}) do
    list[#list+1] = { time.name.."_seconds", "counter", "seconds",
      time.words:gsub("^%l", string.upper), wall.values(p, time), 1 }
  end
  return list
end

local function add_sums(p, script, out)
  local labels_of = labeler(p, script)
  for _, m in ipairs(labels_of and measured(p) or {}) do
    local name, kind, unit, help, value, factor = unpack(m, 1, 6)
    local sums, list = {}, {}
    for _, row in ipairs(p.rows) do
      local labels, n = labels_of(row), value(row)
      if n ~= 0 and not sums[labels] then list[#list+1] = labels end
      if n ~= 0 then sums[labels] = (sums[labels] or 0) + n end
    end
    table.sort(list)
    local add = family(out, "labels_"..name, kind, unit, help.." by labels")
    for _, labels in ipairs(list) do add(labels, sums[labels] * factor) end
  end
end

return function(p)
  local script = p.info.script and "script="..quoted(p.info.script)
  local out = {}
  for _, m in ipairs(metrics) do
    local name, kind, unit, group, field, help = unpack(m, 1, 6)
    local value = p[group][field]
    if value then
      family(out, name, kind, unit, help)(braced({ script }), value)
    end
  end
  add_sums(p, script, out)
  out[#out+1] = "# EOF\n"
  return table.concat(out)
end
