-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The source files that some row has a line of, as texts for the page.
----------------------------------------------------------------------------

local encode = require("jit.mp.page.encode")
local profile = require("jit.mp.model.profile")
local sources = require("jit.mp.model.sources")

local function names(p)
  local seen, files = {}, {}
  for _, row in ipairs(p.rows) do
    local file, line = p:source_line(row)
    if file and line and not seen[file] then
      seen[file] = true
      files[#files+1] = file
    end
  end
  table.sort(files)
  return files
end

-- strs gives the numbers of strings; env is as in model/sources.
return function(p, o, strs, env)
  local out = {}
  for i, file in ipairs(names(p)) do
    local text, msg
    if o.nosource then
      msg = "left out of this page"
    else
      text, msg = sources.read(p, file, env)
    end
    out[i] = encode.object({ "source", strs(file), "name",
      encode.str(profile.module_name({ source = file })),
      text and "text" or "error", encode.str(text or msg) })
  end
  return encode.list(out)
end
