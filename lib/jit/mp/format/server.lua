-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A profile for a server, as the core sends it: src/report/push.h has the form.
----------------------------------------------------------------------------

local curl = require("jit.mp.push.curl")
local requests = require("jit.mp.push.requests")

return function(p, o, env)
  local list = requests(p, o, env.name)
  if not list[1] then return "" end
  local function file(i) return "/dev/fd/"..i + 2 end
  local config, msg = curl.config(list, file, env.patient)
  if not config then return nil, msg end
  local parts, lengths = { config }, {}
  for _, request in ipairs(list) do parts[#parts+1] = request.body end
  for i, part in ipairs(parts) do lengths[i] = #part end
  return table.concat(lengths, " ").."\n"..table.concat(parts)
end
