-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The terminal of luajit-mp top: a screen of its own, and keys as they come.
----------------------------------------------------------------------------

local core = require("jit.mp.core")
local ffi = require("ffi")

ffi.cdef [[
  typedef struct { long s, ns; } mp_top_time;
  typedef struct { int fd; short events, revents; } mp_top_poll;
  int clock_gettime(int, mp_top_time *);
  int poll(mp_top_poll *, unsigned long, int);
  long read(int, void *, size_t);
  int isatty(int);
]]

local MONOTONIC, POLLIN = 1, 1

local function clock()
  local t = ffi.new("mp_top_time")
  ffi.C.clock_gettime(MONOTONIC, t)
  return tonumber(t.s) + tonumber(t.ns) * 1e-9
end

local function output_of(command)
  local pipe = io.popen(command.." 2>/dev/null </dev/tty")
  local text = pipe and pipe:read("*a") or ""
  if pipe then pipe:close() end
  return text
end

local Screen = {}
Screen.__index = Screen

-- Takes the terminal: nil and a message where there is none.
local function open()
  local state = output_of("stty -g"):match("%S+")
  if not state or ffi.C.isatty(0) == 0 or not core.files.width() then
    return nil, "the live view needs a terminal, and there is none"
  end
  os.execute("stty -icanon -echo </dev/tty")
  io.stdout:write("\27[?1049h\27[?25l")
  io.stdout:flush()
  return setmetatable({ state = state }, Screen)
end

-- Gives it back as it was.
function Screen:close()
  io.stdout:write("\27[?25h\27[?1049l")
  io.stdout:flush()
  os.execute("stty "..self.state.." </dev/tty")
end

function Screen:width() return core.files.width() or 80 end

function Screen:rows()
  return tonumber(output_of("stty size"):match("^(%d+)")) or 24
end

-- The first characters of a line of UTF-8, as many as there are columns.
local function cut(line, columns)
  local at = 1
  while at <= #line and columns > 0 do
    local char = line:match("^[%z\1-\127\194-\244][\128-\191]*", at) or
      line:sub(at, at)
    at, columns = at + #char, columns - 1
  end
  return line:sub(1, at - 1)
end

-- Draws as much of the text as there is room for.
function Screen:draw(text)
  local rows, width, out = self:rows(), self:width(), { "\27[H" }
  local n = 0
  for line in (text.."\n"):gmatch("(.-)\n") do
    n = n + 1
    if n > rows then break end
    out[#out+1] = cut(line, width).."\27[K"..(n < rows and "\r\n" or "")
  end
  out[#out+1] = "\27[J"
  io.stdout:write(table.concat(out))
  io.stdout:flush()
end

-- The keys that were pressed since the last call.
function Screen:keys()
  local p = ffi.new("mp_top_poll[1]", { { fd = 0, events = POLLIN } })
  if ffi.C.poll(p, 1, 0) <= 0 then return "" end
  local buf = ffi.new("char[16]")
  local n = tonumber(ffi.C.read(0, buf, 16))
  if n == 0 then return "q" end -- The terminal has gone.
  return n > 0 and ffi.string(buf, n) or ""
end

return { open = open, clock = clock }
