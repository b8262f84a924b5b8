-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The memory that a function takes, counted, and limits for it: mp.measure and
-- mp.limit.
----------------------------------------------------------------------------

local core = require("jit.mp.core")
local larger = require("jit.mp.model.larger")
local numbers = require("jit.mp.model.numbers")
local profile = require("jit.mp.model.profile")

local this = debug.getinfo(1, "S").source:match("^@?(.*)")

-- -- Counts ------------------------------------------------------------------

-- A function from a row to its place, "decode app.lua:12", or that of the line
-- alone in a function without a name; nil where the VM allocated for itself, or
-- this module.
local function placer(p)
  local name, line = p:labeler("f"), p:labeler("l")
  return function(row)
    local id = p.frame[row.stack]
    local f = p.frames[p.frame[p:line_stack(row.stack)]]
    if not id or f.kind == "pseudo" or
	f.kind == "Lua" and f.source == this then
      return nil
    end
    local label, at = name(id), line(p.frame[p:line_stack(row.stack)])
    local begins_in = label:match("^(.+):%d+$")
    return begins_in and begins_in == at:match("^(.+):%d+$") and at or
      label.." "..at
  end
end

-- Adds up the rows of a snapshot by place: a list, the largest of that field
-- first, and its sum, and the number of objects.
local function sum(s, bytes, objects)
  local by, list, total, count = {}, {}, 0, 0
  local place = placer(profile.new(s))
  for _, row in ipairs(s.rows) do
    local where = row[bytes] > 0 and place(row)
    if where then
      local t = by[where]
      if not t then
	t = { place = where, bytes = 0, objects = 0 }
	by[where] = t
	list[#list+1] = t
      end
      t.bytes, t.objects = t.bytes + row[bytes], t.objects + row[objects]
      total, count = total + row[bytes], count + row[objects]
    end
  end
  table.sort(list, larger("place"))
  return list, total, count
end

local Measure = {}
Measure.__index = Measure

local function results(...) return { n = select("#", ...), ... } end

-- Calls the function with a profile of its own. Returns the two snapshots,
-- after the call and after a full collection, or nil and why there are none;
-- and pcall's results.
local function run(f, ...)
  local ok, msg, err = core.start("lb1", "/dev/null")
  if not ok then return nil, msg, err end
  local r = results(pcall(f, ...))
  local after = core.snapshot()
  collectgarbage()
  collectgarbage()
  local held = core.snapshot()
  core.stop()
  return after and held and { after, held },
    "the profile was stopped by the function", r
end

-- Raises an error, on behalf of the caller's caller, if f cannot be called.
local function check_function(f, what)
  local meta = debug.getmetatable(f)
  if type(f) == "function" or meta and rawget(meta, "__call") then return end
  error(("jit.mp: %s takes a function, not a %s"):format(what, type(f)), 3)
end

-- measure(f, ...): the memory that f(...) allocates, and the part that is still
-- held after a full collection. Returns a table, and the results of f; or nil,
-- a message and an error number. An error in the function is raised again.
local function measure(f, ...)
  check_function(f, "measure")
  local shots, msg, r = run(f, ...)
  if not shots and type(r) ~= "table" then return nil, msg, r end
  if not r[1] then error(r[2], 0) end
  if not shots then return nil, msg, -1 end
  local m = setmetatable({}, Measure)
  m.allocated_rows, m.allocated, m.objects =
    sum(shots[1], "alloc_bytes", "alloc_objects")
  m.held_rows, m.held, m.held_objects =
    sum(shots[2], "inuse_bytes", "inuse_objects")
  return m, unpack(r, 2, r.n)
end

-- -- Limits ------------------------------------------------------------------

local units = { [""] = 1, k = 1024, m = 1024 * 1024 }

-- Each limit, and whether it counts bytes.
local kinds = {
  { "allocated", "allocated_rows", "bytes" },
  { "held", "held_rows", "bytes" },
  { "objects", "allocated_rows", "objects" },
}

-- 2048, "2048", "2k" and "2m"; or nil.
local function amount(value)
  if type(value) == "number" then return value >= 0 and value or nil end
  if type(value) ~= "string" then return nil end
  local n, unit = value:match("^(%d+%.?%d*)([km]?)$")
  return n and tonumber(n) * units[unit]
end

local function check_limits(limits)
  if type(limits) ~= "table" then
    error("jit.mp: limits must be a table, such as { allocated = \"2m\" }", 3)
  end
  local known = {}
  for _, kind in ipairs(kinds) do known[kind[1]] = true end
  for field, value in pairs(limits) do
    if not known[field] then
      error(("jit.mp: unknown limit '%s'; there are allocated, held and "..
	"objects"):format(tostring(field)), 3)
    elseif not amount(value) then
      error(("jit.mp: the limit '%s' must be a number, with k or m perhaps, "..
	"as in \"100k\""):format(field), 3)
    end
  end
  if next(limits) == nil then
    error("jit.mp: no limit is given, such as { allocated = \"2m\" }", 3)
  end
end

local ROWS = 10  -- That a message has at most.

local function show(n, what)
  if what == "objects" then return ("%.0f objects"):format(n) end
  return numbers.bytes(n)
end

-- The message for one limit: the rows that take the most.
local function explain(m, kind, limit)
  local name, rows, what = kind[1], m[kind[2]], kind[3]
  local list = {}
  for i, row in ipairs(rows) do list[i] = row end
  if what == "objects" then
    table.sort(list, function(a, b)
      return a.objects > b.objects or a.objects == b.objects and
	a.place < b.place
    end)
  end
  local out = { ("%s %s, and the limit is %s"):format(
    what == "objects" and "allocated" or name, show(m[name], what),
    show(limit, what)) }
  for i = 1, math.min(ROWS, #list) do
    local row = list[i]
    out[#out+1] = ("  %9s  %7.0f objects  %s"):format(
      numbers.bytes(row.bytes), row.objects, row.place)
  end
  if #list > ROWS then
    out[#out+1] = ("  and %d more places"):format(#list - ROWS)
  end
  return table.concat(out, "\n")
end

-- The reason why a measure is above the limits; nil if it is not.
function Measure.above(m, limits)
  local out = {}
  for _, kind in ipairs(kinds) do
    local limit = limits[kind[1]] and amount(limits[kind[1]])
    if limit and m[kind[1]] > limit then
      out[#out+1] = explain(m, kind, limit)
    end
  end
  return #out > 0 and table.concat(out, "\n") or nil
end

-- Raises an error if a limit is exceeded, or returns the results.
local function pass(limits, m, ...)
  if not m then error("jit.mp: "..tostring((...)), 0) end
  local why = m:above(limits)
  if why then error(why, 0) end
  return ...
end

local RIGHT = 'call the result with the function, as in '..
  'mp.limit{ allocated = "2m" }(f)'

-- The place of the code that called the caller, as in error messages.
local function place_of_call()
  local at = debug.getinfo(3, "Sl")
  return at and at.currentline > 0 and
    ("%s:%d: "):format(at.short_src, at.currentline) or ""
end

-- An object that says so when it is freed, unless its field `used` is set: the
-- table of fields. A limit that is never called would test nothing.
local function watch(place)
  local fields, object = {}, newproxy(true)
  getmetatable(object).__gc = function()
    if fields.used then return end
    io.stderr:write(place, "jit.mp: a limit was not applied to a function: ",
      RIGHT, "\n")
  end
  fields.object = object
  return fields
end

-- limit(limits)(f, ...): calls f(...), returns its results, and raises an
-- error if it takes more.
local function limit(limits, ...)
  check_limits(limits)
  if select("#", ...) > 0 then
    error("jit.mp: limit takes nothing but the limits: "..RIGHT, 2)
  end
  local watched = watch(place_of_call())
  return function(f, ...)
    watched.used = true
    check_function(f, "a limit")
    return pass(limits, measure(f, ...))
  end
end

return { measure = measure, limit = limit, check = check_limits }
