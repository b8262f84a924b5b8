-- SPDX-License-Identifier: MIT
-- Mutated profiles through every view and format: nothing raises an error,
-- takes long or much memory.
--   ./run luajit t/fuzz.lua PROFILE.mp [COUNT [SEED]]

local file = require("jit.mp.format.file")
local gzip = require("jit.mp.format.gzip")
local merge = require("jit.mp.model.merge")
local options = require("jit.mp.options")
local render = require("jit.mp.render")
local compare = require("jit.mp.text.diff")

local name = arg[1]
local count, seed = tonumber(arg[2] or 1000), tonumber(arg[3] or 1)
local fp = assert(io.open(name, "rb"))
local packed = fp:read("*a")
fp:close()
local good = assert(gzip.unpack(packed, 1e9))
local whole = assert(file.read(good))
math.randomseed(seed)
local random = math.random

-- Doubles and whole numbers that are hard on a reader.
local hard = { "\255\255\255\255", "\0\0\0\0", "\255\255\255\127",
  "\0\0\0\0\0\0\240\127", "\255\255\255\255\255\255\255\255",
  "\0\0\0\0\0\0\240\191", "\160\200\235\133\243\204\225\127",
  "\1\0\0\0\0\0\0\0", "\0\0\0\0\0\0\64\67" }
local words = { "-1", "nan", "1e308", "inf", "0x10", "99999999999", "", "0",
  "9007199254740992", "row", "frame", "u4", "f8", "bfalse", "s\\x1b", "\t" }

local mutations = {
  function(t, i)
    return t:sub(1, i - 1)..string.char(random(0, 255))..t:sub(i + 1)
  end,
  function(t, i) return t:sub(1, i - 1)..t:sub(i + random(40)) end,
  function(t, i)
    local k = random(#t)
    return t:sub(1, i)..t:sub(k, k + random(200))..t:sub(i + 1)
  end,
  function(t, i)
    local h = hard[random(#hard)]
    return t:sub(1, i - 1)..h..t:sub(i + #h)
  end,
  function(t, i)
    local from, to = t:find("[%w.+-]+", i)
    if not from then return t end
    return t:sub(1, from - 1)..words[random(#words)]..t:sub(to + 1)
  end,
}

-- Most of the changes in the first part, which is text.
local function mutated()
  local text, head = good, (good:find("\nstrings\t", 1, true))
  for _ = 1, random(4) do
    local i = random(3) == 1 and random(#text) or random(head + 200)
    text = mutations[random(#mutations)](text, math.min(i, #text))
  end
  return text
end

local views = { "f", "Fl", "l", "-3s", "vf", "zf", "tfo", "g", "e", "L", "a",
  "Am0", "rm0", "G", "q", "kpx" }
local suffixes = { ".cpu.pb.gz", ".heap.pb.gz", ".pb.gz", ".speedscope.json",
  ".cpuprofile", ".heapprofile", ".dhat.json", ".prom", ".folded", ".html",
  ".mp" }

-- Some of the views and formats for each profile, all of them for many.
local function show(p)
  for _ = 1, 3 do
    local view, suffix = views[random(#views)], suffixes[random(#suffixes)]
    render.render(p, assert(options.parse(view)), { name = "-", width = 80 })
    local o = assert(options.parse("fchuxN"))
    local text = render.render(p, o, { name = "x"..suffix })
    if suffix == ".mp" and text then assert(file.read(text)) end
  end
  compare(whole, p, assert(options.parse("f")), true)
  assert(file.read((file.write(merge({ p, whole })))))
end

local accepted, most = 0, 0
for i = 1, count do
  local text = mutated()
  local ok, p, msg
  ok, p, msg = xpcall(function() return file.read(text) end,
    debug.traceback)
  if ok and p then
    accepted = accepted + 1
    local t = os.clock()
    local profile = p
    ok, p = xpcall(function() show(profile) return true end, debug.traceback)
    most = math.max(most, os.clock() - t)
  end
  if not ok or not p and not msg then
    io.stderr:write(("seed %d, case %d: %s\n"):format(seed, i, tostring(p)))
    local out = assert(io.open(("fuzz-%d-%d.mp"):format(seed, i), "wb"))
    out:write(text)
    out:close()
    os.exit(1)
  end
end
print(("%d mutated, %d accepted and shown, %.2f s at most"):format(count,
  accepted, most))
