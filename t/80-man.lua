-- SPDX-License-Identifier: MIT
-- The manual has every option of the parser and every field of a profile, and
-- no others; the README's commands name what exists.

local tap = require("tap")
local fields = require("jit.mp.model.fields")
local options = require("jit.mp.options")

local page = tap.read(tap.srcdir.."/man/luajit-mp.1")
local described = {}
for opt in page:match("^.-\n%.Ss Outputs"):gmatch("\n%.It Cm ([^\n]+)") do
  tap.ok(not described[opt], opt.." is described once")
  described[opt] = true
end
for _, opt in ipairs(options.list) do
  tap.ok(described[opt[1]], "luajit-mp(1) describes "..opt[1])
  described[opt[1]] = nil
end
tap.is(next(described), nil, "luajit-mp(1) describes nothing else")

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
local man5 = tap.read(tap.srcdir.."/man/luajit-mp.5")
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

tap.done()
