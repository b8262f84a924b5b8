-- SPDX-License-Identifier: MIT
-- The formats of other tools: the files have the structure that their readers
-- want, and add up to the profile, to the last sample.

local tap = require("tap")
local dhat = require("jit.mp.format.dhat")
local firefox = require("jit.mp.format.firefox")
local export = require("jit.mp.format.export")
local json = require("jit.mp.format.json")
local metrics = require("jit.mp.format.metrics")
local names = require("jit.mp.model.names")
local pprof = require("jit.mp.format.pprof")
local requests = require("jit.mp.push.requests")
local speedscope = require("jit.mp.format.speedscope")
local cpuprofile = require("jit.mp.format.cpuprofile")
local heapprofile = require("jit.mp.format.heapprofile")
local profiles = require("readers.profiles")
local protobuf = require("readers.protobuf")

local bit = require("bit")

local message, packed = protobuf.message, protobuf.packed
local DIR = "/srv/app"

-- The text that the command gzip unpacks.
local function gunzip(s)
  local name = tap.tmpname(".gz")
  tap.write(name, s)
  local r = tap.sh("gzip -dc "..name)
  if r.status ~= 0 then return nil, r.err end
  return r.out
end

-- -- A reader of pprof -----------------------------------------------------

-- The mappings, functions and locations of a profile, by its message.
local function read_pprof_tables(p, m, str)
  for i, text in ipairs(m[3]) do
    local t = message(text)
    p.mappings[i] = { id = t[1][1], file = str(t[5][1]), functions = t[7][1],
      files = t[8][1], lines = t[9][1], inlines = t[10][1] }
  end
  for i, text in ipairs(m[5]) do
    local t = message(text)
    p.functions[i] = { id = t[1][1], name = str(t[2][1]), file = str(t[4][1]),
      system_name = t[3][1], start = t[5][1] or 0 }
  end
  for i, text in ipairs(m[4]) do
    local t = message(text)
    local line = message(assert(t[4][1]))
    p.locations[i] = { id = t[1][1], mapping = t[2][1], lines = #t[4],
      fn = p.functions[line[1][1]], line = line[2][1] or 0 }
  end
end

local function read_pprof_sample(p, text, str)
  local t = message(text)
  local sample = { stack = {}, values = packed(t[2][1]), labels = {} }
  for k, id in ipairs(packed(t[1][1])) do
    sample.stack[k] = assert(p.locations[id], "no such location")
  end
  for _, label in ipairs(t[3]) do
    local l = message(label)
    sample.labels[str(l[1][1])] = str(l[2][1])
  end
  return sample
end

-- A profile with strings in place of their numbers, and objects in place of
-- their ids.
local function read_pprof(s)
  local m = message(assert(gunzip(s)))
  local strings = m[6]
  local function str(n)
    return assert(strings[(n or 0) + 1], "no such string")
  end
  local function value_type(text)
    local t = message(text)
    return str(t[1][1]).."/"..str(t[2][1])
  end
  local p = { types = {}, samples = {}, locations = {}, functions = {},
    mappings = {}, strings = strings, raw = m, comments = {},
    default = str(m[14][1]), period_type = value_type(m[11][1]),
    period = m[12][1], duration = m[10][1], time = m[9][1] }
  for i, text in ipairs(m[1]) do p.types[i] = value_type(text) end
  for i, n in ipairs(m[13]) do p.comments[i] = str(n) end
  read_pprof_tables(p, m, str)
  for i, text in ipairs(m[2]) do
    p.samples[i] = read_pprof_sample(p, text, str)
  end
  return p
end

-- -- A strict reader of JSON ------------------------------------------------

local escapes = { ['"'] = '"', ["\\"] = "\\", n = "\n", t = "\t", r = "\r",
  b = "\b", f = "\f", ["/"] = "/" }

local function utf8_char(n)
  if n < 0x80 then return string.char(n) end
  assert(n < 0x800, "an escape that nobody writes")
  return string.char(0xc0 + math.floor(n / 64), 0x80 + n % 64)
end

local function json_string(s, pos)
  local stop = pos + 1
  while true do
    stop = assert(s:find('["\\]', stop), "a string without an end")
    if s:sub(stop, stop) == '"' then break end
    stop = stop + 2
  end
  local text = s:sub(pos + 1, stop - 1)
  assert(not text:find("[%z\1-\31]"), "a control character in a string")
  text = text:gsub("\\(.)(%x?%x?%x?%x?)", function(c, hex)
    if c == "u" then return utf8_char(tonumber(hex, 16)) end
    return assert(escapes[c], "no such escape")..hex
  end)
  return text, stop + 1
end

local json_value

local function skip(s, pos) return s:match("^[ \n]*()", pos) end

-- Reads the items between brackets, one after the other.
local function json_list(s, pos, close, item)
  pos = skip(s, pos + 1)
  if s:sub(pos, pos) == close then return pos + 1 end
  while true do
    pos = skip(s, item(pos))
    local c = s:sub(pos, pos)
    if c == close then return pos + 1 end
    assert(c == ",", "no comma")
    pos = skip(s, pos + 1)
  end
end

function json_value(s, pos)
  local c, t = s:sub(pos, pos), {}
  if c == '"' then return json_string(s, pos) end
  if c == "[" then
    return t, json_list(s, pos, "]", function(at)
      local v, e = json_value(s, at)
      t[#t+1] = v
      return e
    end)
  elseif c == "{" then
    return t, json_list(s, pos, "}", function(at)
      local k, e = json_string(s, at)
      assert(t[k] == nil, "a key twice")
      e = skip(s, e)
      assert(s:sub(e, e) == ":", "no colon")
      t[k], e = json_value(s, skip(s, e + 1))
      return e
    end)
  end
  for word, value in pairs({ ["true"] = true, ["false"] = false }) do
    if s:sub(pos, pos + #word - 1) == word then return value, pos + #word end
  end
  if s:sub(pos, pos + 3) == "null" then return false, pos + 4 end
  local n, e = s:match("^(%-?%d+%.?%d*[eE]?[+-]?%d*)()", pos)
  return assert(tonumber(n), "no number"), e
end

local function read_json(s)
  local v, pos = json_value(s, skip(s, 1))
  assert(skip(s, pos) == #s + 1, "more behind the end")
  return v
end

-- -- Valid UTF-8 ------------------------------------------------------------

-- By the table of well-formed sequences in Unicode's chapter 3.
local sequences = { "[%z\1-\127]", "[\194-\223]C", "\224[\160-\191]C",
  "[\225-\236]CC", "\237[\128-\159]C", "[\238-\239]CC", "\240[\144-\191]CC",
  "[\241-\243]CCC", "\244[\128-\143]CC" }
for i, p in ipairs(sequences) do
  sequences[i] = "^"..p:gsub("C", "[\128-\191]").."()"
end

local function is_utf8(s)
  local pos = 1
  while pos <= #s do
    local e
    for _, p in ipairs(sequences) do e = e or s:match(p, pos) end
    if not e then return false end
    pos = e
  end
  return true
end

-- -- Helpers ----------------------------------------------------------------

local function round(x) return math.floor(x + 0.5) end

local function total(p, field)
  local n = 0
  for _, row in ipairs(p.rows) do n = n + row[field] end
  return n
end

-- Names of a stack, the root first.
local function names_of(p, row)
  local label, t, s = p:labeler("f"), {}, row.stack
  while s ~= 0 do
    table.insert(t, 1, label(p.frame[s]))
    s = p.parent[s]
  end
  return t[1] and table.concat(t, ";") or "(no stack)"
end

-- Sums of a field by stack, and whether others, { [stack] = number }, are
-- these to within the number of rows that each is a sum of, or of parts, if
-- there are more, that were rounded.
local function near(p, field, got, factor, parts)
  local sums, rows = {}, {}
  for _, row in ipairs(p.rows) do
    local k = names_of(p, row)
    sums[k] = (sums[k] or 0) + row[field] * (factor or 1)
    rows[k] = (rows[k] or 0) + 1
  end
  for k, n in pairs(got) do
    if not sums[k] then return false, "not in the profile: "..k end
    if math.abs(n - sums[k]) > math.max(rows[k], parts and parts[k] or 0) then
      return false, ("%s: %s, not %s"):format(k, n, sums[k])
    end
  end
  for k, n in pairs(sums) do
    if not got[k] and n > rows[k] then return false, "missing: "..k end
  end
  return true
end

local function count(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

-- -- JSON -------------------------------------------------------------------

local function test_json()
  local all = {}
  for i = 0, 255 do all[#all+1] = string.char(i) end
  all = table.concat(all)
  local back = read_json(json.string(all))
  tap.ok(is_utf8(json.string(all)), "any bytes make valid UTF-8")
  tap.is(back, names.printable(all), "a name is spelled as elsewhere")
  for _, n in ipairs({ 0, 1, -1, 0.5, 1e15, 2^53 - 1, 1e300, 1e-9, 123456.789,
      -2.25 }) do
    tap.is(read_json(json.number(n)), n, "number "..n)
  end
end

-- -- Whole numbers ----------------------------------------------------------

local function test_rounder()
  local whole, sum, exact, good = export.rounder(1), 0, 0, true
  for i = 1, 1000 do
    local x = i % 7 == 0 and 0 or i / 13
    local n = whole(x)
    good = good and n == math.floor(n) and math.abs(n - x) <= 1 and
      (x > 0 or n == 0)
    sum, exact = sum + n, exact + x
  end
  tap.ok(good, "each is next to what it stands for; nothing stays nothing")
  tap.is(sum, round(exact), "and the sum is the rounded sum")
  whole = export.rounder(1)
  tap.is(whole(3) + whole(4), 7, "whole numbers stay")
end

-- -- gzip -------------------------------------------------------------------

-- The module with zlib or without.
local function load_gzip(zlib)
  local kept = package.loaded["jit.mp.format.zlib"]
  package.loaded["jit.mp.format.gzip"] = nil
  package.loaded["jit.mp.format.zlib"] = zlib
  local module = require("jit.mp.format.gzip")
  package.loaded["jit.mp.format.zlib"] = kept
  return module
end

local function test_gzip(module, name)
  for _, n in ipairs({ 0, 1, 7, 8, 9, 65535, 65536, 131070, 131071 }) do
    local t = {}
    for i = 1, n do t[i] = string.char((i * i + i) % 251) end
    local s = table.concat(t)
    local packed = module.pack(s, 1790000000)
    local text, why = gunzip(packed)
    tap.ok(text == s, name..": gzip reads "..n.." bytes", why)
    tap.ok(module.unpack(packed, 1e6) == s, name..": and so do we")
    for _, bad in ipairs({ packed:sub(1, -2), packed.."x",
        packed:sub(1, 10).."\7"..packed:sub(12),
        packed:sub(1, -9)..("\1"):rep(4)..packed:sub(-4) }) do
      local ok, t_, msg = pcall(module.unpack, bad, 1e6)
      tap.ok(ok and t_ == nil and type(msg) == "string",
        name..": damage is refused", t_)
    end
  end
  tap.is(module.pack("", 1790000000):sub(5, 8), "\128\59\177\106",
    name..": time of the file")
  tap.is(module.unpack(module.pack(("x"):rep(100)), 99), nil,
    name..": no more than the limit")
end

local function test_both_gzips()
  local zlib = require("jit.mp.format.zlib")
  test_gzip(load_gzip({}), "stored")
  if zlib.gunzip then
    test_gzip(load_gzip(zlib), "zlib")
    tap.ok(#load_gzip(zlib).pack(("0123456789"):rep(1000)) < 200,
      "zlib: it is compressed")
    tap.like(select(2, load_gzip({}).unpack(load_gzip(zlib).pack("abcabcabc"),
      100)), "there is no zlib", "stored: what is compressed is told apart")
  end
end

-- -- pprof ------------------------------------------------------------------

local types = {
  cpu = "samples/count cpu/nanoseconds",
  heap = "alloc_objects/count alloc_space/bytes inuse_objects/count "..
    "inuse_space/bytes"
}
types.all = types.cpu.." "..types.heap

local fields = { ["samples/count"] = "cpu", ["cpu/nanoseconds"] = "cpu",
  ["alloc_objects/count"] = "alloc_objects",
  ["alloc_space/bytes"] = "alloc_bytes",
  ["inuse_objects/count"] = "inuse_objects",
  ["inuse_space/bytes"] = "inuse_bytes" }

-- Ids are 1, 2, 3, ..., and everything is needed.
local function ids_are_dense(r)
  for _, list in ipairs({ r.functions, r.locations, r.mappings }) do
    for i, e in ipairs(list) do if e.id ~= i then return false end end
  end
  local used, fns = {}, {}
  for _, s in ipairs(r.samples) do
    for _, l in ipairs(s.stack) do used[l], fns[l.fn] = true, true end
  end
  return count(used) == #r.locations and count(fns) == #r.functions
end

local function names_are_unique(r)
  local seen = {}
  for _, f in ipairs(r.functions) do
    if seen[f.name] or f.name == "" then return false, f.name end
    seen[f.name] = true
  end
  return true
end

local function locations_are_unique(r)
  local seen = {}
  for _, l in ipairs(r.locations) do
    local k = l.fn.id.." "..l.line
    if seen[k] or l.lines ~= 1 or l.mapping ~= 1 then return false end
    seen[k] = true
  end
  return true
end

local function test_pprof_structure(r, name)
  tap.is(r.strings[1], "", name..": the first string is empty")
  tap.is(count(r.strings), #r.strings, name..": the string table has no gaps")
  tap.ok(ids_are_dense(r), name..": ids have no gaps, and all are used")
  tap.ok(locations_are_unique(r), name..": a location is a line of a function")
  tap.ok(names_are_unique(r), name..": a name is one function's")
  local good, utf8 = true, true
  for _, f in ipairs(r.functions) do good = good and not f.system_name end
  for _, s in ipairs(r.strings) do utf8 = utf8 and is_utf8(s) end
  tap.ok(good, name..": no system names")
  tap.ok(utf8, name..": strings are text")
  local m = r.mappings[1]
  tap.ok(#r.mappings == 1 and m.functions == 1 and m.files == 1 and
    m.lines == 1 and m.inlines == 1, name..": one mapping, with all symbols")
end

local function test_pprof_sums(p, r, name)
  for i, t in ipairs(r.types) do
    local field = fields[t]
    local factor = t == "cpu/nanoseconds" and
      p.info.cpu * 1e9 / total(p, "cpu") or 1
    local sum = 0
    for _, s in ipairs(r.samples) do sum = sum + s.values[i] end
    tap.is(sum, round(total(p, field) * factor), name..": sum of "..t)
  end
  local good, some = true, true
  for _, s in ipairs(r.samples) do
    good = good and #s.values == #r.types
    local any = false
    for _, v in ipairs(s.values) do any = any or v ~= 0 end
    some = some and any
  end
  tap.ok(good, name..": a sample has all numbers")
  tap.ok(some, name..": and one that is not 0")
end

-- Samples of a row, found by their labels and the number of samples.
local function find(r, test)
  local found
  for _, s in ipairs(r.samples) do
    if test(s) then
      assert(not found, "two of them")
      found = s
    end
  end
  return found
end

local function stack_text(s)
  local t = {}
  for i, l in ipairs(s.stack) do
    t[i] = l.fn.name..":"..l.line
  end
  return table.concat(t, " < ")
end

-- A function's file and line, by its name.
local function origin(r, name)
  for _, f in ipairs(r.functions) do
    if f.name == name then return f.file..":"..f.start end
  end
end

local function test_pprof_samples(r)
  local work = find(r, function(s) return s.values[1] == 70 end)
  tap.is(stack_text(work), "work (app.lua:6):9 < main chunk:14",
    "a stack, the top first")
  tap.is(work.labels.zone, "boot", "label: zone")
  tap.is(work.labels.route, "/cart\\255", "a label of the program")
  tap.is(work.labels.vmstate, "Compiled", "label: VM state")
  tap.is(work.labels.type, "string", "label: type of object")
  local gc = find(r, function(s) return s.values[1] == 3 end)
  tap.is(stack_text(gc), "work (app.lua:6):10 < main chunk:14",
    "another line of the function")
  tap.is(gc.labels.zone, nil, "no zone, no label")
  tap.is(gc.labels.type, nil, "no type, no label")
  tap.is(gc.labels.vmstate, "Garbage Collector", "label: the collector")
  local load = find(r, function(s) return s.values[1] == 30 end)
  tap.is(load.labels.zone, "cache\\255", "label: a zone whose name is not text")
  tap.is(#find(r, function(s) return s.values[1] == 9 end).stack, 121,
    "a deep stack is whole")
  tap.is(stack_text(find(r, function(s) return s.values[1] == 11 end)),
    "(no stack):0", "a stack without a frame")
  tap.is(stack_text(find(r, function(s) return s.values[1] == 6 end)),
    "load:0 < main chunk:14", "a line that is not known")
end

local function test_pprof_by_hand()
  local p = profiles.by_hand(DIR)
  local r = read_pprof(pprof(p, { pprof = "all" }))
  test_pprof_structure(r, "by hand")
  tap.is(#r.samples, #p.rows, "by hand: a sample for every row")
  test_pprof_samples(r)
  for name, want in pairs({
      ["work (app.lua:6)"] = DIR.."/app.lua:6",
      ["work (lib/other.lua:6)"] = DIR.."/lib/other.lua:6",
      ["main chunk"] = DIR.."/app.lua:0", ["app.lua:15"] = DIR.."/app.lua:15",
      chunk = "[string]:1",
      ["cjson.so:decode"] = "cjson.so:0", ["(JIT compiler)"] = ":0",
      ["a_builtin (./lib/other.lua:29)"] = DIR.."/lib/other.lua:29",
      ["odd\\255\"na;me\\\\n\\001\195\164"] = DIR.."/a #%\\128.lua:13" }) do
    tap.is(origin(r, name), want, "where "..name.." is")
  end
  tap.is(r.mappings[1].file, DIR.."/app.lua", "the mapping is the script")
  tap.is(r.time, 1790000000e9, "when it started")
  tap.is(r.duration, 2.5e9, "how long it took")
  tap.is(table.concat(r.comments, "|"), "luajit-mp, options fl|"..
    "LuaJIT 2.1.0-test|capture exact|a note", "comments")
end

-- Wall times, where they were measured.
local function test_pprof_waits()
  local p = profiles.by_hand(DIR)
  local frames, parents, frame = #p.frames, p.parent, p.frame
  p.frames[frames+1] = { kind = "pseudo", name = "(epoll_wait)" }
  p.frames[frames+2] = { kind = "pseudo", name = "(event loop)" }
  for i = 1, 2 do
    parents[#parents+1] = i == 1 and p.rows[3].stack or #parents
    frame[#frame+1] = frames + i
  end
  p.waits = { enabled = true }
  p.rows[1].waited, p.rows[2].blocked = 1.5, 0.25
  p.rows[3].blocked, p.rows[3].stack = 0.75, #parents
  local r = read_pprof(pprof(p, { pprof = "cpu" }))
  tap.is(table.concat(r.types, " "), "samples/count cpu/nanoseconds "..
    "waiting/nanoseconds blocked/nanoseconds event_loop/nanoseconds",
    "types of wall times")
  local sums = { 0, 0, 0 }
  for _, s in ipairs(r.samples) do
    for i = 1, 3 do sums[i] = sums[i] + s.values[2+i] end
    if s.values[5] > 0 then
      tap.like(stack_text(s), "^%(event loop%):0 < %(epoll_wait%):0 < ",
        "the system call of a loop")
    end
  end
  tap.is(table.concat(sums, " "), "1500000000 250000000 750000000",
    "seconds that coroutines wait, and the thread, and event loops")
  tap.unlike(table.concat(read_pprof(pprof(p, { pprof = "heap" })).types, " "),
    "waiting", "not in the profile of memory")
  local body = requests(p, { views = { "cpu" } }, "http://host/?name=app")[1]
    .body
  tap.like(body, '"cpu":{[^}]*},"waiting":{"units":"nanoseconds"},'..
    '"blocked":{"units":"nanoseconds"},"event_loop":{[^}]*}}',
    "a server is told of them")
end

local function test_pprof_kinds()
  local p = profiles.by_hand(DIR)
  for _, kind in ipairs({ "cpu", "heap", "all" }) do
    local r = read_pprof(pprof(p, { pprof = kind }))
    tap.is(table.concat(r.types, " "), types[kind], kind..": types of samples")
    test_pprof_sums(p, r, kind)
    tap.is(r.default, kind == "heap" and "inuse_space" or "cpu",
      kind..": what is shown at first")
    tap.is(r.period_type, kind == "heap" and "space/bytes" or
      "cpu/nanoseconds", kind..": type of the period")
    tap.is(r.period, kind == "heap" and 16384 or
      round(2.0071e9 / p.cpu.samples), kind..": period")
  end
  for _, row in ipairs(p.rows) do row.inuse_objects, row.inuse_bytes = 0, 0 end
  local r = read_pprof(pprof(p, { pprof = "heap" }))
  tap.is(r.default, "alloc_space", "nothing in use: allocated is shown")
  for _, row in ipairs(p.rows) do row.cpu = 0 end
  p.cpu.samples = 0
  r = read_pprof(pprof(p, { pprof = "all" }))
  tap.is(r.default, "alloc_space", "no CPU samples: allocated is shown")
  local text, msg = pprof(p, { pprof = "cpu" })
  tap.ok(text == nil and msg:find("^no CPU samples"), "no CPU samples: says so")
  p.info.window = 1
  r = read_pprof(pprof(p, { pprof = "cpu" }))
  tap.is(#r.samples, 0, "an empty window has no samples")
  tap.is(r.default, "cpu", "and is one of CPU time")
  p.info.window = nil
  p.rows = {}
  text, msg = pprof(p, { pprof = "heap" })
  tap.ok(text == nil and msg:find("^no allocation samples"),
    "no allocation samples: says so")
  text, msg = pprof(p, { pprof = "all" })
  tap.ok(text == nil and msg:find("^no CPU samples"), "nothing: says so")
end

-- -- speedscope -------------------------------------------------------------

local function test_speedscope_sums(p, o, name)
  local file = read_json(speedscope(p, o))
  local units = { cpu = "milliseconds" }
  tap.is(file["$schema"], "https://www.speedscope.app/file-format-schema.json",
    name..": schema")
  tap.is(#file.profiles, #o.views, name..": a profile for each view")
  for i, view in ipairs(o.views) do
    local s = file.profiles[i]
    local field = view == "cpu" and "cpu" or
      view..(o.objects and "_objects" or "_bytes")
    local factor = view == "cpu" and p.info.cpu * 1e6 / total(p, "cpu") or 1
    local divisor = view == "cpu" and 1000 or 1
    tap.is(s.type, "sampled", name..", "..view..": type")
    tap.is(s.unit, units[view] or o.objects and "none" or "bytes",
      name..", "..view..": unit")
    tap.is(#s.samples, #s.weights, name..", "..view..": as many weights")
    local sum, got, parts, fine = 0, {}, {}, true
    for k, stack in ipairs(s.samples) do
      local t = {}
      for j, f in ipairs(stack) do
	fine = fine and file.shared.frames[f+1] ~= nil
	t[j] = fine and file.shared.frames[f+1].name
      end
      local text = table.concat(t, ";")
      local w = s.weights[k] * divisor
      fine = fine and math.abs(w - round(w)) < 1e-6
      sum = sum + round(w)
      got[text] = (got[text] or 0) + w
      parts[text] = (parts[text] or 0) + 1
    end
    tap.ok(fine, name..", "..view..": frames exist, weights are whole")
    tap.is(sum, round(total(p, field) * factor), name..", "..view..": sum")
    tap.is(s.startValue, 0, name..", "..view..": starts at 0")
    tap.is(round(s.endValue * divisor), sum, name..", "..view..": its end")
    local good, why = near(p, field, got, factor, parts)
    tap.ok(good, name..", "..view..": stacks, the root first", why)
  end
  return file
end

local function test_speedscope()
  local p = profiles.by_hand(DIR)
  local file = test_speedscope_sums(p,
    { views = { "cpu", "alloc", "inuse", "peak" } }, "bytes")
  test_speedscope_sums(p, { views = { "alloc", "inuse", "peak" },
    objects = true }, "objects")
  tap.is(file.exporter, "luajit-mp", "exporter")
  tap.is(file.name, "app.lua", "name")
  tap.is(file.profiles[1].name, "CPU", "name of a view")
  tap.is(file.profiles[3].name, "in use", "name of another view")
  local frames, lines = {}, 0
  for _, f in ipairs(file.shared.frames) do
    frames[f.name..":"..(f.file or "")..":"..(f.line or "")] = f
    if f.name:find("^work ") then lines = lines + 1 end
  end
  tap.is(lines, 2, "lines of a function are one frame; another function is not")
  for _, want in ipairs({ "work (app.lua:6):"..DIR.."/app.lua:6",
      "main chunk:"..DIR.."/app.lua:1",
      "work (lib/other.lua:6):"..DIR.."/lib/other.lua:6", "(JIT compiler)::",
      "chunk:[string]:1", "cjson.so:decode:cjson.so:", "a_builtin::" }) do
    tap.ok(frames[want], "a frame "..want)
  end
end

-- Samples are in the order of time, whatever order the rows are in.
local function test_speedscope_order()
  local q = profiles.by_hand(DIR)
  for _, row in ipairs(q.rows) do row.cpu, row.alloc_bytes = 0, 0 end
  q.rows[1].cpu, q.rows[2].cpu, q.rows[1].alloc_bytes = 3, 2, 100
  q.course = { {}, {}, {} }
  q.timeline = {
    { point = 3, row = 1, cpu = 2, alloc_objects = 0, alloc_bytes = 40 },
    { point = 1, row = 1, cpu = 1, alloc_objects = 0, alloc_bytes = 70 },
    { point = 2, row = 1, cpu = 0, alloc_objects = 0, alloc_bytes = -10 },
    { point = 2, row = 2, cpu = 2, alloc_objects = 0, alloc_bytes = 0 } }
  local timed = test_speedscope_sums(q, { views = { "cpu", "alloc" } }, "timed")
  tap.is(#timed.profiles[1].samples, 3, "three spells, one after the other")
  tap.is(table.concat(timed.profiles[1].samples[1], ","),
    table.concat(timed.profiles[1].samples[3], ","), "the first comes again")
  tap.ok(math.abs(timed.profiles[1].weights[3] -
    2 * timed.profiles[1].weights[1]) < 0.01, "with its own weights",
    table.concat(timed.profiles[1].weights, " "))
  tap.is(timed.profiles[2].endValue, 100,
    "bytes that were taken back do not count")
end

local function test_speedscope_views()
  local p = profiles.by_hand(DIR)
  local some = read_json(speedscope(p, { views = { "inuse" } }))
  tap.is(#some.profiles, 1, "one view")
  local text, msg = speedscope(profiles.by_lot(1, 0, 1), { views = { "cpu" } })
  tap.ok(text == nil and msg:find("^no CPU samples"), "an empty view: says so")
  for _, row in ipairs(p.rows) do row.cpu = 0 end
  some = read_json(speedscope(p, { views = { "cpu", "alloc" } }))
  tap.is(#some.profiles, 1, "an empty view is left out")
  tap.is(some.profiles[1].name, "allocated", "and the others are there")
end

-- -- DHAT -------------------------------------------------------------------

local function test_dhat_sums(p, name)
  local file = read_json(dhat(p, {}))
  local sums = { tb = 0, tbk = 0, gb = 0, gbk = 0, eb = 0, ebk = 0 }
  local fine, seen = true, {}
  for _, place in ipairs(file.pps) do
    for k in pairs(sums) do sums[k] = sums[k] + place[k] end
    fine = fine and place.mb >= place.gb and place.mb >= place.eb and
      place.tl == 0
    local key = table.concat(place.fs, ",")
    fine = fine and not seen[key] and #place.fs > 0
    seen[key] = true
    for _, f in ipairs(place.fs) do
      fine = fine and f > 0 and file.ftbl[f+1] ~= nil
    end
  end
  tap.ok(fine, name..": places are well formed")
  for k, field in pairs({ tb = "alloc_bytes", tbk = "alloc_objects",
      gb = "peak_bytes", gbk = "peak_objects", eb = "inuse_bytes",
      ebk = "inuse_objects" }) do
    tap.is(sums[k], round(total(p, field)), name..": "..k)
  end
  tap.is(file.ftbl[1], "[root]", name..": the root")
  for i = 2, #file.ftbl do
    fine = fine and file.ftbl[i]:find("^0x%x+: .+ %(.+%)$")
  end
  tap.ok(fine, name..": frames are spelled as valgrind does")
  return file
end

local function test_dhat()
  local file = test_dhat_sums(profiles.by_hand(DIR), "DHAT")
  local frames = table.concat(file.ftbl, "\n")
  tap.like(frames, "0x%x+: work %(app.lua:6%) %("..DIR..
    "/app.lua:9%)\n", "DHAT: a line")
  tap.like(frames, "0x%x+: cjson.so:decode %(cjson.so%)", "DHAT: a C function")
  tap.is(file.dhatFileVersion, 2, "DHAT: version")
  tap.is(file.pid, 1, "DHAT: process")
  test_dhat_sums(profiles.by_lot(3, 500, 100), "DHAT, by lot")
  local text, msg = dhat(profiles.by_lot(1, 0, 1), {})
  tap.ok(text == nil and msg:find("^no allocation samples"),
    "DHAT: nothing allocated: says so")
end

-- -- Firefox ----------------------------------------------------------------

-- The profile by hand with a timeline of two points.
local function with_points()
  local p = profiles.by_hand(DIR)
  p.course = {
    { wall = 0.5, cpu = 0.4, allocated = 9, inuse = 5000, cycles = 0,
      rss = 70000 },
    { wall = 2, cpu = 1.9, allocated = 90, inuse = 3000, cycles = 3,
      rss = 80000 } }
  p.timeline = {
    { point = 1, row = 2, cpu = 20, alloc_objects = 0, alloc_bytes = 0 },
    { point = 2, row = 6, cpu = 4, alloc_objects = 0, alloc_bytes = -5 },
    { point = 2, row = 2, cpu = 1, alloc_objects = 0, alloc_bytes = 0 } }
  return p
end

local function sum(t)
  local n = 0
  for _, v in ipairs(t) do n = n + v end
  return n
end

local function test_firefox_sums(p, name)
  local file = read_json(firefox(p, {}))
  local thread = file.threads[1]
  tap.is(sum(thread.samples.weight), total(p, "cpu"), name..": CPU")
  tap.is(sum(thread.nativeAllocations.weight), round(total(p, "alloc_bytes")),
    name..": bytes")
  return file, thread
end

local function test_firefox()
  local p = with_points()
  local file, thread = test_firefox_sums(p, "Firefox")
  local names = {}
  for i, name in ipairs(thread.markers.name) do
    names[i] = thread.stringArray[name+1].." "..thread.markers.startTime[i].."-"
      ..thread.markers.endTime[i]
  end
  names = table.concat(names, ",")
  tap.like(names, "collections 500%-2000", "Firefox: a marker of collections")
  tap.like(names, "zone boot[^,]* %d+%-%d+", "Firefox: zones")
  tap.is(#file.counters, 2, "Firefox: two tracks")
  tap.is(table.concat(file.counters[1].samples.count, " "), "5000 -2000",
    "Firefox: memory over time")
  tap.is(thread.samples.time[1], 500, "Firefox: the time of a point")
  p.course, p.timeline = {}, {}
  file = test_firefox_sums(p, "Firefox, without a timeline")
  tap.is(#file.counters, 0, "Firefox: no timeline, no track")
  test_firefox_sums(profiles.by_lot(3, 500, 100), "Firefox, by lot")
  local text, msg = firefox(profiles.by_lot(1, 0, 1), {})
  tap.ok(text == nil and msg:find("^no CPU samples"),
    "Firefox: nothing sampled: says so")
end

-- -- Metrics ----------------------------------------------------------------

local function test_metrics()
  local p = profiles.by_hand(DIR)
  p.info.script = 'a"b\\c\n.lua'
  local text = metrics(p)
  tap.like(text, "\n# EOF\n$", "metrics: the end")
  tap.like(text, "# TYPE luajit_allocated_bytes counter\n", "metrics: a type")
  tap.ok(text:find("luajit_allocated_bytes_total{script="..
    '"a\\"b\\\\c\\\\n.lua"} 12340000\n', 1, true), "metrics: a counter", text)
  tap.like(text, "\nluajit_heap_inuse_bytes{[^\n]*} 4000000\n",
    "metrics: a gauge")
  tap.unlike(text, "gc_cycles", "metrics: what is not known is left out")
  for line in text:gmatch("[^\n]+") do
    tap.ok(line:find("^# ") or line:find("^luajit_[%l_]+{.*} [%d.]+$"),
      "metrics: a line: "..line)
  end
end

-- -- Lines for editors -------------------------------------------------------

local function test_quickfix()
  local p = profiles.by_hand(DIR)
  local o = require("jit.mp.options").parse("qm0")
  local text = require("jit.mp.render").render(p, o, {})
  local most
  for line in text:gmatch("[^\n]+") do
    most = most or line
    tap.like(line, "^/[^:]*:%d+: %d+%% %a", "q: "..line)
  end
  tap.like(text, "^"..DIR.."/", "q: paths are absolute")
  tap.like(most, "CPU [%d.]+ m?s, %d+%% allocated [%d.]+ %a+, %d+%% in use ",
    "q: the views")
end

-- -- .cpuprofile ------------------------------------------------------------

local function is_call_frame(f)
  for _, key in ipairs({ "functionName", "scriptId", "url" }) do
    if type(f[key]) ~= "string" then return false end
  end
  return f.functionName ~= "" and f.lineNumber >= -1 and
    f.columnNumber >= -1 and count(f) == 5
end

-- Reads one. Checks that its nodes are a tree, and returns it with the names
-- of each node's stack: path[id].
local function read_cpuprofile(text, name)
  local c = read_json(text)
  local by_id, path, fine, seen = {}, {}, true, 0
  for _, node in ipairs(c.nodes) do
    fine = fine and not by_id[node.id] and is_call_frame(node.callFrame)
    by_id[node.id] = node
  end
  local todo = { c.nodes[1] }
  path[c.nodes[1].id] = ""
  while #todo > 0 do
    local node = table.remove(todo)
    seen = seen + 1
    for _, id in ipairs(node.children) do
      fine = fine and by_id[id] ~= nil and path[id] == nil
      path[id] = path[node.id]..(path[node.id] ~= "" and ";" or "")..
	by_id[id].callFrame.functionName
      todo[#todo+1] = by_id[id]
    end
  end
  tap.ok(fine and seen == #c.nodes, name..": nodes are a tree")
  tap.is(c.nodes[1].callFrame.functionName, "(root)", name..": its root")
  return c, path, by_id
end

local function test_cpuprofile_sums(p, name)
  local c, path, by_id = read_cpuprofile(cpuprofile(p, {}), name)
  local hits, got, sum, ticks, good = {}, {}, 0, 0, true
  for _, id in ipairs(c.samples) do hits[id] = (hits[id] or 0) + 1 end
  for id, node in pairs(by_id) do
    good = good and node.hitCount == (hits[id] or 0)
    local n = 0
    for _, t in ipairs(node.positionTicks or {}) do n = n + t.ticks end
    good = good and n <= node.hitCount
    ticks = ticks + n
    if node.hitCount > 0 then
      got[path[id]] = (got[path[id]] or 0) + node.hitCount
    end
  end
  tap.ok(good, name..": hits are the samples; ticks are among them")
  tap.is(#c.samples, round(total(p, "cpu")), name..": number of samples")
  local fine, why = near(p, "cpu", got)
  tap.ok(fine, name..": samples of the stacks", why)
  -- Weighted samples are not whole: then each row may be rounded.
  local lined, most = 0, 0
  for _, row in ipairs(p.rows) do
    local f = p.frames[p.frame[row.stack]]
    if f and f.kind == "Lua" and f.line then lined = lined + row.cpu end
    if row.cpu % 1 ~= 0 then most = most + 1 end
  end
  tap.ok(math.abs(ticks - lined) <= most, name..": ticks of lines",
    ("%s, not %s"):format(ticks, lined))
  tap.is(#c.timeDeltas, #c.samples, name..": a time for each")
  local whole = true
  for _, d in ipairs(c.timeDeltas) do
    whole = whole and d >= 0 and d == math.floor(d)
    sum = sum + d
  end
  tap.ok(whole, name..": in whole microseconds")
  tap.is(sum, round(p.info.cpu * 1e6), name..": which add up to the CPU time")
  tap.is(c.endTime - c.startTime, sum + 1, name..": as do start and end")
  tap.ok(c.startTime > 0, name..": it starts after 0")
  return c, path, by_id
end

-- Names of the tops of the samples, each once in a run of its own.
local function course_of(c, by_id)
  local t, last = {}, nil
  for _, id in ipairs(c.samples) do
    if id ~= last then t[#t+1] = by_id[id].callFrame.functionName end
    last = id
  end
  return table.concat(t, " ")
end

local function test_cpuprofile()
  local p = profiles.by_hand(DIR)
  local c, path = test_cpuprofile_sums(p, "by hand")
  local nodes = {}
  for _, node in ipairs(c.nodes) do
    local f = node.callFrame
    nodes[path[node.id].." "..f.url..":"..f.lineNumber] = node
  end
  local work = nodes["main chunk;work (app.lua:6) file:///srv/app/app.lua:5"]
  local t = {}
  for _, tick in ipairs(work and work.positionTicks or {}) do
    t[#t+1] = tick.line..":"..tick.ticks
  end
  tap.is(table.concat(t, " "), "9:70 10:43", "lines of a function, in order")
  local odd = "odd\\255\"na;me\\\\n\\001\195\164"
  for _, want in ipairs({ "(JIT compiler) :-1", "cjson.so:decode cjson.so:-1",
      "work (lib/other.lua:6) file:///srv/app/lib/other.lua:5",
      "chunk [string]:0",
      odd.." file:///srv/app/a%20%23%25%80.lua:12" }) do
    local found
    for k in pairs(nodes) do found = found or k:sub(-#want - 1) == ";"..want end
    tap.ok(found, "a node "..want)
  end
  tap.ok(nodes["main chunk file:///srv/app/app.lua:0"], "the main chunk's")
  tap.ok(nodes["(no stack) :-1"], "a node without a frame")
  local text, msg = cpuprofile(profiles.by_lot(1, 0, 1), {})
  tap.ok(text == nil and msg:find("^no CPU samples"), "no samples: says so")
end

-- The order of the samples is the timeline's, as far as that goes.
local function test_cpuprofile_timeline()
  local p = profiles.by_hand(DIR)
  local c, _, by_id = test_cpuprofile_sums(p, "without a timeline")
  tap.like(course_of(c, by_id),
    "^main chunk load work %(app.lua:6%) a_builtin ",
    "without a timeline: the order of the rows")
  p.course = { { wall = 0.1, cpu = 0.1 }, { wall = 1, cpu = 0.2 },
    { wall = 2, cpu = 1.9 } }
  p.timeline = {
    { point = 3, row = 2, cpu = 10, alloc_objects = 0, alloc_bytes = 0 },
    { point = 1, row = 6, cpu = 4, alloc_objects = 0, alloc_bytes = 0 },
    { point = 1, row = 2, cpu = 20, alloc_objects = 0, alloc_bytes = 0 },
    { point = 2, row = 11, cpu = 13, alloc_objects = 9, alloc_bytes = 9 },
    { point = 2, row = 12, cpu = 0, alloc_objects = 9, alloc_bytes = 9 },
    { point = 3, row = 6, cpu = 20, alloc_objects = 9, alloc_bytes = 9 },
  }
  c, _, by_id = test_cpuprofile_sums(p, "with a timeline")
  tap.like(course_of(c, by_id),
    "^load a_builtin work %(lib/other.lua:6%) load a_builtin main chunk ",
    "with a timeline: its order, and then the rest")
  p.timeline, p.course = {}, {}
  test_cpuprofile_sums(p, "with an empty timeline")
end

-- -- .heapprofile -----------------------------------------------------------

local function test_heapprofile_sums(p, views, field, name)
  local h = read_json(heapprofile(p, { views = views }))
  local sum, ids, got, sizes, good = 0, {}, {}, {}, true
  local todo = { { h.head, "" } }
  while #todo > 0 do
    local node, path = unpack(table.remove(todo))
    good = good and not ids[node.id] and is_call_frame(node.callFrame) and
      node.selfSize == math.floor(node.selfSize)
    ids[node.id] = true
    sum = sum + node.selfSize
    if node.selfSize > 0 then
      got[path] = (got[path] or 0) + node.selfSize
      sizes[node.id] = node.selfSize
    end
    for _, child in ipairs(node.children) do
      todo[#todo+1] = { child, path..(path ~= "" and ";" or "")..
	child.callFrame.functionName }
    end
  end
  tap.ok(good, name..": nodes have an id, a frame and a whole size")
  tap.is(h.head.callFrame.functionName, "(root)", name..": its root")
  tap.is(sum, round(total(p, field)), name..": sum of the sizes")
  local fine, why = near(p, field, got)
  tap.ok(fine, name..": sizes of the stacks", why)
  local samples, ordinals = {}, true
  for i, s in ipairs(h.samples) do
    samples[s.nodeId] = (samples[s.nodeId] or 0) + s.size
    ordinals = ordinals and s.ordinal == i
  end
  local same = count(samples) == count(sizes)
  for id, size in pairs(sizes) do same = same and samples[id] == size end
  tap.ok(same, name..": samples are what the nodes have")
  tap.ok(ordinals, name..": in order")
end

local function test_heapprofile()
  local p = profiles.by_hand(DIR)
  test_heapprofile_sums(p, { "cpu", "alloc", "inuse" }, "inuse_bytes",
    "all views")
  test_heapprofile_sums(p, { "inuse" }, "inuse_bytes", "in use")
  test_heapprofile_sums(p, { "alloc" }, "alloc_bytes", "allocated")
  test_heapprofile_sums(p, { "peak" }, "peak_bytes", "at the peak")
  for _, row in ipairs(p.rows) do row.inuse_bytes = 0 end
  local text, msg = heapprofile(p, { views = { "inuse" } })
  tap.ok(text == nil and msg:find("^nothing in use"), "nothing: says so")
end

-- -- All, on more -----------------------------------------------------------

local function test_all(p, name)
  local r = read_pprof(pprof(p, { pprof = "all" }))
  test_pprof_structure(r, name)
  test_pprof_sums(p, r, name)
  test_speedscope_sums(p, { views = { "cpu", "alloc", "inuse" } }, name)
  test_cpuprofile_sums(p, name)
  test_heapprofile_sums(p, { "inuse" }, "inuse_bytes", name)
  test_heapprofile_sums(p, { "alloc" }, "alloc_bytes", name)
end

test_json()
test_rounder()
test_both_gzips()
test_pprof_by_hand()
test_pprof_kinds()
test_pprof_waits()
test_speedscope()
test_speedscope_order()
test_speedscope_views()
test_dhat()
test_firefox()
test_metrics()
test_quickfix()
test_cpuprofile()
test_cpuprofile_timeline()
test_heapprofile()
test_all(profiles.by_lot(5, 1, 1), "one stack")
test_all(profiles.by_lot(2, 100, 5), "100 stacks")
test_all(profiles.by_lot(3, tap.slow and 50 or 500, 100), "deep stacks")
test_all(profiles.by_running(), "a program")

tap.done()
