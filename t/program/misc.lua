-- SPDX-License-Identifier: MIT
-- misc.memprof as Tarantool's manual uses it.

local tap = require("tap")

local dir = tap.tmpname()
os.remove(dir)
assert(os.execute("mkdir "..dir) == 0)
tap.write(dir.."/test.lua", [[
jit.off() require("jit.mp.misc")
print(misc.memprof.start("memprof_new.bin"))

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
print(misc.memprof.stop())
print(misc.memprof.stop())
print(misc.memprof.start("no/where.bin"))
print(misc.memprof.start("/dev/null"))
print(misc.memprof.stop())
print(misc.memprof.start("memprof.data"))
print(misc.memprof.stop())
print(pcall(misc.memprof.start))
]])
tap.write(dir.."/parse.lua", 'require("memprof")(arg)')
local r = tap.luajit("test.lua", { dir = dir })
tap.is(r.status, 0, "the program runs")
local lines = {}
for line in r.out:gmatch("[^\n]*") do
  if line ~= "" then lines[#lines+1] = line end
end
for i, want in ipairs({ "^true$", "^nil\tprofiler is running already\t22$",
    "^true$", "^nil\tprofiler is not running\t22$",
    "^nil\t.*no/where.bin.*No such file or directory\t2$",
    "^true$", "^true$", "^true$", "^true$",
    "^false\t.*must be a string, not a nil$" }) do
  tap.like(lines[i], want, "call "..i)
end
-- A safepoint may come after the line.
local line = tap.knows_layout() and "@test.lua:11" or "@test.lua:%d+"
r = tap.sh(tap.mp.." report memprof_new.bin e", { dir = dir })
tap.like(r.out, "ALLOCATIONS\n"..line..": %d+ events", "the report")
tap.like(r.out, "\nREALLOCATIONS\n", "reallocations")
r = tap.sh(tap.mp.." report --leak-only memprof_new.bin", { dir = dir })
tap.like(r.out, "^HEAP SUMMARY:\n"..line.." holds %d+ bytes: %d+ allocs, "..
  "%d+ frees\n", "what is held")
r = tap.luajit("-ljit.mp.misc parse.lua memprof_new.bin", { dir = dir })
tap.like(r.out, "\nALLOCATIONS\n", "memprof's parser")
r = tap.luajit("-ljit.mp.misc parse.lua --leak-only memprof_new.bin",
  { dir = dir })
tap.like(r.out, "^HEAP SUMMARY:\n"..line.." holds %d+ bytes", "with an option")
os.execute("rm -r "..dir)
tap.done()
