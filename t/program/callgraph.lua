-- SPDX-License-Identifier: MIT
-- Cumulative sums and the call graph, against the samples by brute force:
-- hand-made profiles, random ones with recursion and cycles, real programs.
-- The expected reports are in golden/callgraph.txt; after a change that is
-- meant, MP_GOLDEN=new writes them anew.

local tap = require("tap")
local callgraph = require("jit.mp.text.callgraph")
local cumulative = require("jit.mp.model.cumulative")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local snapshots = require("snapshots")

-- -- Profiles by hand --------------------------------------------------------

local function made(stacks, frames)
  return profile.new(snapshots.of(stacks, frames))
end

-- -- Brute force -------------------------------------------------------------

local function add(t, key, v) t[key] = (t[key] or 0) + v end

local function edge_key(caller, callee)
  return (caller or "(root)").."\1"..callee
end

-- Sums by name and by edge, each stack as a list of names, outermost first.
local function brute(p, value, name)
  local b = { total = 0, self = {}, all = {}, edge = {}, edgeself = {} }
  for _, row in ipairs(p.rows) do
    local v, names, s = value(row) or 0, {}, row.stack
    if s == 0 then names[1] = name(0) end
    while s ~= 0 do
      local text = name(s)
      if text then table.insert(names, 1, text) end
      s = p.parent[s]
    end
    local top, seen, edges = names[#names], {}, {}
    for i, text in ipairs(names) do
      seen[text] = true
      edges[edge_key(names[i-1], text)] = text
    end
    b.total = b.total + v
    add(b.self, top, v)
    for text in pairs(seen) do add(b.all, text, v) end
    for key, callee in pairs(edges) do
      add(b.edge, key, v)
      if callee == top then add(b.edgeself, key, v) end
    end
  end
  return b
end

local function near(a, b)
  return math.abs(a - b) <= 1e-9 * math.max(1, math.abs(a), math.abs(b))
end

-- The differences between two tables of numbers; nil counts as 0.
local function differences(what, got, want, bad)
  for key, v in pairs(want) do
    if not near(got[key] or 0, v) then
      bad[#bad+1] = ("%s of %s: %s, not %s"):format(what, key,
	tostring(got[key]), v)
    end
  end
  for key, v in pairs(got) do
    if want[key] == nil and v ~= 0 then
      bad[#bad+1] = ("%s of %s: %s, not none"):format(what, key, v)
    end
  end
end

-- The sums by values[i] in the form of brute().
local function flattened(g, i)
  local t = { total = g.root.cumulative[i], self = {}, all = {}, edge = {},
    edgeself = {} }
  local function edges(list)
    for _, e in ipairs(list) do
      local key = edge_key(e.caller.name, e.callee.name)
      t.edge[key], t.edgeself[key] = e.cumulative[i], e.self[i]
    end
  end
  for _, f in ipairs(g.functions) do
    t.self[f.name], t.all[f.name] = f.self[i], f.cumulative[i]
    edges(f.callers)
  end
  return t
end

local function compare(g, i, want, bad)
  local got = flattened(g, i)
  if not near(got.total, want.total) then bad[#bad+1] = "the total" end
  for _, what in ipairs({ "self", "all", "edge", "edgeself" }) do
    differences(what, got[what], want[what], bad)
  end
end

-- Names that reach each other by edges that count: { [name] = a name that
-- stands for all of its cycle }, by trying all ways.
local function rings(b)
  local reach, names = {}, {}
  for name in pairs(b.all) do
    names[#names+1] = name
    reach[name] = {}
  end
  table.sort(names)
  for key, v in pairs(b.edge) do
    local caller, callee = key:match("^(.*)\1(.*)$")
    if v > 0 and reach[caller] then reach[caller][callee] = true end
  end
  for _, k in ipairs(names) do
    for _, i in ipairs(names) do
      if reach[i][k] then
	for to in pairs(reach[k]) do reach[i][to] = true end
      end
    end
  end
  local ring = {}
  for _, a in ipairs(names) do
    for _, c in ipairs(names) do
      if a ~= c and reach[a][c] and reach[c][a] then
	ring[a] = ring[a] or ring[c] or a
      end
    end
  end
  return ring
end

local function rings_found(g, i)
  local ring = {}
  for _, members in ipairs(cumulative.cycles(g, i)) do
    local names = {}
    for k, f in ipairs(members) do names[k] = f.name end
    table.sort(names)
    for _, name in ipairs(names) do ring[name] = names[1] end
  end
  return ring
end

local function edge_sum(list, other, f, field, i)
  local sum = 0
  for _, e in ipairs(list) do
    if e[other] ~= f then sum = sum + e[field][i] end
  end
  return sum
end

-- The equations of cumulative.lua's header; in a cycle they are inequalities.
local function equations(g, i, ring, bad)
  for _, f in ipairs(g.functions) do
    local all, self = f.cumulative[i], f.self[i]
    local function holds(what, sum, v)
      if not (near(sum, v) or (ring[f.name] and sum > v)) then
	bad[#bad+1] = ("%s of %s: %s, not %s"):format(what, f.name, sum, v)
      end
    end
    holds("callers", edge_sum(f.callers, "caller", f, "cumulative", i), all)
    holds("callers' self", edge_sum(f.callers, "caller", f, "self", i), self)
    holds("callees", self + edge_sum(f.callees, "callee", f, "cumulative", i),
      all)
    if self > all and not near(self, all) then
      bad[#bad+1] = "self of "..f.name
    end
  end
end

-- Checks everything that must be true of a profile's sums; returns the errors.
local function faults(p, values, name)
  local bad, nrings = {}, 0
  local g = cumulative.sums(p, values, name)
  for i, value in ipairs(values) do
    local b = brute(p, value, name)
    local ring = rings(b)
    compare(g, i, b, bad)
    local found = rings_found(g, i)
    for text in pairs(b.all) do
      if found[text] ~= ring[text] then bad[#bad+1] = "cycle of "..text end
      if ring[text] == text then nrings = nrings + 1 end
    end
    equations(g, i, ring, bad)
    -- The same with each cycle as one.
    local function joined(stack)
      local text = name(stack)
      return ring[text] and "cycle of "..ring[text] or text
    end
    local whole = cumulative.sums(p, values, joined)
    compare(whole, i, brute(p, value, joined), bad)
    equations(whole, i, {}, bad)
  end
  return bad, nrings
end

local function sound(p, values, name, text)
  local bad, nrings = faults(p, values, name)
  tap.ok(#bad == 0, text, table.concat(bad, "\n"))
  return nrings
end

-- -- Sums --------------------------------------------------------------------

local function cpu(row) return row.cpu end
local function bytes(row) return row.alloc_bytes end
local function objects(row) return row.alloc_objects end
local all_values = { cpu, bytes, objects }

-- { name = { self, cumulative } } and { ["a b"] = { cumulative, self } }.
local function known(stacks, functions, edges, text)
  local p = made(stacks)
  local name = cumulative.names(p, "f")
  local g = cumulative.sums(p, { cpu }, name)
  for key, want in pairs(functions) do
    local f = g.by[key]
    tap.ok(f and f.self[1] == want[1] and f.cumulative[1] == want[2],
      text..": "..key, f and f.self[1].." "..f.cumulative[1])
  end
  local n = 0
  for _, f in ipairs(g.functions) do
    for _, e in ipairs(f.callers) do
      local key = (e.caller.name or "").." "..f.name
      local want = edges[key]
      n = n + 1
      tap.ok(want and e.cumulative[1] == want[1] and e.self[1] == want[2],
	text..": "..key, e.cumulative[1].." "..e.self[1])
    end
  end
  for _ in pairs(edges) do n = n - 1 end
  tap.is(n, 0, text..": no other edges")
  sound(p, { cpu }, name, text..": by brute force")
end

known({ { "main > a > helper", cpu = 900 }, { "main > b > helper", cpu = 100 },
    { "main > a", cpu = 7 }, { "main > a", cpu = 3, state = "N" } },
  { main = { 0, 1010 }, a = { 10, 910 }, b = { 0, 100 },
    helper = { 1000, 1000 } },
  { [" main"] = { 1010, 0 }, ["main a"] = { 910, 10 }, ["main b"] = { 100, 0 },
    ["a helper"] = { 900, 900 }, ["b helper"] = { 100, 100 } }, "two callers")
known({ { "f", cpu = 1 }, { "f > f", cpu = 10 }, { "f > f > f", cpu = 100 },
    { "f > f > g", cpu = 1000 } },
  { f = { 111, 1111 }, g = { 1000, 1000 } },
  { [" f"] = { 1111, 111 }, ["f f"] = { 1110, 110 }, ["f g"] = { 1000, 1000 } },
  "recursion")
known({ { "a > b > a > b", cpu = 1 }, { "a > b", cpu = 10 },
    { "a", cpu = 100 }, { "b > a", cpu = 1000 } },
  { a = { 1100, 1111 }, b = { 11, 1011 } },
  { [" a"] = { 111, 100 }, [" b"] = { 1000, 0 }, ["a b"] = { 11, 11 },
    ["b a"] = { 1001, 1000 } }, "a cycle")

-- A stack counts once for each of several callers, however they are mixed.
local function random_profile(rnd, functions, depth, layered)
  local stacks = {}
  for k = 1, rnd(40) do
    local t = {}
    for d = 1, rnd(depth) do
      t[d] = "f"..(layered and 10 * d or 0) + rnd(functions)
    end
    stacks[k] = { table.concat(t, " > "), state = rnd(2) == 1 and "I" or "N",
      cpu = rnd(0, 5), alloc_bytes = rnd() * 1e6,
      alloc_objects = rnd(3) == 1 and rnd(9) or 0 }
  end
  return made(stacks)
end

math.randomseed(42)
local nrings, bad = 0, {}
for k = 1, tap.slow and 20 or 200 do
  local p = random_profile(math.random, 1 + k % 7, 1 + k % 13, k % 3 == 0)
  local b, n = faults(p, all_values, cumulative.names(p, "f"))
  nrings = nrings + n
  for _, text in ipairs(b) do
    bad[#bad+1] = ("profile %d: %s"):format(k, text)
  end
end
tap.ok(#bad == 0, "random profiles", table.concat(bad, "\n"))
tap.ok(nrings > 10, "cycles were among them", nrings)

-- A profile may lack stacks, and numbers of some rows.
local p = made({ { "", cpu = 3 }, { "main", cpu = 4 } })
p.rows[2].alloc_bytes = nil
local g = cumulative.sums(p, { cpu, bytes }, cumulative.names(p, "f"))
tap.is(g.by["(no stack)"].cumulative[1], 3, "a row without a stack")
tap.is(g.root.cumulative[1], 7, "is in the total")
tap.is(g.root.cumulative[2], 0, "a number that a row does not have")

-- In lines, what a line calls counts for it; but not what the VM does.
local others = {
  sort = { kind = "builtin", name = "sort" },
  c = { kind = "C", source = "x.so", name = "c" },
  vm = { kind = "pseudo", name = "(JIT compiler)" }
}
p = made({ { "c > main > sort > less", cpu = 1 }, { "c > main > c", cpu = 10 },
  { "c > main > c > sort", cpu = 100 }, { "c > main > vm", cpu = 1000 },
  { "c > sort", cpu = 10000 }, { "vm > c", cpu = 100000 } }, others)
local lines = cumulative.names(p, "l")
g = cumulative.sums(p, { cpu }, lines)
tap.is(g.by["app.lua:21"].self[1], 110, "a line has what it calls")
tap.is(g.by["app.lua:21"].cumulative[1], 1111, "and what that calls")
tap.is(#g.by["app.lua:21"].callees, 2, "its callees are lines")
tap.is(g.by["app.lua:41"].callers[1].caller.name, "app.lua:21",
  "called through a builtin")
tap.is(g.by["x.so:c"].cumulative[1], 111111, "what no line called is by itself")
sound(p, { cpu }, lines, "lines by brute force")
local list = p:sums({ "cpu" }, false, function(row)
  return p:namer("l", nil, 1)(row)[1]
end)
bad = {}
for _, e in ipairs(list) do
  if g.by[e.name].self[1] ~= e[1] then bad[#bad+1] = e.name end
end
tap.is(table.concat(bad, " "), "", "self of lines is what a table shows")

-- Deeper than Lua's stack.
local frames, parent, frame = {}, {}, {}
for i = 1, 30000 do
  frames[i] = { kind = "Lua", name = "f"..i, source = "x", linedefined = i }
  parent[i], frame[i] = i - 1, i
end
parent[30001], frame[30001] = 30000, 1
p = profile.new({ info = {}, frames = frames,
  stacks = { parent = parent, frame = frame }, zones = {},
  rows = { { stack = 30001, cpu = 1 } } })
g = cumulative.sums(p, { cpu }, cumulative.names(p, "f"))
tap.is(#cumulative.cycles(g, 1)[1], 30000, "a cycle of 30000 functions")

-- -- Reports -----------------------------------------------------------------

local function report(profile_, text, width)
  return callgraph(profile_, assert(options.parse("g"..text)),
    { width = width })
end

-- A line of a raw graph: where its columns end is in the heading.
local function parse_line(line, e1, e2)
  local t = { index = tonumber(line:match("^%[(%d+)%]")),
    all = tonumber(line:sub(8, e1)),
    self = tonumber(line:sub(e1 + 1, e2)) or 0 }
  local name = line:sub(e2 + 3)
  t.indented = name:find("^    ") ~= nil
  name = name:gsub("^ +", "")
  name, t.to = name:match("^(.-) ?%[?(%d*)%]?$")
  t.cycle = name:match("<cycle %d+>")
  t.name = name:gsub(" <cycle %d+>$", ""):gsub(" %(recursive%)", "")
  t.recursive = name:find("(recursive)", 1, true) ~= nil
  t.whole = t.name:find("^%d+ functions$") ~= nil
  if t.whole then t.name = t.cycle end
  return t
end

-- Entries of a raw graph: { own line, above = lines, below = lines }.
local function parse(text, title)
  local entries, entry, e1, e2 = {}, { above = {}, below = {} }, nil, nil
  text = text:match("call graph: "..title.."\n\n(.-)\n?\n?$")
  for line in ((text:match("^(.-)\n\n") or text).."\n"):gmatch("(.-)\n") do
    if not e1 then
      e1 = select(2, line:find("cum.", 1, true))
      e2 = select(2, line:find("self"))
    elseif line:find("^%-+$") then
      if entry.own then entries[#entries+1] = entry end
      entry = { above = {}, below = {} }
    else
      local t = parse_line(line, e1, e2)
      if t.index then entry.own = t
      else table.insert(entry.own and entry.below or entry.above, t) end
    end
  end
  return entries
end

-- The edges of a name in the sums of brute(), as lines of an entry have them.
local function wanted(b, name, upwards)
  local t = {}
  for key, v in pairs(b.edge) do
    local caller, callee = key:match("^(.*)\1(.*)$")
    local this, other = caller, callee
    if upwards then this, other = callee, caller end
    if this == name and other ~= name and v > 0 then
      t[other] = v.." "..(b.edgeself[key] or 0)
    end
  end
  return t
end

local function same_edges(what, lines, want, bad)
  local last
  for _, t in ipairs(lines) do
    if want[t.name] ~= t.all.." "..t.self then
      bad[#bad+1] = ("%s %s: %d %d"):format(what, t.name, t.all, t.self)
    end
    want[t.name] = nil
    if not t.indented then bad[#bad+1] = what.." not indented" end
    if last and t.all > last then bad[#bad+1] = what.." not sorted" end
    last = t.all
  end
  for name, v in pairs(want) do
    bad[#bad+1] = ("%s %s missing: %s"):format(what, name, v)
  end
end

-- Takes what does not add up out of an entry's lines below: members of a
-- cycle (n of them), or the function itself.
local function take(entry, n)
  local t = {}
  if entry.own.whole then
    for i = 1, n do t[i] = table.remove(entry.below, 1) end
  elseif entry.below[1] and entry.below[1].recursive then
    t[1] = table.remove(entry.below, 1)
  end
  return t
end

-- An entry against the samples; joined: the sums with cycles as one.
local function check_entry(entry, b, joined, ring, size, bad)
  local own = entry.own
  local sums = own.whole and joined or b
  local name = own.name
  if sums.all[name] ~= own.all or (sums.self[name] or 0) ~= own.self then
    bad[#bad+1] = ("%s: %d %d"):format(name, own.all, own.self)
  end
  if not own.whole and (ring[name] ~= nil) ~= (own.cycle ~= nil) then
    bad[#bad+1] = name.." and its cycle"
  end
  local special = take(entry, size[own.cycle])
  for _, t in ipairs(special) do
    local v = own.whole and b.all[t.name] or b.edge[edge_key(name, name)]
    local self = b.edgeself[edge_key(name, name)]
    if own.whole then self = b.self[t.name] end
    if t.all ~= v or t.self ~= (self or 0) or
	(own.whole and t.cycle ~= own.cycle) then
      bad[#bad+1] = ("%s in %s: %d %d"):format(t.name, name, t.all, t.self)
    end
  end
  if not own.whole and (b.edge[edge_key(name, name)] or 0) > 0 and
      #special == 0 then
    bad[#bad+1] = name.." calls itself"
  end
  same_edges("caller of "..name, entry.above, wanted(sums, name, true), bad)
  same_edges("callee of "..name, entry.below, wanted(sums, name), bad)
end

-- Checks the order and the cycles of entries. Returns each entry's index by its
-- name, each ring's mark, and the number of members by mark.
local function check_order(entries, ring, bad)
  local index, mark, size = {}, {}, {}
  for i, entry in ipairs(entries) do
    local own = entry.own
    if own.index ~= i then bad[#bad+1] = "index of "..own.name end
    if i > 1 and own.all > entries[i-1].own.all then
      bad[#bad+1] = own.name.." not sorted"
    end
    index[own.name] = tostring(i)
    local r = ring[own.name]
    if r then
      if mark[r] and mark[r] ~= own.cycle then
	bad[#bad+1] = own.name.." is in "..own.cycle
      end
      mark[r] = own.cycle
      size[own.cycle] = (size[own.cycle] or 0) + 1
    end
  end
  return index, mark, size
end

-- Each line has the index of the entry of its function.
local function check_indices(entry, index, bad)
  for _, lines in ipairs({ entry.above, entry.below, { entry.own } }) do
    for _, t in ipairs(lines) do
      if t.to ~= (index[t.name] or "") then
	bad[#bad+1] = "index behind "..t.name
      end
    end
  end
end

-- A raw graph of everything against the samples.
local function check_graph(p, view, value, title, bad)
  local name, count = cumulative.names(p, "f"), 0
  local b = brute(p, value, name)
  local ring = rings(b)
  local entries = parse(report(p, view.."rm0"), title)
  local index, mark, size = check_order(entries, ring, bad)
  local joined = brute(p, value, function(stack)
    local text = name(stack)
    return ring[text] and mark[ring[text]] or text
  end)
  for text, v in pairs(b.all) do
    if v > 0 then
      count = count + 1
      if not index[text] then bad[#bad+1] = text.." has no entry" end
    end
  end
  for _ in pairs(size) do count = count + 1 end
  if count ~= #entries then bad[#bad+1] = "number of entries" end
  for _, entry in ipairs(entries) do
    check_indices(entry, index, bad)
    check_entry(entry, b, joined, ring, size, bad)
  end
  return #entries
end

local entries = 0
bad = {}
for k = 1, tap.slow and 10 or 100 do
  local q = random_profile(math.random, 1 + k % 7, 1 + k % 13, k % 3 == 0)
  for _, view in ipairs({ { "c", cpu, "CPU" },
    { "ho", objects, "allocated" } }) do
    local b, msgs = brute(q, view[2], cumulative.names(q, "f")), {}
    if b.total > 0 then
      entries = entries + check_graph(q, view[1], view[2], view[3], msgs)
    end
    for _, text in ipairs(msgs) do
      bad[#bad+1] = ("profile %d, %s: %s"):format(k, view[3], text)
    end
  end
end
tap.ok(#bad == 0, "graphs of random profiles", table.concat(bad, "\n"))
tap.ok(entries > 100, "had entries", entries)

-- -- Names -------------------------------------------------------------------

local lua = snapshots.lua

-- Functions with one name, one with two names, and those without.
local same = {
  main = lua(nil, "lib/app.lua", 90, 0),
  anon = lua(nil, "lib/app.lua", 61, 60),
  new1 = lua("new", "lib/a/init.lua", 11, 10),
  new2 = lua("new", "lib/a/init.lua", 21, 20),
  add1 = lua("add", "lib/a/init.lua", 31, 30),
  add2 = lua("add", "lib/b/init.lua", 31, 30),
  get1 = lua("get", "lib/app.lua", 41, 40),
  get2 = lua("f", "lib/app.lua", 42, 40),
  call1 = lua(nil, "lib/app.lua", 51, 50),
  call2 = lua("call", "lib/app.lua", 52, 50),
  tie1 = lua("y", "lib/app.lua", 71, 70),
  tie2 = lua("x", "lib/app.lua", 72, 70),
  tie3 = lua("z", "lib/app.lua", 73, 70),
  str1 = lua("one", "[string]", 1, 0),
  str2 = lua("two", "[string]", 1, 0),
  old1 = lua("old", "lib/app.lua", 5),
  old2 = lua("old", "lib/app.lua", 6),
}
p = made({ { "main > new1 > new2", cpu = 1 }, { "main > add1 > add2", cpu = 1 },
  { "main > get1", cpu = 1 }, { "anon > get1", cpu = 1 },
  { "main > get2", cpu = 2 }, { "main > call1", cpu = 1 },
  { "main > call2", cpu = 1 }, { "main > anon > call1", cpu = 1 },
  { "main > tie1", cpu = 1 }, { "main > tie2", cpu = 1 },
  { "main > tie3", cpu = 1 },
  { "main > str1 > str2", cpu = 1 }, { "main > old1 > old2", cpu = 1 } }, same)

local function own_names(text)
  local t = {}
  for line in text:gmatch("\n%[%d+%][^\n]*") do
    t[#t+1] = line:match("^\n%[%d+%].-  (%a.*) %[%d+%]$")
  end
  table.sort(t)
  return table.concat(t, "\n")
end

tap.is(own_names(report(p, "cm0r")):gsub("%d+  +", ""), table.concat({
  "add (a/init.lua:30)", "add (b/init.lua:30)", "app.lua:60", "call",
  "get", "main chunk ([string])", "main chunk ([string]) #2",
  "main chunk (app.lua)", "new (a/init.lua:10)", "new (a/init.lua:20)",
  "old", "x" }, "\n"), "names of functions")
tap.is(own_names(report(p, "Fcm0r")):match("[^\n]*add[^\n]*"),
  "a/init.lua:add", "names with their modules")
tap.is(own_names(report(p, "cpm0r")):match("[^\n]*call[^\n]*\n(%S+)"), "get",
  "names with full paths")
tap.like(report(p, "cm0"), "old %(recursive%) %[",
  "functions whose place is not known are told by name")
tap.unlike(report(p, "cm0"), "new %(a/init.lua:%d+%) %(recursive",
  "others not")
tap.like(report(p, "lcm0"), "  a/init.lua:31 %[",
  "names of lines")

-- -- Golden reports ----------------------------------------------------------

-- main calls two functions that call one helper, a parser that calls itself,
-- and an evaluator of three functions that call each other.
local function example()
  local c = { kind = "C", source = "cjson.so", name = "decode" }
  local format = { kind = "builtin", name = "format" }
  local jit = { kind = "pseudo", name = "(JIT compiler)" }
  local odd = lua("a;b\n", "@odd", 7, 7)
  return made({
    { "main", cpu = 1, alloc_objects = 10, alloc_bytes = 4000,
      inuse_objects = 10, inuse_bytes = 4000 },
    { "main > left", cpu = 2 },
    { "main > left > helper", cpu = 36, alloc_objects = 900,
      alloc_bytes = 90000, inuse_objects = 90, inuse_bytes = 9000 },
    { "main > right > helper", cpu = 4, alloc_objects = 100,
      alloc_bytes = 10000 },
    { "main > right > helper > format", cpu = 1, state = "C" },
    { "main > parse", cpu = 5, alloc_objects = 20, alloc_bytes = 3000 },
    { "main > parse > parse", cpu = 9, alloc_objects = 60, alloc_bytes = 9000,
      inuse_objects = 60, inuse_bytes = 9000 },
    { "main > parse > parse > parse > decode", cpu = 6, alloc_objects = 400,
      alloc_bytes = 64000, inuse_objects = 400, inuse_bytes = 64000 },
    { "main > eval", cpu = 8 },
    { "main > eval > apply", cpu = 7, alloc_objects = 30, alloc_bytes = 4800 },
    { "main > eval > apply > args > eval", cpu = 12 },
    { "main > eval > apply > args > eval > apply > helper", cpu = 3,
      alloc_objects = 5, alloc_bytes = 500 },
    { "main > apply", cpu = 5 },
    { "main > odd", cpu = 1, alloc_objects = 1, alloc_bytes = 24 },
    { "main > vm", cpu = 0, alloc_objects = 2, alloc_bytes = 14000 },
  }, { main = lua(nil, "lib/app.lua", 99, 0), decode = c, format = format,
    vm = jit, odd = odd })
end

local got = {}
local function golden_case(name, text)
  got[#got+1] = { name = name, text = text }
end
for _, text in ipairs({ "", "cr", "hF", "om30", "lc" }) do
  golden_case(text, report(example(), text))
end
golden_case("k", report(example(), "hkm30"))
golden_case("width 72", report(example(), "hp", 72))
golden_case("nothing", report(made({ { "a", cpu = 1 }, { "b", cpu = 1 } }),
  "m60"))

-- A view that not all profiles have.
p = example()
for _, row in ipairs(p.rows) do
  row.peak_bytes, row.peak_objects = row.inuse_bytes * 2, row.inuse_objects * 2
end
golden_case("x", report(p, "x"))

local file = tap.srcdir.."/t/golden/callgraph.txt"
if os.getenv("MP_GOLDEN") == "new" then
  local t = {}
  for i, case in ipairs(got) do t[i] = "#### "..case.name.."\n"..case.text end
  tap.write(file, table.concat(t))
end
local golden = (tap.read(file) or "").."#### "
for _, case in ipairs(got) do
  local _, from = golden:find("#### "..case.name.."\n", 1, true)
  local to = from and golden:find("#### ", from, true)
  tap.is(case.text, to and golden:sub(from + 1, to - 1), "-jm=g"..case.name)
end

-- On a terminal: no line is wider, amounts give way to names, and what is cut
-- keeps its line and index.
p = made({ { "long1 > long2", cpu = 1 } }, {
  long1 = lua(nil, ("directory/"):rep(9).."app.lua", 1, 12345),
  long2 = lua("a_function_with_a_name_that_is_quite_long", "app.lua", 1, 1) })
local narrow = report(p, "cp", 68)
tap.like(narrow, "\n +100%% [^\n]* d%S*%.%.%.%S*:12345 %[1%]\n", "a cut place")
tap.like(narrow, "\n%[2%] +100%% +a_function_with_a_name_that_is_quite_long "..
  "%[2%]\n", "a name in place of amounts")
tap.like(report(p, "cp", 50),
  "\n%[2%] [^\n]*  a_f%S*%.%.%.%S*long %[2%]\n", "a cut name")
local widest = 0
for line in narrow:gmatch("[^\n]+") do widest = math.max(widest, #line) end
tap.is(widest, 68, "as wide as the terminal")

-- -- Real programs -----------------------------------------------------------

-- Prints a snapshot of the profile as a Lua expression.
local dump = [[
local function expression(v)
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) ~= "table" then
    return type(v) == "number" and ("%.17g"):format(v) or tostring(v)
  end
  local t = {}
  for k, x in pairs(v) do
    t[#t+1] = "[" .. expression(k) .. "]=" .. expression(x)
  end
  return "{" .. table.concat(t, ",") .. "}"
end
print(expression(require("jit.mp.core").snapshot()))
]]

-- Profiles a program with every allocation counted.
local function profiled(flags, text)
  local r = tap.luajit(flags.." "..tap.program(([[
require("jit.mp").start("flb1", "/dev/null")
assert(loadstring(%q, "@lib/program.lua"))()
]]):format(text)..dump))
  local snapshot = loadstring("return "..r.out)
  local ok = r.status == 0 and snapshot
  if not tap.ok(ok, "a profile of a program", r.err) then tap.done() end
  return profile.new(snapshot())
end

-- The VM's own allocations (a stack that grows) may be made in helper.
local SLACK = 12

local calls = [[
local function helper(i)
  return { i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i,
    i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i }
end
local function a(i)
  local t = helper(i)
  return t
end
local function b(i)
  local t = helper(i)
  return t
end
local keep = {}
for i = 1, 900 do keep[i] = a(i) end
for i = 901, 1000 do keep[i] = b(i) end
]]

local function two_callers(flags, text)
  local q = profiled(flags, calls)
  if q.info.capture ~= "exact" then
    tap.skip("capture is not exact on this VM")
  end
  -- By objects: in bytes, what the compiler allocates meanwhile would show.
  local entry = report(q, "ho"):match(
    "%-\n([^-]-\n%[%d+%][^-]- helper %[.-)%-%-")
  tap.like(entry, "^ +90%% [^\n]* a %[%d+%]\n +10%% [^\n]* b %[%d+%]\n%[",
    text..": 90% and 10% in the graph")
  local sums = cumulative.sums(q, { objects }, cumulative.names(q, "f"))
  local edge = { a = 0, b = 0 }
  for _, e in ipairs(sums.by.helper.callers) do
    edge[e.caller.name] = e.self[1]
  end
  tap.ok(math.abs(edge.a - 1800) <= SLACK and math.abs(edge.b - 200) <= SLACK,
    text..": two objects for every call", edge.a.." "..edge.b)
  sound(q, all_values, cumulative.names(q, "f"), text..": by brute force")
end

two_callers("-joff", "interpreted")
two_callers("", "compiled")

-- Recursion, cycles, closures, coroutines and callbacks in earnest.
p = profiled("", [[
local keep = {}
local function leaf(i) keep[i % 50] = { i } end
local even, odd
function even(n) leaf(n) if n > 0 then odd(n - 1) end return n end
function odd(n) leaf(n) if n > 0 then even(n - 1) end return n end
local function tree(n)
  if n > 0 then return { tree(n - 1), tree(n - 1) } end
  return { leaf(n) }
end
local function less(x, y) leaf(x) return x < y end
for i = 1, 40 do
  even(i % 9) odd(i % 7) tree(i % 5)
  local t = {}
  for k = 1, 20 do t[k] = (k * 7) % 19 end
  table.sort(t, less)
  local co = coroutine.wrap(function(n) tree(n) coroutine.yield({}) even(n) end)
  co(3) co()
  pcall(odd, 5)
end
]])
for _, scope in ipairs({ "f", "F", "l" }) do
  local name = cumulative.names(p, scope)
  local n = sound(p, all_values, name, "a program by brute force in "..scope)
  tap.ok(n > 0, "it has cycles")
end
tap.like(report(p, "h"), "\n%[%d+%][^\n]*  2 functions <cycle 1> %[",
  "a cycle in its graph")
tap.like(report(p, "h"),
  "\n%[%d+%][^\n]*  tree %[%d+%]\n[^\n]* tree %(recursive%) %[",
  "recursion in its graph")

tap.done()
