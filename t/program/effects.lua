-- SPDX-License-Identifier: MIT
-- Every option changes a report, or is refused by a message that names both;
-- and what is refused would have changed nothing.

local tap = require("tap")
local diff = require("jit.mp.text.diff")
local effects = require("jit.mp.effects")
local file = require("jit.mp.format.file")
local formats = require("jit.mp.format.formats")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")
local snapshots = require("snapshots")

if tap.slow then tap.skip("it is long, and the same on each machine") end
local missing = require("jit.mp.format.columns").missing()
if missing then tap.skip(missing) end

-- -- Profiles ----------------------------------------------------------------

local directory = tap.tmpdir()
local source = directory.."/app.lua"
tap.write(source, ("\n"):rep(9)..("local x = 1\n"):rep(90))

local function frame(name, line, defined)
  return { kind = "Lua", name = name, source = source, line = line,
    linedefined = defined }
end

-- A program with anonymous functions, recursion at two lines, zones, states,
-- types and C memory.
local function snapshot()
  local function row(stack, zone, state, kind, n)
    local r = snapshots.row({ stack = stack, zone = zone, state = state,
      type = kind }, 40 * n, { 900 * n, 1000000 * n },
      { 100 * n, 300000 * n / (1 + zone) }, { 200 * n, 900000 / n })
    r.native_bytes, r.native_objects = 70000 * n, 7 * n
    r.native_inuse_bytes, r.native_inuse_objects = 20000 / n, n
    return r
  end
  return snapshots.with({
    info = { script = source, cpu = 2, cwd = "/" },
    cpu = { samples = 400 },
    heap = { alloc_objects = 9000, alloc_bytes = 10000000, inuse = 2000000,
      inuse_start = 0, peak = 4000000, samples = 500, inuse_samples = 300,
      period = 1 },
    native = { enabled = true, alloc_bytes = 700000, inuse_bytes = 40000,
      samples = 70, period = 1 },
    frames = { frame(nil, 11, 0), frame("fib", 21, 20), frame("fib", 22, 20),
      frame("leaf", 31, 30), frame(nil, 41, 40) },
    -- main > fib > fib > leaf, main > (anonymous) > leaf, and at the end
    -- main > fib > fib > fib > leaf
    stacks = { parent = { 0, 1, 2, 3, 1, 5, 3, 7 },
      frame = { 1, 2, 3, 4, 5, 4, 2, 4 } },
    zones = { parent = { 0, 1, 0 }, name = { "boot", "cache", "/cart" },
      key = { [3] = "route" } },
    rows = { row(1, 0, "I", "string", 1), row(2, 0, "N", "table", 2),
      row(3, 1, "N", "table", 3), row(4, 2, "C", "string", 4),
      row(5, 3, "N", "function", 2), row(6, 0, "G", "function", 2),
      row(8, 1, "J", "table hash", 1) }
  })
end
local made_up = profile.new(snapshot())
local other = snapshot()
for _, row in ipairs(other.rows) do
  for field, n in pairs(row) do
    if field:find("bytes$") or field:find("objects$") or field == "cpu" then
      row[field] = n * row.stack
    end
  end
end
local after = profile.new(other)

-- Profiles of a program that ran with a report of its own, as files have them.
local program = tap.program([[
local keep, cache = {}, {}
local function put(i) keep[#keep+1] = { i, { tostring(i) } } end
local function walk(i, n) if n > 0 then walk(i, n - 1) return end put(i) end
local function hold(i) cache[i % 100] = ("x"):rep(i % 50 + 1000) end
local calls = { function(i) cache[-i] = { i } end }
for i = 1, 20000 do
  walk(i, 3)
  hold(i)
  calls[1](i)
  if i % 2000 == 0 then collectgarbage() end
end
os.exit(0, false)
]])
local function recorded(letter)
  local name = tap.tmpname(".mp")
  local r = tap.luajit(("-jm=%sb1,%s %s"):format(letter, name, program))
  tap.is(r.status..r.err, "0", "a profile with option "..letter)
  return assert(file.read(tap.read(name)))
end
local own = {}
for letter in ("enLWM"):gmatch(".") do own[letter] = recorded(letter) end

-- -- Reports -----------------------------------------------------------------

-- The file that an output would have, or the message why there is none.
local function shown(p, text, name)
  local o = assert(options.parse(text))
  local body, msg
  if name == "diff" then
    o.target = "diff"
    body = diff(made_up, after, o, false, {})
    return body
  end
  local out = {}
  for i, part in ipairs(formats.files(name, o)) do
    body, msg = render.render(p, o, { name = part })
    out[i] = part.."\n"..(body or "no report: "..tostring(msg))
  end
  return table.concat(out, "\n")
end

local function refused(text, name)
  local o = assert(options.parse(text))
  if name == "diff" then o.target = "diff" end
  return effects.check(o, { name == "diff" and "-" or name }, false)
end

-- -- The sweep ---------------------------------------------------------------

-- Letters that are about a report or a format, with numbers that differ from
-- the default.
local words = { "f", "F", "l", "4", "-4", "-", "s", "R", "p", "v", "z", "y",
  "y:route:", "t", "c", "h", "u", "x", "Y", "U", "o", "r", "k", "N", "P", "m40",
  "a", "A", "g",
  "e", "n", "L", "W", "M", "q", "G" }

-- These may say what a report shows anyway, which is not an error.
local truths = { f = "", l = "", t = "", c = "", u = "",
  h = "^x%.[df][hi]", x = "^x%.dhat", G = "^x%.folded" }

-- Each with options that others may need. Reports need profiles of their own.
local targets = { { "-" }, { "-", "s" }, { "-", "l" }, { "-", "v" },
  { "-", "h" }, { "diff" }, { "diff", "s" }, { "-", "g" }, { "-", "a" },
  { "-", "as" }, { "-", "A" }, { "-", "q" }, { "-", "G" }, { "-", "Gh" },
  { "-", "Gs" }, { "-", "e" }, { "-", "n" }, { "-", "L" }, { "-", "W" },
  { "-", "M" }, { "x.html" }, { "x.html", "h" }, { "x.pb.gz" },
  { "x.otlp" },
  { "x.speedscope.json" }, { "x.speedscope.json", "h" }, { "x.cpuprofile" },
  { "x.heapprofile" }, { "x.firefox.json" }, { "x.dhat.json" }, { "x.prom" },
  { "x.json" },
  { "x.folded" }, { "x.folded", "h" }, { "x.mp" } }

local count = { refused = 0, effect = 0, same = 0 }

-- Whether two texts are the same below their headers, which tell of the views
-- that a report does not show.
local function same_body(p, base, text, name)
  local function body(options_text)
    local out = shown(p, options_text, name)
    return own[base] and out:match("\n\n(.*)") or out
  end
  return body(base) == body(text)
end

-- Checks one option on one target. Returns what was wrong, or nil.
local function try(name, base, word)
  local p = own[base] or own[word] or made_up
  local text = word..base
  if base:find(word, 1, true) or not options.parse(text) or
      base:find("h") and ("chuxYU"):find(word, 1, true) or
      -- Without a file these are reports of their own, which are targets.
      ("aAgenLWMqG"):find(word, 1, true) and not name:find("^x") then
    return nil
  end
  local before = refused(base, name)
  if before then return base..": "..before end
  local why, same = refused(text, name),
    shown(p, base, name) == shown(p, text, name)
  if why then
    count.refused = count.refused + 1
    local letter = word:match("%a") or "depth"
    -- Options t and G change the views that are shown without a choice.
    if word ~= "t" and word ~= "G" and why:find("'"..letter.."'", 1, true) and
	not same_body(p, base, text, name) then
      return "refused, but it has an effect: "..why
    end
    local target = base:match("[gaAqGenLWM]")
    target = name ~= "-" and name:match("[.d].*") or
      target and "option '"..target.."'" or "a table"
    if not why:find(target, 1, true) then
      return "does not name "..target..": "..why
    end
  elseif same and not (truths[word] and name:find(truths[word])) then
    return "no effect, and no message"
  elseif same then
    count.same = count.same + 1
  else
    count.effect = count.effect + 1
  end
end

for _, target in ipairs(targets) do
  local name, base = target[1], target[2] or ""
  local wrong = {}
  for _, word in ipairs(words) do
    local why = try(name, base, word)
    if why then wrong[#wrong+1] = word..": "..why end
  end
  tap.ok(#wrong == 0, ("all options with %s %s"):format(name, base),
    table.concat(wrong, "\n"))
end
tap.diag(("%d refused, %d with an effect, %d state what is shown"):format(
  count.refused, count.effect, count.same))

-- -- Runs, and every way to give options -------------------------------------

-- A run is refused if no output shows an option, and before the program begins.
local function run(text, env)
  return tap.luajit(("-jm=%s -e 'print(1)'"):format(text),
    { dir = directory, env = env })
end
for text, why in pairs({
  ["m5,x.html"] = "option 'm' has no effect with %.html: it is for tables",
  ["m5,x.html,x.mp"] = "'m' has no effect with %.html and %.mp",
  ["zf,x.mp"] = "with %.mp: a profile keeps all of it; give the option to",
  ["fN"] = "'N' has no effect with a table: it is for %.html",
  ["cP,x.pb.gz"] = "'P' has no effect with %.pb%.gz: there is one file",
  ["fj"] = "'j' has no effect with a table: lines are only recorded",
  ["jf,x.prom"] = "'j' has no effect with %.prom: it shows no lines",
  ["w5"] = "'w' has no effect with a table: name a file",
  ["cb64k"] = "'b' has no effect with a table: with CPU alone",
  ["e,x.pb.gz"] = "'e' has no effect with %.pb%.gz: it is for text, %.mp and "..
    "%.html",
  ["n,x.pb.gz"] = "'n' has no effect with %.pb%.gz",
  ["L,x.prom"] = "'L' has no effect with %.prom: it shows nothing of leaks",
  ["s,http://localhost:9"] = "'s' has no effect with a server",
  ["3g"] = "a depth has no effect with option 'g'",
  ["ch,x.folded"] = "'h' has no effect with %.folded: it has one view",
  ["f,x.html,--sort=u"] = "%-%-sort has no effect with %.html"
}) do
  local r = run(text)
  tap.ok(r.status == 1 and r.out == "" and r.err:find(why),
    "-jm="..text.." is refused", r.err)
end
for _, text in ipairs({ "m5,x.html,-", "fN,x.html,-", "P,x.pb.gz", "j,x.html",
    "w5,x.txt", "b64k,x.prom", "e,x.mp", "f,x.prom", "L1m,x.prom",
    "fl,x.html,x.mp", "te", "zflm0", "3sG", "f,x.html,-,--sort=u" }) do
  local r = run(text)
  tap.is(r.status..r.err:gsub("[^\n]*no CPU[^\n]*\n", ""):gsub(
    "[^\n]*cpu%.pb%.gz[^\n]*\n", ""), "0", "-jm="..text.." is not")
end
local r = tap.luajit("-e 'require\"jit.mp.env\" print(1)'",
  { dir = directory, env = { LUAJIT_MP = "m5,x.html" } })
tap.is(r.status..r.out, "01\n", "LUAJIT_MP: the program runs")
tap.like(r.err, "luajit%-mp: option 'm' has no effect with %.html", "and why")

local function lua(text)
  return tap.luajit("-e "..tap.quote('local mp = require("jit.mp") '..text),
    { dir = directory })
end
tap.like(lua('mp.start { min = 5, outputs = "x.html" }').err,
  "the field 'min' %(option m%) has no effect with %.html", "a table's field")
tap.like(lua('mp.start("f", "/dev/null") mp.report("m5", "x.html")').err,
  "option 'm' has no effect with %.html", "mp.report")
tap.like(lua('mp.start("f", "/dev/null") mp.report("b1")').err,
  "option 'b' is for the run of a program", "mp.report with a run's option")
tap.is(lua('mp.start("m5", "/dev/null") mp.write("x.html") '..
  'mp.window("x.mp")').err, "", "other outputs of the options of the start")

-- A limit for leaks counts for any output.
r = tap.luajit("-jm=L1k,x.html -e 't = {} for i = 1, 2e6 do t[i] = { i } end "..
  "os.exit(0)'", { dir = directory })
tap.is(r.status, 3, "the exit status of option L without a text")

-- -- Commands ----------------------------------------------------------------

tap.luajit("-jm=b1,x.mp -e 'local t = {} for i = 1, 1e4 do t[i % 9] = { i } "..
  "end'", { dir = directory })
for words, why in pairs({
  ["report x.mp g3"] = "report: a depth has no effect with option 'g'",
  ["report x.mp N"] = "report: option 'N' has no effect",
  ["report --no-source x.mp"] = "report: option 'N' has no effect",
  ["report --sort u -o x.html x.mp"] = "report: %-%-sort has no effect",
  ["convert -O e x.mp x.html"] = "option 'e' has no effect with %.html",
  ["convert -O c x.mp x.html"] = "option 'c' has no effect with %.html",
  ["convert -O l x.mp x.prom"] = "convert: option 'l' has no effect",
  ["convert -O h x.mp y.mp"] = "convert: option 'h' has no effect with %.mp",
  ["open -O m5 x.mp"] = "open: option 'm' has no effect with %.html",
  ["push -O m5 http://localhost:9 x.mp"] = "push: option 'm' has no effect",
  ["diff -O N x.mp x.mp"] = "diff: option 'N' has no effect with diff",
  ["diff -o d.html -O m5 x.mp x.mp"] = "diff: option 'm' has no effect",
  ["diff -o d.html --share x.mp x.mp"] = "diff: %-%-share has no effect",
  ["diff -o d.html --sort name x.mp x.mp"] = "diff: %-%-sort has no effect",
  ["run -O m5 -o x.html app.lua"] = "run: option 'm' has no effect",
  ["run --sort u -o x.html app.lua"] = "run: %-%-sort has no effect",
  ["attach -O m5 -o x.html 1"] = "attach: option 'm' has no effect",
  ["top -O P 1"] = "top: option 'P' has no effect",
  ["top -O T 1"] = "top: option 'T' has no effect with top"
}) do
  r = tap.sh(tap.mp.." "..words, { dir = directory })
  tap.ok(r.status == 2 and r.err:find(why), words.." is refused", r.err)
end
for _, words in ipairs({ "report x.mp fls", "convert -O h x.mp x.html",
    "diff -o d.html --threshold 5 --share x.mp x.mp", "diff -O flz x.mp x.mp",
    "report x.mp 3a", "report --sort name x.mp g" }) do
  r = tap.sh(tap.mp.." "..words, { dir = directory })
  tap.is(r.status..r.err, "0", words.." is not")
end

tap.done()
