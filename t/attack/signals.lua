-- SPDX-License-Identifier: MIT
-- Signals at any moment of the end of a program, one or two of them, from
-- another process: every output is complete, and the status is that of the
-- program's end or of the first signal.

local file = require("jit.mp.format.file")
local gzip = require("jit.mp.format.gzip")
local tap = require("tap")
local trial = require("attack.trial")

local count = trial.count(25)
local dir = tap.tmpdir()

-- The report takes a while: it has many stacks, and a page among its outputs.
-- The child is not a fork of the profiler's: it sends its signals, and leaves.
local program = [[
local ffi = require("ffi")
ffi.cdef "int kill(int, int), getpid(void), fork(void), usleep(unsigned);"
ffi.cdef "void _exit(int);"
local C = ffi.C
local keep = {}
local function busy(n)
  for i = 1, n do keep[i %% 100 + 1] = { i } end
end
for i = 1, 200 do
  loadstring("local busy = ... local function f"..i.."() busy(50) end f"..i..
    "()", "=chunk"..i)(busy)
end
local pid = C.getpid()
if C.fork() == 0 then
  C.usleep(%d)
  C.kill(pid, %d)
  C.usleep(%d)
  C.kill(pid, %d)
  C._exit(0)
end
%s
]]

local signals = { 1, 2, 10, 12, 13, 14, 15, 24, 26 }
local outputs = { "a.txt", "b.html", "c.mp", "d.heap.pb.gz", "e.folded" }

-- Whether an output is whole.
local whole = {
  txt = function(text) return text:find("^luajit%-mp  .*busy") end,
  html = function(text) return text:find("</html>%s*$") end,
  mp = function(text) return file.read(text) end,
  gz = function(text) return gzip.unpack(text, 1e9) end,
  folded = function(text) return text:find("busy %d+\n$") or
    text:find(" %d+\n$") end,
}

local function missing()
  for _, name in ipairs(outputs) do
    local text = tap.read(dir.."/"..name)
    if not text then return name.." is not there" end
    if not whole[name:match("%a+$")](text) then
      return name.." is cut off: "..#text.." bytes"
    end
  end
  local left = tap.sh("ls -A "..dir.." | grep tmp").out
  if left ~= "" then return "left: "..left end
end

local seen = {}
for i = 1, count do
  local first, second = trial.pick(signals), trial.pick(signals)
  local ends = i % 3 == 0
  local body = ends and "os.exit(7)" or "while true do busy(10) end"
  tap.write(dir.."/p.lua", program:format(math.random(60000), first,
    math.random(60000), second, body))
  local r = tap.sh(("exec timeout -s KILL 100 env --default-signal=INT,PIPE "..
    "%s -jm=fhb1,%s p.lua"):format(tap.command, table.concat(outputs, ",")),
    { dir = dir })
  local want = 128 + first
  local interrupted = first == 2 and r.status == 1
  -- Of two that are pending the kernel takes the lower number first.
  local both = second < first and r.status == 128 + second
  seen[r.status] = (seen[r.status] or 0) + 1
  local why = missing()
  if r.status ~= want and not (interrupted or both) and
      not (ends and r.status == 7) and
      not (first == 2 and r.status == 128 + second) then
    why = ("status %d, not %d; %s"):format(r.status, want, tostring(why))
  end
  trial.check(not why, ("signals %d and %d%s"):format(first, second,
    ends and " at an end" or ""), tostring(why).."\n"..r.err)
  os.execute("rm -f "..dir.."/*")
end
for status, n in pairs(seen) do
  tap.diag(("status %d: %d"):format(status, n))
end
trial.done("signals during a report")
