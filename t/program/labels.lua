-- SPDX-License-Identifier: MIT
-- Labels: they belong to the running coroutine, are inherited by those that it
-- makes, and end with it. Every allocation is counted, so that the numbers are
-- known.

local tap = require("tap")

local mp = require("jit.mp")

-- -- Arguments, and labels without a profile ---------------------------------

local function wrong(what, f, ...)
  local ok, msg = pcall(f, ...)
  tap.ok(not ok, what.." is refused")
  return msg
end

for _, running in ipairs({ false, true }) do
  local how = running and "with a profile: " or "without a profile: "
  if running then tap.ok(mp.start("h", "/dev/null"), "a profile") end
  tap.like(wrong(how.."a number", mp.label, 3), "#1 to 'label' %(a table of "..
    "labels or the name of one is needed, as in { route = \"/cart\" }%)",
    how.."says what is right")
  tap.like(wrong(how.."nil", mp.label, nil), "#1 to 'label'", how.."nil")
  tap.like(wrong(how.."no name", mp.label, ""), "cannot be empty",
    how.."an empty name")
  tap.like(wrong(how.."a list", mp.label, { "/cart" }),
    "the name of a label is a string", how.."a list")
  tap.like(wrong(how.."a boolean", mp.label, "route", true),
    "#2 to 'label' %(the value of a label is a string or a number",
    how.."the second argument")
  tap.like(wrong(how.."a table", mp.label, { route = {} }),
    "#1 to 'label' %(the value of a label", how.."a value in a table")
  local many = {}
  for i = 1, 17 do many["name"..i] = i end
  tap.like(wrong(how.."17 labels", mp.label, many), "at most 16",
    how.."17 labels")
  tap.like(wrong(how.."no table", mp.with, "route", print),
    "#1 to 'with' %(a table of labels is needed", how.."with a string")
  local msg = wrong(how.."no function", function() mp.with({ a = "b" }) end)
  tap.like(msg, "labels%.lua:%d+: bad argument #2 to 'with' %(the function",
    how.."with no function: where")
  tap.is(select("#", mp.label({ route = "/" })), 0, how.."no results")
  mp.label("route", nil)
  mp.label("route")
  mp.label({})
  mp.label()
  local n, a, b, c = (function(...) return select("#", ...), ... end)(
    mp.with({ route = "/" }, function(...) return ... end, 1, nil, nil))
  tap.ok(n == 3 and a == 1 and b == nil and c == nil,
    how.."with passes arguments and results")
  local thrown = {}
  local ok, caught = pcall(mp.with, {}, function() error(thrown) end)
  tap.ok(not ok and caught == thrown, how.."with passes errors")
  local callable = setmetatable({}, {
    __call = function(_, x) return x + 1 end
  })
  tap.is(mp.with({}, callable, 4), 5, how.."with calls what can be called")
end
mp.stop()

local settings = require("jit.mp.settings")
tap.is((settings.read({ options = "fy:route", min = 3 })), "fy:route:m3",
  "options as a table: a number is none of the name")

-- -- Whose labels ------------------------------------------------------------

-- Programs below begin with this: they count functions that they make, which
-- nothing else does.
local PRELUDE = [[
local mp = require("jit.mp")
local function make(n) local f for _ = 1, n do f = function() end end end

-- The objects of make by labels, and CPU samples.
local function counted(p)
  p = p or mp.snapshot()
  local z, t = p.zones, {}
  for _, r in ipairs(p.rows) do
    local f = p.frames[p.stacks.frame[r.stack] ]
    local words, i = {}, r.zone
    while i ~= 0 do
      if z.key[i] then
	table.insert(words, 1, z.key[i].."="..z.name[i])
      end
      i = z.parent[i]
    end
    if f and f.name == "make" and r.alloc_objects > 0 then
      local key = table.concat(words, " ")
      t[key] = (t[key] or 0) + r.alloc_objects
    end
  end
  return t
end

local function tell(t)
  local list = {}
  for key, n in pairs(t or counted()) do list[#list+1] = key..": "..n end
  table.sort(list)
  print(table.concat(list, ", "))
end
]]

local function program(text) return tap.program(PRELUDE..text) end

local function run(text, options)
  local r = tap.luajit(("-jm=%s %s"):format(options or "hb1,/dev/null",
    program(text)))
  if r.status ~= 0 then tap.diag(r.err) end
  return (r.out:gsub("\n$", ""))
end

-- Where the layout is not known, allocations count where the next safepoint
-- is, and coroutines are not known to be made.
if not tap.knows_layout() then
  local out = run([[
    local function busy() for _ = 1, 200 do make(1000) end end
    local co = coroutine.wrap(function()
      mp.label({ route = "/a" })
      busy()
    end)
    co()
    mp.with({ route = "/b" }, busy)
    busy()
    local t = counted()
    local all = t["route=/a"] + t["route=/b"] + t[""]
    for _, key in ipairs({ "route=/a", "route=/b", "" }) do
      print(t[key] > all / 4)
    end
  ]], "fh,/dev/null")
  tap.is(out, "true\ntrue\ntrue", "labels without a known layout")
  tap.done()
end

tap.is(run([[
  make(1)
  mp.label({ route = "/a", plugin = "jwt" })
  make(2)
  mp.label("route", "/b")
  make(4)
  mp.label({ plugin = 7 })
  make(8)
  mp.label("plugin")
  make(16)
  mp.label({ plugin = "jwt" })
  mp.label()
  make(32)
  tell()
]]), ": 33, plugin=7 route=/b: 8, plugin=jwt route=/a: 2, "..
  "plugin=jwt route=/b: 4, route=/b: 16", "labels are set and taken away")

tap.is(run([[
  local outer = coroutine.wrap(function()
    mp.label("route", "/a")
    local child = coroutine.wrap(function()
      make(1)
      coroutine.yield()
      make(2)
      mp.label("route", "/child")
      coroutine.yield()
      make(4)
    end)
    child()
    mp.label("route", "/later")
    coroutine.yield(child)
    make(8)
  end)
  local child = outer()
  make(16)
  child()
  make(32)
  child()
  outer()
  mp.label("route", "/main")
  local another = coroutine.create(function() make(64) end)
  mp.label()
  coroutine.resume(another)
  tell()
]]), ": 48, route=/a: 3, route=/child: 4, route=/later: 8, route=/main: 64",
  "coroutines inherit labels where they are made, and keep their own")

tap.is(run([[
  mp.label("app", "shop")
  local co = coroutine.wrap(function()
    mp.with({ route = "/a" }, function()
      make(1)
      coroutine.yield()
      mp.label("step", "2")
      mp.with({ route = "/b" }, function() make(2) coroutine.yield() end)
      make(4)
    end)
    make(8)
    pcall(mp.with, { route = "/c" }, function() make(16) error("x") end)
    make(32)
  end)
  co() make(64)
  co() make(128)
  co()
  tell()
]]), "app=shop route=/a step=2: 4, app=shop route=/a: 1, "..
  "app=shop route=/b step=2: 2, app=shop route=/c: 16, app=shop: 232",
  "with: across yields and errors the labels from before come back")

-- Addresses are used again: none inherits a stranger's labels.
tap.is(run([[
  for i = 1, 100000 do
    local co = coroutine.wrap(function() mp.label("request", i % 10) end)
    co()
  end
  for i = 1, 100000 do
    coroutine.wrap(function() make(1) end)()
  end
  tell()
]]), ": 100000", "100,000 coroutines end with their labels")

tap.is(run([[
  for i = 1, 100000 do
    coroutine.wrap(function()
      mp.label("request", i % 4)
      coroutine.wrap(function() make(1) end)()
    end)()
  end
  tell()
]]), "request=0: 25000, request=1: 25000, request=2: 25000, request=3: 25000",
  "100,000 coroutines and those that they make")

-- A profile begins after labels were set: these were nobody's.
tap.is((tap.luajit(program([[
  mp.label("early", "1")
  assert(mp.start("hb1", "/dev/null"))
  make(1)
  mp.with({ route = "/" }, function()
    make(2)
    mp.stop()
    assert(mp.start("hb1", "/dev/null"))
    make(4)
    mp.label("route", "/later")
  end)
  make(8)
  tell()
]])).out:gsub("\n", "")), ": 4, route=/later: 8",
  "labels of an ended profile are not those of the next one")

-- A second state has its own.
tap.is(run([[
  local ffi = require("ffi")
  mp.label("route", "/first")
  ffi.cdef("typedef struct lua_State lua_State;"..
    "lua_State *luaL_newstate(void); void luaL_openlibs(lua_State *);"..
    "int luaL_loadstring(lua_State *, const char *);"..
    "int lua_pcall(lua_State *, int, int, int); void lua_close(lua_State *);")
  local L = ffi.C.luaL_newstate()
  ffi.C.luaL_openlibs(L)
  assert(ffi.C.luaL_loadstring(L, "package.path = '"..package.path..
    "' package.cpath = '"..package.cpath.."' local mp = require('jit.mp') "..
    "mp.label('route', '/none') assert(mp.start('hb1', '/dev/null')) "..
    "mp.label('route', '/second') mp.stop()") == 0)
  assert(ffi.C.lua_pcall(L, 0, 0, 0) == 0)
  ffi.C.lua_close(L)
  make(3)
  tell()
]]), "route=/first: 3", "a second state")

-- The child of a fork.
local forked = tap.tmpname()
tap.is(run([[
  local ffi = require("ffi")
  ffi.cdef("int fork(void); int waitpid(int, int *, int); void _exit(int);")
  mp.with({ route = "/a" }, function()
    make(1)
    local pid = ffi.C.fork()
    if pid == 0 then
      make(2)
    else
      ffi.C.waitpid(pid, nil, 0)
    end
  end)
  make(4)
  tell()
]], "hb1,"..forked.."%p"), ": 4, route=/a: 2\n: 4, route=/a: 1",
  "after a fork")
tap.sh("rm -f "..forked.."*")

-- Windows.
tap.is(run([[
  mp.label("route", "/a")
  make(1)
  local w = mp.window()
  make(2)
  mp.label("route", "/b")
  make(4)
  tell(counted(w))
  tell(counted(mp.window()))
]]), "route=/a: 1\nroute=/a: 2, route=/b: 4", "windows")

-- So many that not all are kept: sums are right, and the report says so.
do
  local stored = tap.tmpname(".mp")
  tap.luajit(("-jm=b1,%s %s"):format(stored, program([[
    mp.label("plugin", "jwt")
    for i = 1, 10000 do
      mp.label("route", "/"..i)
      make(1)
    end
    mp.label("route", "/1")
    make(1)
    local name = ("x"):rep(100000)
    for i = 1, 100 do mp.label(name..i, name..i) end
  ]])))
  local r = tap.sh(("%s report %s hyrom0"):format(tap.mp, stored))
  local kept, other = 0, 0
  for n, name in r.out:gmatch("(%d+)   plugin=jwt route=([^ \n]+)\n") do
    if name == "(other)" then other = tonumber(n)
    elseif name == "/1" then tap.ok(tonumber(n) >= 2, "a known label stays")
    else kept = kept + 1 end
  end
  tap.ok(kept > 1000 and kept < 5000, "labels are bounded", kept)
  tap.ok(other > 5000 and kept + other < 20100, "the rest is (other)", other)
  r = tap.sh(("%s report %s hyo"):format(tap.mp, stored))
  tap.like(r.out, "more labels than are kept", "the report says so")
end

-- -- Reports -----------------------------------------------------------------

local stored, again = tap.tmpname(".mp"), tap.tmpname(".mp")
local requests = program([[
  local zone = require("jit.zone")
  mp.with({ route = "/a", plugin = "jwt" }, function()
    make(300)
    zone("z")
    make(100)
    zone()
  end)
  mp.with({ route = "/b\n" }, make, 500)
  mp.label("plugin", "cors")
  make(100)
]])
for _, name in ipairs({ stored, again }) do
  tap.luajit(("-jm=b1,%s %s"):format(name, requests))
end

local function report(options, file, command)
  return tap.sh(("%s %s %s %s"):format(tap.mp, command or "report",
    file or stored, options)).out:gsub("^.-\n\n", "")
end

do
  local function header(options)
    return tap.sh(tap.mp.." report "..stored.." "..options).out
  end
  tap.like(header("hy:rout"), "\nno label is named 'rout'; there are: "..
    "plugin, route\n", "a name that no label has")
  tap.unlike(header("hy:plugin")..header("hy"), "no label is named",
    "one that some have")
  tap.unlike(header("hy")..header("hz"), "\nno [lz][%a]*s:",
    "labels and zones are there")
  local bare = tap.tmpname(".mp")
  tap.luajit(("-jm=b1,%s %s"):format(bare, tap.program("local t = {}")))
  for letter, want in pairs({ y = "no labels: the program set none by mp.label",
      z = "no zones: the program entered none of jit.zone" }) do
    tap.like(tap.sh(("%s report %s h%s"):format(tap.mp, bare, letter)).out,
      "\n"..want.."\n", letter..": there are none, which the report says")
  end
end

-- Whether the table has rows with these names and numbers, or some more:
-- mp.with and its caller make objects, too.
local function has(options, file, want)
  local text = report(options, file)
  for name, n in pairs(want) do
    local found
    for number, row in text:gmatch("(%d+)   ([^\n]*)\n") do
      if row == name and tonumber(number) >= n and
	  tonumber(number) < n * 1.05 + 50 then
	found = true
      end
    end
    tap.ok(found, ("%s: %d of %s"):format(options, n, name), text)
  end
end

local function all_reports(file, f)
  has("hyro", file, { ["plugin=jwt route=/a"] = 400 * f,
    ["route=/b\\n"] = 500 * f, ["plugin=cors"] = 100 * f })
  has("hory:route", file, { ["/a"] = 400 * f, ["/b\\n"] = 500 * f })
  has("horfy:plugin", file, { make = 1000 * f, ["  jwt"] = 400 * f,
    ["  cors"] = 100 * f, ["  (no label)"] = 500 * f })
  has("y:route:fhorm0", file, { ["/a"] = 400 * f, ["  make"] = 400 * f })
  has("zhor", file, { z = 100 * f })
  tap.like(report("Ghoy:route", file), ("/a;[^\n]*make %d\n"):format(400 * f),
    "folded stacks")
end
all_reports(stored, 1)

-- Merged, compared.
local sum = tap.tmpname(".mp")
tap.sh(("%s merge -o %s %s %s"):format(tap.mp, sum, stored, again))
all_reports(sum, 2)
tap.like(report("", ("-O hoy:route %s %s"):format(stored, sum), "diff"), "/a\n",
  "diff")

-- -- nginx --------------------------------------------------------------------

-- Requests that are alike get the labels that were made before; a profile that
-- begins later has labels of its own.
r = tap.luajit(tap.program([[
local uri, phase, var = nil, "content", {}
setmetatable(var, { __index = function(_, k)
  return k == "uri" and uri or "shop"
end })
ngx = { get_phase = function() return phase end, var = var }
local mp, label = require("jit.mp"), require("jit.mp.nginx").label
local ffi = require("ffi")
ffi.cdef("int fork(void); int waitpid(int, int *, int); void _exit(int);")
local status = ffi.new("int[1]")
local function make(n) local f for i = 1, n do f = function() end end end
local function handle(path, n, more)
  coroutine.wrap(function()
    uri = path
    assert(label(more))
    make(n)
  end)()
end
-- Without a profile there is nothing to set.
coroutine.wrap(function() uri = "/early/1" assert(not label()) end)()
assert(label() == false)
assert(select(2, pcall(label, 7)):find("the route or a table of labels"))
for _, name in ipairs { arg[1], arg[2] } do
  mp.start("b1", name)
  for i = 1, 3000 do -- More than are remembered.
    handle("/cart/"..i, 1)
    if i % 30 == 0 then handle("/file"..i, 5) end
  end
  for i = 1, 100 do
    handle("/user/7", 10)
    handle("/user/8", 10, { plugin = "jwt" })
    phase = i < 100 and "content" or "access"
    handle("/last", 3)
    handle("/unknown"..i, 4, i % 2 == 0 and "/known" or { route = "/known" })
  end
  phase = "content"
  coroutine.wrap(function()
    assert(label("/forked"))
    if ffi.C.fork() == 0 then
      assert(label("/forked") == false)
      ffi.C._exit(7)
    end
    ffi.C.waitpid(-1, status, 0)
    assert(status[0] == 7 * 256 and label("/forked"))
  end)()
  mp.stop()
  coroutine.wrap(function() assert(label("/forked") == false) end)()
end
]]).." "..stored.." "..again)
tap.is(r.status, 0, "a host like nginx", r.err)
for _, file in ipairs { stored, again } do
  local routes = report("hory:route:m0", file)
  for route, n in pairs { ["/cart/:id"] = 3000, ["/user/:id"] = 2000,
      ["/last"] = 300, ["/file30"] = 5, ["/known"] = 400 } do
    tap.ok(tonumber(routes:match("(%d+)   "..route:gsub("%p", "%%%0").."\n")
      or 0) >= n, "route "..route, routes)
  end
  tap.unlike(routes, "/unknown", "a path whose route is given")
  tap.unlike(routes, "/early", "labels from before are not taken over")
  local plugins = report("hory:plugin:m0", file)
  tap.ok(tonumber(plugins:match("(%d+)   jwt\n") or 0) >= 1000,
    "labels of the handler's own", plugins)
  tap.like(report("hory:phase:m0", file), "   access\n", "the phase")
  tap.like(report("hory:host:m0", file), "   shop\n", "the host")
end

-- -- Other files -------------------------------------------------------------

-- Scrapers take letters, digits and _ in names, each once, and count all that
-- has no label, too.
local prom, scope = tap.tmpname(".prom"), tap.tmpname(".speedscope.json")
r = tap.luajit(("-jm=yb1,/dev/null,%s,%s %s"):format(prom, scope, program([[
  for i = 1, 2 do
    coroutine.wrap(function()
      mp.label({ ["a-b"] = "x\"" .. i, a_b = 1, ["7"] = 2, script = "s" })
      make(1000 * i)
    end)()
  end
  make(500)
]])))
tap.is(r.status, 0, "files with labels", r.err)
local text = tap.read(prom)
local objects = {}
for set, n in text:gmatch(
    '\nluajit_labels_allocated_objects_total{script="[^"]*"(.-)} (%d+)') do
  objects[set] = tonumber(n)
end
local set = ',_7="2",a_b="x\\"%d",a_b_="1",script_="s"'
for i = 1, 2 do
  local n = objects[set:format(i)]
  tap.ok(n and n >= 1000 * i and n < 1000 * i + 100, "metrics by labels", text)
end
tap.ok((objects[""] or 0) >= 500, "metrics without a label", text)
local all = tonumber(text:match("luajit_allocated_objects_total{.-} (%d+)"))
tap.is(objects[set:format(1)] + objects[set:format(2)] + objects[""], all,
  "they add up to the total")
text = tap.read(scope)
tap.ok(text:find([[{"name":"7=2 a-b=x\"2 a_b=1 script=s"}]], 1, true),
  "speedscope: labels are frames", text)
tap.like(text, '{"name":"%(no label%)"}', "speedscope: those without")

tap.done()
