-- SPDX-License-Identifier: MIT
-- Mutated profiles through every view and format: nothing raises an error, and
-- nothing takes long.

local core = require("jit.mp.core")
local file = require("jit.mp.format.file")
local formats = require("jit.mp.format.formats")
local gzip = require("jit.mp.format.gzip")
local merge = require("jit.mp.model.merge")
local mp = require("jit.mp")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")
local compare = require("jit.mp.text.diff")
local tap = require("tap")
local trial = require("attack.trial")

local missing = require("jit.mp.format.columns").missing()
if missing then tap.skip(missing) end
if jit.opt then jit.opt.start("-fwd") end -- As the command does.
local count = trial.count(250)
local random = math.random

-- -- Profiles ----------------------------------------------------------------

-- A small one, that has something for each view.
local function profiled(opts)
  assert(mp.start(opts, "/dev/null"))
  local zone = require("jit.zone")
  local keep = {}
  zone("a zone")
  for i = 1, 300 do
    keep[i % 50 + 1] = { tostring(i), function() return i end }
  end
  zone()
  collectgarbage()
  local text = assert(file.write(profile.new(core.snapshot())))
  mp.stop()
  return assert(gzip.unpack(text, 1e9))
end

local goods = { profiled("flb1"), profiled("e"), profiled("Lb1"),
  profiled("tib2k") }
local whole = assert(file.read(goods[1]))

-- -- Mutations ---------------------------------------------------------------

-- Doubles and whole numbers that are hard on a reader.
local hard = { "\255\255\255\255", "\0\0\0\0", "\255\255\255\127",
  "\0\0\0\0\0\0\240\127", "\255\255\255\255\255\255\255\255",
  "\0\0\0\0\0\0\240\191", "\160\200\235\133\243\204\225\127",
  "\1\0\0\0\0\0\0\0", "\0\0\0\0\0\0\64\67" }
local words = { "-1", "nan", "1e308", "inf", "0x10", "99999999999", "", "0",
  "9007199254740992", "row", "frame", "u4", "f8", "bfalse", "s\\x1b", "\t" }

local values = { "0", "1", "7", "1e15", "0.25", "255", "1e-300", "65536", "-1",
  "9007199254740991", "1e100", "3" }

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

-- Another value of the same kind, in a line of the text.
local function another_value(t, i)
  local from, kind, to = t:match("()\t([bns]?)[%w.+-]+()\n", i)
  if not from then return t end
  local word = kind == "b" and trial.pick({ "btrue", "bfalse" }) or
    kind..trial.pick(values)
  return t:sub(1, from)..word..t:sub(to)
end

-- An accepted profile goes further than a refused one: a case in two has one
-- change only, a value in the text or anything in the columns behind it.
local function mutated()
  local text = trial.pick(goods)
  local head = text:find("\nstrings\t", 1, true) or #text
  local gentle = random(2) == 1
  for _ = 1, gentle and 1 or random(3) do
    local i = random(2) == 1 and random(head, #text) or random(head + 200)
    local change = trial.pick(mutations)
    if gentle and i < head then change = another_value end
    text = change(text, math.min(i, #text))
  end
  return text
end

-- -- Views and formats -------------------------------------------------------

local views = { "f", "Fl", "l", "-3s", "vf", "zf", "tfo", "g", "e", "L", "M",
  "a", "Am0", "rm0", "Gh", "q", "kpxR" }
local suffixes = { ".cpu.pb.gz", ".heap.pb.gz", ".pb.gz", ".speedscope.json",
  ".otlp", ".cpuprofile", ".heapprofile", ".firefox.json", ".dhat.json",
  ".json", ".prom",
  ".folded", ".html", ".mp" }

-- Each is a test of its own: what one view does to the profile another sees.
local function show(p)
  for _, view in ipairs(views) do
    render.render(p, assert(options.parse(view)), { name = "-", width = 80 })
  end
  for _, suffix in ipairs(suffixes) do
    assert(formats.of("x"..suffix), suffix)
    local o = assert(options.parse("fchuxN"))
    local text = render.render(p, o, { name = "x"..suffix })
    if suffix == ".mp" and text then assert(file.read(text)) end
  end
  compare(whole, p, assert(options.parse("f")), true, {})
  assert(file.read((file.write(merge({ p, whole })))))
  return true
end

-- Reads and shows it. Returns whether it was accepted, or nil and an error.
local function attempt(text)
  local ok, p, msg = xpcall(function() return file.read(text) end,
    debug.traceback)
  if not ok then return nil, p end
  if not p then
    if type(msg) ~= "string" then return nil, "refused without a message" end
    return false
  end
  ok, msg = xpcall(function() return show(p) end, debug.traceback)
  if not ok then return nil, msg end
  return true
end

-- Where it failed, the profile is kept for whoever looks into it.
local function keep_failure(i, text)
  local name = ("%s/profile-%d-%d.mp"):format(os.getenv("TMPDIR") or "/tmp",
    trial.seed, i)
  tap.write(name, text)
  return name
end

local accepted, most = 0, 0
for i = 1, count do
  local text = mutated()
  local t = os.clock()
  local shown, why = attempt(text)
  t = os.clock() - t
  if shown then accepted = accepted + 1 end
  most = math.max(most, t)
  if t > 20 then shown, why = nil, t.." s" end
  trial.check(shown ~= nil, "a mutated profile",
    shown == nil and keep_failure(i, text).."\n"..tostring(why))
end
tap.diag(("%d of them accepted and shown, each in %.2f s at most"):format(
  accepted, most))
trial.done("mutated profiles")
