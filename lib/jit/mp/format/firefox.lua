-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Firefox Profiler's processed format: CPU samples and allocations over time,
-- markers of collections and zones, and memory tracks.
----------------------------------------------------------------------------
--
-- Times are those of the timeline's points. Samples between two points have no
-- order of their own: they are spread evenly.
--
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local export = require("jit.mp.format.export")
local json = require("jit.mp.format.json")
local profile = require("jit.mp.model.profile")
local tables = require("jit.mp.format.firefox_tables")

local VERSION = 48  -- Of the format; Firefox Profiler reads older ones, too.

local list, num, str = tables.list, json.number, json.string

-- -- Over time ---------------------------------------------------------------

-- The changes of each point, and its interval in milliseconds.
local function intervals(p)
  local out, from = {}, 0
  for k, c in ipairs(p.course) do
    out[k] = { from = from, to = c.wall * 1000 }
    from = c.wall * 1000
  end
  for _, e in ipairs(p.timeline) do
    local at = out[e.point]
    at[#at+1] = e
  end
  return out
end

-- The rows, for all that no point has: at the end of the run.
local function rest(p, spans)
  local last = spans[#spans]
  local from = last and last.to or 0
  local span = { from = from, to = math.max(from, (p.info.wall or 0) * 1000) }
  for i in ipairs(p.rows) do span[i] = { row = i } end
  return span
end

-- A table of the amounts of a field over time, which add up to those of the
-- rows: stacks, times and weights. Also returns its length.
local function over_time(p, spans, field, kind)
  local stack, time, weight = {}, {}, {}
  local whole, seen = export.rounder(1), {}
  local function add(span)
    local step = (span.to - span.from) / math.max(1, #span)
    for i, e in ipairs(span) do
      local row = p.rows[e.row]
      local left = row[field] - (seen[row] or 0)
      local v = math.max(0, math.min(e[field] or left, left))
      local n = whole(v)
      seen[row] = (seen[row] or 0) + v
      if n > 0 then
	stack[#stack+1] = tables.stack(p, row.stack)
	time[#time+1], weight[#weight+1] = num(span.from + i * step), num(n)
      end
    end
  end
  for _, span in ipairs(spans) do add(span) end
  add(rest(p, spans))
  return ('{"length":%d,"stack":%s,"time":%s,"weight":%s,"weightType":"%s"}')
    :format(#time, list(stack), list(time), list(weight), kind), #time
end

-- -- Markers -----------------------------------------------------------------

local function zone_path(p, z)
  local name = p.zones.name[z]
  local up = p.zones.parent[z]
  return up ~= 0 and not p.zones.key[up] and
    zone_path(p, up).." > "..name or name
end

-- Zones by the intervals in which they have samples; neighbours are one marker.
local function zone_markers(p, spans, markers)
  local open = {}
  for k, span in ipairs(spans) do
    for _, e in ipairs(span) do
      local z = p.rows[e.row].zone
      if p:has_zone(p.rows[e.row]) and (e.cpu > 0 or e.alloc_bytes > 0) then
	local m = open[z]
	if not m or m.last < k - 1 then
	  m = { name = "zone "..zone_path(p, z), from = span.from, samples = 0 }
	  open[z] = m
	  markers[#markers+1] = m
	end
	m.last, m.to = k, span.to
	m.samples = m.samples + e.cpu
      end
    end
  end
  for _, m in ipairs(markers) do
    m.data = ('{"type":"zone","samples":%s}'):format(num(m.samples))
  end
end

local function cycle_markers(p, spans, markers)
  local before = 0
  for k, c in ipairs(p.course) do
    local n = c.cycles - before
    before = c.cycles
    if n > 0 then
      markers[#markers+1] = { name = "collections", from = spans[k].from,
	to = spans[k].to, category = tables.GC,
	data = ('{"type":"collections","cycles":%s,"inuse":%s}'):format(num(n),
	  num(c.inuse)) }
    end
  end
end

local function markers_of(p, spans, strings)
  local all = {}
  zone_markers(p, spans, all)
  cycle_markers(p, spans, all)
  table.sort(all, function(a, b)
    if a.from ~= b.from then return a.from < b.from end
    return a.name < b.name
  end)
  local name, from, to, data = {}, {}, {}, {}
  local phase, category = {}, {}
  for i, m in ipairs(all) do
    name[i], data[i] = strings(m.name), m.data
    from[i], to[i] = num(m.from), num(m.to)
    phase[i], category[i] = 1, m.category or tables.OTHER
  end
  return ('{"length":%d,"name":%s,"startTime":%s,"endTime":%s,"phase":%s,'..
    '"category":%s,"data":%s}'):format(#all, list(name), list(from), list(to),
      list(phase), list(category), list(data))
end

local schema = [[
{"name":"zone","display":["marker-chart","marker-table","timeline-overview"],
"tooltipLabel":"{marker.name}","data":[{"key":"samples","label":"CPU samples",
"format":"integer"}]},
{"name":"collections","display":["marker-chart","marker-table",
"timeline-overview","timeline-memory"],"data":[{"key":"cycles",
"label":"Cycles that ended","format":"integer"},{"key":"inuse",
"label":"In use then","format":"bytes"}]}]]

-- -- Memory ------------------------------------------------------------------

-- A track: the change of an amount at each point.
local function counter(p, pid, field, name, description)
  local time, count, before = {}, {}, 0
  for k, c in ipairs(p.course) do
    time[k], count[k] = num(c.wall * 1000), num(c[field] - before)
    before = c[field]
  end
  return ('{"name":"%s","category":"Memory","description":"%s","pid":%s,'..
    '"mainThreadIndex":0,"samples":{"length":%d,"time":%s,"count":%s}}')
    :format(name, description, pid, #time, list(time), list(count))
end

local function counters(p, pid)
  local out, rss = {}, 0
  for _, c in ipairs(p.course) do rss = math.max(rss, c.rss or 0) end
  if #p.course > 0 then
    out[1] = counter(p, pid, "inuse", "Lua heap", "In use in the Lua heap")
    if rss > 0 then
      out[2] = counter(p, pid, "rss", "RSS", "Resident memory of the process")
    end
  end
  return list(out)
end

-- -- The file ----------------------------------------------------------------

local function meta(p, name)
  local interval = p.cpu.interval > 0 and p.cpu.interval or 1
  return ('"meta":{"preprocessedProfileVersion":%d,"version":27,'..
    '"product":%s,"importedFrom":"luajit-mp","processType":0,"stackwalk":1,'..
    '"debug":false,"interval":%s,"startTime":%s,"symbolicated":true,'..
    '"usesOnlyOneStackType":true,"doesNotUseFrameImplementation":true,'..
    '"sourceCodeIsNotOnSearchfox":true,"extensions":{"length":0,"id":[],'..
    '"name":[],"baseURL":[]},"categories":%s,"markerSchema":[%s]}'):format(
      VERSION, str(name), num(interval),
      num((p.info.started or 0) * 1000), tables.categories, schema)
end

local function thread(p, name, pid)
  local strings, texts = tables.interner()
  local spans = intervals(p)
  local cpu, samples = over_time(p, spans, "cpu", "samples")
  local alloc, allocations = over_time(p, spans, "alloc_bytes", "bytes")
  if samples + allocations == 0 then return nil end
  return ('{"name":%s,"isMainThread":true,"processType":"default",'..
    '"processName":%s,"pid":%s,"tid":%d,"processStartupTime":0,'..
    '"processShutdownTime":null,"registerTime":0,"unregisterTime":null,'..
    '"pausedRanges":[],\n'):format(str(name), str(name), pid,
      p.info.pid or 1)..tables.stacks(p, strings)..
    ',\n"samples":'..cpu..
    (allocations > 0 and ',\n"nativeAllocations":'..alloc or "")..
    ',\n"markers":'..markers_of(p, spans, strings)..
    ',\n"stringArray":'..list(texts)..'}'
end

return function(p)
  local name = p.info.script and
    profile.module_name({ source = p.info.script }) or "luajit"
  local pid = ('"%d"'):format(p.info.pid or 1)
  local text = thread(p, name, pid)
  if not text then return nil, empty(p, "cpu") end
  return "{"..meta(p, name)..',\n"libs":[],"pages":[],"profilerOverhead":[],'..
    '"counters":'..counters(p, pid)..',\n"threads":[\n'..text.."]}\n"
end
