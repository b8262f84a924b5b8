-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The names that a source gives to the functions that begin on its lines.
----------------------------------------------------------------------------
--
--   function a.b:name(     local function name(     name = function(
--   a.b.name = function(   ["name"] = function(
--   name = x -> value      name = |a, b| -> do      name = || -> value
--
-- A function that is passed or returned has none. The last line is the syntax
-- of newer versions of LuaJIT. Other languages that are compiled to Lua are
-- read as if they were Lua: what they have in common with it is found.
--
-- A function begins where LuaJIT says so: with the token behind `function', or
-- with the statement that has a name for it.
--
----------------------------------------------------------------------------

local function set(words)
  local t = {}
  for word in words:gmatch("%S+") do t[word] = true end
  return t
end

-- Words that are no names. Those of newer versions of LuaJIT are names, too.
local KEYWORDS = set("and break do else elseif end false for function if in "..
  "local nil not or repeat return then true until while")
-- Behind these tokens a bar is an operator.
local OPERANDS = set(") ] } ... end false nil true name string number")
local LOCAL = set("local const")
local OPENS, CLOSES = set("{ ( [ function do if repeat"), set("} ) ] end until")
local PAIRS = set("-> || == ~= <= >= != :: ?. ??")

-- -- Tokens ------------------------------------------------------------------

-- The end of a long string or comment; nil: none begins there.
local function long_end(text, pos)
  local level, from = text:match("^%[(=*)%[()", pos)
  if not level then return nil end
  local _, to = text:find("]"..level.."]", from, true)
  return (to or #text) + 1
end

local function string_end(text, pos)
  local stop = text:byte(pos) == 34 and "[\"\\\n]" or "['\\\n]"
  local at = text:find(stop, pos + 1)
  while at and text:byte(at) == 92 do
    local blank = text:match("^z%s*()", at + 1)
    at = text:find(stop, blank or at + 2)
  end
  return (at or #text) + 1
end

-- Where the next token begins.
local function skip(text, pos)
  while true do
    pos = text:match("^%s*()", pos)
    if not text:find("^%-%-", pos) then return pos end
    pos = long_end(text, pos + 2) or text:find("\n", pos, true) or #text + 1
  end
end

-- The token at pos: its kind, which is its text unless it is a name, string or
-- number, and its end.
local function token(text, pos)
  local word, to = text:match("^([%a_\128-\255][%w_\128-\255]*)()", pos)
  if word then return KEYWORDS[word] and word or "name", to end
  to = text:match("^%.?%d[%w.]*()", pos)
  if to then return "number", to end
  to = text:find("^[\"']", pos) and string_end(text, pos) or
    long_end(text, pos)
  if to then return "string", to end
  local dots = text:match("^%.%.%.?", pos)
  local op = dots or text:sub(pos, pos + 1)
  if not dots and not PAIRS[op] then op = op:sub(1, 1) end
  return op, pos + #op
end

-- Lines end as for LuaJIT, which leaves out a first line that begins with #.
local function prepared(text)
  if text:find("\r", 1, true) then
    text = text:gsub("\r\n", "\n"):gsub("\n\r", "\n"):gsub("\r", "\n")
  end
  return text, text:match("^\239\187\191()") or 1
end

-- -- Functions ---------------------------------------------------------------

local function add(s, line, name)
  local list = s.found[line]
  if not list then
    list = {}
    s.found[line] = list
  end
  list[#list+1] = name or false
end

-- The name for a value that the next token begins.
local function target(s)
  return s.prev == "=" and s.target
end

-- Of the tokens behind `function', its name or what follows.
local function name_function(s, kind, text, line)
  local fn = s.naming
  if kind == "name" then
    fn.name = text
  elseif not (fn.name and (kind == "." or kind == ":")) then
    s.naming = nil
    add(s, fn.name and not fn.is_local and fn.line or line,
      fn.name or fn.target)
  end
end

-- A name may be that of a value, or a function's only parameter. The last
-- variable of an assignment to several has not the first value.
local function name(s, text, line)
  if s.prev ~= "." and s.prev ~= ":" then
    s.several = s.prev == "," and s.open[#s.open] ~= "{"
  end
  s.parameter = { line = line, target = target(s) }
  s.name = text
end

-- The name of a value behind =.
local function assign(s)
  local known = s.prev == "name" and s.name or s.prev == "]" and s.key
  s.target = not s.several and known
end

local act = {
  ["name"] = name,
  ["="] = assign,
  ["string"] = function(s, text) s.text = text end,
  ["["] = function(s)
    if not OPERANDS[s.prev] then s.several = false end -- In a table.
  end,
  ["]"] = function(s)
    s.key = s.prev == "string" and s.before == "[" and
      s.text:match("^[\"']([%a_][%w_]*)[\"']$")
  end,
  ["->"] = function(s)
    local x = s.prev == "name" and s.parameter
    if x then add(s, x.line, x.target) end
  end,
  ["function"] = function(s, _, line)
    s.naming = { line = line, target = target(s),
      is_local = s.prev == "name" and LOCAL[s.name] or LOCAL[s.prev] }
  end
}

local function bar(s, _, line)
  if not OPERANDS[s.prev] then add(s, line, target(s)) end
end
act["|"], act["||"] = bar, bar

local function step(s, kind, text, line)
  if s.naming then name_function(s, kind, text, line) end
  if CLOSES[kind] then s.open[#s.open] = nil end
  local f = act[kind]
  if f and not s.naming then f(s, text, line) end
  if OPENS[kind] then s.open[#s.open+1] = kind end
  s.before, s.prev = s.prev, kind
end

-- Calls a function with kind, text and line of each token, until it returns
-- true.
local function each(text, f)
  local pos, line, counted
  text, counted = prepared(text)
  pos, line = text:match("^#[^\n]*()", counted) or counted, 1
  while true do
    pos = skip(text, pos)
    while true do
      local at = text:find("\n", counted, true)
      if not at or at >= pos then break end
      line, counted = line + 1, at + 1
    end
    if pos > #text then return end
    local kind, to = token(text, pos)
    if f(kind, text:sub(pos, to - 1), line) then return end
    pos = to
  end
end

-- The names of the functions that begin on each line, up to the last one if it
-- is given: { [line] = { name or false, ... } }.
local function read(text, last)
  local s = { found = {}, open = {}, prev = "", before = "" }
  last = last or math.huge
  each(text, function(kind, word, line)
    if line > last + 1 then return true end
    step(s, kind, word, line)
  end)
  return s.found
end

return { read = read, each = each }
