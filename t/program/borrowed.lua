-- SPDX-License-Identifier: MIT
-- A child that shares the program's memory, as that of vfork does until it
-- calls exec: a signal to it concerns neither the program nor its profile.

local tap = require("tap")
if (os.getenv("LIBASAN") or "") ~= "" or tap.slow then
  tap.skip("such a build knows no process that shares memory")
end
if not pcall(require, "ffi") then tap.skip("no FFI") end

-- The child of clone waits on a stack of its own, without a line of Lua.
local head = [[
local ffi = require("ffi")
ffi.cdef("typedef int function(void *); int pause(void); int getpid(void);"..
  "int clone(function *, void *, int, void *, ...);"..
  "int kill(int, int); int poll(void *, long, int);"..
  "int waitpid(int, int *, int);")
local VM, CHLD = 0x100, 17
local C, status = ffi.C, ffi.new("int[1]")
local stack = ffi.new("char[65536]")
local top = stack + 65536 - 64
top = top - tonumber(ffi.cast("uintptr_t", top) % 64)
local function child_gets(sig)
  local pid = C.clone(ffi.cast("function *", C.pause), top, VM + CHLD, nil)
  assert(pid > 0)
  C.kill(pid, sig)
  if sig == 28 then  -- It has a moment for it, and goes on.
    C.poll(nil, 0, 20)
    C.kill(pid, 9)
  end
  while C.waitpid(pid, status, 0) ~= pid do end
  return status[0] % 128
end
local n = 0
local function work() for i = 1, 3e6 do n = n + #tostring(i % 7) end end
work()
]]
local function run(options, body)
  return tap.luajit(("-jm=%s %s"):format(options, tap.program(head..body)))
end

for _, sig in ipairs({ 15, 1, 10, 13, 3 }) do
  local r = run("f", ([[
print(child_gets(%d))
work()
print(n)
os.exit(5)]]):format(sig))
  tap.is(r.status.." "..r.out:match("^[^\n]*"), "5 "..sig,
    ("signal %d ends the child, and nothing else"):format(sig))
  tap.like(r.out, "\n6000000\nluajit%-mp", "the program goes on to its report")
end

local r = run("f", [[
local called = 0
local core = require("jit.mp.core")
assert(core.on_signal("WINCH", function() called = called + 1 end))
for _ = 1, 5 do child_gets(28) end
work()
io.write(called, " ")
C.kill(C.getpid(), 28)
work()
print(called)]])
tap.is((r.out..r.err):match("^[^\n]*"), "0 1",
  "on_signal: only the program's own signals")

tap.done()
