----------------------------------------------------------------------------
-- A report: a snapshot of the core and an option string make a text.
----------------------------------------------------------------------------

local annotate = require("jit.mp.annotate")
local folded = require("jit.mp.folded")
local header = require("jit.mp.header")
local options = require("jit.mp.options")
local profile = require("jit.mp.profile")
local tabular = require("jit.mp.table")

-- env.width: columns of the terminal that the report goes to, if any.
-- Returns the text, or nil and a message.
return function(snapshot, text, env)
  local o, msg = options.parse(text)
  if not o then return nil, msg end
  local p = profile.new(snapshot)
  if o.folded then return folded(p, o) end
  local body = o.annotate and annotate(p, o) or tabular(p, o, env.width)
  return header(p, env.width)..body
end
