-- SPDX-License-Identifier: MIT
-- Checks of the sources that need no compiler: make lint. Prints a line for
-- each finding, `file:line: text`. Kinds of findings that main is free of fail
-- the check; the others are listed and counted.
--
-- Usage: luajit t/lint.lua SRCDIR

local srcdir = arg[1] or "."

-- Longest function and line; a file above this size is listed.
local max_function, max_width, max_file = 40, 80, 300

-- Kinds of findings, and whether one of them fails the check.
local fails = {
  unlisted = true, width = true, ["function"] = true, percent = true,
  what = true, size = false, licence = true, field = true
}
local counts = {}

-- Words that begin a clause where a comment should name its subject.
local clauses = { What = true, How = true, Why = true, Who = true,
  Whom = true, Which = true }

-- The end of a function, by the suffix of a language.
local closings = { c = "}", h = "}", lua = "end", js = "}", mjs = "}" }

local function found(kind, place, text)
  counts[kind] = (counts[kind] or 0) + 1
  print(("%s: %s%s"):format(place, text, fails[kind] and "" or " (listed)"))
end

-- -- Files -------------------------------------------------------------------

local function lines_of(command)
  local list = {}
  local pipe = assert(io.popen(command))
  for line in pipe:lines() do list[#list+1] = line end
  pipe:close()
  return list
end

local function read(name)
  local f = assert(io.open(srcdir.."/"..name, "rb"))
  local text = f:read("*a")
  f:close()
  return text
end

local function quote(s) return "'"..s:gsub("'", "'\\''").."'" end

-- The repository's files; without a repository those of the kinds that are
-- written by hand, among what was built.
local function all_files()
  local cd = "cd "..quote(srcdir).." && "
  local files = lines_of(cd.."git ls-files 2>/dev/null")
  if #files > 0 then return files end
  return lines_of(cd.."find bench examples lib man src t .ci -name '*.[ch]' "..
    "-o -name '*.lua' -o -name '*.js' -o -name '*.mjs' -o -name '*.css' "..
    "-o -name '*.[1-9]' -o -path '.ci/*' | sort")
end

local function split(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n") do lines[#lines+1] = line end
  return lines
end

-- -- Lines ---------------------------------------------------------------

-- Columns that a line takes: tabs to each eighth, one for a character.
local function width(line)
  local columns = 0
  for char in line:gmatch("[%z\1-\127\194-\244][\128-\191]*") do
    columns = char == "\t" and columns + 8 - columns % 8 or columns + 1
  end
  return columns
end

-- REUSE.toml speaks for programs whose line numbers are quoted.
local function check_licence(name, text)
  local quoted = name:find("^examples/") or name:find("^bench/programs/")
    or name:find("^t/samples/")
  if not quoted and not text:sub(1, 200):find("SPDX-License-Identifier: MIT",
    1, true) then
    found("licence", name, "no SPDX-License-Identifier in its first lines")
  end
end

-- Files whose format wants long lines.
local any_width = { ["debian/changelog"] = true,
  ["debian/luajit-mp.lintian-overrides"] = true }

-- Whether a line may be as long as it is: samples of output, in manual pages
-- the lines that are no macros, have their own width.
local function may_be_wide(name, line)
  return any_width[name] or name:find("%.md$") or
    name:find("^man/") and not line:find("^%.")
end

-- The comments and strings of a line of code, in which % is a sign; all
-- of a line of another text.
local function prose(line, language)
  if not closings[language] or line:find("^%s*%*%*") then return line end
  local t = { line:match("/[/*].*") or line:match("%-%-.*") }
  for s in line:gmatch('"[^"]*"') do t[#t+1] = s end
  for s in line:gmatch("'[^']*'") do t[#t+1] = s end
  return table.concat(t, "\n")
end

local function check_lines(name, lines, language)
  for n, line in ipairs(lines) do
    local place = name..":"..n
    if width(line) > max_width and not may_be_wide(name, line) then
      found("width", place, "wider than "..max_width.." columns")
    end
    local text = prose(line, language)
    if text:find("%d".." %%%%?[%s,.;:)\"']") or 
      text:find("[^%%]%%[dgsf] %%%%[^%a]") then
      found("percent", place, "a space before a percent sign")
    end
    local word = line:match("^%s*%-%-+ (%u%l+) ") or
      line:match("^%s*/[*/] (%u%l+) ") or line:match("^%s*# (%u%l+) ")
    if clauses[word] and line:sub(-1) ~= "?" then
      found("what", place, "a comment that begins with "..word)
    end
  end
end

-- -- Functions -------------------------------------------------------------

-- Whether a line opens a function, by language, and how its end begins, which
-- has the same indentation.
local openings = {
  c = function(line)
    return line:find("^[%a{].*{$") and not line:find("^%a*%s*struct [%w_]* {")
      and not line:find("^enum") and not line:find("^typedef")
      and not line:find("=") or line == "{"
  end,
  lua = function(line)
    return line:find("%f[%w_]function%f[^%w_]%s*[%w_.:]*%(") and
      not line:find("%f[%w_]end%f[^%w_]") and not line:find("^%s*%-%-")
  end,
  js = function(line)
    return (line:find("%f[%w_]function%s*[%w_$]*%(") or line:find("=>")) and
      line:find("{$") and not line:find("^%s*//")
  end
}
openings.h = openings.c
openings.mjs = openings.js

local function check_functions(name, lines, language)
  local opens, close = openings[language], closings[language]
  for first, line in ipairs(lines) do
    if opens(line) then
      local stop = line:match("^%s*")..close
      for last = first + 1, #lines do
        if lines[last]:sub(1, #stop) == stop then
          local size = last - first + 1
          if size > max_function then
            found("function", name..":"..first, ("a function of %d lines")
              :format(size))
          end
          break
        end
      end
    end
  end
end

-- -- Modules -----------------------------------------------------------------

-- The fields of a module that is ours, as a set; nil: there is no such module.
-- Tests have modules beside them, and jit.mp.test.* hands on those of others.
local names_of = {}
local function module_names(name, beside)
  if beside:find("mp/test") or name:find("mp%.test") then return nil end
  for _, dir in ipairs { beside, "lib", "t", "t/hosts" } do
    local file = ("%s/%s.lua"):format(dir, (name:gsub("%.", "/")))
    local f = not names_of[file] and io.open(srcdir.."/"..file, "rb")
    if f then
      local names, code = {}, f:read("*a"):gsub("%-%-[^\n]*", "")
      f:close()
      for _, pattern in ipairs { "function [%w_.]+[.:]([%w_]+)",
	  "([%w_]+) = ", "%.([%w_]+)," } do
	for word in code:gmatch(pattern) do names[word] = true end
      end
      names_of[file] = names
    end
    if names_of[file] then return names_of[file] end
  end
end

-- Fields that a module is asked for, and has not: luacheck reads one file.
local function check_fields(name, lines)
  local beside, modules = name:match("^(.*)/") or ".", {}
  local function check(number, names, field)
    if names and not names[field] then
      found("field", name..":"..number, "the module has no "..field)
    end
  end
  for number, line in ipairs(lines) do
    local var, module, rest =
      line:match('^local ([%a_][%w_]*) = require%("([^"]+)"%)(.*)')
    if var and rest == "" then modules[var] = module_names(module, beside) end
    for module, field in line:gmatch('require%("([^"]+)"%)%.([%a_][%w_]*)') do
      check(number, module_names(module, beside), field)
    end
    local code = line:gsub("%-%-.*", ""):gsub('"[^"]*"', '""')
    for before, v, field in code:gmatch("(.?)%f[%w_](%w+)%.([%a_][%w_]*)") do
      local is_set = code:find(v.."."..field.." = ", 1, true)
      if not before:find("[.:]") and not is_set then
	check(number, modules[v], field)
      end
    end
  end
end

-- -- Main --------------------------------------------------------------------

-- Files of the archive are listed there, or made by configure.
local makefile = read("configure.ac")
for _, name in ipairs { "Makefile.am", "src/local.mk", "lib/local.mk",
    "t/local.mk", "bench/local.mk" } do
  makefile = makefile..read(name)
end

-- Files of the archive that automake adds by itself, and those that only a
-- repository has.
local unlisted = { ["Makefile.am"] = true, ["configure.ac"] = true,
  [".gitignore"] = true }

-- Files that are not written by hand.
local function is_data(name)
  return name:find("^t/golden/") or name:find("%.mp$") or
    name:find("%.png$") or name:find("%.svg$") or name == "COPYING"
end

local function check_file(name)
  if not unlisted[name] and not makefile:find(name, 1, true) and
    not makefile:find(name:gsub("%.c$", ""), 1, true) and
    not makefile:find(name:gsub("%.in$", ""), 1, true) then
    found("unlisted", name, "is not listed in a makefile")
  end
  if is_data(name) then return end
  local text = read(name)
  local lines = split(text)
  local language = name:match("%.(%w+)$")
  if closings[language] then
    check_licence(name, text)
    if #lines > max_file then
      found("size", name, ("%d lines"):format(#lines))
    end
    check_functions(name, lines, language)
    if language == "lua" then check_fields(name, lines) end
  end
  check_lines(name, lines, language)
end

for _, name in ipairs(all_files()) do check_file(name) end

local bad = 0
for kind, n in pairs(counts) do
  if fails[kind] then bad = bad + n end
  io.stderr:write(("lint: %s: %d%s\n"):format(kind, n,
    fails[kind] and "" or ", listed only"))
end
os.exit(bad == 0 and 0 or 1)
