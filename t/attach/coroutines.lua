-- SPDX-License-Identifier: MIT
-- A scheduler of coroutines, some of which end and make room for new ones, with
-- a hook of the program's own, until the file of that name has gone.

local function hook() end
debug.sethook(hook, "", 100000)

local function worker(n)
  local sum = 0
  for round = 1, n do
    for i = 1, 50 do sum = sum + #tostring(i * n) end
    local got = coroutine.yield({ sum, round })
    assert(got == n, "another value")
  end
  return "done"
end

local function run(co, n)
  local ok, value = coroutine.resume(co, n)
  assert(ok, value)
  return value ~= "done"
end

local tasks = {}
local function step()
  for n = 1, 100 do
    tasks[n] = tasks[n] or coroutine.create(worker)
    if not run(tasks[n], n) then tasks[n] = nil end
  end
end

-- The profiler's own hook may be seen for one instruction.
local function is_hooked()
  local f, mask, count = debug.gethook()
  return f == hook and mask == "" and count == 100000
end

repeat
  for _ = 1, 20 do step() end
  assert(is_hooked() or is_hooked(), "another hook")
  local file = io.open(arg[1])
  if file then file:close() end
until not file
print("right")
