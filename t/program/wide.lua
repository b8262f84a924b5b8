-- SPDX-License-Identifier: MIT
-- Names of wide characters, of marks that combine, and of others that take more
-- than a byte: tables know the columns that they take on a terminal.

local tap = require("tap")
local cells = require("jit.mp.text.cells")
local widths = require("jit.mp.text.width")

for text, columns in pairs({
    ["name"] = 4, [""] = 0, ["länge"] = 5, ["имя"] = 3, ["名前"] = 4,
    ["한글"] = 4, ["ｆｕ"] = 4, ["e\204\129"] = 1, ["😀"] = 2, ["ก\224\184\180"] = 1,
    ["a\226\128\139b"] = 2, ["≈"] = 1, ["…"] = 1 }) do
  tap.is(widths.width(text), columns, text..": columns")
end
tap.is(widths.first("名前の表", 5), "名前", "no half of a character: first")
tap.is(widths.last("名前の表", 5), "の表", "no half of a character: last")
tap.is(widths.first("ne\204\129e", 2), "ne\204\129", "a mark stays: first")
tap.is(widths.last("nane\204\129", 1), "e\204\129", "a mark stays: last")
tap.is(widths.last("abc", 0), "", "nothing fits into nothing")
tap.is(widths.untabbed("a\tb\t\tc"), "a       b               c", "tabs")
tap.is(widths.untabbed("名\tb"), "名      b", "tabs behind wide characters")

tap.is(cells.cut("кириллица:10", 12), "кириллица:10", "what fits is not cut")
tap.is(cells.cut("数値の表を作る関数:10", 15), "数値...関数:10", "cut in the middle")
tap.is(cells.clip("名前の表です", 9), "名前の...", "cut at the end")
tap.is(cells.rows({ { "名前", "x" }, { "12345", "y" } }),
  "   名前   x\n  12345   y\n", "cells are aligned")

if tap.slow or tap.sh("script -qec true /dev/null").status ~= 0 then
  tap.done()
  return
end

-- On a terminal, no line of a table is wider, and names have what is there.
local names = {
  "数値の表を作るとても長い名前のチャンクとその説明の文章です.lua",
  "e\204\129te\204\129 combine\204\129 a rather long name of a chunk.lua",
  "😀😀😀 chunk with a rather long name of its own.lua",
  "длинное имя чанка в этом модуле.lua"
}
local list = {}
for i, name in ipairs(names) do list[i] = ("%q"):format("@"..name) end
local program = tap.program(([[
keep = {}
for _, name in ipairs({ %s }) do
  assert(loadstring("for i = 1, 2000 do keep[#keep+1] = {} end", name))()
end
]]):format(table.concat(list, ", ")))

-- The output of a shell command on a terminal of that many columns.
local function on_terminal(columns, command)
  return tap.sh(("TERM=dumb script -qec %s /dev/null"):format(tap.quote(
    ("stty rows 40 cols %d; %s"):format(columns, command)))).out
end

-- Columns that the widest line of a text takes.
local function widest(text)
  local n = 0
  for line in text:gmatch("[^\r\n]+") do n = math.max(n, widths.width(line)) end
  return n
end

local file = tap.tmpname(".mp")
tap.luajit(("-joff -jm=b1,%s %s"):format(file, program))
for _, columns in ipairs({ 60, 80 }) do
  for _, options in ipairs({ "lhm1", "lhu", "2lh", "lhg" }) do
    local out = on_terminal(columns,
      ("%s report %s %s"):format(tap.mp, file, options))
    local n = widest(out)
    tap.ok(n > 0 and n <= columns, options.." on "..columns.." columns", out)
    if columns == 80 and options == "lhm1" then
      tap.like(out, "длинное имя чанка в этом модуле.lua:1",
	"a name that fits is whole")
    end
  end
end

-- -- All reports -------------------------------------------------------------

-- On a terminal of 60 columns or more, no line is wider: of what is not for
-- programs, as options q, e and r are.
local file_of = require("jit.mp.format.file")
local options = require("jit.mp.options")
local render = require("jit.mp.render")
program = tap.tmpname("_of_a_rather_long_name.lua")
tap.write(program, [[
local kept, list = {}, {}
local function a_function_with_a_rather_long_name(n)
  local t = {}
  for i = 1, n do t[i] = { text = ("x"):rep(i % 50)..i } end
  return t
end
local function server(a, b)
  for i = 1, 8 do
    kept[#kept+1] = a_function_with_a_rather_long_name(40)
    coroutine.yield()
  end
end
for i = 1, 10 do list[i] = coroutine.create(server) end
for i = 1, 10 do
  for _, co in ipairs(list) do coroutine.resume(co) end
  collectgarbage()
end
]])
local reports = { flb1 = { "f", "flx", "F", "vf", "vfl", "3f", "-3f", "sl", "g",
    "a", "A", "o", "pl", "cku" }, L = { "L", "2L" }, Wb1 = { "W" },
  J = { "J", "Jl" }, I = { "I", "2I" }, n = { "n" }, M = { "M" },
  tb1 = { "t", "tf" } }
for run, shown in pairs(reports) do
  local mp = tap.tmpname(".mp")
  local r = tap.luajit(("-jm=%s,%s %s"):format(run, mp, program))
  local text = tap.read(mp) or ""
  tap.ok(#text > 0 or r.err:find("jit.mp: "), "a run with "..run, r.err)
  if #text == 0 then shown = {} end  -- Not with this VM.
  for _, asked in ipairs(shown) do
    for i, columns in ipairs({ 60, 80, 200, asked == "f" and 60 or nil }) do
      local p = assert(file_of.read(text))
      local out, msg = render.render(p, assert(options.parse(asked.."m0")),
	{ name = "-", width = columns, live = i == 4 })  -- As top has it.
      local n = widest(out or "")
      tap.ok(n > 0 and n <= columns, ("%s of a run with %s on %d columns")
	:format(asked, run, columns), out or msg)
      tap.ok(not (out or ""):find(" \n"), ("%s of a run with %s on %d "..
	"columns: no space at an end"):format(asked, run, columns), out)
    end
  end
end
local old = tap.tmpname(".mp")
tap.luajit(("-jm=flb1,%s %s"):format(old, program))
for _, columns in ipairs({ 60, 80, 200 }) do
  for _, asked in ipairs({ "f", "fl", "2f", "cu" }) do
    local out = on_terminal(columns, ("%s diff -O %s %s %s"):format(tap.mp,
      asked, file, old))
    local n = widest(out)
    tap.ok(n > 0 and n <= columns, ("diff %s on %d columns"):format(asked,
      columns), out)
  end
end

-- A name that is read for its places stands whole.
tap.is(require("jit.mp.text.cells").rows({ { "of all", "" },
  { "76%", "coroutine.yield < server.lua:12 < app.lua:30" } }, 48, nil, 50),
  "  of all\n  coroutine.yield < server.lua:12 < app.lua:30\n     76%\n",
  "a place that does not fit stands above its numbers")

-- -- Annotated source ---------------------------------------------------------

local wide = tap.program("local t = {}\n"..
  "for i = 1, 1e5 do\tt[i % 10 + 1] = { i }  --\tdie Länge der Zeile\nend\n"..
  "print(#t) -- "..("x"):rep(70))
for _, columns in ipairs({ 60, 80 }) do
  local out = on_terminal(columns, ("%s -jm=A %s"):format(tap.command, wide))
  local source = out:match("|[^\n]*local t = {}\r\n(.*)") or ""
  source = source:gsub("\r\n======.*", "")  -- Another file's path is whole.
  tap.like(source, "|[^\n\t]*for i = 1", "-jm=A on "..columns..
    " columns: a line with a tab")
  tap.like(source, "%-%- x*%.%.%.", "a line that is too long")
  local n = widest(source)
  tap.ok(n > 0 and n <= columns, "no line is wider", out)
end

tap.done()
