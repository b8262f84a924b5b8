-- SPDX-License-Identifier: MIT
-- Coroutines that wait, all of which were made at the start, until the file of
-- that name has gone: some for ever, others from turn to turn, with labels.

local mp = require("jit.mp")

-- Tests know the numbers of these lines.
local function forever() coroutine.yield() end
local function deep(n)
  if n > 0 then return (deep(n - 1)) end
  return (coroutine.yield())
end
local function serve(route)
  while true do
    mp.label { route = route }
    coroutine.yield()
  end
end

local turns = {}
local function start(n, f, ...)
  local list = {}
  for i = 1, n do
    list[i] = coroutine.create(f)
    assert(coroutine.resume(list[i], ...))
  end
  return list
end

local kept = { start(4, forever), start(2, deep, 5) }
for _, co in ipairs(start(3, serve, "/cart")) do turns[#turns+1] = co end
for _, co in ipairs(start(1, serve, "/home")) do turns[#turns+1] = co end

local n = 0
repeat
  for _, co in ipairs(turns) do assert(coroutine.resume(co)) end
  for _ = 1, 1000 do n = n + #tostring(n) end
  local file = io.open(arg[1])
  if file then file:close() end
until not file
for _, list in ipairs(kept) do
  for _, co in ipairs(list) do
    assert(coroutine.resume(co))
    assert(coroutine.status(co) == "dead")
  end
end
print("right")
