-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The format of DHAT, valgrind's heap profiler: bytes and blocks in all, at the
-- peak and at the end, for its viewer and for Firefox Profiler.
----------------------------------------------------------------------------
--
-- The format has fields for numbers that are not measured here: lifetimes are
-- given as 0, and the maximum of a place as the larger of its bytes at the peak
-- and at the end.
--
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local export = require("jit.mp.format.export")
local json = require("jit.mp.format.json")
local names = require("jit.mp.model.names")

-- Numbers of frames, which are lines of functions, and the list of their texts:
-- "0x1: name (file:line)".
local function frame_table(p)
  local _, of = export.functions(p)
  local list, index = { '"[root]"' }, {}
  return function(i)
    local fn, f = of[i], p.frames[i]
    local file = names.printable(fn.path or fn.source or fn.frame.kind)
    local line = f and f.kind == "Lua" and f.line
    local text = ("%s (%s%s)"):format(fn.name, file, line and ":"..line or "")
    if not index[text] then
      index[text] = #list
      list[#list+1] = json.string(("0x%x: %s"):format(#list, text))
    end
    return index[text]
  end, list
end

-- The frames of a stack as text, the top one first.
local function stack_texts(p, number)
  local cache = {}
  return function(stack)
    if cache[stack] then return cache[stack] end
    local t, s = {}, stack
    repeat
      t[#t+1] = number(p.frame[s] or 0)
      s = p.parent[s] or 0
    until s == 0
    cache[stack] = table.concat(t, ",")
    return cache[stack]
  end
end

-- Fields of a place, and the fields of rows of which they are sums.
local fields = {
  { "tb", "alloc_bytes" }, { "tbk", "alloc_objects" },
  { "gb", "peak_bytes" }, { "gbk", "peak_objects" },
  { "eb", "inuse_bytes" }, { "ebk", "inuse_objects" },
}

-- The sums of each stack, in the order of the rows.
local function places(p, text_of)
  local list, by, whole = {}, {}, {}
  for i in ipairs(fields) do whole[i] = export.rounder(1) end
  for _, row in ipairs(p.rows) do
    local key, place = text_of(row.stack), nil
    for i, field in ipairs(fields) do
      local n = whole[i](row[field[2]] or 0)
      if n ~= 0 then
	place = by[key]
	if not place then
	  place = { stack = key, tb = 0, tbk = 0, gb = 0, gbk = 0, eb = 0,
	    ebk = 0 }
	  by[key] = place
	  list[#list+1] = place
	end
	place[field[1]] = place[field[1]] + n
      end
    end
  end
  return list
end

local function encode(place)
  return ('{"tb":%.0f,"tbk":%.0f,"tl":0,"mb":%.0f,"mbk":%.0f,"gb":%.0f,'..
    '"gbk":%.0f,"eb":%.0f,"ebk":%.0f,"fs":[%s]}'):format(place.tb, place.tbk,
      math.max(place.gb, place.eb), math.max(place.gbk, place.ebk), place.gb,
      place.gbk, place.eb, place.ebk, place.stack)
end

-- The time of the heap's peak, in microseconds, as far as the timeline tells.
local function peak_time(p)
  local at, most = 0, 0
  for _, point in ipairs(p.course or {}) do
    if point.inuse > most then at, most = point.wall, point.inuse end
  end
  return at * 1e6
end

local function command(p)
  local words = {}
  for i, word in ipairs(p.info.command or {}) do
    words[i] = names.printable(word)
  end
  return words[1] and table.concat(words, " ") or p.info.script or "luajit"
end

return function(p)
  local _, total = export.values(p, "alloc")
  if total <= 0 then return nil, empty(p, "alloc") end
  local number, frames = frame_table(p)
  local list = places(p, stack_texts(p, number))
  for i, place in ipairs(list) do list[i] = encode(place) end
  return table.concat({
    '{"dhatFileVersion":2,"mode":"heap","verb":"Allocated",\n',
    '"bklt":true,"bkacc":false,"tu":"\\u00b5s","Mtu":"s","tuth":0,\n',
    '"cmd":', json.string(command(p)),
    (',"pid":%.0f,"te":%.0f,"tg":%.0f,\n"pps":[\n'):format(p.info.pid or 0,
      p.info.wall * 1e6, peak_time(p)),
    table.concat(list, ",\n"), '],\n"ftbl":[\n', table.concat(frames, ",\n"),
    "]}\n"
  })
end
