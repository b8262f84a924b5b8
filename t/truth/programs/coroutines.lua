-- SPDX-License-Identifier: MIT
-- Coroutines: generators, a pipeline, and tasks that take turns.

local yield, wrap = coroutine.yield, coroutine.wrap

local function numbers(n)
  return wrap(function()
    for i = 1, n do
      yield({ i, i + 1 })
    end
  end)
end

local function doubled(source)
  return wrap(function()
    for pair in source do
      local t = { pair[1] * 2, from = pair }
      yield(t)
    end
  end)
end

local function walk(tree)
  if tree.left then walk(tree.left) end
  yield({ tree.key })
  if tree.right then walk(tree.right) end
end

local function build(low, high)
  if low > high then return nil end
  local mid = math.floor((low + high) / 2)
  local left = build(low, mid - 1)
  local right = build(mid + 1, high)
  return { key = mid, left = left, right = right }
end

local count = 0
for round = 1, 60 do
  for t in doubled(numbers(50)) do
    count = count + #t
  end
end

for round = 1, 20 do
  local tree = build(1, 127)
  for e in wrap(function() walk(tree) end) do
    count = count + #e
  end
end

local tasks = {}
for id = 1, 50 do
  tasks[id] = coroutine.create(function(first)
    local log = { first }
    for step = 1, 60 do
      log[#log+1] = { id, step }
      yield(#log)
    end
    return log
  end)
end
local alive = true
while alive do
  alive = false
  for id = 1, #tasks do
    local task = tasks[id]
    if coroutine.status(task) ~= "dead" then
      coroutine.resume(task, id)
      alive = true
    end
  end
end
print(count)
