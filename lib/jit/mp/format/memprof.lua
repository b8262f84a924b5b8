-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Files of misc.memprof and misc.sysprof: Tarantool's own tools read them as
-- their streams, and luajit-mp the profile that follows the stream's end.
----------------------------------------------------------------------------
--
-- A stream is a table of symbols and a list of events: samples of CPU time, or
-- allocations, reallocations and frees, one by one. Of these a profile has
-- their sums by place: the events are made of these, so that numbers and bytes
-- of each place, and of the places that the freed memory came from, are as they
-- were counted. Their order is not the program's, sizes are means, and
-- addresses are numbers. Of more events than MOST no stream is made: it would
-- take long, and much memory.
--
-- The tools show the Lua functions of a sample behind a frame of lua_pcall on
-- the C stack, up to a C function, and of compiled code none. So here that
-- frame is the C stack, C functions and builtins are like Lua functions, and
-- compiled code is like interpreted.
--
----------------------------------------------------------------------------

local places = require("jit.mp.model.places")
local write = require("jit.mp.format.file_write")

-- A number in groups of seven bits, the lowest first.
local function uleb(n)
  if n < 128 then return string.char(n) end
  if n < 16384 then
    return string.char(n % 128 + 128, (n - n % 128) / 128)
  end
  local t = {}
  while n >= 128 do
    t[#t+1] = string.char(n % 128 + 128)
    n = math.floor(n / 128)
  end
  t[#t+1] = string.char(n)
  return table.concat(t)
end

local function text(s) return uleb(#s)..s end

local SYMBOLS, EVENTS = "ljs\3\0\0\0", "ljm\3\0\0\0"
local SAMPLES = "ljp\2\0\0\0"
local FINAL = "\128"
local LFUNC, CFUNC, TRACE = 0, 1, 2 -- Symbols.
local ALLOC, FREE, REALLOC = 1, 2, 3
-- Added to an event: what made it.
local BY_VM, BY_LUA, BY_C, BY_TRACE = 4, 8, 12, 16
local STEP = 16 -- Between addresses.
local MOST = 200000

-- -- Places -------------------------------------------------------------------

-- A chunk's name as LuaJIT has it, from a frame's source.
local function chunk_name(source)
  if not source then return "?" end
  return source:match('^%[string "(.*)"%]$') or "@"..source
end

local function lua_symbol(at, name, line)
  return string.char(LFUNC)..uleb(at)..text(name)..uleb(line)
end

local function c_symbol(at, name)
  return string.char(CFUNC)..uleb(at)..text(name)
end

-- A list of symbols, as texts; and a function from a frame's number to the
-- address of its function, and the line where that begins. other: a function
-- that makes the symbol of what is not a Lua function.
local function symbols(p, other)
  local _, function_of = p:functions()
  local list, seen = {}, {}
  return list, function(id)
    local fn, f = function_of[id], p.frames[id]
    local at = fn.index * STEP
    if not seen[fn] then
      seen[fn] = true
      list[#list+1] = f.kind == "Lua" and
	lua_symbol(at, chunk_name(f.source), fn.line or 0) or
	other(at, fn.name or f.name or "?", 0)
    end
    return uleb(at), fn.line or 0
  end
end

-- Adds the symbols of traces. Returns those numbers of traces that have one: of
-- a number that several had it is not known where an event's began.
local function add_traces(p, list, address)
  local starts = {}
  for _, t in ipairs(p.traces or {}) do
    local before = starts[t.number]
    starts[t.number] = (before == nil or before == t.start) and t.start
  end
  for n, id in pairs(starts) do
    local f = p.frames[id]
    if f and f.kind == "Lua" then
      local at = address(id)  -- It may add a symbol.
      list[#list+1] = string.char(TRACE)..uleb(n)..at..uleb(f.line or 0)
    else
      starts[n] = nil
    end
  end
  return starts
end

-- A function from a row's number to what made its events, and the text of the
-- place. list, address: of symbols().
local function placer(p, list, address)
  local traces, cache = add_traces(p, list, address), {}
  local function place(row)
    local id = row and places.of_row(p, row)
    local f = id and p.frames[id]
    if f and traces[row.trace] then
      return { BY_TRACE, uleb(row.trace) }
    elseif f and f.kind == "Lua" then
      return { BY_LUA, address(id)..uleb(f.line or 0) }
    elseif f and f.kind == "C" then
      return { BY_C, (address(id)) }
    end
    return { BY_VM, "" }
  end
  return function(i)
    cache[i] = cache[i] or place(p.rows[i])
    return cache[i][1], cache[i][2]
  end
end

-- -- Events -------------------------------------------------------------------

-- The i-th of n whole parts of a sum.
local function part(sum, n, i)
  return math.floor(sum * i / n) - math.floor(sum * (i - 1) / n)
end

-- Blocks by the row that allocated them, until they are freed: addresses.
local function new_heap(p)
  local blocks, last = {}, 0
  local heap = {}
  function heap.add(row)
    local list = blocks[row] or {}
    last = last + STEP
    blocks[row] = list
    list[#list+1] = last
    return last
  end
  -- Whether a row has a block. Of those from before the profile there are some.
  function heap.has(row)
    return row == 0 or p:is_before(p.rows[row]) or
      blocks[row] and #blocks[row] > 0
  end
  function heap.take(row)
    local list = blocks[row]
    if row ~= 0 and list and #list > 0 then return table.remove(list) end
    last = last + STEP
    return last
  end
  return heap
end

local function put_allocs(out, p, heap, place)
  local moved, bytes = {}, {}  -- Reallocations count as allocations, too.
  for _, e in ipairs(p.events) do
    if e.kind == "realloc" then
      moved[e.row] = (moved[e.row] or 0) + e.count
      bytes[e.row] = (bytes[e.row] or 0) + e.alloc_bytes
    end
  end
  for i, row in ipairs(p.rows) do
    local n = row.alloc_objects - (moved[i] or 0)
    local sum = math.max(row.alloc_bytes - (bytes[i] or 0), 0)
    local by, at = place(i)
    for k = 1, n do
      out[#out+1] = string.char(ALLOC + by)..at..uleb(heap.add(i))..
	uleb(part(sum, n, k))
    end
  end
end

-- One of e.count events. The block is one of its origin's.
local function put_event(out, e, k, heap, place)
  local by, at = place(e.row)
  local old = uleb(heap.take(e.origin))..uleb(part(e.free_bytes, e.count, k))
  if e.kind == "realloc" then
    out[#out+1] = string.char(REALLOC + by)..at..old..uleb(heap.add(e.row))..
      uleb(part(e.alloc_bytes, e.count, k))
  else
    out[#out+1] = string.char(FREE + by)..at..old
  end
end

-- Reallocations first, as far as their blocks have been allocated: such a block
-- may be another one's result. What has no block then was there before.
local function put_rest(out, p, heap, place)
  local done, progress = {}, true
  local function put(kind, all)
    for i, e in ipairs(p.events) do
      while e.kind == kind and (done[i] or 0) < e.count and
	  (all or heap.has(e.origin)) do
	done[i] = (done[i] or 0) + 1
	put_event(out, e, done[i], heap, place)
	progress = true
      end
    end
  end
  while progress do
    progress = false
    put("realloc", false)
  end
  put("realloc", true)
  for i, e in ipairs(p.events) do
    for k = (done[i] or 0) + 1, e.count do put_event(out, e, k, heap, place) end
  end
end

local function event_stream(p)
  local events, heap = {}, new_heap(p)
  local list, address = symbols(p, c_symbol)
  local place = placer(p, list, address)
  put_allocs(events, p, heap, place)
  put_rest(events, p, heap, place)
  return SYMBOLS..table.concat(list)..FINAL..EVENTS..table.concat(events)..FINAL
end

-- -- Samples ------------------------------------------------------------------

-- The kinds of samples by the states of LuaJIT's profiler. Those of the
-- collector and the compiler have a C stack alone.
local KINDS = { I = 1, N = 1, C = 3, G = 4, J = 6 }
local LUA_FRAME = "\1"

-- The C functions that there are, by their addresses.
local HOST = { "lua_pcall", "(garbage collector)", "(JIT compiler)" }
local ON_HOST = { G = "\2\0", J = "\3\0" }
local BELOW_LUA = "\1\0"

-- A sample of a row.
local function sample(p, row, address)
  local out, s = { string.char(KINDS[row.state]) }, row.stack
  if ON_HOST[row.state] then return out[1]..ON_HOST[row.state] end
  while s ~= 0 do
    local at, line = address(p.frame[s])
    out[#out+1] = LUA_FRAME..at..uleb(line)
    s = p.parent[s]
  end
  return table.concat(out)..FINAL..BELOW_LUA
end

-- The number of samples of each row: whole ones, and as many in all as the rows
-- have. What is left of a row counts for the next ones.
local function whole_samples(p)
  local list, sum, given = {}, 0, 0
  for k, row in ipairs(p.rows) do
    sum = sum + row.cpu
    list[k] = math.floor(sum + 0.5) - given
    given = given + list[k]
  end
  return list, given
end

local function sample_stream(p)
  local list, address = symbols(p, lua_symbol)
  local out = {}
  for at, name in ipairs(HOST) do list[at] = c_symbol(at, name) end
  for k, n in ipairs((whole_samples(p))) do
    if n > 0 then out[#out+1] = sample(p, p.rows[k], address):rep(n) end
  end
  return SYMBOLS..table.concat(list)..FINAL..SAMPLES..table.concat(out)..FINAL
end

-- -- The file -----------------------------------------------------------------

-- The number of events in a stream.
local function count(p)
  if not p.events then return (select(2, whole_samples(p))) end
  local n = 0
  for _, row in ipairs(p.rows) do n = n + row.alloc_objects end
  for _, e in ipairs(p.events) do
    if e.kind ~= "realloc" then n = n + e.count end
  end
  return n
end

-- Returns the file's contents, or nil and a message.
return function(p)
  local profile, msg = write(p)
  if not profile or count(p) > MOST then return profile, msg end
  local s = p.events and event_stream(p) or sample_stream(p)
  return s..profile..("%015.0f\n"):format(#s)
end
