-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Advice on lines whose figures and source together prove a fault, and where
-- tables were resized.
----------------------------------------------------------------------------
--
-- of(p, env) returns a list of { place, source, line, share (of the allocated
-- bytes, 0 to 1), cpu (of the CPU time), text }, the largest share first, at
-- most three. A fault has its part of the bytes in enough samples, and the
-- source that was measured: see sources.lua. Without types or lines there is no
-- advice.
--
----------------------------------------------------------------------------

local estimates = require("jit.mp.model.estimates")
local loops = require("jit.mp.model.loops")
local profile = require("jit.mp.model.profile")
local sources = require("jit.mp.model.sources")

local MOST = 3        -- Pieces of advice.
local SHARE = 0.10    -- Of the bytes that a fault has at least,
local OBJECTS = 1000  -- in as many objects.
local LONG = 256      -- Bytes of a string that is worth not to be copied.
local STEPS = 2.5     -- Hash parts for each table, on average.
local RESIZED = 0.02  -- Of the bytes, in parts of tables that are resized.

-- -- Sums --------------------------------------------------------------------

local function sums() return { bytes = 0, objects = 0, cpu = 0, var = 0 } end

-- The sums of a kind of objects within those of a line or a function.
local function part(t, kind)
  t[kind] = t[kind] or sums()
  return t[kind]
end

local function add(t, row, var)
  t.bytes, t.objects = t.bytes + row.alloc_bytes, t.objects + row.alloc_objects
  t.cpu, t.var = t.cpu + row.cpu, t.var + var
end

-- Sums by line, and of what is not made by a function that the line calls by
-- type; with those of the line's function and of all.
local function by_line(p)
  local _, of = p:functions()
  local lines, functions, all = {}, {}, { all = sums() }
  local variance = estimates.variance(p, "alloc", false)
  for _, row in ipairs(p.rows) do
    local stack, var = p:line_stack(row.stack), variance(row)
    local file, number = p:source_line(row)
    local kind = row.type or "none"
    local is_own = stack == row.stack
    add(all.all, row, var)
    add(part(all, kind), row, var)
    if file and number then
      local fn = of[p.frame[stack]]
      local key = file.."\0"..number
      lines[key] = lines[key] or { file = file, number = number, fn = fn,
	all = sums() }
      functions[fn] = functions[fn] or {}
      add(lines[key].all, row, var)
      if is_own then add(part(lines[key], kind), row, var) end
      add(part(functions[fn], kind), row, var)
    end
  end
  return lines, functions, all
end

-- The sums of tables with their arrays, which may be in one block.
local function with_arrays(line)
  local t = sums()
  for _, kind in ipairs({ "table", "table array" }) do
    for k, v in pairs(line[kind] or {}) do t[k] = t[k] + v end
  end
  return t
end

-- -- Faults ------------------------------------------------------------------

-- The variable, or field of one, that a line makes longer.
local function appended(text)
  for left, right in text:gmatch("([%a_][%w_.%[%]]*)%s*=%s*" ..
      "([%a_][%w_.%[%]]*)%s*%.%.[^.]") do
    if left == right then return left:match("^[%w_]+") end
  end
end

-- Whether a line joins two pieces by table.concat: an only call at the end of
-- the list might be several.
local function joins_two(text)
  local list = text:match("concat%s*%(?%s*(%b{})%s*%)?")
  if not list or not text:find("table%.concat") then return false end
  list = list:sub(2, -2):gsub("%b\"\"", "s"):gsub("%b''", "s")
    :gsub("%b()", "()"):gsub("%b{}", "x"):gsub("%b[]", "[]")
  local first, second = list:match("^%s*([^,;]+)[,;]%s*([^,;]+)[,;]?%s*$")
  return first ~= nil and not second:find("%)%s*$") and
    not second:find("%.%.%.%s*$")
end

-- Whether a line compiles a text or a pattern that it has as a literal, with no
-- other argument than it.
local function compiles(text)
  for name, _, to in text:gmatch("([%a_][%w_.]*)%s*%(?%s*([\"'])()") do
    local last = name:match("[%w_]+$")
    local quote = text:sub(to - 1, to - 1)
    if (last == "load" or last == "loadstring" or last == "compile" or
	name:find("^rex_%w+%.new$")) and
	text:find("^[^"..quote.."]*"..quote.."%s*[%);]", to) then
      return name
    end
  end
end

-- Faults in words, with functions that return their sums, or nothing. line: the
-- line's sums by type; tables: those of its function or of all; text: the
-- line's; place: as in model/loops.
local faults = {
  { what = "a string is built by .. in a loop; table.concat of its pieces "..
      "copies each of them once",
    find = function(line, _, text, place)
      local t, name = line.string, appended(text)
      local loop = name and (place.of and place.of[name] or place).loop
      return loop and not loop[name] and t and t.bytes >= LONG * t.objects and t
    end },
  { what = "table.concat of two pieces makes a table for them; .. does not",
    find = function(line, _, text)
      return joins_two(text) and with_arrays(line)
    end },
  { what = "the hash part of a table grows step by step; table.new makes it "..
      "in its size at once",
    find = function(line, tables)
      local t = line["table hash"]
      return t and tables and t.objects >= STEPS * tables.objects and t
    end },
  { what = "the same text is compiled again each time; compile it once, "..
      "outside",
    find = function(line, _, text, place)
      return compiles(text) and (place.loop or place.inside) and line.all
    end },
}

local function worth(t, all)
  return t.objects >= OBJECTS and t.bytes >= SHARE * all.bytes and
    estimates.mark(t.bytes, t.var, all.bytes) == ""
end

-- The tables that a line's hash parts belong to: those of its function, if it
-- makes any, or of the whole program.
local function tables_of(line, functions, all)
  local t = functions[line.fn].table
  return t and t.objects >= OBJECTS and t or all.table
end

-- The lines that have enough of all bytes to be looked at, by file.
local function candidates(lines, all)
  local files = {}
  for _, line in pairs(lines) do
    if worth(line.all, all.all) then
      files[line.file] = files[line.file] or {}
      table.insert(files[line.file], line)
    end
  end
  return files
end

-- -- Advice ------------------------------------------------------------------

local function advise(p, line, found, all, fault)
  return { place = ("%s:%d"):format(profile.module_name({ source = line.file }),
      line.number), source = line.file, line = line.number,
    share = found.bytes / all.bytes,
    cpu = all.cpu > 0 and line.all.cpu / all.cpu or 0, text = fault.what }
end

-- The text of a source by lines, if it is that of the run.
local function text_of(p, file, env)
  if p:changed_line(file) then return nil end
  return (sources.read(p, file, env))
end

local function look_at(p, line, text, places, functions, all, out)
  for _, fault in ipairs(faults) do
    local found = fault.find(line, tables_of(line, functions, all), text,
      places[line.number] or {})
    if found and worth(found, all.all) then
      out[#out+1] = advise(p, line, found, all.all, fault)
      return
    end
  end
end

local function of(p, env)
  local out = {}
  if p.info.no_lines or p.info.no_types or p.heap.alloc_bytes == 0 then
    return out
  end
  local lines, functions, all = by_line(p)
  for file, list in pairs(candidates(lines, all)) do
    local text = text_of(p, file, env)
    local places, texts = {}, {}
    if text then places, texts = loops.read(text) end
    for _, line in ipairs(list) do
      local own = texts[line.number]
      if own then look_at(p, line, own, places, functions, all, out) end
    end
  end
  table.sort(out, function(a, b)
    if a.share ~= b.share then return a.share > b.share end
    return a.source..a.line < b.source..b.line
  end)
  for i = #out, MOST + 1, -1 do out[i] = nil end
  return out
end

-- -- Resized tables ----------------------------------------------------------

-- Array and hash parts that a line makes for tables that are there, or nil.
local function parts(line)
  local t = sums()
  for _, kind in ipairs({ "table array", "table hash" }) do
    for k, v in pairs(line[kind] or {}) do t[k] = t[k] + v end
  end
  local made = line.table and line.table.objects or 0
  if t.objects < 2 * math.max(1, made) then return nil end
  return t
end

-- Where tables were resized: a list of { place, source, line, objects (parts
-- that were allocated), bytes (of these) }, the most bytes first, at most
-- three.
local function resized(p)
  local out = {}
  if p.info.no_lines or p.info.no_types then return out end
  local lines, _, all = by_line(p)
  for _, line in pairs(lines) do
    local t = parts(line)
    if t and t.bytes >= RESIZED * all.all.bytes and
	estimates.mark(t.bytes, t.var, all.all.bytes) == "" then
      out[#out+1] = { objects = t.objects, bytes = t.bytes,
	source = line.file, line = line.number,
	place = ("%s:%d"):format(profile.module_name({ source = line.file }),
	  line.number) }
    end
  end
  table.sort(out, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return a.place < b.place
  end)
  for i = #out, MOST + 1, -1 do out[i] = nil end
  return out
end

return { of = of, resized = resized }
