-- SPDX-License-Identifier: MIT
-- The interface for C: what is installed makes a program outside of the tree
-- build and run.

local tap = require("tap")

local dir = tap.tmpdir()

local function finish()
  os.execute("chmod -R u+w "..dir)
  tap.done()
end

local q = tap.quote
local preload = os.getenv("LIBASAN") or ""
preload = preload ~= "" and "LD_PRELOAD="..q(preload).." " or ""
local cc = os.getenv("CC") or "cc"

-- As a package would be made, and found where it was put.
local r = tap.sh(("make -C %s install DESTDIR=%s/root LUAJIT="):format(
  q(tap.builddir), dir), { env = { MAKEFLAGS = false, MAKELEVEL = false } })
if not tap.is(r.status, 0, "make install") then
  tap.diag(r.err)
  finish()
end
local pc = tap.sh("find "..dir.."/root -name luajit-mp.pc").out:match("[^\n]+")
tap.ok(pc, "luajit-mp.pc is installed")
local prefix = tap.read(pc):match("\nprefix=([^\n]+)")
local root = dir.."/root"..prefix
tap.unlike(tap.read(pc), dir, "it says nothing of the place of the install")

if tap.is_foreign() then return finish() end

-- A variable given to pkg-config would be LuaJIT's, too.
assert(os.execute("mkdir "..dir.."/pc") == 0)
tap.write(dir.."/pc/luajit-mp.pc", (tap.read(pc):gsub("prefix=[^\n]+",
  "prefix="..root, 1)))
local flags = ("PKG_CONFIG_PATH=%s/pc:$PKG_CONFIG_PATH pkg-config"):format(dir)
-- Where a name has a space, pkg-config puts a backslash before it.
r = tap.sh(("eval \"%s -Wall -Werror %s -o %s/host "..
  "$(%s --cflags --libs luajit-mp)\"")
  :format(cc, q(tap.srcdir.."/examples/host.c"), dir, flags))
tap.is(r.status, 0, "the example compiles")
-- The linker warns of functions that the sanitizers' library uses.
tap.is((r.err:gsub("[^\n]*libasan[^\n]*\n", "")), "", "without a word")
tap.write(dir.."/cxx.cc", "#include <luajit-mp.h>\nint main() "..
  "{ return luajit_mp_error() == 0; }\n")
if tap.sh(cc.." -fsyntax-only -x c++ /dev/null").status == 0 then
  r = tap.sh(("eval \"%s -Wall -Werror -fsyntax-only %s/cxx.cc "..
    "$(%s --cflags luajit-mp)\""):format(cc, dir, flags))
  tap.like(r.status == 0 and "ok" or r.err, "^ok$", "a C++ program takes the "..
    "header")
else
  tap.ok(true, "a C++ program takes the header # SKIP no compiler for C++")
end

-- The modules of the build, and the library of the install.
local libdir = tap.sh(flags.." --variable=libdir luajit-mp").out:match("[^\n]+")
local app = dir.."/app.lua"
tap.write(app, "local keep = {}\n"..
  "for i = 1, 30000 do keep[i % 100] = { i } end\n"..
  "local t = os.clock() + 0.1\nwhile os.clock() < t do end\n")
local function host(args, opts)
  opts = opts or {}
  opts.dir = dir
  opts.env = opts.env or {}
  opts.env.LD_LIBRARY_PATH = libdir
  return tap.sh(preload.."./host app.lua "..args, opts)
end

r = host("lb1,report.txt")
tap.is(r.status, 0, "a profile")
tap.is(r.err, "", "without a word")
tap.like(tap.read(dir.."/report.txt"), "app.lua:2", "has the line")

r = host("lb1,report.txt,page.html,both.pb.gz -")
tap.is(r.out, "report.txt: a report\npage.html: a report\n"..
  "both.cpu.pb.gz: a report\nboth.heap.pb.gz: a report\n"..
  "4 reports, error 0\n", "a writer takes what the files would have")
tap.is(tap.read(dir.."/page.html"), nil, "and no file is written")

r = host("Z")
tap.is(r.status, 1, "a wrong option fails")
tap.is(r.err, "host: unknown option 'Z' at position 1 of \"Z\"; option H "..
  "lists them all\n", "with a text")
r = host("f,/no/where/report.txt")
tap.like(r.err, "^host: cannot open '/no/where/report.txt'", "and so does a "..
  "name that cannot be")
r = host("f,report.doc -")
tap.like(r.err, "unknown output format", "or one that says no format")
tap.unlike(r.out, "reports", "on_stop is not called where nothing was started")

-- The program's paths know nothing of the modules.
r = host("f", { env = { LUA_PATH = "/none/?.lua", LUA_CPATH = "/none/?.so" } })
if r.status ~= 0 then
  tap.like(r.err, "^host: module 'jit.mp' not found", "a missing module is "..
    "named")
end

finish()
