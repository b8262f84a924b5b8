-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp open: the page of a profile in a browser, by xdg-open, or where
-- there is none at an address of this machine.
----------------------------------------------------------------------------

local core = require("jit.mp.core")
local files = require("jit.mp.cli.files")
local render = require("jit.mp.render")
local serve = require("jit.mp.cli.serve")
local stop = require("jit.mp.cli.stop")

-- With Lua 5.2's extensions os.execute returns true.
local function succeeds(command)
  local status = os.execute(command)
  return status == 0 or status == true
end

local function has_desktop()
  local display = os.getenv("DISPLAY") or os.getenv("WAYLAND_DISPLAY")
  return display and succeeds("command -v xdg-open >/dev/null 2>&1")
end

-- A directory of our own for a file that stays when the command has ended: the
-- browser reads it later.
local function new_directory()
  local ffi = require("ffi")
  ffi.cdef "char *mkdtemp(char *);"
  local template = (os.getenv("TMPDIR") or "/tmp").."/luajit-mp.XXXXXX"
  local name = ffi.new("char[?]", #template + 1, template)
  if ffi.C.mkdtemp(name) == nil then
    stop.data("cannot make a directory like "..template)
  end
  return ffi.string(name)
end

local function show(page)
  local name = new_directory().."/profile.html"
  local ok, msg = core.write(name, page)
  if not ok then stop.data(msg) end
  if not succeeds("xdg-open '"..name:gsub("'", "'\\''").."'") then
    stop.data("xdg-open failed; the page is in "..name)
  end
end

return function(given, operands, command)
  local o = files.parse_options(given.opts or "f", given, command)
  files.check_effects(o, given, { "profile.html" }, command)
  local page, msg = render.render(files.read(operands[1]), o,
    { name = "profile.html", source_root = given.source_root })
  if not page then stop.data(msg) end
  if has_desktop() then show(page) else serve(page) end
end
