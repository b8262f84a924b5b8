----------------------------------------------------------------------------
-- The source files that some row has a line of, as texts for the page.
----------------------------------------------------------------------------

local encode = require("jit.mp.page.encode")
local numbers = require("jit.mp.model.numbers")
local profile = require("jit.mp.model.profile")

local MAX_SOURCE = 4 * 1024 * 1024 -- Bytes of a file that is shown.

-- The text of a source file, or nil and why not.
local function read(p, file)
  local path = p:source_path(file)
  if not path or path:match("^/dev/") then return nil, "not a file" end
  local fp, msg = io.open(path, "rb")
  if not fp then return nil, msg end
  local text, why = fp:read(MAX_SOURCE + 1)
  fp:close()
  if not text then return nil, why or "an empty file" end
  if text:byte() == 27 then return nil, "a bytecode file" end
  if #text > MAX_SOURCE then
    return nil, ("larger than %s"):format(numbers.period(MAX_SOURCE))
  end
  return text
end

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

-- strs gives the numbers of strings.
return function(p, o, strs)
  local out = {}
  for i, file in ipairs(names(p)) do
    local text, msg
    if o.nosource then
      msg = "left out of this page"
    else
      text, msg = read(p, file)
    end
    out[i] = encode.object({ "source", strs(file), "name",
      encode.str(profile.module_name({ source = file })),
      text and "text" or "error", encode.str(text or msg) })
  end
  return encode.list(out)
end
