-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The terminal of luajit-mp top: a screen of its own, and keys as they come. A
-- terminal that cannot do that (TERM is dumb or not set, or its size is not
-- known) gets one text after the other.
----------------------------------------------------------------------------

local ffi = require("ffi")

local widths = require("jit.mp.text.width")

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

-- Rows and columns; nil where they are not known.
local function size()
  local rows, columns = output_of("stty size"):match("^(%d+) (%d+)")
  rows, columns = tonumber(rows) or 0, tonumber(columns) or 0
  if rows > 0 and columns > 0 then return rows, columns end
end

local function can_move()
  local term = os.getenv("TERM") or ""
  return term ~= "" and term ~= "dumb" and size() ~= nil
end

-- Takes the terminal: nil and a message where there is none.
local function open()
  local state = output_of("stty -g"):match("%S+")
  if not state or ffi.C.isatty(0) == 0 or ffi.C.isatty(1) == 0 then
    return nil, "the live view needs a terminal, and there is none"
  end
  os.execute("stty -icanon -echo </dev/tty")
  local screen = setmetatable({ state = state, plain = not can_move() }, Screen)
  if not screen.plain then
    io.stdout:write("\27[?1049h\27[?25l")
    io.stdout:flush()
  end
  return screen
end

-- Gives it back as it was.
function Screen:close()
  if not self.plain then io.stdout:write("\27[?25h\27[?1049l") end
  io.stdout:flush()
  os.execute("stty "..self.state.." </dev/tty")
end

-- Columns; nil where they are not known.
function Screen:width() return (select(2, size())) end

-- The beginning of a line that fits into that many columns. Sequences for bold
-- text take none.
local function cut(line, columns)
  return (line:gsub("(\27?)([^\27]*)", function(escape, text)
    local style = escape ~= "" and text:match("^%[%d*m") or ""
    local part = widths.first(text:sub(#style + 1), columns)
    columns = columns - widths.width(part)
    return escape..style..part
  end))
end

-- Draws as much of the text as there is room for.
function Screen:draw(text)
  local out, rows, width = { "\27[H" }, size()
  if self.plain or not rows then
    io.stdout:write(text, "\n")
    io.stdout:flush()
    return
  end
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

-- Whether standard output is a terminal, of whatever size.
local function has_output() return ffi.C.isatty(1) ~= 0 end

return { open = open, clock = clock, has_output = has_output }
