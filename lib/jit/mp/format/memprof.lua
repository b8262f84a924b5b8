-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Files of misc.memprof: Tarantool's own tools read them as its event stream,
-- and luajit-mp the profile that follows the stream's end.
----------------------------------------------------------------------------
--
-- A stream is a table of symbols and a list of events, one for each allocation,
-- reallocation and free. A profile has their sums by place: the events are made
-- of these, so that numbers and bytes of each place, and of the places that the
-- freed memory came from, are as they were counted. Their order is not the
-- program's, sizes are means, and addresses are numbers. Of more events than
-- MOST no stream is made: it would take long, and much memory. Nor is one made
-- of a profile without events.
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
local FINAL = "\128"
local LFUNC, CFUNC = 0, 1 -- Symbols.
local ALLOC, FREE, REALLOC = 1, 2, 3
local BY_VM, BY_LUA, BY_C = 4, 8, 12 -- Added to an event: what made it.
local STEP = 16 -- Between addresses.
local MOST = 200000

-- -- Places -------------------------------------------------------------------

-- A chunk's name as LuaJIT has it, from a frame's source.
local function chunk_name(source)
  if not source then return "?" end
  return source:match('^%[string "(.*)"%]$') or "@"..source
end

-- Symbols, as a list of texts; and a function from a row's number to what made
-- its events, and the text of the place.
local function symbols(p)
  local _, function_of = p:functions()
  local list, seen, cache = {}, {}, {}
  local function address(fn, f)
    local at = fn.index * STEP
    if not seen[fn] then
      seen[fn] = true
      list[#list+1] = f.kind == "Lua" and string.char(LFUNC)..uleb(at)..
	text(chunk_name(f.source))..uleb(fn.line or 0) or
	string.char(CFUNC)..uleb(at)..text(fn.name or f.name or "?")
    end
    return uleb(at)
  end
  local function place(row)
    local id = row and places.of_row(p, row)
    local f = id and p.frames[id]
    if f and f.kind == "Lua" then
      return { BY_LUA, address(function_of[id], f)..uleb(f.line or 0) }
    elseif f and f.kind == "C" then
      return { BY_C, address(function_of[id], f) }
    end
    return { BY_VM, "" }
  end
  return list, function(i)
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

local function stream(p)
  local events, heap = {}, new_heap(p)
  local list, place = symbols(p)
  put_allocs(events, p, heap, place)
  put_rest(events, p, heap, place)
  return SYMBOLS..table.concat(list)..FINAL..EVENTS..table.concat(events)..FINAL
end

local function count(p)
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
  if not profile or not p.events or count(p) > MOST then
    return profile, msg
  end
  local s = stream(p)
  return s..profile..("%015.0f\n"):format(#s)
end
