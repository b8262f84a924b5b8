-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- OpenTelemetry's profiles: a message ProfilesData of opentelemetry-proto
-- 1.11.0, not packed.
----------------------------------------------------------------------------
--
-- A measure is a Profile of its own. All of them share the tables of one
-- dictionary, in which entry 0 of each stands for none. No table has an entry
-- twice, and no Profile two samples with the same stack and attributes.
--
-- o.pprof says which measures there are: "cpu", "heap", or "all".
--
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local export = require("jit.mp.format.export")
local facts = require("jit.mp.model.facts")
local measures = require("jit.mp.format.measures")
local names = require("jit.mp.model.names")
local protobuf = require("jit.mp.format.protobuf")

local concat, floor = table.concat, math.floor
local bytes, num, varint = protobuf.bytes, protobuf.num, protobuf.varint

-- Numbers of the fields of ProfilesDictionary.
local MAPPING, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK =
  1, 2, 3, 4, 5, 6, 7

-- -- The dictionary ---------------------------------------------------------

-- A table of messages: a function from a message to its number.
local function entries(field, out)
  local index, n = {}, 0
  out[#out+1] = bytes(field, "")
  return function(text)
    local i = index[text]
    if not i then
      n = n + 1
      i, index[text] = n, n
      out[#out+1] = bytes(field, text)
    end
    return i
  end
end

-- AnyValue: a text, a number, or a list of texts.
local function any(v)
  if type(v) == "number" then return num(3, v) end
  if type(v) == "string" then return bytes(1, names.printable(v)) end
  local t = {}
  for i, s in ipairs(v) do t[i] = bytes(1, any(s)) end
  return bytes(5, concat(t))
end

-- The tables, as functions from a frame, a stack, a row or a string to its
-- number; those of a frame and a row are bytes. out: the dictionary's fields.
local function dictionary(p, out)
  local intern, strings = protobuf.strings()
  local location, fn = entries(LOCATION, out), entries(FUNCTION, out)
  local attribute, stack = entries(ATTRIBUTE, out), entries(STACK, out)
  local _, of = export.functions(p)
  entries(MAPPING, out)
  entries(LINK, out)
  local function locate(i)
    local f, known = p.frames[i], of[i]
    local line = f and f.kind == "Lua" and f.line or 0
    local at = fn(num(1, intern(known.name))..
      num(3, intern(known.path or known.source or ""))..
      num(4, known.line or 0))
    return varint(location(bytes(3, num(1, at)..num(2, line))))
  end
  local field = measures.stack_field(p, locate)
  local attributes = measures.labels(p, "luajit_mp.", function(key, value)
    return varint(attribute(num(1, intern(key))..bytes(2, any(value))))
  end)
  return { intern = intern, strings = strings, attributes = attributes,
    stack = function(s) return stack(field(s)) end }
end

-- -- Samples ----------------------------------------------------------------

-- The samples: a list of { head =, [i] = number of measure i }, where head has
-- the fields for stack and attributes.
local function samples(p, columns, tables)
  local list, by = {}, {}
  for _, row in ipairs(p.rows) do
    local values, some = {}, false
    for i, value in ipairs(columns) do
      values[i] = value(row)
      some = some or values[i] ~= 0
    end
    if some then
      local head = num(1, tables.stack(row.stack))..
	bytes(2, tables.attributes(row))
      local known = by[head]
      if known then
	for i, v in ipairs(values) do known[i] = known[i] + v end
      else
	values.head, by[head] = head, values
	list[#list+1] = values
      end
    end
  end
  return list
end

local function value_type(field, name, unit, intern)
  return bytes(field, num(1, intern(name))..num(2, intern(unit)))
end

-- The fields for the distance between samples, which wall times do not have.
local function period_fields(p, measure, totals, intern)
  if measure.wall then return "" end
  local of, unit, period = measures.period(p, measure.view == "cpu",
    totals.cpu or 0)
  return value_type(5, of, unit, intern)..num(6, period)
end

-- A Profile: the numbers of one measure.
local function profile(p, i, measure, list, totals, intern)
  local info = p.info
  local out = { value_type(1, measure[1], measure[2], intern) }
  for _, sample in ipairs(list) do
    if sample[i] ~= 0 then
      out[#out+1] = bytes(2, sample.head..bytes(4, varint(sample[i])))
    end
  end
  out[#out+1] = protobuf.fixed64(3, floor((info.started or 0) * 1e9))
  out[#out+1] = num(4, floor(info.wall * 1e9 + 0.5))
  out[#out+1] = period_fields(p, measure, totals, intern)
  return concat(out)
end

-- -- The rest ---------------------------------------------------------------

-- Attributes of a resource or scope; { key, value } without a value is none.
local function key_values(field, list)
  local t = {}
  for _, kv in ipairs(list) do
    if kv[2] then
      t[#t+1] = bytes(field, bytes(1, kv[1])..bytes(2, any(kv[2])))
    end
  end
  return concat(t)
end

local function resource(p)
  return key_values(1, { { "service.name", facts.script(p) or "luajit" },
    { "process.pid", p.info.pid }, { "process.runtime.name", "LuaJIT" },
    { "process.runtime.version", p.info.luajit } })
end

local function scope(p)
  local info = p.info
  return bytes(1, "luajit-mp")..key_values(3, {
    { "luajit_mp.options", info.options },
    { "luajit_mp.capture", info.capture },
    { "luajit_mp.notes", info.notes[1] and info.notes } })
end

return function(p, o)
  local list = measures.of(p, o.pprof, o.views)
  local columns, totals, some = measures.columns(p, list)
  -- A series of windows may have an empty one.
  if not some and not p.info.window then
    return nil, empty(p, o.pprof == "heap" and "alloc" or "cpu")
  end
  local tables, profiles = {}, {}
  local dict = dictionary(p, tables)
  local rows = samples(p, columns, dict)
  for i, measure in ipairs(list) do
    if totals[measure.view] > 0 then
      profiles[#profiles+1] = bytes(2,
	profile(p, i, measure, rows, totals, dict.intern))
    end
  end
  for _, s in ipairs(dict.strings) do
    tables[#tables+1] = bytes(STRING, s)
  end
  local scoped = bytes(1, scope(p))..concat(profiles)
  return bytes(1, bytes(1, resource(p))..bytes(2, scoped))..
    bytes(2, concat(tables))
end
