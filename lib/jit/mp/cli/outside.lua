-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp attach --outside: the CPU time of a process that nothing is loaded
-- into, by looks at its Lua stack (attach/outside.h), and a walk of its heap,
-- by a copy (attach/heap.h).
----------------------------------------------------------------------------

local files = require("jit.mp.cli.files")
local formats = require("jit.mp.format.formats")
local profile = require("jit.mp.model.profile")
local stop = require("jit.mp.cli.stop")
local target = require("jit.mp.cli.target")

local INTERVAL = 10    -- Milliseconds of CPU time between two samples.
local SHOWN = 48       -- Bytes of a chunk's text, as in Lua.
local LOST = "(not known)"
local IDLE = "(host program)"
local MORE = "(more frames)"

-- The option that asks for more than there is, or nil.
local function refused(o)
  for letter in ("huxYUoteLMJITwBbCyzn"):gmatch(".") do
    if o.seen[letter] then return letter end
  end
end

-- Source of a chunk by its name, as in a profile.
local function source_of(chunk)
  if chunk:find("^[@=]") then return chunk:sub(2) end
  local text = chunk:match("^%C*")
  if #text == #chunk and #text <= SHOWN then
    return ('[string "%s"]'):format(text)
  end
  return ('[string "%s..."]'):format(text:sub(1, SHOWN - 3))
end

-- The outputs, those of a heap walk last, for they fail where there is none;
-- and the number of these.
local function sorted(outs)
  local list, walks = {}, {}
  for _, out in ipairs(outs) do
    local format = formats.of(out)
    table.insert(format and format.walk and walks or list, out)
  end
  for _, out in ipairs(walks) do list[#list+1] = out end
  return list, #walks
end

-- A snapshot without samples.
local function empty(pid, interval, chunk, walk_alone)
  return {
    info = { pid = pid, attached = true, cpu = 0, wall = 0,
      capture = "outside",
      script = chunk ~= "" and source_of(chunk) or nil, started = os.time(),
      os = jit.os, arch = jit.arch, cut = 0, notes = {
        not walk_alone and
	"compiled code counts for the function in which it begins" or nil } },
    cpu = { enabled = not walk_alone, samples = 0, interval = interval },
    heap = { enabled = false, alloc_objects = 0, alloc_bytes = 0,
      free_objects = 0, free_bytes = 0, realloc_objects = 0,
      realloc_bytes = 0, realloc_freed = 0, samples = 0, dropped = 0,
      period = 1, adaptive = false, inuse = 0, inuse_start = 0, peak = 0 },
    frames = {}, stacks = { parent = {}, frame = {} },
    zones = { parent = {}, name = {} }, rows = {}
  }
end

-- Functions that find or make the record of a key.
local function interner(list, make)
  local ids = {}
  return function(key, ...)
    if not ids[key] then
      ids[key] = #list + 1
      list[#list+1] = make(...)
    end
    return ids[key]
  end
end

local function new_row(stack, state)
  local row = { stack = stack, zone = 0, state = state, cpu = 0 }
  for _, view in ipairs({ "alloc", "inuse", "peak" }) do
    row[view.."_objects"], row[view.."_bytes"] = 0, 0
  end
  return row
end

local function frame_key(f)
  return table.concat({ f.kind, f.source or "", f.name or "", f.line or "",
    f.linedefined or "", f.code or "" }, "\0")
end

-- A function that adds a sample: the frames from the top on, and the VM's
-- state.
local function adder(s)
  local stacks = s.stacks
  local frame_id = interner(s.frames, function(f) return f end)
  local nodes, rows = {}, interner(s.rows, new_row)
  local function push(parent, frame)
    local key = parent..":"..frame
    if not nodes[key] then
      local n = #stacks.parent + 1
      stacks.parent[n], stacks.frame[n] = parent, frame
      nodes[key] = n
    end
    return nodes[key]
  end
  return function(frames, state)
    local stack = 0
    for i = #frames, 1, -1 do
      stack = push(stack, frame_id(frame_key(frames[i]), frames[i]))
    end
    local row = s.rows[rows(stack..state, stack, state)]
    row.cpu = row.cpu + 1
    s.cpu.samples = s.cpu.samples + 1
  end
end

local function pseudo(name) return { kind = "pseudo", name = name } end

-- Whether Lua itself has a function of that name.
local function is_standard(name)
  local f = _G
  for word in name:gmatch("[^.]+") do f = type(f) == "table" and f[word] end
  return type(f) == "function"
end

-- Whether a function's name is better than another one that it has: it may be
-- a global, too, and be in a module.
local function is_better(a, b)
  if is_standard(a) ~= is_standard(b) then return is_standard(a) end
  return #a < #b or #a == #b and a < b
end

-- A function that names a frame of a C function. The program's tables are read
-- anew once a second while there is one that they did not have.
local function namer(session)
  local named, again = {}, 0
  local function read()
    named, again = {}, session:times() + 1
    for _, f in ipairs(session:functions()) do
      local known = named[f.object]
      if not known or is_better(f.name, known.name) then named[f.object] = f end
    end
  end
  return function(frame)
    local f = named[frame.object]
    if not f and session:times() >= again then
      read()
      f = named[frame.object]
    end
    frame.object = nil
    if not f then return end
    frame.name = f.name
    if f.builtin then frame.kind, frame.source, frame.code = "builtin" end
  end
end

-- The frames of a sample. name: a namer.
local function frames_of(session, place, name)
  if place == "idle" then return { pseudo(IDLE) } end
  if place == "lost" then return { pseudo(LOST) } end
  local list, cut = session:frames()
  for _, f in ipairs(list) do
    if f.kind == "Lua" then f.source = source_of(f.source) else name(f) end
  end
  if cut then list[#list+1] = pseudo(MORE) end
  return list, cut
end

-- Looks at the process for so many seconds. Returns a snapshot.
local function watch(session, s, seconds)
  local add, name = adder(s), namer(session)
  local begun, why = session:times(), "time"
  while why == "time" and session:times() - begun < seconds do
    local place = s.cpu.enabled and session:sample()
    if place then
      local frames, cut = frames_of(session, place, name)
      add(frames, #place == 1 and place or "C")
      if cut then s.info.cut = s.info.cut + 1 end
    end
    why = session:wait()
  end
  local now, cpu = session:times()
  s.info.wall, s.info.cpu = now - begun, cpu or 0
  if not cpu then
    s.cpu.why = "no thread was seen to run the Lua state in that time; one "..
      "that seldom does takes a longer one, by -t"
  end
  return s
end

-- Walks the heap. Fails where there is nothing else to be shown.
local function walk(session, s, share, file)
  local w, msg = session:heap(target.find("jit.mp.core", package.cpath), share,
    file)
  if not w and not s.cpu.enabled then
    stop.data(("cannot walk the heap of process %d: %s"):format(s.info.pid,
      msg))
  end
  s.walk = w or { seconds = 0, why = msg }
  s.walk.at = s.info.wall
  if w and msg then
    table.insert(s.info.notes, "compiled code ran during the heap walk: what "..
      "only its registers held counts as held by nothing")
  end
end

return function(given, operands, command)
  local outs, walks = sorted(given.out or { "-" })
  local text = given.opts or (walks == #outs and "W" or "f")
  local o = files.parse_options(text, given, command)
  local alone = o.walk ~= nil or walks == #outs
  -- Of the heap: what has a line of its own.
  local share = o.walk or walks > 0 and math.max(o.min, 0.1) / 100 or nil
  if not alone then o = files.parse_options("c"..text, given, command) end
  local letter = refused(o)
  if letter then
    stop.usage(("attach: option %s has no effect with --outside, which shows "..
      "CPU time and a heap walk"):format(letter), command)
  end
  files.check_effects(o, given, outs, command)
  for _, out in ipairs(outs) do files.check_output(out, command) end
  local time = target.seconds(given.time, command)
  local pid = target.number(operands[1], command)
  local session, msg = require("jit.mp.attach").outside(pid)
  if not session then
    stop.data(("cannot look at process %d: %s"):format(pid, msg))
  end
  local states = session:states()
  local n = target.choose(pid, states, given.state, command)
  local interval = o.interval or INTERVAL
  local ok, why = session:choose(n, interval / 1000)
  if not ok then
    stop.data(("cannot look at process %d: %s"):format(pid, why))
  end
  if not time and not alone then
    io.stderr:write(("luajit-mp: profiling process %d from outside; Ctrl-C "..
      "ends it\n"):format(pid))
  end
  local s = watch(session, empty(pid, interval, states[n].chunk, alone),
    time or alone and 0 or 1e9)
  if share then walk(session, s, share, walks > 0) end
  local p = profile.new(s)
  target.write(p, o, outs, pid, given)
end
