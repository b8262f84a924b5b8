-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The names of C functions.
----------------------------------------------------------------------------
--
-- A C function is known by its place in its library. Its name is its symbol; of
-- a library without symbols, the name by which Lua called it most often. A tail
-- call passes on the name of the function that made it. A name may be such a
-- one if a source defines a Lua function of that name, and neither calls what
-- it has from elsewhere by it (`return json.encode(x)' in a function encode)
-- nor has the call in that very function. Without another name there is none.
--
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")
local terms = require("jit.mp.model.terms")

local printable = names.printable

-- The Lua functions that a text defines, of which a name may be passed on: a
-- set.
local function passed_on(text, found, set)
  local calls = text:gsub("function%s+[%w_.:]+", "")
  for _, list in pairs(found) do
    for _, name in ipairs(list) do
      if name and not set[name] then
	set[name] = not calls:find("[.:]"..name.."%s*[%({\"'%[]") or nil
      end
    end
  end
end

-- The name that most stacks have, of those that are sure; nil: none is.
-- passed, doubtful: names that may be another function's.
local function elect(fn, passed, doubtful)
  local best
  for name, n in pairs(fn.votes) do
    local sure = fn.sure[name] or not (passed[name] or doubtful[name])
    if sure and (not best or n > best.n or n == best.n and name < best.name)
      then best = { name = name, n = n } end
  end
  return best and best.name
end

-- The end of the name of a function without a symbol; nil: it is the host's.
local function unnamed(fn, is_host, passed, doubtful)
  local f = fn.frame
  if fn.place then
    local name = elect(fn, passed, doubtful)
    if name then return ":"..printable(name) end
    if fn.iterates then return ":"..terms.iterator end
    return ("+0x%x"):format(fn.place)
  end
  local name = f.name
  if not name then return ":?" end
  if name:find("^%(for ") then return ":"..terms.iterator end
  if not name:find("^%+") then return ":"..printable(name) end
  return not is_host and printable(name) or nil  -- An offset.
end

-- The name of a C function with that of its library.
local function name(fn, is_host, passed, doubtful)
  local f = fn.frame
  local source = f.source and printable(f.source)
  if not source then
    if f.name and f.name:find("^%(for ") then return terms.iterator end
    return printable(f.name or terms.c_function)
  end
  if is_host and fn.place and not f.name then return "("..source..")" end
  if fn.definition then return source..":"..printable(fn.definition) end
  local text = unnamed(fn, is_host, passed, doubtful)
  return text and source..text or "("..source..")"
end

return { name = name, passed_on = passed_on }
