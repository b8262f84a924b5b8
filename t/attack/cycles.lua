-- SPDX-License-Identifier: MIT
-- Profiles that start and stop, one after another: memory, descriptors,
-- mappings and threads stay what they are. (AddressSanitizer keeps the memory
-- that was freed.)

local tap = require("tap")
local trial = require("attack.trial")
local mp = require("jit.mp")

local count = trial.count(400)
local dir = tap.tmpdir()

local options = { "f", "fb1", "l", "fl", "e", "L", "W", "tb1", "a", "g", "vf",
  "zf", "x", "s", "G", "q", "cri1", "uob4k", "J", "J+b1" }
local file_options = { "f", "fb1", "b4ki1", "C2mw60" }
local suffixes = { ".txt", ".txt", ".txt", ".html", ".mp", ".heap.pb.gz",
  ".speedscope.json", ".heapprofile", ".dhat.json", ".prom" }

local keep = {}
local function work()
  for i = 1, 500 do keep[i % 100 + 1] = { i, tostring(i) } end
end

local function cycle()
  local name = dir.."/r"..trial.pick(suffixes)
  local text = trial.pick(name:find("txt$") and options or file_options)
  local ok, msg = mp.start(text, name)
  if ok then
    work()
    if math.random(4) == 1 then mp.report("f", "/dev/null") end
    ok, msg = mp.stop()
  end
  -- There may be nothing to show in some formats.
  return ok or tostring(msg):find("cannot make", 1, true), msg
end

-- The resources that the process holds.
local function holdings()
  collectgarbage()
  collectgarbage()
  local status = tap.read("/proc/self/status")
  local _, maps = tap.read("/proc/self/maps"):gsub("\n", "")
  local open = 0
  for _ in io.popen("ls /proc/$PPID/fd"):lines() do open = open + 1 end
  local kept = (os.getenv("LIBASAN") or "") ~= "" and math.huge or 0
  return {
    { "KiB of memory", tonumber(status:match("VmRSS:%s*(%d+)")), 2048 + kept },
    { "threads", tonumber(status:match("Threads:%s*(%d+)")), 0 },
    { "mappings", maps, 16 + kept },
    { "descriptors", open, 1 },
    { "KiB of Lua's", collectgarbage("count"), 16 },
  }
end

-- The first quarter fills what is kept on purpose.
local before
for i = 1, count do
  local ok, msg = cycle()
  trial.check(ok, "a cycle", msg)
  if i == math.floor(count / 4) then before = holdings() end
end

local after = holdings()
for i, h in ipairs(before) do
  tap.diag(("%s: %d, at the end %d"):format(h[1], h[2], after[i][2]))
  trial.check(after[i][2] <= h[2] + h[3], h[1].." grow",
    ("from %d to %d"):format(h[2], after[i][2]))
end
trial.done("starts and stops")
