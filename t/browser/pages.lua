-- SPDX-License-Identifier: MIT
-- Made-up profiles, and their pages, for the browser test:
--   luajit pages.lua DIRECTORY

local cumulative = require("jit.mp.model.cumulative")
local html = require("jit.mp.format.html")
local numbers = require("jit.mp.model.numbers")
local options = require("jit.mp.options")

package.path = (arg[0]:match("^.*/") or "./").."?.lua;"..package.path
local made = require("profiles")

local dir = assert(arg[1], "no directory for the pages")
made.directory = dir

local function write(name, text)
  local f = assert(io.open(dir.."/"..name, "wb"))
  f:write(text)
  f:close()
end

-- -- The pages --------------------------------------------------------------

local function page(name, p, text, extra)
  local o = assert(options.parse(text))
  write(name..".html", assert(html(p, o, extra)))
end

-- The sums of the text report: by name, each view's own part.
local function expected(name, p, scope)
  local namer, out = p:namer(scope, false, 1), {}
  local views = { "cpu", "alloc", "inuse", "peak" }
  local list, totals = p:sums(views, false, function(row)
    return namer(row)[1]
  end)
  for i, e in ipairs(list) do
    local t = { e.name, numbers.seconds(e[1] * p.info.cpu / totals[1]) }
    for k = 2, 4 do t[k+1] = numbers.bytes(e[k]) end
    for k = 1, 4 do if e[k] == 0 then t[k+1] = "" end end
    out[i] = table.concat(t, "\t").."\n"
  end
  write(name, table.concat(out))
end

-- By name: own and cumulative sums of each view, as the call graph has them.
local function sums(name, p, scope)
  local views, values, out = { "cpu", "alloc", "inuse", "peak" }, {}, {}
  for i, view in ipairs(views) do values[i] = p.value_of(view, false) end
  local _, totals = p:sums({ "cpu" }, false, function() return "" end)
  local function line(f)
    local t = { f.name }
    for _, sum in ipairs({ f.self, f.cumulative }) do
      for i, v in ipairs(sum) do
	t[#t+1] = ("%.17g"):format(i == 1 and v * p.info.cpu / totals[1] or v)
      end
    end
    out[#out+1] = table.concat(t, "\t").."\n"
  end
  local named = cumulative.names(p, scope, false)
  for _, f in ipairs(cumulative.sums(p, values, named).functions) do line(f) end
  write(name, table.concat(out))
end

write("server.lua", made.source)
local normal = made.run(1, 240, 4.2)
page("normal", normal, "f")
expected("normal.func", normal, "f")
expected("normal.lines", normal, "l")
sums("normal.sums.f", normal, "f")
sums("normal.sums.l", normal, "l")
page("diff", made.run(0.35, 240, 3.1), "f",
  { before = made.run(1, 240, 4.2) })
local hostile = made.walked(made.hostile())
hostile.walk.lines[1].label = "</script><img src=x onerror=alert(1)>"
hostile.walk.lines[2].what = "<!--<script>"
page("hostile", hostile, "f")
page("empty", made.nothing(), "f")
page("plain", made.plain(), "lk")
page("deep", made.deep(5000), "f")
write("large.lua", made.large_source())
page("large", made.large(), "f")
page("many", made.many(tonumber(arg[2]) or 200000), "f")
page("walked", made.walked(made.run(1, 240, 4.2)), "fW")
local earlier = made.walked(made.run(0.35, 240, 3.1))
for i, bytes in ipairs({ 500000, 400000, 360000, 290000, 91000 }) do
  earlier.walk.lines[i].bytes = bytes
end
earlier.walk.lines[6] = nil
local later = made.walked(made.run(1, 240, 4.2))
for _, row in ipairs(later.rows) do  -- Tables that line 6 resizes.
  local f = later.frames[later.frame[row.stack]]
  if f and f.line == 6 and row.type then row.type = "table hash" end
end
later.walk.kinds = {
  { kind = "numbered", name = "</script>#", count = 3000, bytes = 290000,
    size = 0, slots = 0, used = 0 },
  { kind = "hash", count = 903, bytes = 400000, size = 16, slots = 14448,
    used = 3612 }
}
page("grown", later, "f", { before = earlier })
local functions = made.plain()
functions.info.no_lines = true
page("functions", functions, "f")
local function exact(slow, wall)
  local p = made.run(slow, 240, wall)
  for i, row in ipairs(p.rows) do
    row.temp_objects = i % 2 * row.alloc_objects
    row.temp_bytes = i % 2 * row.alloc_bytes
  end
  return p
end
page("exact", exact(1, 4.2), "f")
page("exact-diff", exact(0.35, 3.1), "f", { before = exact(1, 4.2) })
local waits = made.run(1, 240, 4.2)
for i, row in ipairs(waits.rows) do
  row.waited, row.waited_variance = i * 0.01, i * 0.001
  row.blocked, row.blocked_variance = i % 2 * 0.5, i % 2 * 0.01
end
waits.waits = { enabled = true }
page("waits", waits, "f")
page("leaking", made.leaking(made.walked(made.run(1, 240, 4.2))), "fL")
page("compiled", made.compiled(made.run(1, 240, 4.2)), "fJ+")
local short = made.run(1, 240, 4.2)
table.insert(short.course, 1, { wall = 0.00001, cpu = 0.00006, allocated = 9,
  inuse = 1000, cycles = 0, phase = "pause", rss = 5000000 })
for _, change in ipairs(short.timeline) do change.point = change.point + 1 end
page("short", short, "f")

-- Names of 240 bytes, and amounts from bytes to gigabytes.
local function long(p, factor)
  for _, f in ipairs(p.frames) do
    if f.name then f.name = (f.name.."_"):rep(240):sub(1, 240) end
  end
  for i, row in ipairs(p.rows) do
    for _, view in ipairs({ "alloc", "inuse", "peak" }) do
      local field = view.."_bytes"
      row[field] = row[field] * (i % 2 == 0 and factor or 1)
    end
  end
  return p
end
page("long", long(made.run(1, 240, 4.2), 4321), "f")
page("long-diff", long(made.run(0.35, 240, 3.1), 4321), "f",
  { before = long(made.run(1, 240, 4.2), 1 / 765) })
