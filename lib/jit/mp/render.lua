----------------------------------------------------------------------------
-- A report: a profile and an option string make a text, or a file's contents.
----------------------------------------------------------------------------

local formats = require("jit.mp.format.formats")
local header = require("jit.mp.text.header")

-- Renders a profile (jit.mp.model.profile) by parsed options.
--   env.name   the output's name, whose suffix says the format
--   env.width  columns of the terminal that the report goes to, if any
--   env.source_root  where the user says that the sources are
-- Returns the text, or nil and a message; and the bytes that leak, where the
-- options ask for leaks.
local function render(p, o, env)
  if o.collapse and not (env.name or ""):find("%.mp$") then
    p = p:collapsed()
  end
  p.source_root = env.source_root  -- Names of functions come from there.
  local view, vo, is_text = formats.view(env.name or "-", o)
  local body, msg, leaked = view(p, vo, env)
  if not body then return nil, msg end
  if is_text and not o.folded then
    body = header(p, vo, env.width)..body
  end
  return body, nil, leaked
end

return { render = render }
