-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- pprof's format: profile.proto in a gzip frame.
----------------------------------------------------------------------------
--
-- o.pprof says which numbers a sample has: "cpu", "heap", or "all".
--
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local gzip = require("jit.mp.format.gzip")
local export = require("jit.mp.format.export")
local measures = require("jit.mp.format.measures")
local protobuf = require("jit.mp.format.protobuf")

local concat, floor = table.concat, math.floor
local bytes, num, varint = protobuf.bytes, protobuf.num, protobuf.varint

-- -- Functions --------------------------------------------------------------

-- Numbers of locations: locate(frame) is that of a frame, as bytes. A
-- location is a line of a function; both are written when first needed.
local function locator(p, intern, out)
  local _, of = export.functions(p)
  local function_ids, location_ids, cache = {}, {}, {}
  local functions, locations = 0, 0
  local function function_id(fn)
    local id = function_ids[fn]
    if id then return id end
    functions = functions + 1
    function_ids[fn] = functions
    out[#out+1] = bytes(5, num(1, functions)..num(2, intern(fn.name))..
      num(4, intern(fn.path or fn.source or ""))..num(5, fn.line or 0))
    return functions
  end
  return function(i)
    local text = cache[i]
    if text then return text end
    local fn, f = of[i], p.frames[i]
    local line = f and f.kind == "Lua" and f.line or 0
    local key = fn.index.."\0"..line
    local id = location_ids[key]
    if not id then
      locations = locations + 1
      id = locations
      location_ids[key] = id
      local at = bytes(4, num(1, function_id(fn))..num(2, line))
      out[#out+1] = bytes(4, num(1, id)..num(2, 1)..at)
    end
    cache[i] = varint(id)
    return cache[i]
  end
end

-- -- Samples ----------------------------------------------------------------

-- The fields of a row's labels.
local function labels_field(p, intern)
  local cache = {}
  return measures.labels(p, "", function(key, value)
    local k = key.."\0"..value
    local text = cache[k]
    if not text then
      text = bytes(3, num(1, intern(key))..num(2, intern(value)))
      cache[k] = text
    end
    return text
  end)
end

local function add_samples(p, list, intern, out)
  local stack = measures.stack_field(p, locator(p, intern, out))
  local labels = labels_field(p, intern)
  local numbers = {}
  for _, row in ipairs(p.rows) do
    local any = false
    for i, value in ipairs(list) do
      local n = value(row)
      any = any or n ~= 0
      numbers[i] = varint(n)
    end
    if any then
      local where = stack(row.stack) -- Adds locations to the list.
      out[#out+1] = bytes(2, where..bytes(2, concat(numbers))..labels(row))
    end
  end
end

-- -- The rest ---------------------------------------------------------------

local function value_type(field, name, unit, intern)
  return bytes(field, num(1, intern(name))..num(2, intern(unit)))
end

-- The type that a reader shows at first, and whether it is of CPU.
local function default_of(kind, totals)
  if kind == "heap" or kind == "all" and not (totals.cpu > 0) then
    return totals.inuse == 0 and "alloc_space" or "inuse_space", false
  end
  return "cpu", true
end

local function add_about(p, kind, totals, intern, out)
  local info = p.info
  local default, is_cpu = default_of(kind, totals)
  local of, unit, period = measures.period(p, is_cpu, totals.cpu)
  out[#out+1] = num(9, floor((info.started or 0) * 1e9))
  out[#out+1] = num(10, floor(info.wall * 1e9 + 0.5))
  out[#out+1] = value_type(11, of, unit, intern)
  out[#out+1] = num(12, period)
  for _, s in ipairs({ "luajit-mp, options "..(info.options or "not known"),
    info.luajit or "LuaJIT", "capture "..info.capture, unpack(info.notes) }) do
    out[#out+1] = num(13, intern(s))
  end
  out[#out+1] = num(14, intern(default))
end

-- One mapping, said to be complete: pprof then looks for no symbols.
local function add_mapping(p, intern, out)
  out[#out+1] = bytes(3, num(1, 1)..
    num(5, intern(p.info.script or "luajit"))..num(7, 1)..num(8, 1)..
    num(9, 1)..num(10, 1))
end

return function(p, o)
  local kind = o.pprof
  local types = measures.of(p, kind, o.views)
  local list, totals, any = measures.columns(p, types)
  -- A series of windows may have an empty one.
  if not any and not p.info.window then
    return nil, empty(p, kind == "heap" and "alloc" or "cpu")
  end
  local intern, strings = protobuf.strings()
  local out = {}
  for _, t in ipairs(types) do
    out[#out+1] = value_type(1, t[1], t[2], intern)
  end
  add_mapping(p, intern, out)
  add_samples(p, list, intern, out)
  add_about(p, kind, totals, intern, out)
  for _, s in ipairs(strings) do out[#out+1] = bytes(6, s) end
  return gzip.pack(concat(out), floor(p.info.started or 0))
end
