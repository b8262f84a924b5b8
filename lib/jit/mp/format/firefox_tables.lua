-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Stacks, frames and functions as Firefox Profiler's tables, which are columns
-- that refer to each other by number, from 0 on.
----------------------------------------------------------------------------

local export = require("jit.mp.format.export")
local json = require("jit.mp.format.json")

-- Categories, by their numbers.
local OTHER, LUA, C, GC = 0, 1, 2, 3
local categories = [=[
[{"name":"Other","color":"grey","subcategories":["Other"]},
{"name":"Lua","color":"yellow","subcategories":["Other"]},
{"name":"C","color":"blue","subcategories":["Other"]},
{"name":"Collector","color":"orange","subcategories":["Other"]}]]=]

local kinds = { Lua = LUA, C = C, builtin = C }

local function list(t) return "["..table.concat(t, ",").."]" end

-- A column with the same value everywhere.
local function same(value, n)
  return "["..((value..","):rep(n - 1)..(n > 0 and value or "")).."]"
end

-- A function from a text to its number, and the list of texts as JSON.
local function interner()
  local index, texts = {}, {}
  return function(s)
    if not index[s] then
      index[s] = #texts
      texts[#texts+1] = json.string(s)
    end
    return index[s]
  end, texts
end

-- The number of a stack; those of no stack have one behind the others.
local function stack(p, s) return (s == 0 and #p.parent + 1 or s) - 1 end

local function functions_text(functions, strings)
  local name, file, line = {}, {}, {}
  for i, fn in ipairs(functions) do
    local path = fn.path or fn.source
    name[i], file[i] = strings(fn.name), path and strings(path) or "null"
    line[i] = fn.line and math.max(fn.line, 1) or "null"
  end
  local n = #functions
  return ('"funcTable":{"length":%d,"name":%s,"isJS":%s,"relevantForJS":%s,'..
    '"resource":%s,"fileName":%s,"lineNumber":%s,"columnNumber":%s}'):format(n,
      list(name), same("false", n), same("false", n), same("-1", n),
      list(file), list(line), same("null", n))
end

local function frames_text(p, of)
  local func, line, category = {}, {}, {}
  for i, f in ipairs(p.frames) do
    func[i] = of[i].index - 1
    line[i] = f.kind == "Lua" and f.line or "null"
    category[i] = kinds[f.kind] or OTHER
  end
  local n = #p.frames + 1
  func[n], line[n], category[n] = of[0].index - 1, "null", OTHER
  local nulls = same("null", n)
  return ('"frameTable":{"length":%d,"address":%s,"inlineDepth":%s,'..
    '"category":%s,"subcategory":%s,"func":%s,"nativeSymbol":%s,'..
    '"innerWindowID":%s,"implementation":%s,"line":%s,"column":%s}'):format(n,
      same("-1", n), same("0", n), list(category), same("0", n), list(func),
      nulls, same("0", n), nulls, list(line), nulls), category
end

local function stacks_text(p, categories_of)
  local prefix, frame, category, n = {}, {}, {}, #p.parent + 1
  for s, up in ipairs(p.parent) do
    prefix[s] = up == 0 and "null" or up - 1
    frame[s] = p.frame[s] - 1
    category[s] = categories_of[p.frame[s]]
  end
  prefix[n], frame[n], category[n] = "null", #p.frames, OTHER
  return ('"stackTable":{"length":%d,"prefix":%s,"frame":%s,"category":%s,'..
    '"subcategory":%s}'):format(n, list(prefix), list(frame), list(category),
      same("0", n))
end

-- The tables as members of a thread. strings: an interner.
local function stacks(p, strings)
  local functions, of = export.functions(p)
  local frames, categories_of = frames_text(p, of)
  return table.concat({ functions_text(functions, strings), frames,
    stacks_text(p, categories_of),
    '"resourceTable":{"length":0,"lib":[],"name":[],"host":[],"type":[]}',
    '"nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],'..
    '"functionSize":[]}' }, ",\n")
end

return {
  list = list, interner = interner, stack = stack, stacks = stacks,
  categories = categories, OTHER = OTHER, GC = GC
}
