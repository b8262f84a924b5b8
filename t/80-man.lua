-- The manual has every option of the parser, and no other; the README's
-- commands name what exists.

local tap = require("tap")
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
tap.ok(commands[2] and ci:find(commands[2], 1, true),
  "CI runs README's test command", commands[2])

tap.done()
