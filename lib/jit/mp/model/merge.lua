----------------------------------------------------------------------------
-- Profiles of several runs as one: all that was counted, summed.
----------------------------------------------------------------------------
--
-- What belongs to the time of one run (its course) is left out, and so are
-- events and survivors. What was in use, and its peaks, are sums too: several
-- processes have so much between them.
--
----------------------------------------------------------------------------

local profile = require("jit.mp.model.profile")

local function frame_key(f)
  return table.concat({ f.kind, f.line or "", f.linedefined or "",
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

-- A tree of stacks, as arrays of parents and of what makes up a node.
local function tree(parents, items)
  local ids = {}
  return function(parent, item)
    local key = parent.."\0"..item
    if not ids[key] then
      parents[#parents+1] = parent
      items[#parents] = item
      ids[key] = #parents
    end
    return ids[key]
  end
end

local sums = {
  "cpu", "alloc_objects", "alloc_bytes", "inuse_objects", "inuse_bytes",
  "peak_objects", "peak_bytes", "temp_objects", "temp_bytes"
}

local function add_fields(to, from, names)
  for _, name in ipairs(names) do
    if from[name] then to[name] = (to[name] or 0) + from[name] end
  end
end

local heap_sums = {
  "alloc_objects", "alloc_bytes", "free_objects", "free_bytes",
  "realloc_objects", "realloc_bytes", "realloc_freed", "samples", "dropped",
  "inuse", "inuse_samples", "inuse_start", "peak", "gc_cycles"
}

-- A value that all have, or nil.
local function common(list, group, name)
  local v = list[1][group][name]
  for _, p in ipairs(list) do
    if p[group][name] ~= v then return nil end
  end
  return v
end

local function merge_totals(list, s)
  for _, name in ipairs({ "script", "luajit", "os", "arch", "options", "cwd",
      "capture_why" }) do
    s.info[name] = common(list, "info", name)
  end
  s.info.capture = common(list, "info", "capture") or "mixed"
  s.info.runs, s.info.started = 0, math.huge
  s.cpu.enabled, s.cpu.interval = false, list[1].cpu.interval
  s.heap.enabled, s.heap.period, s.heap.adaptive = true, 0, false
  local noted = {}
  for _, p in ipairs(list) do
    add_fields(s.info, p.info, { "wall", "cpu" })
    add_fields(s.cpu, p.cpu, { "samples" })
    add_fields(s.heap, p.heap, heap_sums)
    s.info.runs = s.info.runs + (p.info.runs or 1)
    s.info.started = math.min(s.info.started, p.info.started or math.huge)
    s.cpu.enabled = s.cpu.enabled or p.cpu.enabled
    s.heap.period = math.max(s.heap.period, p.heap.period)
    s.heap.adaptive = s.heap.adaptive or p.heap.adaptive
    for _, note in ipairs(p.info.notes) do
      if not noted[note] then s.info.notes[#s.info.notes+1] = note end
      noted[note] = true
    end
  end
  if s.info.started == math.huge then s.info.started = nil end
end

-- Returns the profile that is the sum of a list of profiles.
return function(list)
  local s = {
    info = { notes = {} }, cpu = {}, heap = {}, frames = {},
    stacks = { parent = {}, frame = {} }, zones = { parent = {}, name = {} },
    rows = {}
  }
  merge_totals(list, s)
  local frame_id, rows = interner(s.frames), {}
  local push = tree(s.stacks.parent, s.stacks.frame)
  local push_zone = tree(s.zones.parent, s.zones.name)
  for _, p in ipairs(list) do
    local frames, stacks, zones = {}, { [0] = 0 }, { [0] = 0 }
    for i, f in ipairs(p.frames) do frames[i] = frame_id(frame_key(f), f) end
    for i, parent in ipairs(p.parent) do
      stacks[i] = push(stacks[parent], frames[p.frame[i]])
    end
    for i, parent in ipairs(p.zones.parent) do
      zones[i] = push_zone(zones[parent], p.zones.name[i])
    end
    for _, r in ipairs(p.rows) do
      local key = table.concat({ stacks[r.stack], zones[r.zone], r.state,
	r.type or "" }, "\0")
      local to = rows[key]
      if not to then
	to = { stack = stacks[r.stack], zone = zones[r.zone], state = r.state,
	  type = r.type }
	rows[key] = to
	s.rows[#s.rows+1] = to
      end
      add_fields(to, r, sums)
    end
  end
  return profile.new(s)
end
