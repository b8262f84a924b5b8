-- SPDX-License-Identifier: MIT
-- Text by templates: patterns, substitution by functions, buffers.

-- Whether a string is made again depends on when the collector takes it.
collectgarbage("stop")

local function compile(text)
  local parts, at = {}, 1
  for before, name, behind in text:gmatch("([^{]*){{(%w+)}}()") do
    parts[#parts+1] = before
    parts[#parts+1] = { field = name }
    at = behind
  end
  parts[#parts+1] = text:sub(at)
  return function(values)
    local out = {}
    for i, p in ipairs(parts) do
      if type(p) == "table" then
	out[i] = tostring(values[p.field])
      else
	out[i] = p
      end
    end
    local text = table.concat(out)
    return text
  end
end

local escapes = { ["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;" }
local function escape(s) return (s:gsub("[<>&]", escapes)) end

local page = compile("<li id={{id}}>{{name}}, {{price}} &euro;</li>\n")
local function list(n)
  local items = {}
  for i = 1, n do
    items[#items+1] = page { id = i, price = ("%.2f"):format(i / 7),
      name = escape("<b>"..("item "..i):upper().."</b> & more") }
  end
  return "<ul>\n"..table.concat(items).."</ul>\n"
end

local length = 0
for round = 1, 12 do
  local text = list(50 + round)
  length = length + #text:gsub("%d+", function(d) return "#"..d end)
end
print(length)
