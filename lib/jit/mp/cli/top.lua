-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp top: the profile of a running process, drawn anew every second,
-- with keys.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local file = require("jit.mp.format.file")
local files = require("jit.mp.cli.files")
local livekeys = require("jit.mp.livekeys")
local names = require("jit.mp.model.names")
local render = require("jit.mp.render")
local stop = require("jit.mp.cli.stop")
local style = require("jit.mp.text.style")
local target = require("jit.mp.cli.target")
local terminal = require("jit.mp.cli.terminal")

local PERIOD, STEP = 1, 0.1 -- Seconds between two drawings, two looks for keys.
local PATIENCE = 10         -- Seconds until a profile must be written.

-- The process, the order where one was chosen, and the keys.
local function title(pid, s, width)
  local parts = { ("process %d"):format(pid) }
  if s.paused then parts[#parts+1] = "PAUSED" end
  parts[#parts+1] = livekeys.order(s)
  parts[#parts+1] = "q quit"
  parts[#parts+1] = "p pause"
  for _, part in ipairs(livekeys.help) do parts[#parts+1] = part end
  return cells.parts(parts, width, 0)
end

-- The lines of the screen.
local function compose(pid, s, p, screen)
  local width, o = screen:width(), livekeys.options(s)
  local shown = livekeys.window(s, p)
  local text, msg = render.render(shown, o, { name = "-", width = width,
    live = true, bold = not screen.plain and style.allowed() })
  return title(pid, s, width).."\n"..(text or names.printable(msg))
end

-- Reads keys until it is time for the next drawing. Returns "quit" if the user
-- or a signal has ended the view, "key" if something changed, else "time".
local function wait(session, screen, s, until_time)
  repeat
    local why = session:wait(STEP)
    if why ~= "time" then return why == "end" and "gone" or "quit" end
    for key in screen:keys():gmatch(".") do
      if key == "q" or key == "\3" or key == "\4" then return "quit" end
      if key == "p" or key == " " then
	s.paused = not s.paused
	return "key"
      elseif livekeys.press(s, key) then
	return "key"
      end
    end
  until terminal.clock() >= until_time
  return "time"
end

-- The profile as it is now.
local function fetch(session)
  local ok, msg = session:write(PATIENCE)
  if not ok then return nil, msg end
  return file.read(session:read())
end

local function run(session, pid, screen, s, time)
  local begun = terminal.clock()
  local p, why, msg
  repeat
    if why ~= "key" and not (s.paused and p) then
      local new
      new, msg = fetch(session)
      if not new then return msg end
      p = new
    end
    screen:draw(compose(pid, s, p, screen))
    why = wait(session, screen, s, terminal.clock() + PERIOD)
  until why == "quit" or why == "gone" or
    time and terminal.clock() - begun >= time
  return why == "gone" and ("process %d has ended"):format(pid)
end

-- The view is there while the process runs, and in the terminal only.
local function check(o, command)
  for _, c in ipairs({ "T", "w", "H", "q", "G" }) do
    if o.seen[c] then
      stop.usage(("top: option '%s' has no effect with top, which shows "..
	"reports in the terminal"):format(c), command)
    end
  end
  if o.leak_limit then
    stop.usage("top: give option L without a number: the program has "..
      "an exit status of its own", command)
  end
  o.live = true
  files.check_effects(o, {}, {}, command)
end

return function(given, operands, command)
  local text = given.opts
  if text then check(files.parse_options(text, given, command), command) end
  local time = target.seconds(given.time, command)
  local screen, reason = terminal.open()
  if not screen then stop.data(reason) end
  local ok, session, pid = pcall(target.attach, operands[1], text or "f", given,
    command)
  if not ok then
    screen:close()
    error(session, 0)
  end
  local done, msg = pcall(run, session, pid, screen,
    livekeys.new(text or "f"), time)
  screen:close()
  pcall(target.finish, session, pid)
  if not done then error(msg, 0) end
  if msg then stop.data(msg) end
end
