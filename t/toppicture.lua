-- SPDX-License-Identifier: MIT
-- README's moving picture of luajit-mp top, as SVG: the screens that it draws
-- on a terminal, one after the other. make picture runs it.
--   luajit toppicture.lua FILE

local draw = require("screens")
local tap = require("tap")

local COLUMNS, ROWS, SECONDS = 92, 18, 1	-- Of the terminal; of a screen.
local KEYS = "sleep 6; printf l; sleep 4; printf s; sleep 4; printf q"

-- -- The screens ------------------------------------------------------------

-- A server whose cache of sessions grows.
local program = [[
local sessions, requests = {}, 0
local function parse(text)
  local words = {}
  for word in text:gmatch("%w+") do words[#words+1] = word end
  return words
end
local function render(words)
  local out = {}
  for i, word in ipairs(words) do out[i] = "<b>"..word.."</b>" end
  return table.concat(out, " ")
end
local function handle(text)
  requests = requests + 1
  local answer = render(parse(text))
  if requests % 50 == 0 then
    sessions[#sessions+1] = { id = requests, answer = answer }
  end
  return answer
end
local stop = os.time() + 60
while os.time() < stop do handle(("get item %d of shop "):rep(9):format(
  requests, 2, 3, 4, 5, 6, 7, 8, 9)) end
]]

local function capture()
  local dir = tap.tmpname()
  os.remove(dir)
  assert(tap.sh("mkdir "..dir).status == 0)
  tap.write(dir.."/server.lua", program)
  local pid = tap.sh(("cd %s && { %s server.lua >/dev/null 2>&1 & echo $!; }")
    :format(dir, tap.command)).out:match("%d+")
  local screens = draw(KEYS, "-O fm5 "..pid, ROWS, COLUMNS)
  os.execute("kill "..pid.."; rm -r "..dir)
  for i, screen in ipairs(screens) do
    screens[i] = screen:gsub("\27%[%?%d+%a.*", "")
  end
  return screens, pid
end

-- -- The picture ------------------------------------------------------------

local WIDTH, HEIGHT, MARGIN = 7.85, 17, 14	-- Of a character; around all.

local function escaped(text)
  return (text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;",
    [">"] = "&gt;" }))
end

-- A line, with bold text in elements of its own.
local function line_text(line)
  local out = line:gsub("\27%[K", "")
  out = escaped(out):gsub("\27%[1m", "<tspan class='b'>")
    :gsub("\27%[0?m", "</tspan>"):gsub("\27%[%d*%a", "")
  local _, open = out:gsub("<tspan", "")
  local _, close = out:gsub("</tspan", "")
  assert(open == close, "bold that does not end")
  return out
end

-- At its end all screens begin again; where motion is not wanted the last one
-- stands still.
local function style(n)
  return ([[
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  fill: #d6d9e0; white-space: pre; }
.b { font-weight: bold; fill: #fff; }
.s { visibility: hidden; animation: s %ds step-end infinite; }
@keyframes s { 0%% { visibility: visible; } %.3f%% { visibility: hidden; } }
@media (prefers-reduced-motion: reduce) {
  .s { animation: none; } .s:last-child { visibility: visible; }
}
]]):format(n * SECONDS, 100 / n)
end

local HEAD = [[
<svg xmlns='http://www.w3.org/2000/svg' xml:space='preserve' width='WIDTH'
  height='HEIGHT' viewBox='0 0 WIDTH HEIGHT' role='img'
  aria-label='luajit-mp top: a table of functions that changes'>
]]

local function picture(screens)
  local width = COLUMNS * WIDTH + 2 * MARGIN
  local height = ROWS * HEIGHT + 2 * MARGIN
  local out = { HEAD:gsub("WIDTH", ("%.0f"):format(width)):gsub("HEIGHT",
    ("%.0f"):format(height)), "<style>\n", style(#screens),
    "</style>\n<rect width='100%' height='100%' rx='8' fill='#1c1f26'/>\n" }
  for i, screen in ipairs(screens) do
    out[#out+1] = ("<g class='s' style='animation-delay: %ds'>\n"):format(
      (i - 1) * SECONDS)
    local y = MARGIN + 12
    for line in (screen:gsub("\r", "").."\n"):gmatch("([^\n]*)\n") do
      local text = line_text(line)
      if text:find("%S") then
	out[#out+1] = ("<text x='%d' y='%d'>%s</text>\n"):format(MARGIN, y,
	  (text:gsub("%s+$", "")))
      end
      y = y + HEIGHT
    end
    out[#out+1] = "</g>\n"
  end
  out[#out+1] = "</svg>\n"
  return table.concat(out)
end

local screens, pid = capture()
assert(#screens >= 4, "the screens could not be drawn")
for i, screen in ipairs(screens) do
  screens[i] = screen:gsub("process "..pid, "process 4711")
end
tap.write(assert(arg[1], "no file"), picture(screens))
