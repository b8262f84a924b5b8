-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp top: the profile of a running process, drawn anew every second,
-- with keys.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local file = require("jit.mp.format.file")
local names = require("jit.mp.model.names")
local options = require("jit.mp.options")
local render = require("jit.mp.render")
local sorting = require("jit.mp.model.sorting")
local stop = require("jit.mp.cli.stop")
local style = require("jit.mp.text.style")
local target = require("jit.mp.cli.target")
local terminal = require("jit.mp.cli.terminal")

local PERIOD, STEP = 1, 0.1 -- Seconds between two drawings, two looks for keys.
local PATIENCE = 10         -- Seconds until a profile must be written.

-- The views in the order in which key v goes through them: all three, each.
local views = { "", "c", "h", "u" }

-- The orders that key s goes through: by the largest share, by each view, by
-- name.
local orders = { "", "c", "h", "u", "name" }
local order_names = { "", "CPU", "allocated", "in use", "name" }

-- The settings that keys change; given: option O, until one of them does.
local function new_settings(text)
  return { given = text, view = 1, order = 1, lines = false, objects = false,
    depth = 1,
    paused = false }
end

-- The option string that the settings stand for.
local function option_text(s)
  if s.given then return s.given end
  return (s.depth > 1 and s.depth or "")..(s.lines and "fl" or "f")..
    views[s.view]..(s.objects and "o" or "").."m1"
end

-- The parsed options that the settings stand for.
local function parsed(s)
  local o = options.parse(option_text(s))
  -- A table without that view keeps its own order.
  if s.order > 1 and not sorting.set(o, orders[s.order]) then s.order = 1 end
  return o
end

-- Goes to the next order that the table can have.
local function next_order(s)
  local o = options.parse(option_text(s))
  repeat
    s.order = s.order % #orders + 1
  until s.order == 1 or sorting.set(o, orders[s.order])
end

-- Each key changes the settings, after which the screen is drawn anew.
local keys = {
  s = next_order,
  v = function(s) s.view = s.view % #views + 1 end,
  c = function(s) s.view = 2 end,
  h = function(s) s.view = 3 end,
  u = function(s) s.view = 4 end,
  a = function(s) s.view = 1 end,
  l = function(s) s.lines = not s.lines end,
  o = function(s) s.objects = not s.objects end,
  p = function(s) s.paused = not s.paused end,
  [" "] = function(s) s.paused = not s.paused end,
  ["+"] = function(s) s.depth = math.min(s.depth + 1, 20) end,
  ["-"] = function(s) s.depth = math.max(s.depth - 1, 1) end,
}
local help = { "q quit", "p pause", "v c h u a view", "s sort", "l lines",
  "o objects", "+- depth" }

-- The process, the order where one was chosen, and the keys.
local function title(pid, s, width)
  local parts = { ("process %d%s%s"):format(pid, s.paused and "   PAUSED" or "",
    s.order > 1 and "   by "..order_names[s.order] or "") }
  for _, key in ipairs(help) do parts[#parts+1] = key end
  return cells.parts(parts, width, 0)
end

-- The lines of the screen.
local function compose(pid, s, p, screen)
  local width, o = screen:width(), parsed(s)
  local text, msg = render.render(p, o, { name = "-", width = width,
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
      if keys[key] then
	if not key:find("[p s]") then s.given = nil end
	keys[key](s)
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

return function(given, operands, command)
  local text = given.opts
  if text then
    local o, msg = options.parse(text)
    if not o then stop.usage("top: "..msg, command) end
  end
  local time = target.seconds(given.time, command)
  local screen, reason = terminal.open()
  if not screen then stop.data(reason) end
  local ok, session, pid = pcall(target.attach, operands[1], text or "f", given,
    command)
  if not ok then
    screen:close()
    error(session, 0)
  end
  local done, msg = pcall(run, session, pid, screen, new_settings(text), time)
  screen:close()
  pcall(target.finish, session, pid)
  if not done then error(msg, 0) end
  if msg then stop.data(msg) end
end
