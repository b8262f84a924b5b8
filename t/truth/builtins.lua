-- SPDX-License-Identifier: MIT
-- CPU time of functions that do their work in builtins, against the time that
-- each took in the same run by the process's clock, and whose it is:
--   ./run luajit t/truth/builtins.lua [SECONDS]
--
-- None is off by more than two points, or four standard deviations. In the
-- interpreter the builtin has nine tenths of it, or the comparator a share.

local tap = require("tap")
local seconds = tonumber(arg[1] or 4)
local LIMIT, SIGMAS, OWN = 0.02, 4, 0.9

local program = [[
local ffi = require("ffi")
ffi.cdef "void *memset(void *, int, size_t);"
local clock, sort, rep = os.clock, table.sort, string.rep
local text = ("hello world "):rep(4000)
local words, shuffled, block = {}, {}, ffi.new("char[?]", 1e6)
for i = 1, 4000 do words[i] = tostring(i) end
for i = 1, 4000 do shuffled[i] = i * 7919 % 4001 end
local name = os.tmpname()
local file = assert(io.open(name, "w"))
file:write(("line of text\n"):rep(50000))
file:close()
file = assert(io.open(name))
local source = ("a = 1 "):rep(999)
local function unsorted()
  local t = {}
  for i = 1, #shuffled do t[i] = shuffled[i] end
  return t
end
local function before(a, b) return a < b end
local calls = {}
function calls.by_gsub() return (text:gsub("o", "0")) end
function calls.by_sort(t) sort(t) return 1 end
function calls.by_comparator(t) sort(t, before) return 1 end
function calls.by_concat()
  local s
  for i = 1, 9 do s = table.concat(words, ",") end
  return s
end
function calls.by_format()
  local s
  for i = 1, 9 do s = ("%q"):format(text) end
  return s
end
function calls.by_read() file:seek("set") return (file:read("*a")) end
function calls.by_pcall() local _, s = pcall(rep, "abcd", 1e5) return s end
function calls.by_resume()
  local co = coroutine.create(function() local s = rep("ab", 1e5) return s end)
  local _, s = coroutine.resume(co)
  return s
end
function calls.by_ffi() ffi.C.memset(block, 1, 1e6) return 1 end
function calls.by_load() return (loadstring(source)) end
function calls.by_upper() local s = text:upper() return s end
local spent, keep = {}, nil
for name in pairs(calls) do spent[name] = 0 end
local start = clock()
while clock() - start < tonumber(arg[1]) do
  for name, call in pairs(calls) do
    local list = unsorted()
    local from = clock()
    keep = call(list)
    spent[name] = spent[name] + clock() - from
  end
end
local all = clock() - start
for name, t in pairs(spent) do io.stderr:write(name, " ", t / all, "\n") end
os.remove(name)
]]

local builtins = {
  by_gsub = "string.gsub", by_sort = "table.sort",
  by_comparator = "table.sort", by_concat = "table.concat",
  by_format = "string.format", by_read = "io.method.read",
  by_pcall = "string.rep", by_resume = "string.rep",
  by_ffi = "ffi.meta.__call", by_load = "loadstring", by_upper = "string.upper",
}

-- Samples of each of these functions, of these below its builtin, and of all.
local function samples(folded)
  local of, own, all = {}, {}, 0
  for stack, n in folded:gmatch("([^\n]+) (%d+)\n") do
    local name, above = stack:match("(by_%l+)(.*)")
    all = all + n
    if not name and stack:find("string.rep", 1, true) then
      name, above = "by_resume", stack  -- A coroutine's stack begins there.
    end
    if name then
      of[name] = (of[name] or 0) + n
      if above:find(builtins[name], 1, true) then
	own[name] = (own[name] or 0) + n
      end
    end
  end
  return of, own, all
end

local function compare(mode, options, interpreted)
  local out = os.tmpname()..".folded"
  local r = tap.luajit(("%s -jm=%s,%s %s %g"):format(mode, options, out,
    tap.program(program), seconds))
  local of, own, all = samples(tap.read(out))
  os.remove(out)
  tap.ok(all > 100, mode.." "..options..": there are samples", r.err)
  for name, share in r.err:gmatch("(by_%l+) (%S+)\n") do
    local got, true_share = (of[name] or 0) / all, tonumber(share)
    local limit = math.max(LIMIT,
      SIGMAS * math.sqrt(true_share * (1 - true_share) / all))
    local part = (own[name] or 0) / (of[name] or 1)
    local say = ("%s %s, %s: %.1f%%, truly %.1f%%; %s %.0f%%"):format(mode,
      options, name, got * 100, true_share * 100, builtins[name], part * 100)
    tap.ok(math.abs(got - true_share) < limit, say, r.err)
    if interpreted and true_share > 0.02 then
      tap.ok(part > OWN, say.." of it")
    end
  end
end

local probe = tap.luajit("-jm=hb1 "..tap.program("local t = {}"))
if not probe.out:find("capture exact") then
  tap.skip("capture is not exact on this VM")
end

compare("-joff", "ci1", true)
compare("-joff", "cfli1", true)
compare("", "ci1")
compare("", "cfli1")
tap.done()
