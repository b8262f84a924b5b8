-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Bold text on terminals: the largest number of a column stands out.
----------------------------------------------------------------------------

local style = {}

-- Whether the user wants it, by TERM and NO_COLOR.
function style.allowed()
  local term, no_color = os.getenv("TERM"), os.getenv("NO_COLOR")
  return (term or "") ~= "" and term ~= "dumb" and (no_color or "") == ""
end

-- The spaces around the text stay as they are.
function style.bold(text)
  return (text:gsub("%S.*%S", "\27[1m%0\27[m"))
end

return style
