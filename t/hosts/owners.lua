-- SPDX-License-Identifier: MIT
-- C memory by the Lua objects that lead to it (W with run --native): bindings
-- of C libraries, whose memory has the owner that the program keeps it in.

local tap = require("tap")
local hosts = require("hosts")

local packages = "lua-cjson lua-zlib lua-sql-sqlite3 lua-expat lua-lgi "..
  "libsqlite3-0 libexpat1 zlib1g"

-- By name: the path of the owner, and a program that keeps most of its C memory
-- there. Compiled code is C memory, too, but the VM's.
local programs = {
  cjson = { "encoders", [[
    local cjson = require("cjson.safe")
    encoders = {}
    for i = 1, 20 do
      local c = cjson.new()
      c.encode_keep_buffer(true)
      c.encode({ ("x"):rep(200000) })
      encoders[i] = c
    end]] },
  zlib = { "streams", [[
    local zlib = require("zlib")
    streams = {}
    for i = 1, 10 do
      streams[i] = zlib.deflate()
      streams[i](("text "..i):rep(100))
    end]] },
  sqlite3 = { "db", [[
    db = require("luasql.sqlite3").sqlite3():connect(":memory:")
    db:execute("create table t (a text)")
    for i = 1, 300 do
      db:execute("insert into t values ('"..("x"):rep(10000).."')")
    end]] },
  expat = { "parsers", [[
    local lxp = require("lxp")
    parsers = {}
    for i = 1, 20 do
      local p = lxp.new({ StartElement = function() end })
      p:parse("<a>"..("<b"..i.." c='"..("x"):rep(20000).."'>"):rep(5))
      parsers[i] = p
    end]] },
  cairo = { "images", [[
    local found, lgi = pcall(require, "lgi")
    local cairo = found and select(2, pcall(lgi.require, "cairo"))
    if type(cairo) ~= "table" then print("no cairo") os.exit(0) end
    images = {}
    for i = 1, 10 do
      images[i] = cairo.ImageSurface.create("ARGB32", 700, 700)
      local cr = cairo.Context.create(images[i])
      cr:rectangle(1, 1, 100, 100)
      cr:fill()
    end]] },
}

local root = hosts.unpack("owners", packages)
local dir = tap.tmpdir()
local env = hosts.env(root)

-- The C memory in all, that of the owner, and what the view of C memory has.
local function measure(path, out)
  local all = tonumber(out:match("\nC memory: (%d+) in use"))
  local owned = tonumber(out:match("\n +%d+%% +%d+ %+ (%d+) C   "..path..
    "  %("))
  local sum = 0
  local r = tap.sh(tap.mp.." report out.mp GfU", { dir = dir })
  for n in r.out:gmatch(" (%d+)\n") do sum = sum + tonumber(n) end
  return all or 0, owned or 0, sum
end

for name, p in pairs(programs) do
  tap.write(dir.."/program.lua", p[2].."\nos.exit(0)")
  local r = tap.sh(tap.mp.." run --native -o - -o out.mp -O Wrm0b1 -- "..
    tap.command.." program.lua", { dir = dir, env = env })
  if r.out:find("^no cairo\n") then
    tap.diag("cairo or its binding is not on this machine")
  else
    local all, owned, sum = measure(p[1], r.out)
    tap.ok(owned >= 0.95 * all and owned > 2e6, name..": "..p[1].." owns it",
      ("%d of %d\n%s%s"):format(owned, all, r.err, r.out:sub(1, 2000)))
    tap.is(all, sum, name..": the sum is the view's")
    tap.diag(("%s: %s has %.2f%% of %.2f MB"):format(name, p[1],
      owned / all * 100, all / 1e6))
  end
end
tap.done()
