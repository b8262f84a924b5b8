-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A plan: the options and outputs that the user asks for.
--
-- The core makes the plan of a run in the private state where the run's
-- reports will be made. The plan stays there. The modules that its reports need
-- are loaded at once, since later there may be no way to load them; others are
-- not, since loading them takes time.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local effects = require("jit.mp.effects")
local formats = require("jit.mp.format.formats")
local names = require("jit.mp.model.names")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")
local sorting = require("jit.mp.model.sorting")
local style = require("jit.mp.text.style")

-- The files that are written for these names. Where a name stands for several
-- files, a remark about that goes with the last one.
local function files(outputs, o)
  local list, remarks = {}, {}
  for _, name in ipairs(outputs) do
    local parts = formats.files(name, o)
    for _, file in ipairs(parts) do list[#list+1] = file end
    if #parts > 1 then
      remarks[parts[#parts]] = ("%s stands for %s; option P writes one file")
	:format(name, table.concat(parts, " and "))
    end
  end
  return list, remarks
end

-- Takes the words --sort=KEY and --for=PURPOSE out of names of outputs. Returns
-- them as a table.
local function take_words(outputs)
  local words = {}
  for i = #outputs, 1, -1 do
    local word, value = outputs[i]:match("^%-%-(%a+)=(.*)$")
    if word == "sort" or word == "for" then
      table.remove(outputs, i)
      words[word] = value
    end
  end
  return words
end

-- Adds to the options those that an output of the format stands for.
local function imply(o, format)
  if not format then return end
  if format.walk then
    o.walk, o.walk_file, o.cpu_only = o.walk or o.min / 100, true, false
  end
  if formats.shows_lines(format) and not o.functions then o.lines = true end
  if format.types then o.types = true end
end

-- Loads the modules that the reports of a plan need. Returns a message if one
-- cannot be made by this LuaJIT.
local function load_modules(o)
  for _, name in ipairs(o.files) do
    formats.view(name, o)
    local format = formats.of(name, o)
    local why = format and format.view == "format.file_write" and
      require("jit.mp.format.columns").missing()
    if why then return "cannot make a profile file: "..why end
    if o.together or name:find("%m", 1, true) then
      o.add = require("jit.mp.together")
    end
  end
  if o.live then o.livekeys = require("jit.mp.livekeys") end
  if o.leak_limit then formats.view("-", o) end
end

-- Parses the options. Returns them with the names of the outputs and the words
-- among these; or nil and a message.
local function parse(text, ...)
  local outputs, fields = {}, nil
  if type(text) == "table" then
    text, outputs, fields = require("jit.mp.settings").read(text)
    if not text then return nil, outputs end
  end
  local o, msg = options.parse(text)
  if not o then return nil, msg end
  for i = 1, select("#", ...) do
    local name = select(i, ...)
    if name and name ~= "" then outputs[#outputs+1] = name end
  end
  local words = take_words(outputs)
  o.fields = fields
  if #outputs == 0 then
    outputs = { os.getenv("LUAJIT_PROFILEFILE") or "-" }
  end
  o.memprof = words["for"] == "memprof"
  if o.memprof and o.events then o.compiler = true end  -- Its traces.
  for _, name in ipairs(outputs) do
    msg = not o.memprof and formats.wrong_suffix(name)
    if msg then return nil, msg end
  end
  return o, outputs, words
end

-- Sets the order of rows, and checks that all options have an effect. Returns a
-- message; nil: they have.
local function check(o, outputs, words)
  if words.sort then
    local ok, msg = sorting.set(o, words.sort)
    if not ok then return msg end
  end
  if words["for"] == "others" or o.memprof then return nil end
  return effects.check(o, outputs, words["for"] ~= "report") or
    words.sort and effects.check_word(o, "--sort", "table g", outputs)
end

-- Whether profiles of these options can be added up without a loss.
local function adds_up(o)
  return not (o.walk or o.leaks or o.events or o.calls or o.compiler or
    o.memory or o.trigger_share or o.trigger_bytes or o.trigger_busy or
    o.help) and not require("jit.mp.format.columns").missing()
end

-- Takes an option string, or a table of options (jit.mp.settings), and names of
-- outputs; false or "" stands for none. Among the names may be --sort=KEY, the
-- order of rows, and --for=report, a report of a profile that is under way, or
-- --for=others, other outputs than those that the options were meant for, or
-- --for=program, all Lua states of a program and its children, or
-- --for=memprof, a profile in a file of any name.
-- Returns the parsed options (jit.mp.options) with these fields besides, or nil
-- and a message:
--   files       names of the outputs: one at least
--   remarks     messages for when a file is written, by its name
--   bold        a terminal may get bold text
--   lines       an output shows lines
--   types       an output shows types of objects
--   contents    the text to be written in place of a report: the help
--   livekeys    jit.mp.livekeys, for option T
--   together    the profiles of a program's states add up in its outputs
--   began       Unix time when the program was started by luajit-mp run, or nil
--   add         jit.mp.together, if together or if a name has %m, which stands
--               for one report of several profiles: the core asks for their sum
--               then
local function make(...)
  local o, outputs, words = parse(...)
  if not o then return nil, outputs end
  o.files, o.remarks = files(outputs, o)
  o.types = o.states == "t"
  for _, name in ipairs(o.files) do imply(o, formats.of(name, o)) end
  local msg = check(o, outputs, words)
  if not msg and words["for"] == "program" then
    o.together = adds_up(o)
    o.began = tonumber(os.getenv("LUAJIT_MP_BEGAN"))
  end
  msg = msg or load_modules(o)
  if msg then return nil, msg end
  o.bold = style.allowed()
  if o.help then o.contents = options.help() end
  return o
end

local REPLACES = "another process or Lua state of this program had its "..
  "report in this file: %p and %s in the name make one for each"

-- Makes the report for one of the files. width: columns of the terminal that
-- the report goes to, or nil. patient: this is the last try to send it to a
-- server. sum: false, or the sum of profiles that this one is to be added to,
-- or nil. replaces: the file has the report of another process or state of the
-- program. Returns the results of render, the remark or nil, and the new sum or
-- nil.
local function report(plan, snapshot, name, width, patient, sum, replaces)
  if plan.contents then return plan.contents end
  local p, new_sum = profile.new(snapshot), nil
  if replaces then table.insert(p.info.notes, REPLACES) end
  if sum ~= false then p, new_sum = plan.add(p, sum) end
  local text, msg, leaked = render.render(p, plan, { name = name,
    width = width, patient = patient, bold = width and plan.bold })
  return text, msg, leaked, plan.remarks[name], new_sum
end

-- Changes what the live view shows by keys that were pressed.
local function press(plan, keys)
  plan.settings = plan.settings or plan.livekeys.new(plan.text, plan.sort)
  for key in keys:gmatch(".") do plan.livekeys.press(plan.settings, key) end
end

-- The line below a live view, which says what the keys do, or where they are.
local function live_line(plan, pid, width, keys, redirected)
  if not keys then
    return cells.clip(("keys: luajit-mp top %d%s"):format(pid,
      redirected and "" or ", or run with </dev/null"), width)
  end
  local t = { "q close", unpack(plan.livekeys.help) }
  local order = plan.settings and plan.livekeys.order(plan.settings)
  if order then table.insert(t, 1, order) end
  return cells.clip(table.concat(t, "   "), width)
end

-- Draws the live view. width: columns of the terminal, or nil. plain: no escape
-- sequences. keys: those pressed since the last view, or nil where they are
-- the program's. redirected: whether its standard input is not a terminal.
-- Returns the text and the line below it.
local function live(plan, snapshot, width, plain, keys, redirected)
  if keys and keys ~= "" then press(plan, keys) end
  local p, o = profile.new(snapshot), plan
  if plan.settings then
    o = plan.livekeys.options(plan.settings)
    p = plan.livekeys.window(plan.settings, p)
  end
  local text, msg = render.render(p, o, { name = "-", width = width,
    live = true, bold = width and plan.bold and not plain })
  return text or names.printable(msg),
    live_line(plan, p.info.pid, width or 80, keys, redirected)
end

return { make = make, report = report, live = live }
