----------------------------------------------------------------------------
-- A report: a profile and an option string make a text, or a file's contents.
----------------------------------------------------------------------------

local formats = require("jit.mp.format.formats")
local header = require("jit.mp.text.header")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")

-- Renders a profile (jit.mp.model.profile) by parsed options.
--   env.name   the output's name, whose suffix says the format
--   env.width  columns of the terminal that the report goes to, if any
-- Returns the text, or nil and a message; and the bytes that leak, where the
-- options ask for leaks.
local function render(p, o, env)
  local view, vo, is_text = formats.view(env.name or "-", o)
  local body, msg, leaked = view(p, vo, env)
  if not body then return nil, msg end
  if is_text and not o.folded then
    body = header(p, env.width, o.kib)..body
  end
  return body, nil, leaked
end

-- The same for a snapshot of the core and an option string.
local function report(snapshot, text, env)
  local o, msg = options.parse(text)
  if not o then return nil, msg end
  return render(profile.new(snapshot), o, env)
end

-- Loads what the reports will need: later there may be no way to.
local function prepare(text, names)
  local o = options.parse(text)
  for _, name in ipairs(o and names or {}) do formats.view(name, o) end
end

return { render = render, report = report, prepare = prepare }
