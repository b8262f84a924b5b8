-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The functions of a profile, and their names.
----------------------------------------------------------------------------
--
-- A Lua function is told from others by its chunk, the line where it begins and
-- its code, not by its name: all methods called "new" are not one function, and
-- one that is called by several names is one. Its name is the one that its
-- source has at that line, if the source can be read and is the text that ran:
-- now, or when the profile was written to a file (a frame's `definition`),
-- which counts if the source has changed since. If several functions begin on
-- the line, it has to be called by that name. Otherwise it is the name by which
-- the function was called most often; the name of a function that left by a
-- tail call to it is used only if there is no other. A function may have no
-- name.
--
-- The labels of a scope (see labels) are different for different functions, so
-- that a label stands for a function wherever rows are summed.
--
----------------------------------------------------------------------------

local cnames = require("jit.mp.model.cnames")
local definitions = require("jit.mp.model.definitions")
local names = require("jit.mp.model.names")
local sources = require("jit.mp.model.sources")
local terms = require("jit.mp.model.terms")

local printable = names.printable

-- -- Which function ----------------------------------------------------------

-- The key of a frame's function: no other function has it.
local function identity(f)
  if not (f.linedefined or f.code) then
    return table.concat({ f.kind, f.source or "", f.name or "" }, "\0")
  end
  local code = f.code and ("%.0f"):format(f.code) or ""
  -- Code from a string has no place but in its string: if nothing tells the
  -- strings apart, the name has to do.
  if not f.code and (f.source or ""):find("^%[") then code = f.name or "" end
  return table.concat({ f.kind, f.source or "", f.linedefined or "", code },
    "\0")
end

-- All functions, as { index, kind, source, line (where it begins), code (if the
-- line is not known), place (of a C function in its library), frame (one of its
-- frames), votes (stacks by name), met (whether it is on a stack), name (that
-- its source had when the profile was written, or its symbol) } and by frame.
local function collect(p)
  local list, of, by = {}, {}, {}
  for id, f in ipairs(p.frames) do
    local key = identity(f)
    local fn = by[key]
    if not fn then
      fn = { index = #list + 1, kind = f.kind, source = f.source, frame = f,
	line = f.kind == "Lua" and f.linedefined or nil,
	code = f.kind == "Lua" and not f.linedefined and f.code or nil,
	place = f.kind == "C" and f.code or nil, votes = {}, sure = {} }
      by[key] = fn
      list[#list+1] = fn
    end
    fn.definition = fn.definition or (fn.line or fn.place) and f.definition or
      nil
    fn.name = fn.definition
    of[id] = fn
  end
  return list, of
end

-- -- Names from the source ---------------------------------------------------

-- The names of the functions that begin where one began while the program ran;
-- nil: it is not there. If the name that the source had for it is known, from
-- when the profile was written, that has to be one of them.
local function names_there(fn, found)
  if not fn.definition then return found end
  for _, name in ipairs(found or {}) do
    if name == fn.definition then return found end
  end
end

local function last_line(list)
  local last = 0
  for _, fn in ipairs(list) do last = math.max(last, fn.line) end
  return last
end

-- The names that a text has for each of the functions, or false. nil, if the
-- text is not what ran: another text than Lua, such as what is compiled to Lua,
-- in which most functions are missing; or Lua in which any is, with the line
-- of the first.
local function found_in(text, list)
  local at, found = definitions.read(text, last_line(list)), {}
  local missing, line = 0, nil
  for i, fn in ipairs(list) do
    found[i] = names_there(fn, at[fn.line]) or false
    if not found[i] then missing, line = missing + 1, line or fn.line end
  end
  if missing == 0 then return found end
  if loadstring(text, "=") then return nil, line end
  return missing * 2 < #list and found or nil
end

local function has_met(list)
  for _, fn in ipairs(list) do
    if fn.met then return true end
  end
end

-- Gives its functions the names that a source has for them. Returns the line of
-- one that is not there if the source has changed.
local function define(p, source, list)
  local text = sources.read(p, source, { source_root = p.source_root })
  if not text then return end
  local found, line = found_in(text, list)
  if not found then return line end
  for i, fn in ipairs(list) do
    local there = found[i] or {}
    fn.name = #there == 1 and there[1] or not found[i] and fn.definition or nil
    for _, name in ipairs(there) do  -- Of several, one that was called.
      if fn.votes[name] then fn.name = name end
    end
  end
end

-- Returns a table from sources that are not what ran to such lines. Sources of
-- which no function is on a stack are not read: no report names these.
local function define_all(p, list)
  local by, order, changed = {}, {}, {}
  for _, fn in ipairs(list) do
    if fn.line and fn.line > 0 and fn.source then
      if not by[fn.source] then
	by[fn.source] = {}
	order[#order+1] = fn.source
      end
      table.insert(by[fn.source], fn)
    end
  end
  for _, source in ipairs(order) do
    if has_met(by[source]) then
      changed[source] = define(p, source, by[source])
    end
  end
  return changed
end

-- -- Names from calls --------------------------------------------------------

-- Counts the names that functions were called by, and notes the functions that
-- were called by one name at one place.
local function vote(p, of)
  local sites = {}
  for stack, id in ipairs(p.frame) do
    local fn = of[id]
    if fn then fn.met = true end
    local name = fn and p.frames[id].name
    -- "(for generator)" and the like tell the purpose of the call.
    if name and (fn.kind == "Lua" or fn.place) and not name:find("^%(") then
      fn.votes[name] = (fn.votes[name] or 0) + 1
      local site = (p.frame[p.parent[stack]] or 0).."\0"..name
      sites[site] = sites[site] or { name = name }
      sites[site][fn] = true
    end
  end
  return sites
end

-- Where two functions were called by one name at one place, and one of them
-- has no other name, it may have left by a tail call to the other one.
local function doubt(sites)
  local doubtful = {}
  for _, site in pairs(sites) do
    local owned, n = false, 0
    for fn in pairs(site) do
      if type(fn) == "table" then
	n = n + 1
	local only = next(fn.votes)
	owned = owned or fn.name == site.name or
	  not fn.name and next(fn.votes, only) == nil
      end
    end
    for fn in pairs(owned and n > 1 and site or {}) do
      if type(fn) == "table" then
	doubtful[fn] = doubtful[fn] or {}
	doubtful[fn][site.name] = true
      end
    end
  end
  return doubtful
end

-- The name that most stacks have, of those without a doubt if there are any.
local function elect(votes, doubtful)
  local best
  for name, n in pairs(votes) do
    local sure = not (doubtful and doubtful[name])
    local better = not best or sure and not best.sure or
      sure == best.sure and (n > best.n or n == best.n and name < best.name)
    if better then best = { name = name, n = n, sure = sure } end
  end
  return best and best.name
end

-- -- Names of C functions and the VM's work -----------------------------------

-- A host's own functions may have no symbols: the first frame of a stack is the
-- host's.
local function hosts_of(p, of)
  local hosts = {}
  for stack, id in ipairs(p.frame) do
    if p.parent[stack] == 0 and of[id] then hosts[of[id]] = true end
  end
  return hosts
end

-- Lua functions whose names a tail call may have passed on to a C function: a
-- set, of the sources that there are.
local function passed_on(p, list)
  local set, seen = {}, {}
  for _, fn in ipairs(list) do
    if fn.met and fn.kind == "Lua" and fn.source and not seen[fn.source] then
      seen[fn.source] = true
      local text = sources.read(p, fn.source, { source_root = p.source_root })
      if text then cnames.passed_on(text, definitions.read(text), set) end
    end
  end
  return set
end

-- Notes the names by which functions of the same name called C functions, and
-- the C functions that loops called. Returns whether any has no symbol.
local function examine_calls(p, of)
  local any = false
  for stack, id in ipairs(p.frame) do
    local fn = of[id]
    local name = fn and fn.place and not fn.definition and p.frames[id].name
    if name then
      local caller = of[p.frame[p.parent[stack]]]
      if caller and caller.name == name then fn.sure[name] = true end
      fn.iterates = fn.iterates or name:find("^%(for ") ~= nil
      any = true
    end
  end
  return any
end

local function name_others(p, list, of, doubtful)
  local hosts = hosts_of(p, of)
  local set = examine_calls(p, of) and passed_on(p, list) or {}
  for _, fn in ipairs(list) do
    if fn.kind == "C" then
      fn.name = cnames.name(fn, hosts[fn], set, doubtful[fn] or {})
    elseif fn.kind ~= "Lua" then
      fn.name = printable(fn.frame.name or "?")
    end
  end
end

-- -- All of it ---------------------------------------------------------------

-- Sets the field name of all functions, where they have one, and definition,
-- where the name is that of the source. Returns a list, a table from a frame's
-- number to its function, and one from each source that has changed since to a
-- line on which a function began.
local function of_profile(p)
  local list, of = collect(p)
  local sites = vote(p, of)
  local changed = define_all(p, list)
  local doubtful = doubt(sites)
  for _, fn in ipairs(list) do
    if fn.kind == "Lua" then fn.definition = fn.line and fn.name or nil end
    if fn.line == 0 then fn.name = terms.main_chunk
    elseif fn.kind == "Lua" then
      fn.name = fn.name or elect(fn.votes, doubtful[fn])
      fn.name = fn.name and printable(fn.name)
    end
  end
  name_others(p, list, of, doubtful)
  return list, of, changed
end

-- The last n names of a path; all of it, if it has no more.
local function ending(path, n)
  local at = #path + 1
  for _ = 1, n do
    at = path:sub(1, at - 1):find("[/\\][^/\\]*$")
    if not at then return path end
  end
  return path:sub(at + 1)
end

-- Sources whose last names are the same get the shortest end that no other one
-- has, or their whole paths if that would be long.
local MOST_NAMES = 6
local function tell_apart(alike, module)
  local n = 1
  while #alike > 1 and n < MOST_NAMES do
    local count, same = {}, {}
    n = n + 1
    for _, source in ipairs(alike) do
      local s = ending(source, n)
      module[source], count[s] = s, (count[s] or 0) + 1
    end
    for _, source in ipairs(alike) do
      if count[module[source]] > 1 then same[#same+1] = source end
    end
    alike = same
  end
  for _, source in ipairs(alike) do
    if n > 1 then module[source] = source end
  end
end

-- A function from a source to its module: without directories, unless they are
-- wanted, or another source is called the same.
local function modules(list, path)
  local module, by = {}, {}
  local function base(source)
    if path or source:find("^%[") then return source end
    return source:match("[^/\\]+$") or source
  end
  for _, fn in ipairs(list) do
    local source = fn.kind == "Lua" and fn.source
    if source and not module[source] then
      local b = base(source)
      module[source], by[b] = b, by[b] or {}
      table.insert(by[b], source)
    end
  end
  for _, alike in pairs(by) do tell_apart(alike, module) end
  return function(source)
    return source and printable(module[source] or base(source)) or "?"
  end
end

-- Where a function is: module:line.
local function place_of(fn, module_of)
  if fn.line == 0 then return module_of(fn.source) end
  return module_of(fn.source)..":"..(fn.line or terms.no_line)
end

-- The label that a function would have if no other one had it.
local function plain_label(fn, scope, module_of)
  if fn.kind ~= "Lua" then return fn.name end
  if not fn.name then return place_of(fn, module_of) end
  return scope == "F" and module_of(fn.source)..":"..fn.name or fn.name
end

-- A label with the function's place.
local function placed_label(fn, scope, module_of)
  if fn.kind ~= "Lua" or not fn.name then
    return plain_label(fn, scope, module_of)
  elseif scope == "F" then
    return place_of(fn, module_of)..":"..fn.name
  end
  return ("%s (%s)"):format(fn.name, place_of(fn, module_of))
end

-- Labels of all functions, by function: in scope "f" their names, in "F" with
-- the module; with their places where several have one name. Besides, the
-- function of modules' names, and the labels without places.
local function labels(list, scope, path)
  local module_of, having = modules(list, path), {}
  local t, plain, taken = {}, {}, {}
  for _, fn in ipairs(list) do
    t[fn] = plain_label(fn, scope, module_of)
    plain[fn] = t[fn]
    having[t[fn]] = (having[t[fn]] or 0) + 1
  end
  for _, fn in ipairs(list) do
    if having[t[fn]] > 1 then t[fn] = placed_label(fn, scope, module_of) end
    local label, n = t[fn], 1
    while taken[t[fn]] do  -- Of one place, but not the same: from strings.
      n = n + 1
      t[fn] = ("%s #%d"):format(label, n)
    end
    taken[t[fn]] = true
  end
  return t, module_of, plain
end

return { of_profile = of_profile, labels = labels }
