-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- speedscope's format: one file, with a profile for each view. With option y
-- the labels are the root of each stack.
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local export = require("jit.mp.format.export")
local json = require("jit.mp.format.json")
local profile = require("jit.mp.model.profile")
local views = require("jit.mp.model.views")

-- Frames that the profiles share: number(fn) is that of a function.
local function frame_table()
  local list, index = {}, {}
  return function(fn)
    local i = index[fn]
    if i then return i end
    i = #list
    index[fn] = i
    local text = '{"name":'..json.string(fn.name)
    local file = fn.path or fn.source
    if file then text = text..',"file":'..json.string(file) end
    if fn.line then text = text..',"line":'..math.max(fn.line, 1) end
    list[i+1] = text.."}"
    return i
  end, list
end

-- A function from a row to its labels as a frame, or nil: none are wanted.
local function label_frames(p, o)
  local frames = {}
  return function(row)
    if o.states ~= "y" then return nil end
    local name = p:split_name(row, o)
    frames[name] = frames[name] or { name = name }
    return frames[name]
  end
end

-- A function from a row to its frames' numbers, the root first.
local function stack_lists(p, o, number)
  local _, of = export.functions(p)
  local caches, t, root = {}, {}, label_frames(p, o)
  return function(row)
    local stack, label = row.stack, root(row)
    local cache = caches[label or 0] or {}
    caches[label or 0] = cache
    local text = cache[stack]
    if text then return text end
    local n, s = 1, p.parent[stack] or 0
    while s ~= 0 do n, s = n + 1, p.parent[s] end
    s = stack
    for i = n, 1, -1 do
      t[i] = number(of[p.frame[s] or 0])
      s = p.parent[s]
    end
    text = "["..(label and number(label).."," or "")..
      table.concat(t, ",", 1, n).."]"
    cache[stack] = text
    return text
  end
end

-- Numbers are made whole in this unit, and divided for speedscope's.
local function unit(p, view, objects, total)
  if view == "cpu" then
    return "milliseconds", math.floor(p.info.cpu * 1e6 + 0.5) / total, 1000
  end
  return objects and "none" or "bytes", 1, 1
end

-- Bytes in use have no order of time: stacks are sorted, so that those with
-- the same callers are neighbours. Lines of the same functions are one stack.
local function summed(p, value, whole, list_of)
  local sums, lists = {}, {}
  for _, row in ipairs(p.rows) do
    local n = whole(value(row))
    if n ~= 0 then
      local list = list_of(row)
      if not sums[list] then lists[#lists+1] = list end
      sums[list] = (sums[list] or 0) + n
    end
  end
  table.sort(lists)
  local weights = {}
  for i, list in ipairs(lists) do weights[i] = sums[list] end
  return lists, weights
end

-- CPU samples or allocations, one after the other.
local function timed(p, field, whole, list_of)
  local lists, weights = {}, {}
  for _, run in ipairs(export.in_order(p, field)) do
    local n, list = whole(run[2]), list_of(run[1])
    if n ~= 0 and lists[#lists] == list then
      weights[#lists] = weights[#lists] + n
    elseif n ~= 0 then
      lists[#lists+1] = list
      weights[#lists] = n
    end
  end
  return lists, weights
end

local fields = { cpu = "cpu", alloc = "alloc_bytes" }

local function sampled(p, view, objects, list_of)
  local value, total = export.values(p, view, objects)
  if total <= 0 then return nil end
  local name, factor, divisor = unit(p, view, objects, total)
  local whole, lists, weights = export.rounder(factor), nil, nil
  local field = fields[view]
  if field then
    if objects and view == "alloc" then field = "alloc_objects" end
    lists, weights = timed(p, field, whole, list_of)
  else
    lists, weights = summed(p, value, whole, list_of)
  end
  local sum = 0
  for i, n in ipairs(weights) do
    sum = sum + n
    weights[i] = json.number(n / divisor)
  end
  return ('{"type":"sampled","name":"%s","unit":"%s","startValue":0,'..
    '"endValue":%s,"samples":[\n'):format(
      views.by[view].title..(name == "none" and ", objects" or ""), name,
      json.number(sum / divisor))..table.concat(lists, ",\n")..
    '],\n"weights":['..table.concat(weights, ",").."]}"
end

return function(p, o)
  local number, frames = frame_table()
  local list_of = stack_lists(p, o, number)
  local profiles = {}
  for _, view in ipairs(o.views) do
    profiles[#profiles+1] = sampled(p, view, o.objects, list_of)
  end
  if #profiles == 0 then return nil, empty(p, o.views[1]) end
  local name = p.info.script and profile.module_name({ source = p.info.script })
  return table.concat({
    '{"$schema":"https://www.speedscope.app/file-format-schema.json",\n',
    '"exporter":"luajit-mp","name":', json.string(name or "luajit"),
    ',"activeProfileIndex":0,\n"shared":{"frames":[\n',
    table.concat(frames, ",\n"), ']},\n"profiles":[\n',
    table.concat(profiles, ",\n"), "]}\n"
  })
end
