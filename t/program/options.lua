-- SPDX-License-Identifier: MIT
-- The option string: its letters, their meaning, and the messages of errors.

local tap = require("tap")
local options = require("jit.mp.options")

local function parse(text)
  local o, msg = options.parse(text)
  if not o then tap.ok(false, "parse "..text, msg) return {} end
  return o
end

local function check(text, want)
  local o = parse(text)
  for _, key in ipairs(want) do
    tap.is(tostring(o[key]), tostring(want[key]),
      ("%q: %s"):format(text, key))
  end
end

local function views(text) return table.concat(parse(text).views, ",") end

local function levels(text) return table.concat(parse(text).levels, ",") end

-- Defaults.
check("", { "scope", "depth", "min", "split", "period", "interval", "raw",
  scope = "f", depth = 1, min = 3, interval = nil, raw = false })
tap.is(views(""), "cpu,alloc,inuse", "default views")

-- Scopes, depths and levels as jit.p has them.
check("F3", { "scope", "depth", "split", scope = "F", depth = 3 })
check("l", { "scope", "split", scope = "l" })
check("fl", { "scope", "shows_lines", scope = "f", shows_lines = true })
check("s", { "scope", "split", "depth", scope = "f", split = "stack",
  depth = 2 })
check("-s", { "split", "depth", split = "stack", depth = -2 })
check("-2s", { "split", "depth", split = "stack", depth = -2 })
check("3si4m1", { "split", "depth", "interval", "min", split = "stack",
  depth = 3, interval = 4, min = 1 })
check("v", { "scope", "states", "split", scope = "", states = "v" })
check("vf", { "scope", "states", scope = "f", states = "v" })
check("yf", { "states", "label", states = "y" })
check("fy:route", { "scope", "states", "label", scope = "f", states = "y",
  label = "route" })
check("y:my name:fr", { "scope", "raw", "label", scope = "f", raw = true,
  label = "my name" })
check("lz", { "scope", "states", "split", scope = "l", states = "z" })

-- Rows have levels in the order of the letters.
for text, want in pairs({ [""] = "name", l = "name", fl = "name,lines",
  Fl = "name,lines", lf = "name", s = "name,callers", ["-s"] = "name,callers",
  v = "state", vf = "state,name", fv = "name,state", zf = "state,name",
  lz = "name,state", zfl = "state,name,lines", fzl = "name,state,lines",
  flz = "name,lines,state", vs = "state,name,callers",
  sv = "name,callers,state", fls = "name,lines,callers",
  fsl = "name,callers,lines", ["-fls"] = "name,callers,lines",
  tfls = "state,name,lines,callers" }) do
  tap.is(levels(text), want, ("%q: levels"):format(text))
end

-- Views, objects, numbers.
tap.is(views("c"), "cpu", "c")
tap.is(views("uh"), "alloc,inuse", "uh: in the order of the table")
check("ho", { "objects", objects = true })
check("ub64k", { "period", period = 65536 })
check("b1", { "period", period = 1 })
check("b2m", { "period", period = 2097152 })
check("5b64m", { "period", "depth", period = 64 * 1048576, depth = 5 })
check("m5i1", { "min", "interval", min = 5, interval = 1 })
check("i", { "interval", interval = nil })
check("w60", { "every", every = 60 })
check("cr", { "raw", raw = true })
check("p", { "path", path = true })
check("a", { "annotate", annotate = "a" })
check("A", { "annotate", annotate = "A" })
check("G", { "folded", "min", folded = true, min = 0 })
tap.is(views("G"), "cpu", "G folds CPU by default")
tap.is(views("Gh"), "alloc", "Gh folds what was allocated")
check("H", { "help", help = true })

-- Errors name the letter and where it stands, and say what is right.
local function wrong(text, ...)
  local o, msg = options.parse(text)
  tap.ok(o == nil, ("%q is refused"):format(text))
  for _, part in ipairs({ ... }) do
    tap.ok(msg and msg:find(part, 1, true), ("%q: says %s"):format(text, part),
      msg)
  end
end

for _, word in ipairs({ "H", "help", "--help", "?" }) do
  tap.ok((options.parse(word) or {}).help, word.." asks for the list")
end
wrong("Z", "unknown option 'Z'", "position 1", "option H")
wrong("fZ", "'Z'", "position 2")
wrong("fy:", "option 'y' at position 2", "as in y:route")
wrong("y::f", "option 'y'", "as in y:route")
wrong("zy", "'y' and 'z' split")
wrong("b", "option 'b'", "position 1", "b64k")
wrong("fb0", "option 'b'", "position 2", "from 1")
wrong("b1m5", "option 'b'", "before it")
wrong("i0", "option 'i'", "from 1")
wrong("w", "option 'w'", "w60")
wrong("m", "option 'm'", "0 to 100")
wrong("m101", "option 'm'", "0 to 100")
wrong("0", "depth", "from 1 to 100")
wrong("aG", "'G'", "'a'")
wrong("aA", "'a' and 'A'")
wrong("Gch", "one of the views")
wrong("f,l", "','")
wrong("f\27[1m", "unknown option '\\027' at position 2 of \"f\\027[1m\"")
wrong("\195\169\255", "unknown option '\195\169'", "\\255")

-- The help has every option of the list.
local help = options.help()
for _, opt in ipairs(options.list) do
  tap.ok(help:find("  "..opt[1].."%f[%s]") or
    help:find("  "..opt[1].." ", 1, true), "help has "..opt[1])
end
-- The distance that adapts begins where the core lets it.
local first = (tap.read(tap.srcdir.."/src/data/period.h") or ""):match(
  "MP_PERIOD_FIRST%s+%((%d+)u << 10%)")
tap.ok(help:find("beginning with "..tostring(first).."k", 1, true),
  "the help has the first distance of samples", first)
-- A unit that is an option's letter, too.
local o = options.parse("C2g")
tap.ok(o and o.limit == 2 * 2^30, "gigabytes")
o = options.parse("C2000000gb4g")
tap.ok(o and o.limit == 2000000 and o.period == 4, "or option g")
-- And the parser takes every letter of the list.
for _, opt in ipairs(options.list) do
  local sample = opt[1]:gsub("<n>%[k|m[^%]]*%]", "7m"):gsub("%[.*", "")
    :gsub("<n>", "7"):gsub("|.*", "")
  tap.ok(options.parse(sample), "the parser takes "..sample)
end
for c = 33, 126 do
  local letter = string.char(c)
  local known = letter:match("[%d?-]") and true or false
  for _, opt in ipairs(options.list) do
    known = known or letter ~= "<" and opt[1]:sub(1, 1) == letter
  end
  local o, msg = options.parse(letter)
  local taken = o ~= nil or not msg:find("unknown option")
  if taken ~= known then tap.ok(false, "list and parser agree on "..letter) end
end

tap.done()
