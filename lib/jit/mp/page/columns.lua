-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A profile by columns: arrays of numbers that the page's script reads.
----------------------------------------------------------------------------

local encode = require("jit.mp.page.encode")
local names = require("jit.mp.model.names")
local profile = require("jit.mp.model.profile")
local wall_times = require("jit.mp.model.wall")

local amounts, ints, list = encode.amounts, encode.ints, encode.list
local object, strings = encode.object, encode.strings

local kinds = { Lua = 0, builtin = 1, C = 2, pseudo = 3 }

-- A function that gives the number, from 0 on, of a frame's function, and the
-- columns of all functions. Profiles that are compared share them: strs gives
-- the numbers of strings.
local function functions(strs, o)
  local index = {}
  local t = { name = {}, module = {}, source = {}, line = {}, kind = {} }
  return function(f, name)
    local lua = f.kind == "Lua"
    local key = table.concat({ f.kind, name, f.source or "",
      lua and f.linedefined or "" }, "\0")
    local i = index[key]
    if i then return i end
    i = #t.name
    index[key] = i
    t.name[i+1] = strs(name)
    t.module[i+1] = lua and strs(profile.module_name(f, o.path)) or -1
    t.source[i+1] = f.source and strs(f.source) or -1
    t.line[i+1] = lua and f.linedefined or -1
    t.kind[i+1] = kinds[f.kind] or kinds.pseudo
    return i
  end, t
end

local function encode_functions(t)
  return object({ "name", list(t.name), "module", list(t.module),
    "source", list(t.source), "line", list(t.line), "kind", list(t.kind) })
end

-- moved: as jit.mp.model.pairing has it, where the other profile has the same
-- functions.
local function frames(p, o, add, moved)
  local _, function_of = p:functions()
  local func, line = {}, {}
  for i = 1, #p.frames do func[i], line[i] = -1, -1 end
  for s = 1, #p.frame do
    local i = p.frame[s]
    if func[i] == -1 then
      local f, fn = p.frames[i], function_of[i]
      local there = moved[fn] or { to = fn, by = 0 }
      func[i] = add(there.to.frame, p:function_name(there.to, o.path))
      line[i] = f.kind == "Lua" and f.line and f.line + there.by or -1
    end
  end
  return object({ "func", list(func), "line", list(line) })
end

-- Stacks; those that count for the line of another stack, with that one.
local function stacks(p)
  local from, to = {}, {}
  for s = 1, #p.parent do
    local owner = p:line_stack(s)
    if owner ~= s then from[#from+1], to[#to+1] = s, owner end
  end
  return object({ "parent", list(p.parent), "frame", list(p.frame),
    "lines_from", list(from), "lines_to", list(to) })
end

local native = { "native_objects", "native_bytes", "native_inuse_objects",
  "native_inuse_bytes" }

-- Seconds of wall times, and their variance.
local function add_wall(t, p)
  for _, time in ipairs(p.waits.enabled and wall_times.list or {}) do
    local values, list_of = wall_times.values(p, time), {}
    for i, row in ipairs(p.rows) do
      local seconds, variance = values(row)
      list_of[i] = { seconds = seconds, variance = variance }
    end
    t[#t+1], t[#t+2] = time.name, amounts(list_of, "seconds", 1e6)
    t[#t+1] = time.name.."_variance"
    t[#t+1] = amounts(list_of, "variance", 1e9)
  end
end

-- Rows. Columns that the profile does not have are left out.
local function rows(p)
  local states, state_list = encode.interner()
  local types, type_list = encode.interner()
  local state, kind, peak, temp = {}, {}, false, false
  for i, row in ipairs(p.rows) do
    state[i] = states(p:state_name(row))
    kind[i] = row.type and types(p:type_name(row)) or -1
    peak = peak or row.peak_bytes ~= nil
    temp = temp or row.temp_bytes ~= nil
  end
  local t = {
    "stack", ints(p.rows, "stack"), "zone", ints(p.rows, "zone"),
    "state", list(state), "type", list(kind),
    "states", strings(state_list), "types", strings(type_list),
    "cpu", amounts(p.rows, "cpu", 1000),
    "alloc_objects", amounts(p.rows, "alloc_objects", 1000),
    "alloc_bytes", amounts(p.rows, "alloc_bytes", 1),
    "inuse_objects", amounts(p.rows, "inuse_objects", 1000),
    "inuse_bytes", amounts(p.rows, "inuse_bytes", 1)
  }
  if p.cpu.adaptive then
    t[#t+1] = "cpu_variance"
    t[#t+1] = amounts(p.rows, "cpu_variance", 1000)
  end
  add_wall(t, p)
  if peak then
    t[#t+1], t[#t+2] = "peak_objects", amounts(p.rows, "peak_objects", 1000)
    t[#t+1], t[#t+2] = "peak_bytes", amounts(p.rows, "peak_bytes", 1)
  end
  if temp then
    t[#t+1], t[#t+2] = "temp_objects", amounts(p.rows, "temp_objects", 1000)
    t[#t+1], t[#t+2] = "temp_bytes", amounts(p.rows, "temp_bytes", 1)
  end
  for _, name in ipairs(p.native.enabled and native or {}) do
    t[#t+1] = name
    t[#t+1] = amounts(p.rows, name, name:find("objects") and 1000 or 1)
  end
  return object(t)
end

-- Labels and zones; a zone has an empty key.
local function zones(p)
  local shown, keys = {}, {}
  for i, name in ipairs(p.zones.name) do
    shown[i] = names.printable(name)
    keys[i] = names.printable(p.zones.key[i] or "")
  end
  return object({ "parent", list(p.zones.parent), "name", strings(shown),
    "key", strings(keys) })
end

local function timeline(p)
  local points = p.course or {}
  local phases, phase_list = encode.interner()
  local wall, cpu, phase = {}, {}, {}
  for i, c in ipairs(points) do
    wall[i], cpu[i] = ("%.6f"):format(c.wall or 0), ("%.6f"):format(c.cpu or 0)
    phase[i] = phases(c.phase or "")
  end
  return object({ "wall", list(wall), "cpu", list(cpu),
    "allocated", ints(points, "allocated"), "inuse", ints(points, "inuse"),
    "rss", ints(points, "rss"), "cycles", ints(points, "cycles"),
    "phase", list(phase), "phases", strings(phase_list) })
end

-- Changes by row, in order of time.
local function sorted(changes, points)
  local by, out = {}, {}
  for _, e in ipairs(changes) do
    by[e.point] = by[e.point] or {}
    table.insert(by[e.point], e)
  end
  for i = 1, points do
    for _, e in ipairs(by[i] or {}) do out[#out+1] = e end
  end
  return out
end

local function changes(p)
  local t = sorted(p.timeline or {}, p.course and #p.course or 0)
  return object({ "point", ints(t, "point"), "row", ints(t, "row"),
    "cpu", amounts(t, "cpu", 1000),
    "alloc_objects", amounts(t, "alloc_objects", 1000),
    "alloc_bytes", amounts(t, "alloc_bytes", 1),
    "inuse_bytes", ints(t, "inuse_bytes") })
end

-- The columns of a profile as keys and texts.
local function columns(p, o, add, moved)
  return { "frames", frames(p, o, add, moved), "stacks", stacks(p),
    "zones", zones(p), "rows", rows(p), "timeline", timeline(p),
    "changes", changes(p) }
end

return {
  functions = functions, encode_functions = encode_functions,
  columns = columns
}
