-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- For nginx with its Lua module: profiles and reports of a worker over HTTP, at
-- the paths that Go's programs have them, and labels for requests.
----------------------------------------------------------------------------
--
--   location /debug/pprof/ {
--     allow 127.0.0.1;
--     deny all;
--     content_by_lua_block { require("jit.mp.nginx").pprof() }
--   }
--
-- A worker that is not profiled is profiled for as long as the request lasts.
--
--   access_by_lua_block { require("jit.mp.nginx").label() }
--
----------------------------------------------------------------------------

local core = require("jit.mp.core")

-- The answers, by the last part of the path. seconds: those without ?seconds=;
-- 0: all since the start of the profile. options: of a report that is not about
-- a time; else the options are those of the start.
local function pb(suffix, seconds)
  return { suffix = suffix, seconds = seconds, file = "profile.pb.gz",
    type = "application/octet-stream" }
end
local kinds = {
  profile = pb(".cpu.pb.gz", 30),
  heap = pb(".heap.pb.gz", 0),
  allocs = pb(".heap.pb.gz", 0),
  report = { suffix = ".txt", seconds = 30, type = "text/plain" },
  page = { suffix = ".html", seconds = 30, type = "text/html" },
  mp = { suffix = ".mp", seconds = 30, file = "profile.mp",
    type = "application/octet-stream" },
  holders = { suffix = ".txt", options = "W", type = "text/plain" },
}
local HELP = [=[
profile?seconds=30   CPU time, for pprof
heap, allocs         memory since the start of the profile, for pprof
heap?seconds=30      memory of that time
report?seconds=30    a report as text
page?seconds=30      a page for the browser
mp?seconds=30        a file for luajit-mp report, diff and merge
holders              what holds the memory of the Lua heap, as text]=]
local MOST = 3600      -- Seconds.

local requests = 0     -- Those that need the profile, where it is
local own = false      -- our own.

local function finish(status, text)
  ngx.status = status
  ngx.header.content_type = "text/plain"
  ngx.print(text, "\n")
  return ngx.exit(ngx.OK)
end

-- A request needs the profile for so long. Returns true, or nil and a message.
-- The end is a timer's: the request may be aborted.
local function use(seconds)
  if not own then
    local ok, msg, errno = core.start("fl", "/dev/null")
    if not ok then return errno == 114 or nil, msg end -- EALREADY.
    own = true
  end
  requests = requests + 1
  local function leave()
    requests = requests - 1
    if own and requests == 0 then
      own = false
      core.stop()
    end
  end
  local ok, msg = ngx.timer.at(seconds + 1, leave)
  if not ok then
    leave()
    return nil, msg
  end
  return true
end

local function read_and_remove(name)
  local fp, msg = io.open(name, "rb")
  if not fp then return nil, msg end
  local data = fp:read("*a")
  fp:close()
  os.remove(name)
  return data
end

-- The file that was asked for: of the next seconds, or of all since the start
-- of the profile. Returns its contents, or nil and a message.
local function profile(kind, seconds)
  local mark, ok, msg
  if seconds > 0 then
    mark, msg = core.mark()
    if not mark then return nil, msg end
    ngx.sleep(seconds)
  end
  local name = os.tmpname()
  local file = name..kind.suffix
  if mark then ok, msg = core.since(mark, file)
  elseif kind.options then ok, msg = core.report(kind.options, file)
  else ok, msg = core.again(file) end
  local data
  if ok then data, msg = read_and_remove(file) end
  os.remove(name)
  return data, msg
end

-- The seconds of a request; nil and a message.
local function seconds_of(kind)
  local text = ngx.var.arg_seconds
  if kind.options then
    if text then return nil, "seconds: this shows the whole profile so far" end
    return 0
  end
  local seconds = text and tonumber(text) or not text and kind.seconds
  if seconds and seconds >= 0 and seconds <= MOST then return seconds end
  return nil, "seconds: a number from 0 to "..MOST
end

-- Answers the request with a profile for pprof and for scrapers, or with a
-- report. The last part of its path says which (HELP). ?seconds=n: of the next
-- n seconds.
local function pprof()
  local kind = kinds[ngx.var.uri:match("[^/]*$")]
  if not kind then return finish(404, HELP) end
  local seconds, wrong = seconds_of(kind)
  if not seconds then return finish(400, wrong) end
  local ok, msg = use(seconds)
  if not ok then return finish(503, msg) end
  local data
  data, msg = profile(kind, seconds)
  if not data then return finish(503, msg) end
  ngx.header.content_type = kind.type
  if kind.file then
    ngx.header.content_disposition = 'attachment; filename="'..kind.file..'"'
  end
  ngx.header.content_length = #data
  ngx.print(data)
end

-- A path with :id for what differs from request to request: numbers, and long
-- hexadecimal ones.
local function route_of(path)
  return (path:gsub("[^/]+", function(part)
    if part:find("^%d+$") or
	#part >= 8 and part:find("^[%x-]+$") and part:find("%d") then
      return ":id"
    end
  end))
end

-- Routes by paths, and by phase, host and route what core.back needs for the
-- labels of a handler: most requests are like others. Both are forgotten when
-- there are that many paths.
local KNOWN = 1000
local routes, sets, known = {}, {}, 0

local function known_route(path)
  local route = routes[path]
  if not route then
    if known == KNOWN then routes, sets, known = {}, {}, 0 end
    route = route_of(path)
    known, routes[path] = known + 1, route
  end
  return route
end

local function below(t, key)
  local child = t[key]
  if not child then
    child = {}
    t[key] = child
  end
  return child
end

local function request() return ngx.var.uri, ngx.var.server_name end

local none = {}

-- Gives labels to the coroutine of a handler, in place of all others: route,
-- host and phase of the request, and those of a table. Some phases run outside
-- of a coroutine, which requests would share: nothing is done there, nor while
-- no profile runs. Returns whether labels were set.
local function label(more)
  if more ~= nil and type(more) ~= "table" then
    error("label: a table of labels is needed, as in { plugin = \"jwt\" }", 2)
  end
  local phase, route = ngx.get_phase(), nil
  local has_request, path, host = pcall(request)
  if not has_request or host == "" then host = nil end
  if has_request then route = known_route(path) end
  local set = below(below(below(sets, phase), host or ""), route or "")
  local done = core.back(set.number or 0, set.run or -1, true)
  if done == nil then return false end
  if not done then
    core.label()  -- The coroutine may have served another request.
    core.label({ phase = phase, route = route, host = host })
    set.number, set.run = core.with(none, label)
  end
  if more then core.label(more) end
  return true
end

return { pprof = pprof, label = label }
