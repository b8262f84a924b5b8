-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The heap walk, for the page: lines by columns, the stacks that allocated the
-- memory they hold, kinds of objects, and where tables were resized.
----------------------------------------------------------------------------

local advice = require("jit.mp.model.advice")
local encode = require("jit.mp.page.encode")
local growth = require("jit.mp.heap.growth")
local kinds = require("jit.mp.heap.kinds")
local paths = require("jit.mp.heap.paths")

local list, object, number = encode.list, encode.object, encode.number

-- Bytes that no line has: of objects that nothing holds, and the VM's own.
local function others(w)
  local garbage, own = 0, 0
  for _, t in ipairs(w.types) do garbage = garbage + t.garbage_bytes end
  for _, bytes in pairs(w.own) do own = own + bytes end
  return garbage, own
end

-- Bytes that the lines held before; -1: not known.
local function was(w)
  local list_of = {}
  for i, line in ipairs(w.lines) do list_of[i] = number(line.was or -1) end
  return list(list_of)
end

-- Adds what a trace is to the one that leads to it.
local function merge(line)
  line.first.count = line.first.count + line.count
  line.first.self = line.first.self + line.self
end

local function lines(w, strs)
  local parent, label, path, kind, first = {}, {}, {}, {}, {}
  local all = paths.lines(w)
  for i, line in ipairs(all) do
    parent[i], first[i] = w.lines[i].parent, 0
    if line.first then
      first[i] = line.first.number
      merge(line)
    end
    label[i] = strs((line.label:gsub("^ ", "")))
    path[i], kind[i] = strs(line.path), strs(line.type)
  end
  return object({ "parent", list(parent), "first", list(first),
    "label", list(label),
    "path", list(path), "type", list(kind),
    "count", encode.ints(all, "count"), "self", encode.ints(all, "self"),
    "bytes", encode.ints(w.lines, "bytes"),
    "was", w.base_at and was(w) or "null" })
end

local function encode_kinds(w, strs)
  local all, text = kinds(w), {}
  for i, k in ipairs(all) do text[i] = strs(k.text) end
  return object({ "text", list(text), "bytes", encode.ints(all, "bytes"),
    "count", encode.ints(all, "count") })
end

-- Lines where tables were resized.
local function resized(p, strs)
  local all, t = advice.resized(p), { place = {}, source = {} }
  for i, r in ipairs(all) do
    t.place[i], t.source[i] = strs(r.place), strs(r.source)
  end
  return object({ "place", list(t.place), "source", list(t.source),
    "line", encode.ints(all, "line"), "bytes", encode.ints(all, "bytes"),
    "count", encode.ints(all, "objects") })
end

-- A JSON text, null where there is no walk. strs: the numbers of strings.
-- before: a profile whose walk, if it has one, this one is compared to; or nil.
return function(p, strs, before)
  local w = p.walk
  if paths.absent(w) then return "null" end
  if before and not paths.absent(before.walk) then
    growth.mark(before.walk, w)
  end
  local garbage, own = others(w)
  return object({ "total", number(w.total), "held", number(w.held),
    "garbage", number(garbage), "own", number(own), "at", number(w.at),
    "closing", tostring(w.closing or false), "lines", lines(w, strs),
    "least", number(w.base_least), "kinds", encode_kinds(w, strs),
    "resized", resized(p, strs),
    "joins", object({ "row", encode.ints(w.joins, "row"),
      "line", encode.ints(w.joins, "line"),
      "bytes", encode.ints(w.joins, "bytes") }) })
end
