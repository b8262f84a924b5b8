-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- An HTTP server for tests, which keeps what it gets. Usage: luajit
-- server.lua DIRECTORY [SECONDS]
----------------------------------------------------------------------------
--
-- DIRECTORY/port gets the number of its port on 127.0.0.1. Request n goes to
-- n.head and n.body there; the head comes last. Each is answered with what
-- DIRECTORY/status says, 200 without it; with "hang" there is no answer, and
-- with "endless" one of 32 MB, after which there is a file n.end. The server
-- ends after that many seconds, 60 by default.
--
----------------------------------------------------------------------------

local ffi = require("ffi")
ffi.cdef [[
  int socket(int, int, int);
  int bind(int, const void *, unsigned int);
  int listen(int, int);
  int accept(int, void *, unsigned int *);
  int getsockname(int, void *, unsigned int *);
  long recv(int, void *, size_t, int);
  long send(int, const void *, size_t, int);
  int close(int);
  unsigned int alarm(unsigned int);
]]
local C = ffi.C
local AF_INET, SOCK_STREAM, MSG_NOSIGNAL = 2, 1, 0x4000

local dir = arg[1]
C.alarm(tonumber(arg[2] or 60))

local function write(name, text)
  local f = assert(io.open(dir.."/"..name..".new", "wb"))
  f:write(text)
  f:close()
  os.rename(dir.."/"..name..".new", dir.."/"..name)
end

local function read(name)
  local f = io.open(dir.."/"..name, "rb")
  local text = f and f:read("*a")
  if f then f:close() end
  return text
end

local function listen()
  local address = ffi.new("unsigned char[16]")
  ffi.cast("uint16_t *", address)[0] = AF_INET
  address[4], address[7] = 127, 1
  local fd = C.socket(AF_INET, SOCK_STREAM, 0)
  assert(C.bind(fd, address, 16) == 0 and C.listen(fd, 32) == 0)
  local size = ffi.new("unsigned int[1]", 16)
  assert(C.getsockname(fd, address, size) == 0)
  write("port", address[2] * 256 + address[3])
  return fd
end

-- The head and the body of a request.
local function receive(fd)
  local buf, text = ffi.new("char[65536]"), ""
  local stop, length
  repeat
    local n = tonumber(C.recv(fd, buf, 65536, 0))
    if n <= 0 then return nil end
    text = text..ffi.string(buf, n)
    stop = stop or select(2, text:find("\r\n\r\n", 1, true))
    length = length or stop and
      tonumber(text:sub(1, stop):lower():match("content%-length: *(%d+)") or 0)
  until stop and #text >= stop + length
  return text:sub(1, stop), text:sub(stop + 1, stop + length)
end

-- Whether all of it was taken.
local function send(fd, text)
  local at = ffi.cast("const char *", text)
  local rest = #text
  while rest > 0 do
    local sent = tonumber(C.send(fd, at, rest, MSG_NOSIGNAL))
    if sent <= 0 then return false end
    at, rest = at + sent, rest - sent
  end
  return true
end

local function send_much(fd)
  send(fd, "HTTP/1.1 200 Done\r\nConnection: close\r\n\r\n")
  local block = ("x"):rep(1e6)
  for _ = 1, 32 do
    if not send(fd, block) then return false end
  end
  return true
end

local listener, n = listen(), 0
while true do
  local fd = C.accept(listener, nil, nil)
  local head, body = receive(fd)
  if head then
    n = n + 1
    write(n..".body", body)
    write(n..".head", head)
    local status = (read("status") or "200"):match("%w+")
    if status == "endless" then
      if send_much(fd) then write(n..".end", "") end
      C.close(fd)
    elseif status ~= "hang" then
      send(fd, ("HTTP/1.1 %s Done\r\nContent-Length: 0\r\n"..
	"Connection: close\r\n\r\n"):format(status))
      C.close(fd)
    end
  else
    C.close(fd)
  end
end
