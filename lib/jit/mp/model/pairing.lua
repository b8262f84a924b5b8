-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Finds the functions of two profiles that are the same.
----------------------------------------------------------------------------
--
-- Between two runs a program may have changed: functions move to other lines,
-- files to other names. Functions are the same that have a name which only one
-- function has in either profile; else those that have it in modules of one
-- name; else, of several in one module, those that begin on the same line, or
-- have the same code if their lines are not known, and the rest in the order of
-- their lines.
--
----------------------------------------------------------------------------

local functions = require("jit.mp.model.functions")

-- Functions of a list by key: { [key] = list }, and adds to the set of keys.
local function group(list, key_of, keys)
  local by = {}
  for _, fn in ipairs(list) do
    local key = key_of(fn)
    by[key] = by[key] or {}
    table.insert(by[key], fn)
    keys[key] = true
  end
  return by
end

local function pair_groups(old, new, key_of, same, several)
  local keys = {}
  local a, b = group(old, key_of, keys), group(new, key_of, keys)
  for key in pairs(keys) do
    local x, y = a[key] or {}, b[key] or {}
    if #x <= 1 and #y <= 1 then same(key, x[1], y[1])
    else several(key, x, y) end
  end
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

-- Takes those of one line out of two lists: a list of { old, new }.
local function of_one_line(old, new)
  local pairs_, at = {}, {}
  for i, fn in ipairs(new) do at[position(fn)] = at[position(fn)] or i end
  local rest_old, taken = {}, {}
  for _, fn in ipairs(old) do
    local i = at[position(fn)]
    if i and not taken[i] then
      taken[i] = true
      pairs_[#pairs_+1] = { fn, new[i] }
    else
      rest_old[#rest_old+1] = fn
    end
  end
  local rest_new = {}
  for i, fn in ipairs(new) do
    if not taken[i] then rest_new[#rest_new+1] = fn end
  end
  return pairs_, rest_old, rest_new
end

-- Labels of the functions of two profiles in a scope, as functions.labels has
-- them, so that the same functions have the same label and others have not.
local function labels(old, new, scope, path)
  local a, b = {}, {}
  local old_labels, _, old_plain = functions.labels(old, scope, path)
  local new_labels, _, new_plain = functions.labels(new, scope, path)
  local function name_of(fn) return old_plain[fn] or new_plain[fn] end
  local taken = {}
  local function set(label, x, y)
    while taken[label] do label = label.." (before)" end
    taken[label] = true
    if x then a[x] = label end
    if y then b[y] = label end
  end
  local function in_one_module(_, x, y)
    local list, rest_x, rest_y = of_one_line(by_line(x), by_line(y))
    for i = 1, math.max(#rest_x, #rest_y) do
      list[#list+1] = { rest_x[i], rest_y[i] }
    end
    for _, e in ipairs(list) do
      set(e[2] and new_labels[e[2]] or old_labels[e[1]], e[1], e[2])
    end
  end
  pair_groups(old, new, name_of, set, function(_, x, y)
    pair_groups(x, y, function(fn) return fn.source or "" end,
      function(_, f, g) set(g and new_labels[g] or old_labels[f], f, g) end,
      in_one_module)
  end)
  return a, b
end

return { labels = labels }
