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
    if text then
      return nil, "seconds has no effect here: this is the whole profile so far"
    end
    return 0
  end
  local seconds = text and tonumber(text) or not text and kind.seconds
  if seconds and seconds >= 0 and seconds <= MOST then return seconds end
  return nil, "seconds must be a number from 0 to "..MOST
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

-- Labels are set by the FFI where code is compiled, which makes such a call
-- itself; in interpreted code it would take 4,000 instructions.
local has_ffi, ffi = pcall(require, "ffi")
local set_again = has_ffi and jit.status() and
  ffi.cast("int (*)(void *, double, double)", core.set_again)
local guard            -- Of the VM's profiles, for set_again.
local running = false  -- Whether a profile was running when we looked last.

-- Routes by paths; and by phase, host and route what set_again and core.back
-- need for the labels of a handler: most requests are like others. Both are
-- forgotten when they are that many.
local KNOWN = 1000
local routes, sets, known = {}, {}, 0

local function count()
  if known == KNOWN then routes, sets, known = {}, {}, 0 end
  known = known + 1
end

local function known_route(path)
  local route = routes[path]
  if not route then
    count()
    route = route_of(path)
    routes[path] = route
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

-- Phases with a request whose handlers run in a coroutine.
local has_request = { server_rewrite = true, rewrite = true, access = true,
  content = true }

local none = {}

-- Gives the labels of a set to the running coroutine, in place of all others.
-- Returns true, false if these have to be made first, or nil if no profile runs
-- or the coroutine is the main one.
local function renew(set)
  if guard and set.number then
    local done = set_again(guard, set.number, set.run)
    if done ~= 0 then return done > 0 or nil end
  end
  return core.back(set.number or 0, set.run or -1, true)
end

local function make(set, labels)
  core.label()  -- The coroutine may have served another request.
  core.label(labels)
  local kept
  set.number, set.run, kept = core.with(none, count)
  guard = set_again and kept
end

-- Gives labels to the coroutine of a handler, in place of all others: route,
-- host and phase of the request, and those of a table. With a string, which is
-- the route, there is no host: it has to be looked for. Some phases run outside
-- of a coroutine, which requests would share: nothing is done there, nor while
-- no profile runs. Returns whether labels were set.
local function label(more)
  local given = type(more)
  if given ~= "string" and given ~= "table" and more ~= nil then
    error("label: the route or a table of labels is needed, as in "..
      "{ plugin = \"jwt\" }", 2)
  end
  running = running or core.back(0, -1, true) ~= nil
  if not running then return false end
  local phase, route, host, named = ngx.get_phase(), nil, nil, nil
  if given == "string" then
    route, more = more, nil
  elseif has_request[phase] then
    local var = ngx.var
    named = more and type(more.route) == "string" and more.route
    route = named or known_route(var.uri)
    host = var.server_name
    if host == "" then host = nil end
  end
  local set = below(below(sets, phase), host or "")[route or ""]
  if not set then
    count()
    set = below(below(below(sets, phase), host or ""), route or "")
  end
  local done = renew(set)
  running = done ~= nil
  if not running then return false end
  if not done then make(set, { phase = phase, route = route, host = host }) end
  if more and (not named or next(more, next(more)) ~= nil) then
    core.label(more)
  end
  return true
end

return { pprof = pprof, label = label }
