-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Made-up snapshots, as the core makes them.
----------------------------------------------------------------------------
--
--   snapshots.of({ { "main > work", cpu = 3, alloc_bytes = 9 }, ... }, frames)
--
-- makes one of stacks, each with its counts. frames: by name; others are Lua
-- functions of lib/app.lua, each on a line of its own. The totals are the sums
-- of the rows, and every allocation was counted.
--
--   snapshots.with({ info = { cpu = 3 }, frames = {}, rows = {}, ... })
--
-- makes one of its parts. Fields of info, cpu and heap that are not given, and
-- parts that are not, have the usual values. Rows keep their amounts: without
-- heap.inuse_start nothing scales them to the totals.
--
----------------------------------------------------------------------------

local snapshots = {}

local fields = { "cpu", "alloc_objects", "alloc_bytes", "inuse_objects",
  "inuse_bytes" }

local function empty()
  return {
    version = 1,
    info = { script = "app.lua", cpu = 2, wall = 2, cwd = "/",
      capture = "exact", notes = {} },
    cpu = { enabled = true, samples = 0, interval = 10 },
    heap = { enabled = true, alloc_objects = 0, alloc_bytes = 0, samples = 0,
      dropped = 0, inuse = 0, inuse_start = 0, peak = 0, period = 1 },
    frames = {}, stacks = { parent = {}, frame = {} },
    zones = { parent = {}, name = {} }, rows = {}
  }
end

-- Functions that find or make a frame of a name, and a stack of a text.
local function interners(snapshot, frames)
  local ids, nodes = {}, {}
  local function frame(name)
    if not ids[name] then
      local n = #snapshot.frames + 1
      snapshot.frames[n] = frames and frames[name] or { kind = "Lua",
	name = name, source = "lib/app.lua", line = 10 * n + 1,
	linedefined = 10 * n }
      ids[name] = n
    end
    return ids[name]
  end
  return function(text)
    local stack, key, stacks = 0, "", snapshot.stacks
    for name in text:gmatch("[^> ]+") do
      key = key..">"..name
      if not nodes[key] then
	local n = #stacks.parent + 1
	stacks.parent[n], stacks.frame[n] = stack, frame(name)
	nodes[key] = n
      end
      stack = nodes[key]
    end
    return stack
  end
end

local groups = { info = true, cpu = true, heap = true }

function snapshots.with(parts)
  local snapshot = empty()
  snapshot.heap.inuse_start = nil
  for name, part in pairs(parts) do
    if groups[name] then
      for field, value in pairs(part) do snapshot[name][field] = value end
    else
      snapshot[name] = part
    end
  end
  return snapshot
end

-- A row with its counts: objects and bytes of each view of the heap.
function snapshots.row(keys, cpu, alloc, inuse, peak)
  keys.cpu = cpu
  keys.alloc_objects, keys.alloc_bytes = alloc[1], alloc[2]
  keys.inuse_objects, keys.inuse_bytes = inuse[1], inuse[2]
  if peak then keys.peak_objects, keys.peak_bytes = peak[1], peak[2] end
  return keys
end

-- The VM's number of string.format, whose frames are in some snapshots.
function snapshots.format_id()
  local has, vmdef = pcall(require, "jit.vmdef")
  for id, name in pairs(has and vmdef.ffnames or {}) do
    if name == "string.format" then return id end
  end
end

function snapshots.of(stacks, frames)
  local snapshot = empty()
  local heap, push = snapshot.heap, interners(snapshot, frames)
  for _, s in ipairs(stacks) do
    local row = { stack = push(s[1]), zone = 0, state = "I" }
    for _, field in ipairs(fields) do row[field] = 0 end
    for k, v in pairs(s) do if k ~= 1 then row[k] = v end end
    snapshot.rows[#snapshot.rows+1] = row
    snapshot.cpu.samples = snapshot.cpu.samples + row.cpu
    heap.alloc_objects = heap.alloc_objects + row.alloc_objects
    heap.alloc_bytes = heap.alloc_bytes + row.alloc_bytes
    heap.inuse = heap.inuse + row.inuse_bytes
    heap.peak = heap.peak + (row.peak_bytes or 0)
  end
  return snapshot
end

-- A frame of a Lua function. name may be nil; defined at linedefined.
function snapshots.lua(name, source, line, linedefined)
  return { kind = "Lua", name = name, source = source, line = line,
    linedefined = linedefined }
end

return snapshots
