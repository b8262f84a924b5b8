----------------------------------------------------------------------------
-- A plan: what an option string and the names of outputs ask for.
--
-- The core makes the plan of a run in the private state where the run's
-- reports will be made. The plan stays there, with all the modules that the
-- reports need: later there may be no way to load them.
----------------------------------------------------------------------------

local formats = require("jit.mp.format.formats")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")

-- The files that are written for these names.
local function files(names, o)
  local list = {}
  for _, name in ipairs(names) do
    for _, file in ipairs(name ~= "" and formats.files(name, o) or {}) do
      list[#list+1] = file
    end
  end
  list[1] = list[1] or os.getenv("LUAJIT_PROFILEFILE") or "-"
  return list
end

-- Returns the parsed options (jit.mp.options) with these fields besides, or
-- nil and a message:
--   files       names of the outputs: one at least
--   contents    what is written to them in place of a report: the help
local function make(text, ...)
  local o, msg = options.parse(text)
  if not o then return nil, msg end
  o.files = files({ ... }, o)
  if o.help then o.contents = options.help() end
  for _, name in ipairs(o.files) do formats.view(name, o) end
  return o
end

-- Makes the report for one of the files. width: columns of the terminal that
-- it goes to, or nil. Returns what render does.
local function report(plan, snapshot, name, width)
  if plan.contents then return plan.contents end
  return render.render(profile.new(snapshot), plan, { name = name, width = width })
end

return { make = make, report = report }
