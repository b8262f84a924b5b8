-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Finds the functions of two profiles that are the same.
----------------------------------------------------------------------------
--
-- Between two runs a program may have changed: functions move to other lines,
-- files to other names and directories. Functions are the same that have a name
-- which only one function has in either profile; else those that have it in one
-- file, or else in files of one name; of several there, those that begin on the
-- same line, or have the same code if their lines are not known, and the rest
-- in the order of their lines. Functions without a name are told by their files
-- and lines, and by their order if there are as many in either profile.
--
----------------------------------------------------------------------------

local functions = require("jit.mp.model.functions")

-- Functions of two lists by key, in the order in which the keys come: a list of
-- { old, new }, each a list of functions.
local function group(old, new, key_of)
  local groups, by = {}, {}
  for side, list in ipairs({ old, new }) do
    for _, fn in ipairs(list) do
      local key = key_of(fn)
      if not by[key] then
	by[key] = { {}, {} }
	groups[#groups+1] = by[key]
      end
      table.insert(by[key][side], fn)
    end
  end
  return groups
end

-- Where a function begins, or its code if that is not known.
local function position(fn) return fn.line or fn.code or -1 end

local function by_line(list)
  table.sort(list, function(x, y)
    if x.line ~= y.line then return position(x) < position(y) end
    return x.index < y.index
  end)
  return list
end

-- Pairs functions of one line or code; returns the lists of the others.
local function pair_positions(old, new, pair)
  local at, taken, rest_old, rest_new = {}, {}, {}, {}
  for _, fn in ipairs(new) do at[position(fn)] = at[position(fn)] or fn end
  for _, fn in ipairs(old) do
    local same = at[position(fn)]
    if same and not taken[same] then
      taken[same] = true
      pair(fn, same)
    else
      rest_old[#rest_old+1] = fn
    end
  end
  for _, fn in ipairs(new) do
    if not taken[fn] then rest_new[#rest_new+1] = fn end
  end
  return rest_old, rest_new
end

-- Pairs functions of one name, or without a name, in one module.
local function pair_within(old, new, pair)
  local x, y = pair_positions(by_line(old), by_line(new), pair)
  if x[1] and not x[1].name and #x ~= #y then return end
  for i = 1, math.min(#x, #y) do pair(x[i], y[i]) end
end

local function source_of(fn) return fn.source or "" end
local function base_of(fn) return source_of(fn):match("[^/\\]*$") end

-- Pairs functions of one name, or without a name.
local function pair_named(old, new, pair)
  if old[1] and old[1].name and #old <= 1 and #new <= 1 then
    if new[1] then pair(old[1], new[1]) end
    return
  end
  local x, y = {}, {}
  for _, g in ipairs(group(old, new, source_of)) do
    if g[1][1] and g[2][1] then
      pair_within(g[1], g[2], pair)
    else
      for _, fn in ipairs(g[1]) do x[#x+1] = fn end
      for _, fn in ipairs(g[2]) do y[#y+1] = fn end
    end
  end
  for _, g in ipairs(group(x, y, base_of)) do
    pair_within(g[1], g[2], pair)
  end
end

-- Labels of the functions of two profiles in a scope, as functions.labels has
-- them, so that the same functions have the same label and others have not.
-- Returns both, and a table from a function of the first profile that is in the
-- second, too, to { to: that one, module: its name there, by: how many lines it
-- has moved }.
local function labels(old, new, scope, path)
  local a, b, moved, taken = {}, {}, {}, {}
  local old_labels, _, old_plain = functions.labels(old, scope, path)
  local new_labels, module_of, new_plain = functions.labels(new, scope, path)
  local function pair(x, y)
    a[x], b[y] = new_labels[y], new_labels[y]
    if x.kind == "Lua" and y.source then
      moved[x] = { to = y, module = module_of(y.source),
	by = (y.line or 0) - (x.line or 0) }
    end
  end
  for _, g in ipairs(group(old, new, function(fn)
    return fn.kind == "Lua" and not fn.name and "" or
      old_plain[fn] or new_plain[fn]
  end)) do
    pair_named(g[1], g[2], pair)
  end
  for _, fn in ipairs(new) do
    b[fn] = new_labels[fn]
    taken[b[fn]] = true
  end
  for _, fn in ipairs(old) do
    if not a[fn] then
      local label = old_labels[fn]
      while taken[label] do label = label.." (before)" end
      a[fn], taken[label] = label, true
    end
  end
  return a, b, moved
end

return { labels = labels }
