-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Memory that collections leave alive, for the page: lines by columns, with the
-- ages of their objects and whether they grow.
----------------------------------------------------------------------------

local encode = require("jit.mp.page.encode")
local held = require("jit.mp.heap.held")
local leaks = require("jit.mp.model.leaks")
local verdicts = require("jit.mp.model.verdicts")

local LEAST = 0.005 -- Of what is in use: less is not in the page.

local list, object, number = encode.list, encode.object, encode.number

-- Lines that are worth a row, in order; their doubts as a set; and how many
-- collections the program made itself.
local function chosen(p, name)
  local all, own = leaks.groups(p, name)
  local total, keep, set = 0, {}, {}
  for _, g in ipairs(all) do total = total + g.inuse end
  for _, g in ipairs(all) do
    if g.inuse > total * LEAST or g.verdict == "grows" then
      keep[#keep+1] = g
      if g.why then set[g.why] = true end
    end
  end
  verdicts.sort(keep)
  return keep, set, own
end

-- A function from a row to the name of its line; and by name the row that is
-- the first of it and the set of all of them.
local function line_namer(p, path)
  local namer, first, rows = p:namer("l", path, 1), {}, {}
  for i, row in ipairs(p.rows) do
    local name = namer(row)[1]
    first[name] = first[name] or row
    rows[name] = rows[name] or {}
    rows[name][i] = true
  end
  return function(row) return namer(row)[1] end, first, rows
end

local function course(p, g)
  local t = {}
  for part, bytes in ipairs(verdicts.course(p, g)) do
    t[part] = number(bytes or -1)
  end
  return list(t)
end

local function lines(p, o, strs)
  local name, first, rows = line_namer(p, o.path)
  local groups, set, own = chosen(p, name)
  local holder, doubts = held(p), {}
  local t = { label = {}, source = {}, line = {}, age = {}, verdict = {},
    holder = {}, part = {}, course = {} }
  for i, g in ipairs(groups) do
    local source, line = nil, nil
    if first[g.name] then source, line = p:source_line(first[g.name]) end
    local path, part = holder(rows[g.name] or {})
    t.label[i], t.line[i] = strs(g.name), line or 0
    t.source[i] = source and strs(source) or -1
    t.age[i], t.verdict[i] = number(g.age or -1), strs(g.verdict)
    t.holder[i], t.part[i] = path and strs(path) or -1, number(part)
    t.course[i] = course(p, g)
  end
  for i, text in ipairs(verdicts.doubts(p, own, set)) do
    doubts[i] = strs(text)
  end
  return object({ "label", list(t.label), "source", list(t.source),
    "line", list(t.line), "held", encode.ints(groups, "held"),
    "new", encode.ints(groups, "new"),
    "objects", encode.ints(groups, "objects"), "age", list(t.age),
    "verdict", list(t.verdict), "holder", list(t.holder),
    "part", list(t.part), "course", list(t.course), "doubts", list(doubts),
    "collections", number(#p.collections),
    "full", tostring(p.collected and true or false) })
end

-- A JSON text, null where nothing was recorded. strs: the numbers of strings.
return function(p, o, strs)
  if not verdicts.known(p) then return "null" end
  local native = leaks.native(p)
  return object({ "heap", lines(p, o, strs),
    "native", native and lines(native, o, strs) or "null" })
end
