-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The names of LuaJIT's builtins by their numbers.
----------------------------------------------------------------------------
--
-- Numbers are those of the LuaJIT that runs: each function of its libraries
-- tells its own. The module jit.vmdef has the names of the others, too, but it
-- is read from the program's package.path and may belong to another build, in
-- which the numbers differ. It counts if it is right about all that are known.
--
----------------------------------------------------------------------------

local libraries = { "_G", "bit", "coroutine", "debug", "io", "jit", "math",
  "os", "string", "table" }

-- Adds the functions of a library: { [number] = { [name] = true } }.
local function add(t, util, library)
  local prefix = library == "_G" and "" or library.."."
  for name, f in pairs(package.loaded[library] or {}) do
    local n = type(f) == "function" and util.funcinfo(f).ffid
    if n then
      t[n] = t[n] or {}
      t[n][prefix..name] = true
    end
  end
end

local function known()
  local t = {}
  local ok, util = pcall(require, "jit.util")
  for _, library in ipairs(ok and libraries or {}) do add(t, util, library) end
  return t
end

-- Whether a list of names is right about all functions that are known.
local function belongs(list, t)
  for n, by_name in pairs(t) do
    if not by_name[list[n]] then return false end
  end
  return true
end

local function least(by_name)
  local best
  for name in pairs(by_name) do
    if not best or name < best then best = name end
  end
  return best
end

-- The names by number. list: what jit.vmdef has, or nil.
local function names(list)
  local t, out = known(), {}
  if list and belongs(list, t) then return list end
  for n, by_name in pairs(t) do out[n] = least(by_name) end
  return out
end

local all

-- The name of a builtin.
local function name(n)
  if not all then
    local ok, vmdef = pcall(require, "jit.vmdef")
    all = names(ok and type(vmdef) == "table" and vmdef.ffnames or nil)
  end
  return all[n] or ("[builtin#%d]"):format(n)
end

return { name = name, names = names }
