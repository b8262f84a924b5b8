-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- One page at an address that can only be reached from this machine, and only
-- by its secret name, until the command is ended.
----------------------------------------------------------------------------

local stop = require("jit.mp.cli.stop")

local AF_INET, SOCK_STREAM, SOL_SOCKET, SO_RCVTIMEO = 2, 1, 1, 20
local MSG_NOSIGNAL = 0x4000
local REQUEST = 8192    -- Bytes of a request, at most.

local function declare()
  require("ffi").cdef [[
    int socket(int, int, int);
    int bind(int, const void *, unsigned int);
    int listen(int, int);
    int accept(int, void *, unsigned int *);
    int getsockname(int, void *, unsigned int *);
    int setsockopt(int, int, int, const void *, unsigned int);
    long recv(int, void *, size_t, int);
    long send(int, const void *, size_t, int);
    int close(int);
  ]]
end

-- A name that nobody can guess.
local function secret()
  local fp = io.open("/dev/urandom", "rb")
  local bytes = fp and fp:read(16)
  if fp then fp:close() end
  if not bytes then stop.data("cannot read /dev/urandom") end
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- A socket that listens on a free port of 127.0.0.1, and the port.
local function listen(ffi)
  local address = ffi.new("unsigned char[16]")
  ffi.cast("uint16_t *", address)[0] = AF_INET
  address[4], address[7] = 127, 1
  local fd = ffi.C.socket(AF_INET, SOCK_STREAM, 0)
  local size = ffi.new("unsigned int[1]", 16)
  if fd < 0 or ffi.C.bind(fd, address, 16) ~= 0 or
      ffi.C.listen(fd, 8) ~= 0 or
      ffi.C.getsockname(fd, address, size) ~= 0 then
    stop.data("cannot serve the page: no socket on 127.0.0.1")
  end
  return fd, address[2] * 256 + address[3]
end

-- The first line of a request; the rest is not needed.
local function read_request(ffi, fd)
  local buf, text = ffi.new("char[?]", REQUEST), ""
  repeat
    local n = tonumber(ffi.C.recv(fd, buf, REQUEST, 0))
    if n <= 0 then break end
    text = text..ffi.string(buf, n)
  until text:find("\r?\n\r?\n") or #text > REQUEST
  return text:match("^GET (%S+)")
end

local function send(ffi, fd, text)
  local at = ffi.cast("const char *", text)
  local rest = #text
  while rest > 0 do
    local n = tonumber(ffi.C.send(fd, at, rest, MSG_NOSIGNAL))
    if n <= 0 then return end
    at, rest = at + n, rest - n
  end
end

local function response(status, kind, body)
  return ("HTTP/1.0 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n"..
    "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s"):format(
      status, kind, #body, body)
end

return function(page)
  declare()
  local ffi = require("ffi")
  local fd, port = listen(ffi)
  local name = "/"..secret()
  io.stdout:write(("http://127.0.0.1:%d%s\nCtrl-C ends it.\n"):format(port,
    name))
  io.stdout:flush()
  local patience = ffi.new("long[2]", 5, 0) -- Seconds: a struct timeval.
  while true do
    local client = ffi.C.accept(fd, nil, nil)
    if client >= 0 then
      ffi.C.setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, patience, 16)
      send(ffi, client, read_request(ffi, client) == name and
	response("200 OK", "text/html; charset=utf-8", page) or
	response("404 Not Found", "text/plain", "no such page\n"))
      ffi.C.close(client)
    end
  end
end
