-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp attach: a profile of a running process. The process sends its
-- profile; the reports are made here.
----------------------------------------------------------------------------

local files = require("jit.mp.cli.files")
local formats = require("jit.mp.format.formats")
local stop = require("jit.mp.cli.stop")
local target = require("jit.mp.cli.target")

-- Options that need the program's own help.
local elsewhere = { { "live", "T", "luajit-mp top shows a process live" },
  { "every", "w", "choose the time with -t" },
  { "trigger_walk", "B", "files are written here, at the end" },
  { "help", "H", "alone, it lists the options" } }

local function check(o, outs, command)
  for _, e in ipairs(elsewhere) do
    if o[e[1]] then
      stop.usage(("attach: option %s has no effect: %s"):format(e[2], e[3]),
	command)
    end
  end
  if o.leak_limit then
    stop.usage("attach: give option L without a number: the program has "..
      "an exit status of its own", command)
  end
  for _, out in ipairs(outs) do
    files.check_output(out, command)
    local format = formats.of(out)
    if format and format.walk then
      stop.usage("attach: no .heapsnapshot from outside: mp.heap() writes "..
	"one, from within the program; option W shows the holders", command)
    end
  end
end

-- The options for the process, which sends a file: without lines, unless a
-- report here shows them.
local function for_process(text, o, outs)
  local lines = o.lines or o.functions
  for _, out in ipairs(outs) do
    lines = lines or formats.shows_lines(formats.of(out))
  end
  return lines and text or "j"..text
end

return function(given, operands, command)
  if given.outside then
    return require("jit.mp.cli.outside")(given, operands, command)
  end
  local text, outs = given.opts or "f", given.out or {}
  local o = files.parse_options(text, given, command)
  if #outs == 0 then outs = { "-" } end
  check(o, outs, command)
  files.check_effects(o, given, outs, command)
  local time = target.seconds(given.time, command)
  local session, pid = target.attach(operands[1],
    for_process(text, o, outs), given, command)
  if not time then
    io.stderr:write(("luajit-mp: profiling process %d; Ctrl-C ends it\n")
      :format(pid))
  end
  local ended = session:wait(time or 1e9) == "end"
  local p = target.finish(session, pid, ended)
  target.write(p, o, outs, pid, given)
end
