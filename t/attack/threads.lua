-- SPDX-License-Identifier: MIT
-- The tests of hosts with several states, threads and forks, very often. In a
-- build with --enable-sanitizers=thread, ThreadSanitizer's reports count.

local tap = require("tap")
local trial = require("attack.trial")

local count = trial.count(12)
local hosts = {
  threads = { "another_profiler_in_the_state_that_owns",
    "the_owner_is_closed_while_others_run", "exec_while_profiled",
    "a_state_goes_on_in_another_thread", "states_are_closed_while_profiled",
    "states_are_stopped_and_closed", "states_end_in_either_way",
    "states_are_closed_by_other_threads",
    "coroutines_of_several_threads_are_looked_at",
    "forks_while_coroutines_are_looked_at",
    "forks_while_others_start_and_stop" },
  host = { "states_in_several_threads", "an_allocator_that_is_kept",
    "a_host_that_drops_its_coroutine", "an_exit_while_threads_run" },
}

local list = {}
for program, cases in pairs(hosts) do
  for _, case in ipairs(cases) do
    list[#list+1] = { tap.builddir.."/t/unit/"..program, case }
  end
end
table.sort(list, function(a, b) return a[1]..a[2] < b[1]..b[2] end)
if not tap.read(list[1][1]) then tap.skip(list[1][1].." is not built") end

local dir = tap.tmpdir()
local options = ("suppressions=%s/t/tsan.supp log_path=%s/tsan "..
  "report_signal_unsafe=0 history_size=7"):format(tap.srcdir, dir)

local function run(program, case)
  -- Randomised addresses can collide with the sanitizer's own.
  local r = tap.sh(("r='setarch -R'; $r true 2>/dev/null || r=; "..
    "exec $r timeout -k 5 300 %s %s"):format(os.getenv("MP_RUN") or "",
    tap.quote(program)),
    { env = { CK_RUN_CASE = case, TSAN_OPTIONS = options } })
  local _, passed = ("\n"..r.out):gsub("\nok ", "")
  local reports = tap.sh("cat "..dir.."/tsan.* 2>/dev/null").out
  os.execute("rm -f "..dir.."/*")
  if reports ~= "" then return false, reports end
  return r.status == 0 and passed == 1, r.out..r.err
end

for i = 0, count - 1 do
  local program, case = unpack(list[i % #list + 1])
  local ok, said = run(program, case)
  trial.check(ok, case, said)
end
tap.diag(#list.." tests of hosts")
trial.done("hosts with several threads")
