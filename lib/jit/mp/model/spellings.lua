-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Sources that several profiles spell differently: ./app.lua, /srv/app.lua.
----------------------------------------------------------------------------
--
-- A relative name is one of the directory in which the profile began, whose own
-- name is without links; so only leading .. are taken for their directories. Of
-- files that are the same by this, but have several names, the absolute path is
-- the one for all. Names that are spelled alike stay as they are: several
-- machines have one program in different directories.
--
----------------------------------------------------------------------------

-- The path without /./ and //.
local function plain(path)
  local n
  path = path:gsub("//+", "/")
  repeat path, n = path:gsub("/%./", "/") until n == 0
  return path
end

-- The absolute path; nil: not known, or no file.
local function path_of(p, source)
  local path, cwd = p:source_path(source), p.info.cwd
  if not path or path:sub(1, 1) ~= "/" then return nil end
  path = plain(path)
  if path == plain(source) then return path end
  local rest = plain(cwd.."/")
  path = path:sub(#rest + 1)
  while rest ~= "/" and path:sub(1, 3) == "../" do
    path, rest = path:sub(4), rest:gsub("[^/]*/$", "")
  end
  return rest..path
end

-- Calls f with each profile and source of the list.
local function each(list, f)
  for _, p in ipairs(list) do
    if p.info.script then f(p, p.info.script) end
    for _, frame in ipairs(p.frames) do
      local source = (frame.raw or frame).source
      if source then f(p, source) end
    end
  end
end

-- Returns a function from a profile of the list and a source to its name in all
-- of them.
return function(list)
  local first, several = {}, {}
  each(list, function(p, source)
    local path = path_of(p, source)
    if not path then return end
    first[path] = first[path] or source
    several[path] = several[path] or first[path] ~= source
  end)
  return function(p, source)
    local path = source and path_of(p, source)
    return path and several[path] and path or source
  end
end
