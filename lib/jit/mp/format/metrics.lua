-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The totals as OpenMetrics text, for scrapers such as Prometheus.
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")

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

return function(p)
  local labels = p.info.script and "{script="..quoted(p.info.script).."}" or ""
  local out = {}
  for _, m in ipairs(metrics) do
    local name, kind, unit, group, field, help = unpack(m, 1, 6)
    local value = p[group][field]
    if value then
      name = "luajit_"..name
      out[#out+1] = ("# TYPE %s %s\n"):format(name, kind)
      if unit then out[#out+1] = ("# UNIT %s %s\n"):format(name, unit) end
      out[#out+1] = ("# HELP %s %s under profile.\n%s%s%s %.15g\n"):format(
	name, help, name, kind == "counter" and "_total" or "", labels, value)
    end
  end
  out[#out+1] = "# EOF\n"
  return table.concat(out)
end
