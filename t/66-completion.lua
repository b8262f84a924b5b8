-- SPDX-License-Identifier: MIT
-- The completions offer what the parser of the command takes, and no more.

local tap = require("tap")
local spec = require("jit.mp.cli.spec")

local function names(c)
  local list = { "--help" }
  for _, name in ipairs(c.options) do
    list[#list+1] = spec.options[name].long
  end
  table.sort(list)
  return table.concat(list, " ")
end

-- The long options among words, sorted.
local function long(words)
  local list, seen = {}, {}
  for word in words:gmatch("%-%-[%a-]+") do
    if not seen[word] then list[#list+1] = word end
    seen[word] = true
  end
  table.sort(list)
  return table.concat(list, " ")
end

-- bash itself is asked, where it is there.
local file = tap.srcdir.."/completion/luajit-mp.bash"
local function ask(...)
  local words = { ... }
  for i, word in ipairs(words) do words[i] = "'"..word.."'" end
  return tap.sh(("bash -c '. \"%s\"; COMP_WORDS=(luajit-mp \"$@\"); "..
    "COMP_CWORD=$#; _luajit_mp; echo \"${COMPREPLY[*]}\"' x %s"):format(file,
      table.concat(words, " "))).out:gsub("\n$", "")
end
if tap.sh("bash --version").status == 0 then
  local all = {}
  for i, c in ipairs(spec.commands) do
    all[i] = c.name
    tap.is(long((ask(c.name, "-"))), names(c), "bash: options of "..c.name)
    tap.is((ask(c.name:sub(1, 3))), c.name, "bash: "..c.name:sub(1, 3))
  end
  tap.is((ask("")), table.concat(all, " ").." -h --help -V --version",
    "bash: the commands")
end

-- The lists of the others are read.
local zsh = tap.read(tap.srcdir.."/completion/_luajit-mp")
local lists = { help = "--help", output = "--output", options = "--options",
  nosource = "--no-source", sort = "--sort", root = "--source-root" }
for name, option in pairs(lists) do
  tap.like(zsh, "\n"..name.."=%([^\n]*"..option:gsub("%-", "%%-"),
    "zsh: the list "..name)
end
local fish = tap.read(tap.srcdir.."/completion/luajit-mp.fish")
  :gsub("\\\n", " ")
for _, c in ipairs(spec.commands) do
  tap.like(zsh, "'"..c.name..":", "zsh: "..c.name)
  local case = zsh:match("\n  "..c.name.."%) (.-) ;;") or ""
  tap.is(long((case:gsub("%$(%l+)", lists))), names(c),
    "zsh: options of "..c.name)
  tap.like(fish, "%-a "..c.name.." ", "fish: "..c.name)
  local found = { "--help" }
  for commands, option in fish:gmatch("__luajit_mp_command ([%l ]+)'[^\n]-"..
      "%-l ([%l-]+)") do
    if (" "..commands.." "):find(" "..c.name.." ", 1, true) then
      found[#found+1] = "--"..option
    end
  end
  tap.is(long(table.concat(found, " ")), names(c), "fish: options of "..c.name)
end

tap.done()
