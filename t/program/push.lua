-- SPDX-License-Identifier: MIT
-- Profiles for servers: the requests to Pyroscope and Parca, and a program that
-- is not affected by servers that are away.

local tap = require("tap")
local unjson = require("unjson")

if (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("curl does not run with the sanitizers' library")
end
if tap.sh("curl --version").status ~= 0 then tap.skip("no curl command") end

-- -- A server -----------------------------------------------------------------

local wait = tap.wait

local servers = {}

-- A server of its own: its directory and its address.
local function serve()
  local dir = tap.tmpdir()
  local pid = tap.sh(("%s %s %s 240 >/dev/null 2>&1 & echo $!"):format(
    tap.command, tap.quote(tap.srcdir.."/t/server.lua"), dir)).out:match("%d+")
  servers[#servers+1] = { dir = dir, pid = pid }
  local port = wait(function() return tap.read(dir.."/port") end)
  return dir, "http://127.0.0.1:"..tostring(port)
end

local dir, server = serve()

-- The requests so far, once there are n: { head, body } each.
local function requests(n)
  wait(function() return tap.read(("%s/%d.head"):format(dir, n)) end)
  local list = {}
  while true do
    local name = ("%s/%d."):format(dir, #list + 1)
    local head = tap.read(name.."head")
    if not head then return list end
    list[#list+1] = { head = head, body = tap.read(name.."body") }
  end
end

local function answer(status) tap.write(dir.."/status", status) end

-- -- The requests that arrive -------------------------------------------------

-- The file of a form's field.
local function field(request, name)
  return request.body:match('name="'..name..'"; filename="[^"]*"\r\n'..
    "Content%-Type: [^\r]*\r\n\r\n(.-)\r\n%-%-luajit%-mp")
end

local has_go = tap.sh("go version").status == 0

-- A profile as pprof shows it.
local function pprof(data, index)
  local name = tap.tmpname(".pb.gz")
  tap.write(name, data)
  return tap.sh(("go tool pprof -top -sample_index=%s %s"):format(index,
    name)).out
end

local program = tap.program([[
local keep = {}
function grow(n)
  for i = 1, n do keep[i % 1000 + 1] = { i, tostring(i) } end
end
local seconds = tonumber(arg[1])
local t = os.clock()
repeat grow(1000) until os.clock() - t > seconds
io.write("done\n")
]])

local r = tap.luajit(("'-jm=fi1,%s/?name=app&env=a%%20b' %s 0.3"):format(server,
  program))
tap.is(r.out..r.err, "done\n", "a program that sends at its end")
local list = requests(2)
tap.is(#list, 2, "two profiles arrive")
local kinds = {}
for i, request in ipairs(list) do
  tap.like(request.head, "^POST /ingest%?name=app%%7Benv%%3Da%%20b%%7D&from="..
    "%d+&until=%d+&format=pprof&spyName=luajit%-mp HTTP",
    "as Pyroscope wants it")
  local config = unjson(field(request, "sample_type_config"))
  kinds[config.cpu and "cpu" or config.inuse_space and "heap" or i] = request
  local from, to = request.head:match("from=(%d+)&until=(%d+)")
  tap.ok(tonumber(to) > tonumber(from) and os.time() - from < 100, "with times")
end
tap.ok(kinds.cpu and kinds.heap, "one of CPU, one of memory")
if has_go then
  tap.like(pprof(field(kinds.cpu, "profile"), "cpu"), "grow", "pprof reads CPU")
  tap.like(pprof(field(kinds.heap, "profile"), "alloc_space"), "grow",
    "and memory")
end

-- Parca, from the command.
local saved = tap.tmpname(".mp")
tap.luajit(("-jm=fi1,%s %s 0.1"):format(saved, program))
r = tap.sh(("%s push '%s/profiles/writeraw?name=shop&zone=eu' %s"):format(
  tap.mp, server, saved))
tap.is(r.status, 0, "luajit-mp push to Parca")
tap.is(r.out..r.err, "", "is silent")
list = requests(3)
tap.like(list[3].head, "^POST /profiles/writeraw HTTP", "there")
tap.like(list[3].head, "Content%-Type: application/json", "in JSON")
local write = unjson(list[3].body)
tap.is(#write.series, 2, "two series")
local names = {}
for i, s in ipairs(write.series) do
  local labels = {}
  for _, label in ipairs(s.labels.labels) do
    labels[label.name] = label.value
  end
  names[i] = labels.__name__.." "..labels.job.." "..labels.zone
end
tap.is(table.concat(names, ", "),
  "process_cpu shop eu, memory shop eu", "with their labels")
if has_go then
  local name = tap.tmpname()
  tap.write(name, write.series[2].samples[1].rawProfile)
  tap.like(pprof(tap.sh("base64 -d "..name).out, "inuse_space"), "inuse_space",
    "pprof reads what is in it")
end
answer("404")
r = tap.sh(("%s push %s %s"):format(tap.mp, server, saved))
tap.is(r.status, 1, "a server that does not want it")
tap.like(r.err, "cannot send to 'http://127.-': the server answers 404",
  "says so")
answer("endless")
r = tap.sh(("%s push %s/profiles/writeraw %s"):format(tap.mp, server, saved))
tap.is(r.status..r.err, "0", "a server whose answer has no end")
tap.is(#requests(6), 6, "has it")
tap.ok(not tap.read(dir.."/6.end"), "the answer is not read")
r = tap.sh(("%s push http://127.0.0.1:1 %s"):format(tap.mp, saved))
tap.is(r.status, 1, "a server that is not there")
tap.like(r.err, "cannot send to 'http://127.0.0.1:1': .*[Cc]onnect", "and why")
r = tap.sh(("LUAJIT_MP_CURL=/no/such %s push http://127.0.0.1:1 %s"):format(
  tap.mp, saved))
tap.like(r.err, "cannot read the file that LUAJIT_MP_CURL names: /no/such: No",
  "a file of options that is not there")
r = tap.sh(("LUAJIT_MP_CURL= %s push http://127.0.0.1:1 %s"):format(tap.mp,
  saved))
tap.like(r.err, "cannot send to 'http://127.0.0.1:1': .*[Cc]onnect",
  "an empty name is none")
r = tap.sh(tap.mp.." push app.html "..saved)
tap.is(r.status, 2, "what is not an address")
tap.like(r.err, "begins with http:// or https://", "is told")
r = tap.sh(tap.mp.." push a.mp b.mp http://localhost:4040")
tap.is(r.status, 2, "an address behind the profiles")
tap.like(r.err, "profiles: push http://localhost:4040 a.mp b.mp;",
  "the order is shown")
answer("200")

-- -- Windows ------------------------------------------------------------------

local before = #requests(6)
r = tap.luajit(("'-jm=hb1w1,%s?name=w' %s 2.5"):format(server, program))
tap.is(r.out..r.err, "done\n", "a program that sends each second")
list = requests(before + 3)
tap.ok(#list - before >= 3, "two windows and the rest", #list - before)
local last
for i = before + 1, #list do
  local from, to = list[i].head:match("name=w&from=(%d+)&until=(%d+)")
  tap.ok(not last or tonumber(from) >= last - 1, "they follow each other")
  last = tonumber(to)
end

-- The server is away, then it is back: nothing is lost, nothing is twice.
dir, server = serve()
answer("503")
r = tap.luajit(("'-jm=hb1w1,%s?name=late,%s' %s"):format(server, saved,
  tap.program(([[
local dir = %q
local function look(name)
  local f = io.open(dir.."/"..name)
  if f then f:close() end
  return f
end
local n, kept = 0, {}
local function count() kept[1] = { n } n = n + 1 end
-- One try fails; then the server is back.
repeat count() until look("1.head")
local f = io.open(dir.."/status", "w")
f:write("200")
f:close()
repeat count() until look("2.head")
]]):format(dir))))
tap.is(r.out..r.err, "", "a server that fails once is not spoken of")
list = requests(3)
local objects = 0
for i = 2, #list do
  tap.like(list[i].head, "name=late", "another try")
  local name = tap.tmpname(".pb.gz")
  tap.write(name, field(list[i], "profile"))
  if has_go then
    local n = tap.sh("go tool pprof -raw "..name).out
    for value in n:gmatch("\n *(%d+) +%d+ +%d+ +%d+:") do
      objects = objects + tonumber(value)
    end
  end
end
if has_go then
  local p = assert(require("jit.mp.format.file").read(tap.read(saved)))
  tap.ok(objects > 0 and math.abs(objects / p.heap.alloc_objects - 1) < 0.01,
    "what arrives is what was allocated", objects.." of "..
    p.heap.alloc_objects)
end

-- One that is not there, and one that never answers.
local said = tap.tmpname()

-- Runs a program whose standard error is a file. Waits until that has a line,
-- since curl may still be at work when the program has ended.
local function deserted(opts, seconds)
  tap.write(said, "")
  local r = tap.sh(("%s '-jm=%s' %s %s 2>%s"):format(tap.command, opts, program,
    seconds, said))
  tap.is(r.out, "done\n", opts..": a program does not care")
  tap.is(r.status, 0, opts..": nor does its status")
  return wait(function() return tap.read(said):match("^.-\n") end) or ""
end

local page = tap.tmpname(".html")
local secret = "http://me:s3cret@127.0.0.1:1"
tap.like(deserted("fw1,"..secret..","..page, 1.5),
  "^luajit%-mp: cannot send to 'http://127.0.0.1:1'.*: .*[Cc]onnect",
  "but it is said, without the password")
tap.like(tap.read(page), ",http://127.0.0.1:1,", "nor is it in the profile")
r = tap.sh(("%s push %s %s"):format(tap.mp, secret, saved))
tap.is(r.err:match("'.-'"), "'http://127.0.0.1:1'",
  "and the command's message has none")
tap.unlike(tap.luajit("-jm=f,"..secret.."?a "..program).err, "s3cret",
  "nor one on a wrong address")
answer("hang")
r = tap.luajit(("-jm=fw1,%s %s 1.5"):format(server, program))
tap.is(r.out, "done\n", "a server that never answers")
r = tap.sh(("{ %s '-jm=f,%s' %s 0.1 2>&1 >/dev/null; } | cat"):format(
  tap.command, server, program))
tap.is(r.out, "luajit-mp: '"..server.."' has not answered yet: the last "..
  "part of the profile may be lost\n",
  "which is said where nobody can be told later")
answer("200")

-- Transfers that fail after the end of the program are spoken of, too, unless
-- somebody waits for the end of a pipe.
answer("404")
for _, path in ipairs({ "", "/profiles/writeraw" }) do
  tap.is(deserted("h,"..server..path, 0.1), "luajit-mp: cannot send to '"..
    server..path.."', and the profile is lost: the server answers 404\n",
    "a server that refuses the last window")
end
-- curl tries 404 once.
r = tap.sh(("%s '-jm=h,%s' %s 0.1 2>&1 | cat"):format(tap.command, server,
  program))
tap.like(r.out, "^luajit%-mp: [^\n]*\ndone\n$", "where standard error is a "..
  "pipe the program says it, as far as it is known")
answer("200")

-- The answer may have come when the program ends, and curl still be there.
local bin = tap.tmpdir()
tap.write(bin.."/curl", "#!/bin/sh\ncat >/dev/null\necho '200 '\n"..
  "touch "..bin.."/answered\nsleep 1\ntouch "..bin.."/gone\n")
os.execute("chmod +x "..bin.."/curl")
tap.sh(("%s '-jm=hw1,%s' %s 2>%s"):format(tap.command, server, tap.program(
  ([[local kept = {} repeat kept[1] = {} until io.open(%q)]]):format(
  bin.."/answered")), said), { env = { PATH = bin..":"..os.getenv("PATH") } })
wait(function() return tap.read(bin.."/gone") end)
tap.sh("sleep 0.5")
tap.is(tap.read(said), "", "an answer just before the end")

-- -- The program's own children and descriptors -------------------------------

r = tap.luajit(("'-jm=fw1,%s?name=quiet' %s"):format(server, tap.program([[
local ffi = require("ffi")
ffi.cdef [=[
  int waitpid(int, int *, int);
  int fork(void);
  void _exit(int);
  int close(int);
  typedef void (*handler)(int);
  handler signal(int, handler);
]=]
local signals = 0
local on = ffi.cast("handler", function() signals = signals + 1 end)
jit.off(true, true)
ffi.C.signal(17, on)
local t, keep, reaped = os.clock(), {}, 0
repeat
  for i = 1, 1000 do keep[i] = { i } end
  if ffi.C.waitpid(-1, nil, 1) > 0 then reaped = reaped + 1 end
until os.clock() - t > 2.5
for fd = 3, 999 do ffi.C.close(fd) end
t = os.clock()
repeat for i = 1, 1000 do keep[i] = { i } end until os.clock() - t > 1.2
print(signals, reaped)
]])))
tap.is(r.out, "0\t0\n", "no signal of a child, and no child")
tap.is(r.status, 0, "a program that closes all descriptors")
local n = 0
wait(function()
  n = 0
  for _, request in ipairs(requests(1)) do
    if request.head:find("name=quiet", 1, true) then n = n + 1 end
  end
  return n >= 3
end)
tap.ok(n >= 3, "all the while it sends", n)

-- -- Wrong addresses ----------------------------------------------------------

for text, message in pairs({
  ["http://"] = "is not an address of a server",
  ["http:///x"] = "is not an address of a server",
  ["http://h?name"] = "is not LABEL=VALUE",
  ["http://h?a-b=1"] = "is not a name of a label",
  ["http://h?a="] = "is empty or has one of",
  ["http://h?a=%7B"] = "is empty or has one of",
}) do
  r = tap.luajit(("'-jm=f,%s' %s 0"):format(text, program))
  tap.is(r.status, 1, text)
  tap.like(r.err, message, "why")
end
r = tap.luajit(tap.program([[
local ffi = require("ffi")
ffi.cdef "int setenv(const char *, const char *, int);"
ffi.C.setenv("PATH", "/nonexistent", 1)
print(require("jit.mp").start("f", "http://localhost:4040"))
]]))
tap.like(r.out, "cannot open 'http://localhost:4040'.*there is no curl command",
  "without curl")

for _, s in ipairs(servers) do os.execute("kill "..s.pid) end
tap.done()
