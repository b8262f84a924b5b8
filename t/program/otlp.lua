-- SPDX-License-Identifier: MIT
-- .otlp files have the layout of opentelemetry-proto 1.11.0, keep its rules,
-- and add up to the profile.

local tap = require("tap")
local formats = require("jit.mp.format.formats")
local otlp = require("jit.mp.format.otlp")
local profiles = require("readers.profiles")
local protobuf = require("readers.protobuf")

local message, packed = protobuf.message, protobuf.packed
local DIR = "/srv/app"

-- -- A reader ---------------------------------------------------------------

local tables = { "mapping", "location", "function", "link", "string",
  "attribute", "stack" }

-- AnyValue.
local function any(text)
  local t = message(text)
  if t[5][1] then
    local list = {}
    for i, v in ipairs(message(t[5][1])[1]) do list[i] = any(v) end
    return table.concat(list, "|")
  end
  return t[1][1] or t[3][1]
end

local function key_values(list)
  local t = {}
  for _, text in ipairs(list) do
    local kv = message(text)
    assert(t[kv[1][1]] == nil, "a key twice")
    t[kv[1][1]] = any(kv[2][1])
  end
  return t
end

-- Entry n of a table, counted from 0, as a message; it is used then.
local function entry(r, name, n)
  n = n or 0
  r.used[name][n] = true
  return message(assert(r.dict[name][n + 1], "no such "..name))
end
local function str(r, n)
  n = n or 0
  r.used.string[n] = true
  return assert(r.dict.string[n + 1], "no such string")
end

local function frame_text(r, n)
  local l = entry(r, "location", n)
  assert(#l[1] == 0 and #l[2] == 0 and #l[3] == 1, "not a line alone")
  local line = message(l[3][1])
  local f = entry(r, "function", line[1][1])
  return str(r, f[1][1])..":"..(line[2][1] or 0), str(r, f[3][1])
end

local function stack_text(r, n)
  local t = {}
  for i, at in ipairs(packed(entry(r, "stack", n)[1][1])) do
    assert(at > 0, "location 0 in a stack")
    t[i] = frame_text(r, at)
  end
  return table.concat(t, " < ")
end

local function attributes(r, list)
  local t = {}
  for _, n in ipairs(packed(list)) do
    local a = entry(r, "attribute", n)
    local key = str(r, a[1][1])
    assert(n > 0 and t[key] == nil, "an attribute that is none, or twice")
    t[key] = any(a[2][1])
  end
  return t
end

local function read_profile(r, text)
  local m, seen = message(text), {}
  local function value_type(list)
    local t = message(list[1])
    return str(r, t[1][1]).."/"..str(r, t[2][1])
  end
  local p = { type = value_type(m[1]), time = m[3][1], duration = m[4][1],
    period_type = m[5][1] and value_type(m[5]), period = m[6][1],
    samples = {}, sum = 0 }
  for i, sample in ipairs(m[2]) do
    local s = message(sample)
    local values = packed(s[4][1])
    local key = (s[1][1] or 0).." "..s[2][1]
    assert(#values == 1 and values[1] ~= 0, "not one number")
    assert((s[1][1] or 0) > 0, "no stack")
    assert(not seen[key], "a sample twice")
    seen[key] = true
    p.samples[i] = { stack = stack_text(r, s[1][1]), value = values[1],
      attributes = attributes(r, s[2][1]) }
    p.sum = p.sum + values[1]
  end
  return p
end

local function read(text)
  local m = message(text)
  local dict = message(m[2][1])
  local r = { dict = {}, used = {}, profiles = {}, by = {} }
  assert(#m[1] == 1 and #m[2] == 1, "one resource, one dictionary")
  for field, name in ipairs(tables) do
    r.dict[name], r.used[name] = dict[field], { [0] = true }
  end
  local resource = message(m[1][1])
  local scoped = message(resource[2][1])
  local scope = message(scoped[1][1])
  r.resource = key_values(message(resource[1][1])[1])
  r.scope, r.about = scope[1][1], key_values(scope[3])
  for i, p in ipairs(scoped[2]) do
    r.profiles[i] = read_profile(r, p)
    r.by[r.profiles[i].type] = r.profiles[i]
  end
  return r
end

-- -- Tests ------------------------------------------------------------------

-- Rules of the tables. Returns what breaks one.
local function broken(r)
  for _, name in ipairs(tables) do
    local seen, list = {}, r.dict[name]
    if list[1] ~= "" then return name.." 0 is not empty" end
    for i, text in ipairs(list) do
      if seen[text] then return name.." "..(i - 1).." is there twice" end
      if not r.used[name][i - 1] then
	return name.." "..(i - 1).." is not used"
      end
      seen[text] = true
    end
  end
end

local function types(r)
  local t = {}
  for i, p in ipairs(r.profiles) do t[i] = p.type end
  return table.concat(t, " ")
end

local cpu = "samples/count cpu/nanoseconds"
local heap = "alloc_objects/count alloc_space/bytes inuse_objects/count "..
  "inuse_space/bytes"
local fields = { ["samples/count"] = "cpu", ["cpu/nanoseconds"] = "cpu",
  ["alloc_objects/count"] = "alloc_objects",
  ["alloc_space/bytes"] = "alloc_bytes",
  ["inuse_objects/count"] = "inuse_objects",
  ["inuse_space/bytes"] = "inuse_bytes",
  ["peak_objects/count"] = "peak_objects",
  ["peak_space/bytes"] = "peak_bytes" }

-- The number that a measure of a profile adds up to.
local function expected(p, kind)
  local sum = 0
  for _, row in ipairs(p.rows) do sum = sum + (row[fields[kind]] or 0) end
  if kind == "cpu/nanoseconds" then sum = p.info.cpu * 1e9 end
  return math.floor(sum + 0.5)
end

local function test_sums(p, r, name)
  tap.is(broken(r), nil, name..": the tables keep the rules")
  for _, got in ipairs(r.profiles) do
    tap.is(got.sum, expected(p, got.type), name..": sum of "..got.type)
  end
end

-- The sample whose value is that.
local function find(profile, value)
  for _, s in ipairs(profile.samples) do
    if s.value == value then return s end
  end
  error("no sample has "..value)
end

local function test_samples(r)
  local work = find(r.by["samples/count"], 70)
  tap.is(work.stack, "work (app.lua:6):9 < main chunk:14",
    "a stack, the top first")
  tap.is(work.attributes["luajit_mp.zone"], "boot", "a zone")
  tap.is(work.attributes.route, "/cart\\255", "a label of the program")
  tap.is(work.attributes["luajit_mp.vmstate"], "Compiled", "a VM state")
  tap.is(work.attributes["luajit_mp.type"], "string", "a type of objects")
  local gc = find(r.by["samples/count"], 3)
  tap.is(gc.attributes["luajit_mp.zone"], nil, "no zone, no attribute")
  tap.is(find(r.by["samples/count"], 11).stack, "(no stack):0",
    "a stack without a frame")
  local _, deep = find(r.by["samples/count"], 9).stack:gsub(" < ", "")
  tap.is(deep, 120, "a deep stack is whole")
  local cpu_time = r.by["cpu/nanoseconds"]
  tap.is(cpu_time.time, 1790000000e9, "when it started")
  tap.is(cpu_time.duration, 2.5e9, "how long it took")
  tap.is(cpu_time.period_type, "cpu/nanoseconds", "the period of CPU")
  local space = r.by["alloc_space/bytes"]
  tap.is(space.period_type.." "..space.period, "space/bytes 16384",
    "the period of memory")
end

local function test_about(r)
  tap.is(r.resource["service.name"], "app.lua", "resource: the script")
  tap.is(r.resource["process.pid"], 1, "resource: the process")
  tap.is(r.resource["process.runtime.name"].." "..
    r.resource["process.runtime.version"], "LuaJIT LuaJIT 2.1.0-test",
    "resource: the LuaJIT")
  tap.is(r.scope, "luajit-mp", "scope: the profiler")
  tap.is(r.about["luajit_mp.notes"], "a note", "scope: notes")
  tap.is(r.about["luajit_mp.options"], "fl", "scope: options")
end

local function test_kinds()
  local p = profiles.by_hand(DIR)
  for options, want in pairs({ c = cpu, h = heap, ch = cpu.." "..heap,
      x = heap.." peak_objects/count peak_space/bytes" }) do
    local views = {}
    for letter in options:gmatch(".") do
      views[#views+1] = ({ c = "cpu", h = "alloc", x = "peak" })[letter]
    end
    local make, o = formats.view("a.otlp", { views = views })
    local r = read(make(p, o))
    tap.is(types(r), want, options..": the measures")
    test_sums(p, r, options)
  end
end

-- Rows whose stacks and labels look the same are one sample.
local function test_joined()
  local p = profiles.by_hand(DIR)
  local n = #read(otlp(p, { pprof = "cpu" })).by["samples/count"].samples
  for _, row in ipairs(p.rows) do
    p.rows[#p.rows+1] = setmetatable({}, { __index = row })
    if #p.rows == 2 * n then break end
  end
  local r = read(otlp(p, { pprof = "cpu" }))
  tap.is(#r.by["samples/count"].samples, n, "equal rows are one sample")
  test_sums(p, r, "equal rows")
end

-- Wall times are measures of their own, without a period.
local function test_waits()
  local p = profiles.by_hand(DIR)
  p.waits.enabled = true
  p.rows[1].waited, p.rows[2].blocked = 1.5, 0.25
  local r = read(otlp(p, { pprof = "cpu" }))
  tap.is(types(r), cpu.." waiting/nanoseconds blocked/nanoseconds",
    "wall times are there where they were measured")
  local waiting = r.by["waiting/nanoseconds"]
  tap.is(waiting.sum, 1.5e9, "the time of coroutines that wait")
  tap.is(waiting.period_type, nil, "which has no period")
  tap.is(waiting.period, nil, "nor its length")
  tap.is(r.by["blocked/nanoseconds"].sum, 0.25e9, "the blocked time")
  tap.is(broken(r), nil, "and the tables keep the rules")
end

local function test_empty()
  local p = profiles.by_hand(DIR)
  p.rows = {}
  local text, msg = otlp(p, { pprof = "heap" })
  tap.ok(text == nil and msg:find("^no allocation samples"),
    "no allocation samples: says so", msg)
  p.info.window = 1
  local r = read(otlp(p, { pprof = "all" }))
  tap.is(#r.profiles, 0, "an empty window has no profile")
  tap.is(broken(r), nil, "and empty tables")
end

local p = profiles.by_hand(DIR)
local r = read(otlp(p, { pprof = "all", views = {} }))
test_samples(r)
test_about(r)
test_kinds()
test_joined()
test_waits()
test_empty()
p = profiles.by_lot(7, 2000, 60)
test_sums(p, read(otlp(p, { pprof = "all" })), "by lot")
tap.done()
