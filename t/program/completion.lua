-- SPDX-License-Identifier: MIT
-- The completions offer what the parser of the command takes, and no more.

local tap = require("tap")
local options = require("jit.mp.options")
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

-- The option letters are those that the command lists: the one under test.
local bin = tap.tmpdir()
tap.write(bin.."/luajit-mp", "#!/bin/sh\nexec "..tap.mp..' "$@"\n')
tap.write(bin.."/luajit", "#!/bin/sh\nPATH=${PATH#*:} exec "..tap.command..
  ' "$@"\n')
os.execute("chmod +x "..bin.."/luajit "..bin.."/luajit-mp")
local with_command = ("PATH=%s:$PATH "):format(bin)

-- bash itself is asked, where it is there.
local file = tap.srcdir.."/completion/luajit-mp.bash"
local function ask_in(first, ...)
  local words = { ... }
  for i, word in ipairs(words) do words[i] = "'"..word.."'" end
  return tap.sh((with_command.."bash -c '. \"%s\"; %s "..
    "COMP_WORDS=(luajit-mp \"$@\"); COMP_CWORD=$#; _luajit_mp luajit-mp; "..
    "echo \"${COMPREPLY[*]}\"' x %s"):format(file, first,
      table.concat(words, " "))).out:gsub("\n$", "")
end
local function ask(...) return ask_in("", ...) end

-- All option letters without those of that set.
local function all_but(set)
  local list = {}
  for _, opt in ipairs(options.list) do
    list[#list+1] = opt[1]:match("^%a")
  end
  return (table.concat(list):gsub("["..set.."]", ""))
end

local pid = tap.read("/proc/self/stat"):match("^%d+")
local dir = tap.tmpdir()
os.execute(("mkdir %s/deep; cd %s && touch app.mp app.lua"):format(dir, dir))
if tap.sh("bash --version").status == 0 then
  local all = {}
  for i, c in ipairs(spec.commands) do
    all[i] = c.name
    tap.is(long((ask(c.name, "-"))), names(c), "bash: options of "..c.name)
    tap.is((ask(c.name:sub(1, 3))), c.name, "bash: "..c.name:sub(1, 3))
  end
  tap.is((ask("")), table.concat(all, " ").." help", "bash: the commands")
  tap.is((ask("-")), "-h --help -V --version", "bash: its own options")
  tap.is((ask("help", "")), table.concat(all, " ").." help",
    "bash: commands for help")
  local there = "cd "..dir.."; "
  local function both(...)  -- In any order.
    local out = ask_in(there, ...)
    return out == "app.mp app.lua" and "app.lua app.mp" or out
  end
  for _, name in ipairs({ "report", "diff", "merge", "open" }) do
    tap.is((ask_in(there, name, "")), "app.mp deep",
      "bash: profiles for "..name)
  end
  tap.is(both("run", "app."), "app.lua app.mp", "bash: files for run")
  tap.is(both("convert", "app.mp", "app."), "app.lua app.mp",
    "bash: files behind convert's profile")
  tap.is(both("report", "-o", "app."), "app.lua app.mp",
    "bash: files for an output")
  local letters = ask("run", "-O", "f")
  tap.like(letters, "^fF function names with their module fl lines fs split ",
    "bash: letters, and what they say")
  tap.like(letters, " fL leaks .* fB ", "bash: those with numbers")
  tap.is(ask("run", "-O", all_but("H")), all_but("H").."H",
    "bash: the last letter")
  -- bash takes -jm=fl for three words.
  local function ask_jm(...)
    local words = { ... }
    for i, word in ipairs(words) do words[i] = "'"..word.."'" end
    return tap.sh((there..with_command.."bash -c '. \"%s\"; "..
      "COMP_WORDS=(luajit \"$@\"); COMP_CWORD=$#; _luajit_mp_jm luajit; "..
      "echo \"${COMPREPLY[*]}\"' x %s"):format(
      tap.srcdir.."/completion/luajit.bash",
      table.concat(words, " "))).out:match("[^\n]*")
  end
  tap.like(ask_jm("-jm", "=", "f"), "^fF function names with their module "..
    "fl lines fs split ", "bash: letters behind luajit -jm=")
  tap.like(ask_jm("-jm", "="), "^f function names F ",
    "bash: the first of them")
  tap.is((ask_jm("-jm", "=", "fl,app.m")), "fl,app.mp",
    "bash: an output behind the letters")
  tap.is((ask_jm("app.")), "", "bash: luajit's other words are left alone")
  tap.is((ask_jm("-jp", "=", "f")), "", "bash: and other options")
  -- A process with LuaJIT in it: the test is one.
  tap.is((ask("attach", pid)), pid, "bash: a process by its number")
  tap.like((ask("top", "")), "%f[%d]"..pid.."%f[%D]", "bash: all processes")
  tap.is((ask("diff", "--sort", "")), "change before after name", "bash: keys")
  tap.is((ask("diff", "--sort", "=")), "change before after name",
    "bash: behind =")
  tap.is((ask("diff", "--sort", "=", "b")), "before", "bash: a key behind =")
end

-- So is fish. What is offered for a line, in one line, sorted.
local function offered(line)
  local list = {}
  for word in tap.sh((with_command.."HOME=%s fish --no-config -c "..
      "'source \"%s\"; complete -C \"%s\"'"):format(
      tap.quote(tap.tmpname()), tap.srcdir.."/completion/luajit-mp.fish",
      line)).out:gmatch("([^\t\n]+)[^\n]*\n") do
    list[#list+1] = word
  end
  table.sort(list)
  return table.concat(list, " ")
end
local function sorted_names(more)
  local list = { more }
  for _, c in ipairs(spec.commands) do list[#list+1] = c.name end
  table.sort(list)
  return table.concat(list, " ")
end
if tap.sh("fish --version").status == 0 then
  tap.is(offered("luajit-mp "), sorted_names("help"),
    "fish: the commands")
  tap.is(offered("luajit-mp help "), sorted_names(), "fish: help's commands")
  tap.like(offered("luajit-mp attach "), "%f[%d]"..pid.."%f[%D]",
    "fish: processes")
  for _, c in ipairs(spec.commands) do
    tap.is(long(offered("luajit-mp "..c.name.." --")), names(c),
      "fish itself: options of "..c.name)
  end
  tap.is(offered("luajit-mp diff --sort "), "after before change name",
    "fish: keys")
  tap.is(offered("luajit-mp attach -O "..all_but("lL")),
    all_but("lL").."L "..all_but("lL").."l", "fish: option letters")
  tap.is(offered("luajit-mp run -O"..all_but("lL")),
    "-O"..all_but("lL").."L -O"..all_but("lL").."l",
    "fish: option letters in one word")
  tap.is(offered("luajit -jm="..all_but("lL")),
    "-jm="..all_but("lL").."L -jm="..all_but("lL").."l",
    "fish: letters behind luajit -jm=")
end

-- And zsh, in a pseudo-terminal: each candidate is printed between two bytes.
local ask_zsh = tap.program([==[
zmodload zsh/zpty || exit 1
zpty -b z zsh -f -i
zpty -w z "PS1=; stty -echo; fpath=(${(q)1} \$fpath); autoload -Uz compinit
compinit -u -D
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd \"\$@\"
    return
  fi
  typeset -a hits
  builtin compadd -A hits \"\$@\"
  print -rl -- \$'\x02'\${^hits}\$'\x03'
  builtin compadd \"\$@\"
}
_ended() { print -r \$'\x02END\x03' }
zle -N _ended
bindkey '^I' complete-word
bindkey '^X' _ended
print REA''DY"
zpty -r z out '*READY*'
zpty -w -n z "$2"$'\t\x18'
zpty -r z out $'*\x02END\x03*'
zpty -d z
print -rn -- "$out"
]==])
local function ask(line)
  return tap.sh((with_command.."timeout 60 zsh -f %s %s %s"):format(ask_zsh,
    tap.quote(tap.srcdir.."/completion"), tap.quote(line))).out
end
local function offered_by_zsh(line)
  local out = ask(line)
  for _ = 1, 2 do  -- A key can be lost where the processor is busy.
    if not out:find("\2[^\3E]") then out = ask(line) end
  end
  local list, seen = {}, { END = true }
  for word in out:gmatch("\2([^\3]*)\3") do
    if not seen[word] then list[#list+1] = word end
    seen[word] = true
  end
  table.sort(list)
  return table.concat(list, " ")
end
-- None of our code runs in it that a sanitizer could look at.
local sanitized = (os.getenv("LIBASAN") or "") ~= ""
if not sanitized and tap.sh("zsh --version").status == 0 then
  tap.is(offered_by_zsh("luajit-mp "), "--help --version -V -h "..
    sorted_names("help"), "zsh: the commands")
  tap.is(offered_by_zsh("luajit-mp help "), sorted_names("help"),
    "zsh: help's commands")
  for _, c in ipairs(spec.commands) do
    tap.is(long(offered_by_zsh("luajit-mp "..c.name.." --")), names(c),
      "zsh itself: options of "..c.name)
  end
  tap.is(offered_by_zsh("luajit-mp diff --sort="), "after before change name",
    "zsh: keys")
  tap.is(offered_by_zsh("luajit-mp report -O "..all_but("lL")), "L l",
    "zsh: option letters")
  tap.is(offered_by_zsh("luajit -jm="..all_but("lL")), "L l",
    "zsh: letters behind luajit -jm=")
  tap.like(" "..offered_by_zsh("luajit-mp attach ").." ", " "..pid.." ",
    "zsh: processes")
end

-- bash behind a Tab, in such a terminal, too: what it lists, and then the line
-- in brackets.
local ask_bash = tap.program([==[
zmodload zsh/zpty || exit 1
zpty z bash --norc --noprofile -i
zpty -w z "PS1=; stty -echo; . ${(q)1}; bind 'set show-all-if-ambiguous on'
bind 'set page-completions off'
bind -x '\"\C-t\": echo \"[\$READLINE_LINE]END\"'
echo REA''DY"
zpty -r z out '*READY*'
zpty -w -n z "$2"$'\t\x14'
zpty -r z out '*\]END*'
zpty -d z
print -rn -- "$out"
]==])
local function typed_in_bash(line)
  return tap.sh((with_command.."timeout 60 zsh -f %s %s %s"):format(ask_bash,
    tap.quote(file), tap.quote(line))).out
end
if not sanitized and tap.sh("zsh --version").status == 0 then
  for line, whole in pairs({ ["luajit-mp att"] = "luajit-mp attach",
    ["luajit-mp diff --sort=b"] = "luajit-mp diff --sort=before",
    ["luajit-mp help pu"] = "luajit-mp help push",
    ["luajit-mp attach -O "..all_but("H")] =
      "luajit-mp attach -O "..all_but("H").."H",
    ["luajit -jm="..all_but("H")] = "luajit -jm="..all_but("H").."H" }) do
    tap.like(typed_in_bash(line), "%["..whole:gsub("%-", "%%-").." ?%]END$",
      "bash in a terminal: "..line)
  end
  tap.like(typed_in_bash("luajit-mp run -O "..all_but("Ll")),
    "\n[^\n]+l lines%s+[^\n]+L leaks%s",
    "bash in a terminal: what letters say")
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
