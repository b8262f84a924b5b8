-- SPDX-License-Identifier: MIT
-- The manual has every option of the parser, in full and in brief, with its
-- effects, and every field of a profile, and no others; the README's commands
-- name what exists.

local tap = require("tap")
local fields = require("jit.mp.model.fields")
local optionlist = require("jit.mp.optionlist")
local options = require("jit.mp.options")

local function page(name) return tap.read(tap.srcdir.."/man/"..name) end

-- The items of a list, and the text of each up to the next request.
local function items(part, macro)
  local list, name = {}, nil
  for line in part:gmatch("[^\n]+") do
    local item = line:match("^%.It "..macro.." (.+)$")
    if item then
      tap.ok(not list[item], item.." is described once")
      name, list[item] = item, ""
    elseif line:find("^%.") then
      name = nil
    elseif name then
      list[name] = list[name]..(list[name] == "" and "" or " ")..line
    end
  end
  return list
end

local function none_left(list, where)
  tap.is(next(list), nil, where.." has nothing else")
end

-- In full.
local reference = page("luajit-mp-options.7")
local full = items(reference:match("\n%.Sh OPTIONS\n(.-)\n%.Sh "), "Cm")
for _, opt in ipairs(options.list) do
  tap.ok(full[opt[1]], "luajit-mp-options(7) describes "..opt[1])
  full[opt[1]] = nil
end
none_left(full, "luajit-mp-options(7)")
for _, opt in ipairs(options.list) do
  if opt.default then
    local default = optionlist.spelled(opt, opt.default)
    local text = reference:match("\n%.It Cm "..opt[1]:gsub("%p", "%%%0")..
      "\n(.-)\n%.It Cm ")
    tap.ok(text:find("%f[%w]"..default.."%f[%W]"),
      "luajit-mp-options(7) has the default of "..opt[1])
  end
end

-- The numbers.
local ranges = items(reference:match("\n%.Sh NUMBERS\n(.-)\n%.El\n"), "Cm")
for _, opt in ipairs(options.list) do
  if opt.unit then
    tap.is(ranges[opt[1]], options.range(opt)..(opt.default and "; default "..
      optionlist.spelled(opt, opt.default) or ""), "the numbers of "..opt[1])
    ranges[opt[1]] = nil
  end
end
none_left(ranges, "luajit-mp-options(7), numbers,")

-- In brief, in the words of the help.
local manual = page("luajit-mp.1")
local brief = items(manual:match(
  "\n%.Ss Options by question\n(.-)\n%.Ss "), "Cm")
for _, opt in ipairs(options.list) do
  local text = optionlist.text(opt)
  tap.is((brief[opt[1]] or ""):lower():gsub("^\\&", ""), text:lower()..".",
    "luajit-mp(1) has the help of "..opt[1])
  brief[opt[1]] = nil
end
none_left(brief, "luajit-mp(1)")

-- The reports and formats where each has an effect.
local shown = {}
for line in reference:match("\n%.Sh EFFECTS\n(.-)\n%.El\n"):gmatch(
    "%.It [^\n]+\n%.Cm [^\n]+") do
  local target, letters = line:match("^%.It %a%a ([^\n]+)\n%.Cm (.+)$")
  shown[target] = " "..letters.." "
end
local function check_effects(target, list)
  tap.is(shown[target], list, "luajit-mp-options(7): effects on "..target)
  shown[target] = nil
end
local by_target = {}
for _, opt in ipairs(options.list) do
  for target in (" "..opt.shows):gmatch("%s([^%s:]+)") do
    if not opt.run and target ~= "text" and target ~= "file" then
      by_target[target] = (by_target[target] or " ")..opt.letter.." "
    end
  end
end
for target, list in pairs(by_target) do check_effects(target, list) end
none_left(shown, "luajit-mp-options(7), effects,")

-- The fields that a part of luajit-mp(5) lists, by table.
local function listed(part)
  local tables, t = {}, nil
  for line in part:gmatch("[^\n]+") do
    local name = line:match("^%.It Sy ([%a_]+)$")
    local names = line:match("^%.It Va (.+)")
    if name then
      t = {}
      tables[name] = t
    end
    for field in (names or ""):gmatch("[%a_]+") do t[#t+1] = field end
  end
  return tables
end

local function compare(part, list)
  local found = listed(part)
  for _, t in ipairs(list) do
    local want = {}
    for i, field in ipairs(t.fields) do want[i] = field.name end
    local got = table.concat(found[t.name] or {}, " ")
    tap.is(got, table.concat(want, " "), "luajit-mp(5): the fields of "..t.name)
    found[t.name] = nil
  end
  tap.is(next(found), nil, "luajit-mp(5): nothing else")
end
local man5 = page("luajit-mp.5")
local values, tables = man5:match("\n%.Ss Values\n(.-)\n%.Ss Tables\n(.*)")
compare(values, fields.groups)
compare(tables, fields.tables)

local readme = tap.read(tap.srcdir.."/README.md")
local commands = {}
for line in readme:gmatch("\n    (%./bootstrap && [^\n]+)") do
  commands[#commands+1] = line
end
tap.is(#commands, 2, "README has two commands")
for _, command in ipairs(commands) do
  for name in command:gmatch("%f[%S]([%w./]+%.lua)") do
    tap.ok(tap.read(tap.srcdir.."/"..name), name.." exists")
  end
end
local ci = tap.read(tap.srcdir.."/.ci/run")
tap.like(commands[2], "^%./bootstrap && make .*check$",
  "README's test command is what CI looks for there")
tap.like(ci, 'readme%-tests "%$tree" "%${tests:%-false}"', "and runs")

-- README and the manual's first page recommend commands that exist.
local spec = require("jit.mp.cli.spec")
local function check_command(text, where)
  local letters = text:match("^luajit %-jm=([%w]+)") or
    text:match("^luajit%-mp [^\n]*%-O (%w+)")
  local ok, why = letters, nil
  if letters then ok, why = options.parse(letters) end
  local name = text:match("^luajit%-mp (%l+)")
  tap.ok(letters and ok or name and not letters or
    text:find("mp.label", 1, true), where..": "..text, why)
  if name then tap.ok(spec.commands[name], where..": the command "..name) end
end
local questions, n = readme:match("\n| question | command |\n(.-)\n\n"), 0
for text in questions:gmatch("%? | `([^\n]-)`") do
  check_command(text, "README")
  n = n + 1
end
for text in questions:gmatch("\n| [^|?]+ | `([^\n]-)`") do
  check_command(text, "README")
  n = n + 1
end
tap.ok(n >= 12, "README answers questions", n)
n = 0
for text in manual:match("\n%.Bl %-column(.-)\n%.El"):gmatch(
    'Ta "([^\n]+)"') do
  check_command(text, "luajit-mp(1)")
  n = n + 1
end
tap.ok(n >= 10, "luajit-mp(1) begins with questions", n)
local others = readme:match("\n## Beside other profilers\n\n(.-)\n\n")
tap.is(select(2, others:gsub("\n| ", "")), 6, "README: beside other profilers")
local short = tap.read(tap.srcdir.."/NEWS"):match("in short:\n\n(.-)\n\n")
tap.is(select(2, (short.."\n"):gsub("\n", "")), 10, "NEWS: ten lines")

tap.done()
