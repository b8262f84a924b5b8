----------------------------------------------------------------------------
-- What the arguments of a start or a report mean.
--
-- The core runs this in a Lua state of its own: the program's heap holds
-- nothing of it.
----------------------------------------------------------------------------

local formats = require("jit.mp.format.formats")
local options = require("jit.mp.options")

-- Takes an option string and the names of the outputs. Returns what the core
-- needs to know of the options, with the names of the files in 1, 2, ... and,
-- where help is asked for, with that text; or nil and a message.
return function(text, ...)
  local o, msg = options.parse(text)
  if not o then return nil, msg end
  local t = {
    text = text, interval = o.interval, period = o.period, events = o.events,
    leaks = o.leaks, leak_limit = o.leak_limit, live = o.live,
    help = o.help and options.help()
  }
  for _, out in ipairs({ ... }) do
    for _, name in ipairs(out ~= "" and formats.files(out, o) or {}) do
      t[#t+1] = name
    end
  end
  t[1] = t[1] or os.getenv("LUAJIT_PROFILEFILE")
  return t
end
