-- SPDX-License-Identifier: MIT
-- malloc and mmap fail at every call, one after another: the profiled program
-- does what it does otherwise, or ends because there is not enough memory; and
-- where the report is missing, that is said.

local tap = require("tap")
local trial = require("attack.trial")

local count = trial.count(120)
local dir = tap.tmpdir()
local library = tap.builddir.."/t/attack/.libs/fail.so"
if not tap.read(library) then tap.skip("t/attack/fail.la is not built") end
if (os.getenv("LIBASAN") or "") ~= "" then
  tap.skip("AddressSanitizer has an allocator of its own")
end

-- Its result is the same whenever the collector runs.
local program = tap.program([[
local keep, sum = {}, 0
local function make(i)
  return { i, name = "n"..i % 50, f = function() return i end }
end
local co = coroutine.wrap(function()
  for i = 1, 1e9 do coroutine.yield(("%d"):format(i)) end
end)
for i = 1, 20000 do
  keep[i % 2000 + 1] = make(i)
  if i % 10 == 0 then sum = sum + #co() end
  if i % 100 == 0 then pcall(error, { i }) end
end
for _, o in pairs(keep) do sum = sum + o.f() + #o.name end
print(sum)
]])

local modes = { "f,OUT.txt", "flb1,OUT.html", "e,OUT.txt", "L,OUT.txt",
  "Wb16k,OUT.mp", "tfb1,OUT.folded", "as,OUT.txt", "f,OUT.pb.gz,OUT.txt",
  "W,OUT.txt", "fw1,OUT.txt", "J,OUT.txt", "J+i1,OUT.html", "fB400k,OUT-%e.txt",
  "L100k,OUT.txt" }

local function run(mode, env)
  local opts = mode == "" and "" or "-jm="..mode:gsub("OUT", dir.."/out")
  return tap.sh(("exec timeout -k 5 100 env LD_PRELOAD=%s %s %s %s"):format(
    tap.quote(library), tap.command, opts, program), { env = env })
end

local want = tap.luajit(program).out

-- Words of LuaJIT, libc, the loader and ours where memory is refused. LuaJIT's
-- require takes a file that it cannot open for none.
local words = { "not enough memory", "annot allocate memory", "out of memory",
  "cannot create state", "annot load", "' not found:",
  "error loading module", "modules not installed" }

local function is_about_memory(text)
  for _, w in ipairs(words) do
    if text:find(w, 1, true) then return true end
  end
end

local function reports()
  return tap.sh("ls "..dir).out
end

-- The reason why this result is not a good one; nil if it is.
local function fault(r)
  if r.signal or r.status > 1 then return "status "..r.status end
  if r.status == 1 then
    return not is_about_memory(r.err) and "another error" or nil
  end
  if r.out ~= want then return "another result" end
  local files = reports()
  if files:find("tmp") then return "a temporary file is left" end
  if files == "" and not is_about_memory(r.err) then
    return "the report is missing, and nothing is said"
  end
end

-- Calls of a run in which all succeed.
local function calls_of(mode, what)
  run(mode, { MP_FAIL_CALLS = what, MP_FAIL_COUNT = dir.."/count" })
  local n = tonumber(tap.read(dir.."/count"))
  os.execute("rm -f "..dir.."/*")
  return n
end

local known = {}
for i = 1, count do
  local mode, what = trial.pick(modes), trial.pick({ "malloc", "malloc", "mmap",
    "both" })
  local key = mode.." "..what
  known[key] = known[key] or calls_of(mode, what)
  local from = math.random(known[key])
  local many = trial.pick({ 1, 1, 2, 10, 1000000000 })
  local r = run(mode, { MP_FAIL_CALLS = what,
    MP_FAIL_FROM = tostring(from), MP_FAIL_N = tostring(many) })
  local why = fault(r)
  trial.check(not why, key,
    ("%s: %s of %d calls from number %d:\n%s\n%s"):format(
    tostring(why), many, known[key], from, r.err, r.out))
  os.execute("rm -f "..dir.."/*")
end

for key, n in pairs(known) do tap.diag(("%s: %d calls"):format(key, n)) end
trial.done("malloc and mmap that fail")
