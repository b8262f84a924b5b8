-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Calls: how often each function was called, and the memory that it allocated,
-- by itself and together with its callees, in total and per call.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local cumulative = require("jit.mp.model.cumulative")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

local NARROW = 80 -- A terminal with fewer columns has no room for all amounts.

-- Functions that were called or that allocate, the most memory first: bytes, or
-- objects. Returns the list, and the calls and the memory of all.
local function collect(p, o)
  local g = cumulative.sums(p, {
    function(row) return row.calls or 0 end,
    o.objects and function(row) return row.alloc_objects end or
      function(row) return row.alloc_bytes end
  }, cumulative.names(p, o.scope == "F" and "F" or "f", o.path))
  local list, calls, bytes = {}, 0, 0
  for _, f in ipairs(g.functions) do
    if f.self[1] > 0 or f.self[2] > 0 then
      list[#list+1] = { name = f.name, calls = f.self[1], own = f.self[2],
	all = f.cumulative[2] }
      calls, bytes = calls + f.self[1], bytes + f.self[2]
    end
  end
  table.sort(list, function(a, b)
    if a.all ~= b.all then return a.all > b.all end
    if a.calls ~= b.calls then return a.calls > b.calls end
    return a.name < b.name
  end)
  return list, calls, bytes
end

local function amount(v, o)
  if o.raw or not o.objects then return views.bytes(v, o) end
  return numbers.count(v)
end

-- An amount for each call: of objects there may be less than one.
local function mean(v, calls, o)
  if calls == 0 then return "" end
  if o.objects or o.raw then return ("%.2f"):format(v / calls) end
  return amount(v / calls, o)
end

-- The cells of a line: the calls, and twice an amount with that for each call.
-- narrow: without the latter.
local function line(calls, own, all, o, narrow, name)
  local t = { ("%.0f"):format(calls) }
  for _, v in ipairs({ own, all }) do
    t[#t+1] = amount(v, o)
    if not narrow then t[#t+1] = mean(v, calls, o) end
  end
  t[#t+1] = name
  return t
end

local function headings(o, narrow)
  local what = o.objects and "objects" or "allocated"
  if narrow then
    return { "calls", what, "with its", "" },
      { "", "by itself", "callees", "function" }
  end
  return { "calls", what, "per call", "with its", "per call", "" },
    { "", "by itself", "", "callees", "", "function" }
end

return function(p, o, env)
  local list, calls, bytes = collect(p, o)
  if calls == 0 then return "no calls\n" end
  local narrow = env.width and env.width < NARROW
  local rows, hidden = { headings(o, narrow) }, 0
  for _, f in ipairs(list) do
    local share = math.max(f.calls / calls, bytes > 0 and f.all / bytes or 0)
    if views.shows(share, o) then
      rows[#rows+1] = line(f.calls, f.own, f.all, o, narrow, f.name)
    else
      hidden = hidden + 1
    end
  end
  rows[#rows+1] = line(calls, bytes, bytes, o, narrow, "in all")
  local text = cells.rows(rows, env.width)
  if hidden == 0 then return text end
  return text..cells.wrap(("%d functions below %g%% are not shown: option m\n")
    :format(hidden, o.min), env.width)
end
