-- SPDX-License-Identifier: MIT
-- luajit-mp top, in a pseudo-terminal; the program does not notice.

local draw = require("screens")
local tap = require("tap")

if tap.slow or tap.sh("script -qec true /dev/null").status ~= 0 then
  tap.skip("there are no pseudo-terminals here, or little time")
elseif (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("attached programs run on the bare machine only")
elseif not jit.arch:find("^x") then
  tap.skip("attach is for x86-64 and i386")
end

local running, out = tap.tmpname(), tap.tmpname()
local pid = tap.sh(("%s '%s/t/attach/alloc.lua' %s >%s 2>&1 & echo $!"):format(
  tap.command, tap.srcdir, running, out)).out:match("%d+")
local r = tap.sh(tap.mp.." attach -t 0.1 "..pid)
if r.err:find("not permitted", 1, true) then
  os.remove(running)
  tap.skip("processes may not be traced here")
end

-- Shows the process on a terminal whose keys are typed by those commands.
-- Returns the texts that were drawn.
local function top(keys, args, term)
  local screens, text = draw(keys, ("%s %s"):format(args or "", pid), 24, 90,
    term)
  for i, screen in ipairs(screens) do
    screens[i] = screen:gsub("\27%[[?%d]*%a", "")
  end
  return screens, text
end

local screens, text = top("sleep 4; printf l; sleep 1; printf s; sleep 1; "..
  "printf c; sleep 1; printf z; sleep 2; printf p; sleep 1; printf q")
tap.like(text, "\27%[%?1049h.*\27%[%?1049l", "a screen of its own, given back")
tap.ok(#screens >= 4, "drawn several times", #screens)
tap.like(screens[1], "^process "..pid.."   q quit", "the process and the keys")
local all = table.concat(screens, "\n----\n")
tap.like(all, "\n +[^%w ]+   up to [%d.]+ %a*B\r", "in use over time")
tap.like(all, "process "..pid.."   by CPU", "key s: the order")
tap.like(screens[2], "fill", "functions")
tap.unlike(screens[2], "alloc.lua:%d+\r", "no lines at first")
tap.like(all, "%-%- alloc.lua:%d", "key l: lines")
tap.like(screens[#screens], "   window of [%d.]+ m?s, from [%d.]+ m?s on",
  "key z: from then on")
tap.like(screens[#screens], "PAUSED", "key p: paused")
tap.unlike(screens[#screens], "allocated", "key c: CPU alone")

screens = top("sleep 2; printf s; sleep 18", "-t 5 -O h")
tap.like(table.concat(screens), "by allocated", "key s: a view that is there")
tap.unlike(table.concat(screens), "by CPU", "key s: none that is not")
tap.like(screens[1], "allocated .*\r\n", "-O: the view, -t: an end")
tap.unlike(screens[1], "in use  cum", "-O: that view alone")

local reports
for _, seconds in ipairs { 4, 12, 30 } do
  text = select(2, top(("sleep %d; printf q"):format(seconds), "", "dumb"))
  tap.unlike(text, "\27", "TERM=dumb: no escape sequences")
  reports = select(2, text:gsub("\nluajit%-mp  ", ""))
  if reports >= 2 then break end
end
tap.ok(reports >= 2, "TERM=dumb: plain reports", reports)

-- A loop that makes functions is given up for good.
local known
for _, seconds in ipairs { 4, 12, 30 } do
  text = select(2, draw(("sleep %d; printf q"):format(seconds), "-O Jm0 "..pid,
    40, 120, "dumb"))
  known = text:find("the loop at alloc.lua:8 is blacklisted", 1, true)
  if known then break end
end
tap.ok(known or not tap.knows_layout(), "option J: what is blacklisted", text)

-- Coroutines that were there before wait, and more and more is known of that.
local turns, said = tap.tmpname(), tap.tmpname()
local other = tap.sh(("%s '%s/t/attach/waits.lua' %s >%s 2>&1 & echo $!")
  :format(tap.command, tap.srcdir, turns, said)).out:match("%d+")
for _, seconds in ipairs { 2, 8, 20 } do
  text = select(2, draw(("sleep %d; printf q"):format(seconds), "-O I1 "..
    other, 24, 90, "dumb"))
  known = text:match("Coroutines have waited.*") or ""
  if known:find("Coroutines.*Coroutines") then break end
end
tap.like(known, "Coroutines.*Coroutines", "option I: what is known by then")
tap.like(known, " 4   coroutine%.yield < waits%.lua:8\r?\n", "and who waits")
os.remove(turns)

r = tap.sh("setsid "..tap.mp.." top "..pid.." </dev/null")
tap.is(r.status, 1, "no terminal: status")
tap.like(r.err, "needs a terminal", "no terminal: said")

os.remove(running)
for _ = 1, 100 do
  if tap.read(out):find("\n") then break end
  os.execute("sleep 0.1")
end
tap.is(tap.read(out), "right\n", "the program's results are right")
tap.ok(tap.wait(function() return tap.read(said) == "right\n" end),
  "and the other's")
tap.done()
