-- SPDX-License-Identifier: MIT
-- A small program under every view and format, on any build of LuaJIT: each
-- report comes, or says why it cannot, and the program runs as without one.

local tap = require("tap")

local dir = tap.tmpdir()
tap.write(dir.."/app.lua", [[
local kept = {}
local function make(i) return { i, tostring(i) } end
local function work(n)
  for i = 1, n do kept[i % 100 + 1] = make(i) end
end
local co = coroutine.wrap(function()
  while true do coroutine.yield(work(10)) end
end)
for _ = 1, 300 do work(100) co() end
print(#kept, select(2, pcall(error, "result", 0)))
]])

local function run(options, what)
  local r = tap.luajit("-jm="..options.." app.lua", { dir = dir })
  tap.is(r.status, 0, what..": status")
  tap.like(r.out, "100\tresult\n", what..": the program's output")
  return r
end

local function content(name)
  local text = tap.read(dir.."/"..name)
  return text and #text > 0
end

-- A text report has its header, or raw stacks. Where a view cannot be had, a
-- line says so.
for _, options in ipairs { "f", "fl", "g", "G", "a", "nfb1", "t", "e", "W", "L",
    "M", "i1", "b1l", "x" } do
  local r = run(options..",out.txt", options)
  local text = tap.read(dir.."/out.txt") or ""
  tap.ok(text:find("luajit-mp  app.lua", 1, true) or
    text:find("====== ", 1, true) or text:find("ALLOCATIONS", 1, true) or
    options == "G" and text:find(" %d+\n") or
    r.err:find("luajit-mp: ", 1, true), options..": a report, or why not",
    text..r.err)
  tap.unlike(text..r.err, "attempt to", options..": no error of ours")
  os.remove(dir.."/out.txt")
end

local formats = { "a.html", "a.pb.gz", "a.speedscope.json", "a.heapprofile",
  "a.firefox.json", "a.prom", "a.otlp" }
run("f,"..table.concat(formats, ","), "all formats")
for _, name in ipairs(formats) do
  if name == "a.pb.gz" then name = "a.heap.pb.gz" end
  tap.ok(content(name), name)
end
-- Profile files need the FFI: without it they are refused at the start.
local r = tap.luajit("-e 'require[[ffi]]'")
if r.status ~= 0 then
  r = tap.luajit("-jm=f,a.mp app.lua", { dir = dir })
  tap.is(r.status..r.out, "1", "no profile file without the FFI")
  tap.like(r.err, "cannot make a profile file: this LuaJIT has no FFI library",
    "which is said")
  return tap.done()
end
run("f,a.mp", "a profile file")
r = tap.sh(tap.mp.." report a.mp fl", { dir = dir })
tap.is(r.status, 0, "a report of the profile file")
tap.like(r.out, "make\n", "with its functions")
tap.done()
