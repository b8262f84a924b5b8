-- SPDX-License-Identifier: MIT
-- misc.memprof as Tarantool's manual uses it.

local tap = require("tap")

local dir = tap.tmpname()
os.remove(dir)
assert(os.execute("mkdir "..dir) == 0)
tap.write(dir.."/test.lua", [[
jit.off() misc = require("jit.mp.misc")
local str, err = misc.memprof.start("memprof_new.bin")
print(str, err)

local function append(str, rep)
    return string.rep(str, rep)
end

local t = {}
for i = 1, 1e4 do
    table.insert(t,
        append('q', i)
    )
end
print(misc.memprof.start("memprof_new.bin"))
local stp, err = misc.memprof.stop()
print(stp, err)
print(misc.memprof.stop())
print(misc.memprof.start("no/where.bin"))
print(misc.memprof.start("name.txt"))
print(pcall(misc.memprof.start))
]])
local r = tap.luajit("test.lua", { dir = dir })
tap.is(r.status, 0, "the program runs")
local lines = {}
for line in r.out:gmatch("[^\n]*") do
  if line ~= "" then lines[#lines+1] = line end
end
for i, want in ipairs({ "^true\tnil$", "^nil\t.*running\t%d+$", "^true\tnil$",
    "^nil\t.*not running\t%d+$", "^nil\t.*no/where.bin.*\t%d+$",
    "^nil\t.*must end in .bin or .mp\t%-?%d+$",
    "^false\t.*must be a string, not a nil$" }) do
  tap.like(lines[i], want, "call "..i)
end
-- A safepoint may come after the line.
local line = tap.knows_layout() and "@test.lua:12" or "@test.lua:%d+"
r = tap.sh(tap.mp.." report memprof_new.bin e", { dir = dir })
tap.like(r.out, "ALLOCATIONS\n"..line..": %d+ events", "the report")
tap.like(r.out, "\nREALLOCATIONS\n", "reallocations")
r = tap.sh(tap.mp.." report --leak-only memprof_new.bin", { dir = dir })
tap.like(r.out, "^HEAP SUMMARY:\n"..line.." holds %d+ bytes: %d+ allocs, "..
  "%d+ frees\n", "what is held")
os.execute("rm -r "..dir)
tap.done()
