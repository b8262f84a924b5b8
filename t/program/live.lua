-- SPDX-License-Identifier: MIT
-- The live view, in pseudo-terminals of several kinds.

local tap = require("tap")

if tap.slow or tap.sh("script -qec true /dev/null").status ~= 0 then
  tap.skip("there are no pseudo-terminals here, or little time")
end

local busy = tap.program([[
local t0, keep = os.clock(), {}
local function a_name_of_some_length()
  for i = 1, 1000 do keep[i] = { i } end
end
while os.clock() - t0 < 1.7 do a_name_of_some_length() end
print("the program's last words")
]])

-- The output on a terminal. stty: its size.
local function live(stty, opts, env)
  return tap.sh(("%s script -qec 'stty %s; %s -jm=%s %s' /dev/null"):format(
    env or "TERM=xterm", stty, tap.command, opts, busy))
end

local r = live("rows 30 cols 90", "fT")
tap.is(r.status, 0, "the exit status stays")
tap.like(r.out, "\27%[21;30r", "the lower part scrolls")
tap.like(r.out, "\27%[1;1H\27%[2Kluajit%-mp", "the report is drawn above it")
tap.like(r.out, "\27%[2m\27%[20;1H\27%[2K%-%- keys: [^\27]*\27%[0m",
  "a dim line between")
tap.like(r.out, "words\r?\n.*\27%[r\27%[30;1H.*luajit%-mp",
  "the terminal is put back before the report")

tap.like(r.out, "\27%[%d+;1H\27%[2K +[^%w ]+   up to [%d.]+ %a*B",
  "in use over time")

r = live("rows 30 cols 60", "fT")
local drawn = r.out:match("^(.-)words")
tap.like(drawn, "a_name_of", "60 columns: the name is there")

r = live("rows 18 cols 60", "fT")
tap.like(r.out:match("^(.-)words"), "a_name_of",
  "18 lines of 60 columns: the table is not clipped away")

r = live("rows 30 cols 90", "fT", "NO_COLOR=1 TERM=xterm")
tap.unlike(r.out, "\27%[2m", "NO_COLOR: nothing is dimmed")

for _, case in ipairs({ { "rows 30 cols 90", "TERM=dumb" },
    { "rows 0 cols 0", "TERM=xterm" }, { "rows 5 cols 90", "TERM=xterm" },
    { "rows 30 cols 90", "TERM=" } }) do
  local name = case[2]..", "..case[1]
  r = live(case[1], "fT", case[2])
  tap.is(r.status, 0, name..": the exit status")
  local while_running = r.out:match("^(.-)words")
  tap.unlike(while_running, "\27", name..": no escape sequences")
  local _, n = while_running:gsub("luajit%-mp  ", "")
  tap.ok(n >= 1, name..": plain reports while it runs", r.out)
  tap.like(r.out, "words.*luajit%-mp  ", name..": and the last one")
end

-- The size changes while the program runs: once it sees that the report
-- has been drawn. It waits for the second drawing, too.
local typescript = tap.tmpname()
local resizing = tap.program(([[
local keep = {}
local function await(drawn)
  local t0, text = os.time()
  repeat
    for i = 1, 1e5 do keep[i %% 1000] = { i } end
    local f = io.open(%q, "rb")
    text = f:read("*a")
    f:close()
  until text:find(drawn, 1, true) or os.time() > t0 + 60
end
await("\27[21;30r")
os.execute("stty rows 20 cols 70 </dev/tty")
await("\27[14;20r")
]]):format(typescript))
r = tap.sh(("TERM=xterm script -qefc 'stty rows 30 cols 90; %s -jm=fT %s' %s")
  :format(tap.command, resizing, typescript))
tap.like(r.out, "\27%[21;30r.*\27%[r\27%[20;1H"..("\r?\n"):rep(20)
  .."\0277\27%[14;20r", "after a change of the size all is drawn anew")

r = tap.sh("setsid "..tap.command.." -jm=T -e 'local t = {}'")
tap.ok(r.status ~= 0, "without a terminal: refused")
tap.like(r.err, "needs a terminal", "without a terminal: said")

tap.done()
