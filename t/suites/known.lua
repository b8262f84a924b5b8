-- SPDX-License-Identifier: MIT
-- Programs of other people's suites that behave differently under the
-- profiler: a part of the name, and the reason. Each was seen to do the same
-- without luajit-mp.

local profiled = "a trace compiled for LuaJIT's own profiler, -jp, shows the "..
  "same"
local heap = "the result depends on the size of the heap: plain LuaJIT with "..
  "some thousand tables more differs too"

return {
  { "harness/301-basic", heap }, -- collectgarbage("step"): a cycle's end
  { "misc/gc_trace.lua", heap },
  { "misc/stackov.lua", profiled },
  { "tarantool/gh-6163-min-max", heap }, -- fails in three places, or in four
  { "tarantool/lj-1004-oom-error-frame", -- a reason for skipping the test
    "the first key that pairs() finds differs from state to state" },
  { "tarantool/lj-1128-table-new-opt-tnew", profiled }, -- 8 of 120 runs
  { "tarantool/lj-603-err-snap-restore", -- a reason for skipping the test
    "the first key that pairs() finds differs from state to state" },
  { "tarantool/lj-1169-down-rec-side",
    "plain LuaJIT crashes where -jp and -jm happen not to" },
  { "tarantool/lj-522-fix-dlerror-return-null",
    "the error of a missing library is in a table printed by pairs()" },
  { "tarantool/lj-840-gc64-fix-hrefk-optimization", heap },
  { "tarantool/lj-980-load-fwd-after-table-rehash", heap },
  { "tarantool/lj-981-folding-0", profiled },
  { "tarantool/or-94-arm64-ir-ahuvload-bool", profiled },
}
