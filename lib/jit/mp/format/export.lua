-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Functions, whole numbers and call trees: shared by the writers of the formats
-- of other tools.
----------------------------------------------------------------------------

local json = require("jit.mp.format.json")
local terms = require("jit.mp.model.terms")

local floor = math.floor

-- -- Numbers ----------------------------------------------------------------

-- Makes whole numbers of estimates times a factor, so that their sum is the
-- rounded true sum: the next numbers get the part that one lost in rounding.
local function rounder(factor)
  local exact, given = 0, 0
  return function(v)
    exact = exact + v
    local n = floor(exact * factor + 0.5) - given
    given = given + n
    return n
  end
end

-- A function from a row to its number in a view, and their sum.
local function values(p, view, objects)
  local value, total = p.value_of(view, objects), 0
  for _, row in ipairs(p.rows) do total = total + (value(row) or 0) end
  return function(row) return value(row) or 0 end, total
end

-- -- Order of time ----------------------------------------------------------

-- The amounts of a field in the order in which the rows got them: a list of
-- { row, amount } with amounts that add up to the rows'. The timeline has the
-- order; amounts after its last point, or all where there is none, are in the
-- order of the rows.
local function in_order(p, field)
  local list, seen, line = {}, {}, {}
  for i, e in ipairs(p.timeline or {}) do line[i] = e end
  table.sort(line, function(a, b)
    if a.point ~= b.point then return a.point < b.point end
    return a.row < b.row
  end)
  local function add(i, n)
    local row = p.rows[i]
    n = math.min(n, row[field] - (seen[i] or 0))
    if n <= 0 then return end
    seen[i] = (seen[i] or 0) + n
    list[#list+1] = { row, n }
  end
  for _, e in ipairs(line) do add(e.row, e[field]) end
  for i, row in ipairs(p.rows) do add(i, row[field]) end
  return list
end

-- -- Functions --------------------------------------------------------------

-- A path without . and .. in it: readers match sources by their paths.
local function normal(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts+1] = part
    end
  end
  return "/"..table.concat(parts, "/")
end

-- Absolute path of a source as other tools spell it, or nil: it is not a file,
-- or not known which.
local function path_of(p, source)
  local path = p:source_path(source)
  return path and path:find("^/") and normal(path) or nil
end

-- The functions of all frames: a list of { index, name, frame, source, path,
-- line (where it begins) }, and a table from a frame's number to its function.
-- 0 is the frame of a stack without any. Names are those of the views: no two
-- functions have the same.
local function functions(p)
  local list, of, by = {}, {}, {}
  local _, function_of = p:functions()
  local label = p:labeler("f")
  for i, f in ipairs(p.frames) do
    local known = function_of[i]
    if not by[known] then
      by[known] = { index = #list + 1, name = label(i),
	frame = f, source = f.source, line = known.line,
	path = f.kind == "Lua" and path_of(p, f.source) or nil }
      list[#list+1] = by[known]
    end
    of[i] = by[known]
  end
  of[0] = { index = #list + 1, name = terms.no_stack,
    frame = { kind = "pseudo" } }
  list[#list+1] = of[0]
  return list, of
end

-- -- Call trees -------------------------------------------------------------

-- A tree of calls, from functions' point of view: node 1 is the root, at() is
-- the node of a stack. Arrays, for there can be very many nodes: fn, up (the
-- caller), first (called), next (called by the same).
local function tree(p)
  local list, of = functions(p)
  local parent, frame = p.parent, p.frame
  local t = { n = 1, fn = {}, up = {}, first = {}, next = {} }
  local last, children, nodes, way = {}, {}, {}, {}
  local function child(node, fn)
    local key = node * (#list + 1) + fn.index
    local c = children[key]
    if c then return c end
    c = t.n + 1
    t.n, t.fn[c], t.up[c], children[key] = c, fn, node, c
    if last[node] then t.next[last[node]] = c else t.first[node] = c end
    last[node] = c
    return c
  end
  function t.at(stack)
    if stack == 0 then return child(1, of[0]) end
    local s, n = stack, 0
    while s ~= 0 and not nodes[s] do
      n = n + 1
      way[n] = s
      s = parent[s]
    end
    local node = s == 0 and 1 or nodes[s]
    for i = n, 1, -1 do
      s = way[i]
      node = child(node, of[frame[s]])
      nodes[s] = node
    end
    return node
  end
  return t
end

local function url(path)
  return "file://"..path:gsub("[^%w%-._~/]", function(c)
    return ("%%%02X"):format(c:byte())
  end)
end

-- A function from a node's function to its call frame, as Chrome's formats
-- have it: lines from 0, and -1 where there is none.
local function call_framer()
  local scripts, n, cache = {}, 0, {}
  local function script(source)
    if not source then return 0 end
    if not scripts[source] then
      n = n + 1
      scripts[source] = n
    end
    return scripts[source]
  end
  local form = '{"functionName":%s,"scriptId":"%d","url":%s,"lineNumber":%d,'..
    '"columnNumber":%d}'
  return function(fn)
    if not fn then return form:format('"(root)"', 0, '""', -1, -1) end
    if cache[fn] then return cache[fn] end
    local where = fn.path and url(fn.path) or fn.source or ""
    local line = fn.line and math.max(fn.line - 1, 0) or -1
    cache[fn] = form:format(json.string(fn.name), script(fn.source),
      json.string(where), line, fn.line and 0 or -1)
    return cache[fn]
  end
end

return {
  rounder = rounder, values = values, in_order = in_order,
  functions = functions, tree = tree,
  call_framer = call_framer
}
