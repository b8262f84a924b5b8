-- SPDX-License-Identifier: MIT
-- Runs other people's test suites plain and under the profiler: status, output
-- and errors must be the same. Prints TAP.
--
--   make check-suites SUITES=DIR [ONLY=PATTERN]
--
-- The suites found below DIR, wherever they are, are copied before they run:
-- LuaJIT-test-cleanup (tests and benchmarks), PUC-Rio's tests of Lua 5.1,
-- lua-Harness, and Tarantool's tests of its LuaJIT. What is known to differ
-- is listed, with reasons, in known.lua.

local tap = require("tap")
local known = require("suites.known")

local dir, only = arg[1], arg[2] or ""
local modes = { "fl", "b1flhu", "e", "L" }
local flags = { "", "-Ohotloop=2 -Ohotexit=1", "-joff" }
local seconds = 60

local quote = tap.quote

-- -- Finding programs -------------------------------------------------------

local function lines(command)
  local found = {}
  for line in tap.sh(command).out:gmatch("[^\n]+") do found[#found+1] = line end
  return found
end

-- Directories below `root` that have a file of this name.
local function places(root, name)
  local found = lines(("find %s -type f -path %s | sort"):format(quote(root),
    quote("*/"..name)))
  for i, file in ipairs(found) do found[i] = file:sub(1, -#name - 2) end
  return found
end

local function files(place, pattern)
  return lines(("cd %s && find . -name %s | sort | sed 's|^\\./||'"):format(
    quote(place), quote(pattern)))
end

-- Some trees have a file that is to be run before each test.
local function before(place)
  local init = place.."/../luajit-test-init.lua"
  return tap.read(init) and "-e "..quote("dofile[["..init.."]]") or ""
end

-- The file by which a suite is known, and the files of it that are run, with
-- words before and after; "needs" is a directory that the suite expects.
local suites = {
  { name = "puc", file = "verybig.lua", pattern = "*.lua", before = before,
    needs = "libs/P1" },
  { name = "harness", file = "000-sanity.t", pattern = "*.t",
    before = function() return "-l profile_luajit21" end },
  { name = "tarantool", file = "tarantool-tests/CMakeLists.txt",
    within = "/tarantool-tests", pattern = "*.test.lua", before = before },
  { name = "luajit", file = "test.lua", beside = "/index",
    pattern = "test.lua", after = "+slow +ffi +bit" },
  { name = "misc", file = "misc/gc_trace.lua", within = "/misc",
    pattern = "*.lua" },
  { name = "bench", file = "array3d.lua", pattern = "*.lua" },
}

local function add_programs(list, suite, place)
  if suite.beside and not tap.read(place..suite.beside) then return end
  place = place..(suite.within or "")
  if suite.needs then
    tap.sh("mkdir -p "..quote(place.."/"..suite.needs))
  end
  local first = suite.before and suite.before(place) or ""
  for _, file in ipairs(files(place, suite.pattern)) do
    list[#list+1] = { name = suite.name.."/"..file, dir = place,
      first = first, rest = quote(file).." "..(suite.after or "") }
  end
end

local function programs(root)
  local list = {}
  for _, suite in ipairs(suites) do
    for _, place in ipairs(places(root, suite.file)) do
      add_programs(list, suite, place)
    end
  end
  return list
end

-- -- Running them ------------------------------------------------------------

-- Addresses and times differ from run to run, memory in use and the option
-- -jm by intention.
local function normal(text)
  return (text:gsub("0x%x+", "0x"):gsub("%d[%d.]* sec", "N sec")
    :gsub("total memory: %d+", "total memory: N")
    :gsub("%d+/%d+/%d+, at %d+:%d+:%d+", "(now)"):gsub("%-jm=%S+ ", ""))
end

-- Tables are printed in the order of pairs(), which differs from state to
-- state: the order of lines is not compared.
local function sorted(text)
  local list = {}
  for line in (text.."\n"):gmatch("(.-)\n") do list[#list+1] = line end
  table.sort(list)
  return table.concat(list, "\n")
end

local function run(program, opts, limit)
  local path = "./?.lua;DIR/?.lua;DIR/?/init.lua;DIR/../../tools/?.lua;"
  local r = tap.sh(("exec timeout -k 5 %d %s %s %s %s"):format(limit,
    tap.command, opts, program.first, program.rest), {
      dir = program.dir,
      env = { LUA_PATH = path:gsub("DIR", function() return program.dir end)
        ..os.getenv("LUA_PATH") }
    })
  r.said = r.err
  r.out, r.err = sorted(normal(r.out)), sorted(normal(r.err))
  return r
end

-- The plain program with these flags: nil where there is nothing to compare,
-- since it does not end. What differs by itself is not compared.
local function plain(program, flag)
  local a = run(program, flag, seconds)
  local b = run(program, flag, seconds)
  if a.status == 124 or b.status == 124 then return nil end
  for _, field in ipairs({ "status", "out", "err" }) do
    if a[field] ~= b[field] then a[field] = nil end
  end
  return a
end

-- The first line in which two texts differ, as each has it.
local function first_difference(a, b)
  local next_a, next_b = (a.."\n"):gmatch("(.-)\n"), (b.."\n"):gmatch("(.-)\n")
  repeat
    a, b = next_a(), next_b()
  until a ~= b
  return a or "(no line)", b or "(no line)"
end

-- Says how two runs differ; nil if they do not.
local function difference(want, got)
  for _, field in ipairs({ "status", "err", "out" }) do
    if want[field] and want[field] ~= got[field] then
      local a, b = first_difference(tostring(want[field]),
	tostring(got[field]))
      return ("%s\nplain:    %s\nprofiled: %s\nits errors:\n%s"):format(
	field, a, b, got.said:sub(1, 2000))
    end
  end
end

local runs, equal, good, expected = 0, 0, 0, {}

local function reason(name)
  for _, k in ipairs(known) do
    if name:find(k[1], 1, true) then return k[2] end
  end
end

local function compare(program, flag, want)
  for _, mode in ipairs(modes) do
    local opts = ("-jm=%s,/dev/null %s"):format(mode, flag)
    local why = difference(want, run(program, opts, seconds * 10))
    local excuse = why and reason(program.name)
    runs = runs + 1
    if not why then equal = equal + 1 end
    if excuse then
      expected[program.name] = excuse
    else
      tap.ok(not why, program.name.." "..opts, why)
    end
  end
end

-- -- Main --------------------------------------------------------------------

if not dir or dir == "" then
  tap.skip("name a directory with test suites: make check-suites SUITES=DIR")
end
local copy = tap.tmpname()
os.remove(copy)
assert(os.execute(("cp -R %s %s"):format(quote(dir), quote(copy))) == 0)

for _, program in ipairs(programs(copy)) do
  if program.name:find(only, 1, true) then
    for _, flag in ipairs(flags) do
      local want = plain(program, flag)
      if want then
        if want.status == 0 then good = good + 1 end
        compare(program, flag, want)
      else
        tap.diag(("%s %s: does not end within %d s"):format(program.name, flag,
          seconds))
      end
    end
  end
end

os.execute("rm -rf "..quote(copy))
for name, why in pairs(expected) do tap.diag(name.." differs: "..why) end
tap.diag(("%d plain runs end with status 0"):format(good))
tap.diag(("%d profiled runs, %d the same as plain"):format(runs, equal))
tap.done()
