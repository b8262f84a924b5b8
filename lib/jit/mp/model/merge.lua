-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Profiles of several runs as one: the sums of all counts.
----------------------------------------------------------------------------
--
-- The course of a run belongs to that run and is left out, and so are events
-- and survivors. Bytes in use, and their peaks, are sums too: several processes
-- have so much between them. Windows of one process have its memory, one after
-- the other: the last one says what is in use, and the one with the largest
-- peak, what was. model/fields says how each value is merged.
--
----------------------------------------------------------------------------

local fields = require("jit.mp.model.fields")
local profile = require("jit.mp.model.profile")
local spellings = require("jit.mp.model.spellings")

local function frame_key(f)
  return table.concat({ f.kind, f.line or "", f.linedefined or "",
    f.code and ("%.0f"):format(f.code) or "",
    f.chunk and ("%.0f"):format(f.chunk) or "",
    f.name and "n"..f.name or "", f.source and "s"..f.source or "" }, "\0")
end

-- Interns records by key. Returns a function from a key and a record to an id.
local function interner(list)
  local ids = {}
  return function(key, record)
    local id = ids[key]
    if not id then
      id = #list + 1
      list[id] = record
      ids[key] = id
    end
    return id
  end
end

-- A tree of stacks, as arrays of parents and of the nodes' own parts, and of
-- the names of these that are labels.
local function tree(parents, items, names)
  local ids = {}
  return function(parent, item, name)
    local key = parent.."\0"..(name and "y"..#name..name or "").."\0"..
      item
    if not ids[key] then
      parents[#parents+1] = parent
      items[#parents] = item
      if name then names[#parents] = name end
      ids[key] = #parents
    end
    return ids[key]
  end
end

-- Adds up these fields of rows. No sum is larger than a profile may hold.
local function add_fields(to, from, names)
  for _, name in ipairs(names) do
    if from[name] then
      to[name] = math.min((to[name] or 0) + from[name],
	fields.tables.row.by[name].max)
    end
  end
end

-- -- Single values -----------------------------------------------------------

-- The merged value of a field, by how the field is merged.
local together = {}

function together.sum(field, values)
  local sum
  for i = 1, values.n do
    local v = values[i] or field.default
    if v then sum = math.min((sum or 0) + v, field.max) end
  end
  return sum
end

function together.min(_, values)
  local min
  for i = 1, values.n do
    min = math.min(min or math.huge, values[i] or math.huge)
  end
  return min < math.huge and min or nil
end

function together.max(_, values)
  local max
  for i = 1, values.n do
    max = values[i] and math.max(max or 0, values[i]) or max
  end
  return max
end

function together.any(_, values)
  for i = 1, values.n do
    if values[i] then return true end
  end
  return false
end

function together.same(field, values)
  for i = 2, values.n do
    if values[i] ~= values[1] then return field.otherwise end
  end
  return values[1]
end

local function merge_groups(list, s, spell)
  for _, group in ipairs(fields.groups) do
    for _, field in ipairs(group.fields) do
      local values = { n = #list }
      for i, p in ipairs(list) do
	values[i] = field.merge and p[group.key][field.name]
	if field.name == "script" then values[i] = spell(p, values[i]) end
      end
      if field.merge then
	s[group.key][field.name] = together[field.merge](field, values)
      end
    end
  end
end

-- Each note once.
local function merge_notes(list, notes)
  local noted = {}
  for _, p in ipairs(list) do
    for _, note in ipairs(p.info.notes) do
      if not noted[note] then notes[#notes+1] = note end
      noted[note] = true
    end
  end
end

-- -- Rows --------------------------------------------------------------------

-- The frame with that source.
local function renamed(frame, source)
  local copy = {}
  if source == frame.source then return frame end
  for key, value in pairs(frame) do copy[key] = value end
  copy.source = source
  return copy
end

-- Frames, stacks, and zones with labels, of a profile as those of the sum:
-- tables from each number to the new one.
local function translate(p, spell, frame_id, push, push_zone)
  local frames, stacks, zones = {}, { [0] = 0 }, { [0] = 0 }
  for i, f in ipairs(p.frames) do
    local raw = f.raw or f
    raw = renamed(raw, spell(p, raw.source))
    frames[i] = frame_id(frame_key(raw), raw)
  end
  for i, parent in ipairs(p.parent) do
    stacks[i] = push(stacks[parent], frames[p.frame[i]])
  end
  for i, parent in ipairs(p.zones.parent) do
    zones[i] = push_zone(zones[parent], p.zones.name[i], p.zones.key[i])
  end
  return stacks, zones
end

-- Samples of profiles with different intervals stand for different times: the
-- factors by which they count, so that all stand for the same.
local function weights(list)
  local n, seconds, differ, by = 0, 0, false, {}
  for _, p in ipairs(list) do
    n, seconds = n + p.cpu.samples, seconds + p.info.cpu
    differ = differ or p.cpu.adaptive or p.cpu.interval ~= list[1].cpu.interval
  end
  for i, p in ipairs(list) do
    by[i] = differ and p.cpu.samples > 0 and seconds > 0 and
      p.info.cpu / p.cpu.samples * n / seconds or 1
  end
  return by
end

local function weighted(row, k)
  if k == 1 or not (row.cpu > 0) then return row end
  return setmetatable({ cpu = row.cpu * k,
    cpu_variance = (row.cpu_variance or row.cpu) * k * k }, { __index = row })
end

local function add_rows(p, k, stacks, zones, rows, list)
  local sums = fields.merged("row", "sum")
  for _, row in ipairs(p.rows) do
    local r = weighted(row, k)
    local key = table.concat({ stacks[r.stack], zones[r.zone], r.state,
      r.type or "" }, "\0")
    local to = rows[key]
    if not to then
      to = { stack = stacks[r.stack], zone = zones[r.zone], state = r.state,
	type = r.type }
      rows[key] = to
      list[#list+1] = to
    end
    add_fields(to, r, sums)
  end
end

-- -- Windows -----------------------------------------------------------------

local SAME = 1 -- Seconds that the beginnings of one process may differ.

-- The windows among profiles, by process: a list of lists of their numbers.
local function windows_of(list)
  local processes = {}
  for number, p in ipairs(list) do
    local i = p.info
    if i.window and i.pid and i.started then
      local begun, found = i.started - i.window, nil
      for _, process in ipairs(processes) do
	if process.pid == i.pid and math.abs(process.begun - begun) < SAME then
	  found = process
	end
      end
      if not found then
	found = { pid = i.pid, begun = begun }
	processes[#processes+1] = found
      end
      found[#found+1] = number
    end
  end
  return processes
end

-- A table with some fields that are 0, if they are there, and the rest of
-- another.
local function without(t, names)
  local copy = {}
  for _, name in ipairs(names) do copy[name] = t[name] and 0 end
  return setmetatable(copy, { __index = t })
end

-- The same for a profile: without what is in use, or the peak.
local inuse = { heap = { "inuse", "inuse_start", "inuse_samples" },
  native = { "inuse_samples" }, row = { "inuse_objects", "inuse_bytes",
    "inuse_variance", "native_inuse_objects", "native_inuse_bytes",
    "native_inuse_variance", "waiting" }, waits = { "coroutines" } }
local peak = { heap = { "peak" }, native = {}, waits = {},
  row = { "peak_objects", "peak_bytes" } }

local function reduced(p, what)
  local copy = { heap = without(p.heap, what.heap),
    native = without(p.native, what.native),
    waits = without(p.waits, what.waits), rows = {} }
  for i, row in ipairs(p.rows) do copy.rows[i] = without(row, what.row) end
  return setmetatable(copy, { __index = p })
end

-- The list, in which the memory of each process is there once.
local function once(list)
  local result = {}
  for i, p in ipairs(list) do result[i] = p end
  for _, process in ipairs(windows_of(list)) do
    local last, largest = process[1], process[1]
    for _, i in ipairs(process) do
      if list[i].info.window > list[last].info.window then last = i end
      if list[i].heap.peak > list[largest].heap.peak then largest = i end
    end
    for _, i in ipairs(process) do
      if i ~= last then result[i] = reduced(result[i], inuse) end
      if i ~= largest then result[i] = reduced(result[i], peak) end
    end
  end
  return result
end

-- ----------------------------------------------------------------------------

-- Returns the profile that is the sum of a list of profiles.
return function(list)
  list = once(list)
  local spell = spellings(list)
  local s = {
    info = { notes = {} }, cpu = {}, heap = {}, native = {}, waits = {},
    frames = {}, stacks = { parent = {}, frame = {} },
    zones = { parent = {}, name = {}, key = {} }, rows = {}
  }
  merge_groups(list, s, spell)
  merge_notes(list, s.info.notes)
  local frame_id, rows = interner(s.frames), {}
  local push = tree(s.stacks.parent, s.stacks.frame)
  local push_zone = tree(s.zones.parent, s.zones.name, s.zones.key)
  local k = weights(list)
  for i, p in ipairs(list) do
    local stacks, zones = translate(p, spell, frame_id, push, push_zone)
    add_rows(p, k[i], stacks, zones, rows, s.rows)
  end
  local sum = profile.new(s)
  for _, p in ipairs(list) do sum.from_file = sum.from_file or p.from_file end
  return sum
end
