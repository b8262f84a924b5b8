-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The files of the command: profiles that are read, reports that are written.
----------------------------------------------------------------------------

local address = require("jit.mp.push.address")
local core = require("jit.mp.core")
local effects = require("jit.mp.effects")
local file = require("jit.mp.format.file")
local formats = require("jit.mp.format.formats")
local options = require("jit.mp.options")
local render = require("jit.mp.render")
local send = require("jit.mp.push.send")
local sorting = require("jit.mp.model.sorting")
local stop = require("jit.mp.cli.stop")
local style = require("jit.mp.text.style")

local EPIPE = 32

-- Fails if there is no such directory.
local function check_root(root, command)
  local fp, msg = io.open(root.."/.", "rb")
  if not fp then
    stop.usage(("%s: --source-root %s: %s"):format(command.name, root,
      msg:match("[^:]*$"):gsub("^ ", "")), command)
  end
  fp:close()
end

-- Parsed options of a report, with those that options of the command add.
local function parse_options(text, given, command)
  if given.source_root then check_root(given.source_root, command) end
  if given.nosource then text = text.."N" end
  local parsed, msg = options.parse(text)
  local ok = parsed
  if parsed and given.sort and command.name ~= "diff" then
    ok, msg = sorting.set(parsed, given.sort)
  end
  if not parsed and text:find(",", 1, true) then
    msg = "options end before a comma, and -o names an output"
  end
  if not ok then stop.usage(command.name..": "..msg, command) end
  return parsed
end

-- Fails if an option or --sort has no effect on any of the outputs.
local function check_effects(o, given, outs, command)
  local msg = effects.check(o, outs, command.measures) or
    given.sort and effects.check_word(o, "--sort", "table g diff", outs)
  if msg then stop.usage(command.name..": "..msg, command) end
end

local function read_text(name)
  local fp, msg = io.stdin
  if name ~= "-" then fp, msg = io.open(name, "rb") end
  if not fp then stop.data("cannot read "..msg) end
  local text, err = fp:read("*a")
  if name ~= "-" then fp:close() end
  if not text then
    stop.data(("cannot read %s: %s"):format(name, err or "nothing there"))
  end
  return text
end

local has_read = false

-- The profile in a file, or on standard input where the name is "-".
local function read(name)
  if not has_read then core.end_without_memory() end
  has_read = true
  local p, msg = file.read(read_text(name))
  if p then return p end
  stop.data((name == "-" and "standard input" or name).." "..msg)
end

-- Writes a text to a file, or to standard output where there is no name.
local function write_text(name, text)
  local ok, msg, err = core.write(name or "-", text)
  if ok then return end
  if err == EPIPE and (name or "-") == "-" then stop.by_pipe() end
  stop.data((msg:gsub("^cannot write '%-'", "cannot write to standard output")))
end

-- The columns of the terminal that an output is, or nil, and whether bold text
-- is wanted there.
local function looks(name)
  local width = (name or "-") == "-" and core.files.width() or nil
  return width, width and style.allowed() or nil
end

-- The name of an output, or nothing; its suffix must be known.
local function check_output(name, command)
  local msg = name and formats.wrong_suffix(name)
  if msg then stop.usage(command.name..": "..msg, command) end
  return name
end

-- Renders a profile to an output, which may be a server: to several files for
-- some formats, of which one may have nothing in it. Returns the results of
-- render after the text.
local function write(p, o, out, env)
  local failure
  if out and address.is_address(out) then
    local ok, msg = send(p, o, out)
    if not ok then stop.data(("cannot send to '%s': %s"):format(
      address.shown(out), msg)) end
    return
  end
  for _, name in ipairs(formats.files(out or "-", o)) do
    env.name = name
    env.width, env.bold = looks(name)
    local text, msg = render.render(p, o, env)
    if text then
      write_text(name, text)
    else
      failure = (name == "-" and "" or name..": ")..msg
    end
  end
  if failure then stop.data(failure) end
end

return {
  parse_options = parse_options, check_effects = check_effects,
  read = read, write_text = write_text,
  write = write, looks = looks, check_output = check_output
}
