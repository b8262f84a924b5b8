-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The profile as the views use it: a snapshot of the core, with names.
----------------------------------------------------------------------------
--
-- A row has the counts of one stack in one VM state and one zone, with one set
-- of labels and objects of one type. Labels and zones are one tree: a node with
-- a key is a label, and its name the label's value; labels come before zones. A
-- view is a number that every row has: "cpu" (samples), "alloc", "inuse" and
-- "peak" (bytes, or objects). Reports show sums of a view over rows with the
-- same key, and a key is a name of the row's stack, state, zone, labels or
-- type.
--
----------------------------------------------------------------------------

local builtins = require("jit.mp.model.builtins")
local chunks = require("jit.mp.model.chunks")
local estimates = require("jit.mp.model.estimates")
local functions = require("jit.mp.model.functions")
local names = require("jit.mp.model.names")
local reasons = require("jit.mp.model.reasons")
local terms = require("jit.mp.model.terms")

local printable = names.printable

local Profile = {}
Profile.__index = Profile

local function new(snapshot)
  estimates.calibrate(snapshot)
  for _, f in ipairs(snapshot.frames) do
    if f.builtin then
      f.name, f.builtin = builtins.name(f.builtin), nil
    end
  end
  reasons.spell(snapshot)
  snapshot.zones.key = snapshot.zones.key or {}
  return setmetatable({
    info = snapshot.info, cpu = snapshot.cpu, heap = snapshot.heap,
    native = snapshot.native or {},
    rows = snapshot.rows, frames = chunks.tell_apart(snapshot.frames),
    parent = snapshot.stacks.parent, frame = snapshot.stacks.frame,
    zones = snapshot.zones, course = snapshot.course or {},
    timeline = snapshot.timeline or {},
    events = snapshot.events, alloc_types = snapshot.alloc_types,
    collections = snapshot.collections, held = snapshot.held,
    native_records = snapshot.native_records,
    native_held = snapshot.native_held,
    walk = snapshot.walk, memory = snapshot.memory or {},
    pins = snapshot.pins, compiler = snapshot.compiler or {},
    waits = snapshot.waits or {},
    giveups = snapshot.giveups, traces = snapshot.traces,
    flushes = snapshot.flushes, blacklisted = snapshot.blacklisted,
    escapes = snapshot.escapes,
    survivors = snapshot.survivors, collected = snapshot.collected,
    collected_after = snapshot.collected_after
  }, Profile)
end

-- Source of a frame: without its directories, unless the path is wanted.
local function module_name(f, path)
  local s = f.source or "?"
  if not path and not s:find("^%[") then s = s:match("[^/\\]+$") or s end
  return printable(s)
end

-- The functions: a list, and a table from a frame's number to its function
-- (see functions.lua).
function Profile:functions()
  if not self.function_list then
    self.function_list, self.function_of, self.changed =
      functions.of_profile(self)
  end
  return self.function_list, self.function_of
end

-- A line of a source on which a function began when the program ran, and does
-- not now; nil: the source may be what ran. Of other languages than Lua that is
-- not known.
function Profile:changed_line(source)
  self:functions()
  return self.changed[source]
end

-- The name of a function; of one without, the place where it begins.
function Profile:function_name(fn, path)
  return fn.name or
    module_name(fn.frame, path)..":"..(fn.line or terms.no_line)
end

-- A function from a frame's number to its name in a scope: "f" its function,
-- "F" the same with its module, "l" its line.
function Profile:labeler(scope, path)
  local list, of = self:functions()
  local key = scope..tostring(path or false)
  self.label_cache = self.label_cache or {}
  local known = self.label_cache[key] or { functions.labels(list, scope, path) }
  self.label_cache[key] = known
  local labels, module_of = known[1], known[2]
  if self.paired and scope ~= "l" then labels = self.paired end
  local moved = self.moved or {}
  return function(id)
    local f, to = self.frames[id], moved[of[id]]
    if scope ~= "l" or f.kind ~= "Lua" then return labels[of[id]] end
    return (to and to.module or module_of(f.source))..":"..
      (f.line and f.line + (to and to.by or 0) or terms.no_line)
  end
end

-- The same profile with one frame, the last one, where a Lua function calls
-- itself directly. Tables that refer to stacks are copied, others are shared.
function Profile:collapsed()
  local _, of = self:functions()
  local parent, frame, ids, shorter = {}, {}, {}, { [0] = 0 }
  for s, up in ipairs(self.parent) do
    local f, to = self.frame[s], shorter[up]
    local fn = of[f]
    if to ~= 0 and fn.kind == "Lua" and of[frame[to]] == fn then
      to = parent[to]
    end
    local key = to * (#self.frames + 1) + f
    if not ids[key] then
      ids[key] = #parent + 1
      parent[#parent+1], frame[#frame+1] = to, f
    end
    shorter[s] = ids[key]
  end
  local p = setmetatable({ parent = parent, frame = frame, rows = {} }, Profile)
  for k, v in pairs(self) do
    if p[k] == nil then p[k] = v end
  end
  for i, row in ipairs(self.rows) do
    local copy = {}
    for k, v in pairs(row) do copy[k] = v end
    copy.stack = shorter[row.stack]
    p.rows[i] = copy
  end
  return p
end

-- The stack whose line a stack counts for: builtins and C functions count for
-- the Lua line that called them, compiled or not; the VM's own work (pseudo
-- frames) counts for no line.
function Profile:line_stack(stack)
  local s = stack
  while s ~= 0 do
    local kind = self.frames[self.frame[s]].kind
    if kind == "Lua" then return s end
    if kind == "pseudo" then break end
    s = self.parent[s]
  end
  return stack
end

-- A function from a row to its stack's names in that scope, top first, at
-- most depth of them.
function Profile:namer(scope, path, depth)
  local cache, label = {}, self:labeler(scope, path)
  return function(row)
    local t, s = cache[row.stack], row.stack
    if t then return t end
    if scope == "l" then s = self:line_stack(s) end
    t = {}
    while s ~= 0 and #t < depth do
      t[#t+1] = label(self.frame[s])
      s = self.parent[s]
    end
    if #t == 0 then t[1] = terms.no_stack end
    cache[row.stack] = t
    return t
  end
end

-- File and line of the nearest Lua frame of a row; nil: there is none.
function Profile:source_line(row)
  local s = self:line_stack(row.stack)
  local f = s ~= 0 and self.frames[self.frame[s]]
  if f and f.kind == "Lua" and f.source then return f.source, f.line end
end

-- Where a source may be read; nil: it is no file. Without a directory that is
-- known a relative name stays.
function Profile:source_path(source)
  if not source or source:match("^[%[(]") or source == "stdin" then
    return nil
  elseif source:match("^/") or not self.info.cwd then
    return source
  end
  return self.info.cwd.."/"..source
end

function Profile:state_name(row)
  return terms.states[row.state] or row.state
end

-- Whether a row has a zone.
function Profile:has_zone(row)
  return row.zone ~= 0 and not self.zones.key[row.zone]
end

function Profile:zone_name(row)
  return self:has_zone(row) and printable(self.zones.name[row.zone]) or
    terms.no_zone
end

-- The labels of a row, by their names: a list of { name, value }.
function Profile:labels(row)
  local list, z = {}, row.zone
  while z ~= 0 do
    local key = self.zones.key[z]
    if key then table.insert(list, 1, { key, self.zones.name[z] }) end
    z = self.zones.parent[z]
  end
  return list
end

-- All labels of a row, or the value of the one of that name. A row of which
-- only is known that it has labels has one of the name "(other)".
function Profile:label_name(row, name)
  local words = {}
  for _, label in ipairs(self:labels(row)) do
    local key, value = printable(label[1]), printable(label[2])
    if label[1] == name or key == terms.other then return value end
    words[#words+1] = key.."="..value
  end
  return words[1] and not name and table.concat(words, " ") or terms.no_label
end

-- Type of a row's objects. CPU samples have none.
function Profile:type_name(row)
  return row.type and printable(row.type) or terms.no_type
end

-- Whether a row is that of the memory from before the profile.
function Profile:is_before(row)
  local f = self.frames[self.frame[row.stack]]
  return f ~= nil and f.kind == "pseudo" and f.name == terms.before
end

-- Name of a row by its VM state, zone, labels or type: o.states is "v", "z",
-- "y" or "t"; o.label: the name of a label, or nil.
function Profile:split_name(row, o)
  local by = o.states
  if self:is_before(row) then return terms.before end
  return by == "v" and self:state_name(row) or by == "z" and
    self:zone_name(row) or by == "y" and self:label_name(row, o.label) or
    self:type_name(row)
end

-- A function from a row to its number in a view.
function Profile.value_of(view, objects)
  local field = view == "cpu" and "cpu" or
    view..(objects and "_objects" or "_bytes")
  if view:find("^native") then  -- Not all rows have these.
    return function(row) return row[field] or 0 end
  end
  return function(row) return row[field] end
end

-- Sums of the views by key: key(row) is the name that a row counts for, and the
-- functions after it give the name within that, and so on, until one is nil.
-- Returns a list of { name, [1] = sum of the first view, ..., sub = list,
-- var = variances of the sums }, in no order, and the totals.
function Profile:sums(views, objects, ...)
  local keys = { ... }
  local list, index, totals, value, var = {}, {}, {}, {}, {}
  for i, view in ipairs(views) do
    totals[i] = 0
    value[i] = self.value_of(view, objects)
    var[i] = estimates.variance(self, view, objects)
  end
  local function entry(t, by, name)
    local e = by[name]
    if not e then
      e = { name = name, var = {} }
      for i = 1, #views do e[i], e.var[i] = 0, 0 end
      by[name] = e
      t[#t+1] = e
    end
    return e
  end
  local function add(e, row)
    for i = 1, #views do
      e[i] = e[i] + value[i](row)
      e.var[i] = e.var[i] + var[i](row)
    end
  end
  for _, row in ipairs(self.rows) do
    local t, by = list, index
    for k = 1, #keys do
      local name = keys[k](row)
      if not name then break end
      local e = entry(t, by, name)
      add(e, row)
      if keys[k+1] then e.sub, e.by = e.sub or {}, e.by or {} end
      t, by = e.sub, e.by
    end
    for i = 1, #views do totals[i] = totals[i] + value[i](row) end
  end
  return list, totals
end

-- The share of a view that has a Lua line, 0 to 1; nil: the view is empty.
function Profile:line_share(view)
  local value, all, lined = self.value_of(view), 0, 0
  for _, row in ipairs(self.rows) do
    local v = self:is_before(row) and 0 or value(row) or 0
    local _, line = self:source_line(row)
    all = all + v
    if line then lined = lined + v end
  end
  return all > 0 and lined / all or nil
end

-- The stack of the program where its thread has slept, below what the core has
-- put on top: the system call, whose name follows, and whether that is an event
-- loop's, which comes last.
function Profile:asleep_at(row)
  local stack, loop = row.stack, false
  local function name() return (self.frames[self.frame[stack]] or {}).name end
  if name() == terms.event_loop then
    stack, loop = self.parent[stack], true
  end
  local below = self.parent[stack] or 0
  if below == 0 then return stack, nil, loop end  -- No room for a place.
  return below, name():match("^%((.*)%)$"), loop
end

-- Whether a row is of an event loop that waits.
function Profile:in_loop(row)
  local f = self.frames[self.frame[row.stack]]
  return f ~= nil and f.name == terms.event_loop
end

-- The seconds in which its coroutines and its thread were watched; older
-- profiles do not have them.
function Profile:watched() return self.waits.time or self.info.wall end

-- Whether a view was measured at all.
function Profile:measures(view)
  if view == "cpu" then return self.cpu.enabled end
  if view:find("^native") then return self.native.enabled or false end
  return view ~= "peak" or not self.rows[1] or
    self.rows[1].peak_bytes ~= nil
end

-- Whether calls were counted.
function Profile:has_calls()
  for _, row in ipairs(self.rows) do
    if row.calls then return true end
  end
  return false
end

-- Share of the CPU samples in a VM state, 0 to 1; nil: no samples.
function Profile:state_share(state)
  local all, n = 0, 0
  for _, row in ipairs(self.rows) do
    all = all + row.cpu
    if row.state == state then n = n + row.cpu end
  end
  return all > 0 and n / all or nil
end

return { new = new, printable = printable, module_name = module_name }
