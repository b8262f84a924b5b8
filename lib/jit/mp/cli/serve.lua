-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- One page at an address that can only be reached from this machine, and only
-- by its secret name, until the command is ended.
----------------------------------------------------------------------------

local stop = require("jit.mp.cli.stop")

local AF_INET, SOCK_STREAM = 2, 1
local SOL_SOCKET, SO_SNDTIMEO, POLLIN = 1, 21, 1
local MSG_NOSIGNAL, MSG_DONTWAIT = 0x4000, 0x40
local REQUEST = 8192    -- Bytes of a request, at most.
local CLIENTS = 32      -- At a time; of more, the oldest is left.
local PATIENCE = 5      -- Seconds for a request.

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
    struct luajit_mp_pollfd { int fd; short events, revents; };
    int poll(struct luajit_mp_pollfd *, unsigned long, int);
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

-- Reads what a client has sent. Returns whether its request is there, or none
-- will come.
local function read_request(ffi, client)
  local buf = ffi.new("char[?]", REQUEST)
  local n = tonumber(ffi.C.recv(client.fd, buf, REQUEST, MSG_DONTWAIT))
  if n <= 0 then return true end
  client.text = client.text..ffi.string(buf, n)
  return client.text:find("\r?\n\r?\n") or #client.text > REQUEST
end

-- Waits until the listener or a client has something. Returns the set of the
-- descriptors that have.
local function await(ffi, fd, clients)
  local n = #clients + 1
  local list = ffi.new("struct luajit_mp_pollfd[?]", n)
  for i = 1, n do
    list[i-1].fd, list[i-1].events = i < n and clients[i].fd or fd, POLLIN
  end
  ffi.C.poll(list, n, n > 1 and 1000 or -1)
  local ready = {}
  for i = 0, n - 1 do ready[list[i].fd] = list[i].revents ~= 0 end
  return ready
end

local function leave(ffi, clients, i)
  ffi.C.close(table.remove(clients, i).fd)
end

local function accept(ffi, fd, clients)
  local client = ffi.C.accept(fd, nil, nil)
  if client < 0 then return end
  ffi.C.setsockopt(client, SOL_SOCKET, SO_SNDTIMEO,
    ffi.new("long[2]", PATIENCE, 0), 16) -- A struct timeval.
  if #clients == CLIENTS then leave(ffi, clients, 1) end
  clients[#clients+1] = { fd = client, text = "",
    deadline = os.time() + PATIENCE }
end

-- Anybody on this machine may connect: nobody waits for another's request.
local function serve(ffi, fd, answer)
  local clients = {}
  while true do
    local ready = await(ffi, fd, clients)
    if ready[fd] then accept(ffi, fd, clients) end
    for i = #clients, 1, -1 do
      local client = clients[i]
      local complete = ready[client.fd] and read_request(ffi, client)
      if complete then send(ffi, client.fd, answer(client.text)) end
      if complete or os.time() > client.deadline then leave(ffi, clients, i) end
    end
  end
end

return function(page)
  declare()
  local ffi = require("ffi")
  local fd, port = listen(ffi)
  local name = "/"..secret()
  io.stdout:write(("http://127.0.0.1:%d%s\nCtrl-C ends it.\n"):format(port,
    name))
  io.stdout:flush()
  serve(ffi, fd, function(request)
    return request:match("^GET (%S+)") == name and
      response("200 OK", "text/html; charset=utf-8", page) or
      response("404 Not Found", "text/plain", "no such page\n")
  end)
end
