-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The sources of a profile: which files may be read, and their text.
----------------------------------------------------------------------------
--
-- Only regular files of bounded size are read. A profile that was read from a
-- file may be a stranger's and name any file: of its sources those are read
-- that lie below the directory in which the program ran, if that is the current
-- directory or below it, or that lie below the directory that the user names;
-- and none that is hidden, as keys and settings are.
--
----------------------------------------------------------------------------

local files = package.loaded["jit.mp.files"] or require("jit.mp.core").files

local names = require("jit.mp.model.names")

local MAX = 4 * 1024 * 1024   -- Bytes of a file.

local outside = "outside the current directory; pass --source-root DIR"

-- A path below another directory than the one where the program ran.
local function moved(path, cwd, root)
  if path:sub(1, 1) ~= "/" then return root.."/"..path end
  local prefix = cwd and cwd:gsub("/*$", "/")
  if prefix and path:sub(1, #prefix) == prefix then
    return root.."/"..path:sub(#prefix + 1)
  end
  return path
end

-- Whether one directory is the other, or below it.
local function is_below(path, directory)
  return directory and (path.."/"):sub(1, #directory + 1) == directory.."/"
end

local function is_hidden(path)
  return path:find("/%.[^/.]") or path:find("/%.%.[^/]")
end

-- Where a source is read, and the directory that it must be below, if any. nil,
-- and why not.
local function place(p, source, env)
  local path = p:source_path(source)
  if not path then return nil, "not a file" end
  if not p.from_file then return path end
  local root, cwd = env.source_root, p.info.cwd
  if root then
    path = moved(source, cwd, root)
  elseif not cwd or cwd == "/" or not is_below(cwd, files.directory()) then
    return nil, outside
  end
  if is_hidden(path:sub(#(root or cwd) + 1)) then
    return nil, "a hidden file"
  end
  return path, root or cwd
end

-- The text of a source, or nil and why there is none.
--   env.source_root   the directory of the sources, if the user names one
local function read(p, source, env)
  local path, below = place(p, source, env or {})
  if not path then return nil, below end
  local text, msg = files.read(path, MAX, below)
  if not text then return nil, names.printable(path)..": "..msg end
  if text:byte() == 27 then return nil, "a bytecode file" end
  return text
end

-- The same as a list of lines.
local function lines(p, source, env)
  local text, msg = read(p, source, env)
  if not text then return nil, msg end
  local list = {}
  for line in text:gmatch("([^\n]*)\n?") do list[#list+1] = line end
  list[#list] = nil -- The end of the text.
  return list
end

return { read = read, lines = lines }
