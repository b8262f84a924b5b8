-- SPDX-License-Identifier: MIT
-- A compiled loop that is never left, begun while the collector has just the
-- main thread to mark: then the VM's global state has two references to that
-- thread, each behind a small number. Runs until the file of that name has
-- gone.

local ffi = require("ffi")
ffi.cdef "int access(const char *, int);"
local C, running = ffi.C, arg[1]

local function spin(most)
  local x = 0
  repeat
    for i = 1, 1e6 do x = x + i % 7 end
  until C.access(running, 0) ~= 0 or x > most
end
spin(9e7)

-- A thread's third word is the address of the global state, behind which the
-- collector's sweep is word 7 and its first gray object word 8. The main thread
-- is 96 bytes before it. A collection that has begun earlier may have another
-- order; then the loop is as good as any.
jit.off()
local thread = tostring(coroutine.create(function() end)):match("0x%x+")
local global = ffi.cast("uint64_t **", tonumber(thread))[2]
local main = ffi.cast("uint64_t", global) - 96
collectgarbage("setstepmul", 1)
for _ = 1, 1000 do
  if global[8] == main and global[7] == 0 then break end
  collectgarbage("step", 0)
end
jit.on()
io.stdout:write("begins\n")
io.stdout:flush()
spin(math.huge)
print("right")
