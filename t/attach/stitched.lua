-- SPDX-License-Identifier: MIT
-- A compiled loop that calls C functions, from which LuaJIT goes on in compiled
-- code: a hook sees the calls alone. It runs until the file of that name has
-- gone.

local count = coroutine.wrap(function()
  local n = 0
  while true do
    n = n + 1
    coroutine.yield(n)
  end
end)

local n = 0
repeat
  n = n + 1
  assert(count() == n, "another value")
  local file = io.open(arg[1])
  if file then file:close() end
until not file
print("right")
