-- SPDX-License-Identifier: MIT
-- A callback for each batch of samples.

local tap = require("tap")

local function run(program)
  return tap.luajit(tap.program([[
local mp = require("jit.mp")
local function busy(seconds)
  local t, keep = os.clock() + seconds, {}
  local i = 0
  while os.clock() < t do
    i = i + 1
    keep[i % 100] = { i }
  end
  return i
end
]]..program))
end

local r = run([[
local calls, n, allocated, states, lines, other = 0, 0, 0, {}, {}, 0
local keep
assert(mp.start({ options = "fm0b1", interval = 1, callback =
  function(thread, samples, state, bytes)
    assert(type(thread) == "thread" and samples > 0 and bytes >= 0)
    calls, n, allocated = calls + 1, n + samples, allocated + bytes
    states[state] = true
    lines[require("jit.profile").dumpstack(thread, "f", 1)] = true
    local t = os.clock() + 0.01
    while os.clock() < t do end
    keep = {}
    for i = 1, 1000 do keep[i] = { i } end
    if coroutine.running() == thread then other = other + 1 end
  end }))
local made = busy(0.3)
local s = mp.snapshot()
mp.stop()
print(calls > 3, n >= calls, n <= s.cpu.samples, other)
print(lines["app.lua:busy"] or next(lines) ~= nil, next(states) ~= nil)
print(allocated > 0, allocated <= s.heap.alloc_bytes)
print(s.heap.alloc_objects >= made and s.heap.alloc_objects < made * 1.2 + 999)
]])
tap.is(r.err, "", "no error")
tap.like(r.out, "true\ttrue\ttrue\t0\ntrue\ttrue\n",
  "it is called with threads, samples, states")
tap.like(r.out, "\ntrue\ttrue\ntrue\n$",
  "and bytes, of which its own are none")
tap.like(r.out, "%(profile callback%)", "its time is a row")

r = run([[
mp.start({ options = "f", outputs = "/dev/null", callback = function()
  calls = (calls or 0) + 1
  error("mine")
end })
busy(0.2)
print(calls, mp.stop())
]])
tap.is(r.out, "1\ttrue\n", "an error ends the calls, not the profile")
tap.like(r.err, "^luajit%-mp: the callback failed[^\n]*: [^\n]*mine\n$",
  "and is said")

r = run([[
local first
mp.start({ outputs = "/dev/null", interval = 1, callback = function()
  first = first or { mp.stop() }
  assert(mp.report("f", "/dev/null"))
  assert(#mp.snapshot().rows > 0)
end })
busy(0.2)
print(first[1], first[2])
print(mp.stop())
]])
tap.like(r.out, "^nil\tthe profiler cannot be stopped.*\ntrue\n$",
  "it cannot stop the profile, but report")
tap.is(r.err, "", "without an error")

r = run([[
local n = 0
local function count() n = n + 1 end
for i = 1, 3 do
  assert(mp.start({ outputs = "/dev/null", interval = 1, callback = count }))
  coroutine.wrap(function()
    for k = 1, 20 do
      busy(0.002)
      collectgarbage()
      coroutine.wrap(function() busy(0.002) end)()
      pcall(error)
    end
  end)()
  assert(mp.stop())
end
print(n > 10)
local before = n
busy(0.1)
print(n == before)
]])
tap.is(r.out..r.err, "true\ntrue\n", "coroutines and collections")

r = run([[
print(pcall(mp.start, { callback = "f" }))
print(mp.stop())
local p = require("jit.profile")
p.start("f", function() end)
print(mp.start({ callback = print }))
p.stop()
]])
tap.like(r.out, "^false\t.*the field 'callback' must be a function, not a "..
  "string\nnil\t", "no function")
tap.like(r.out, "\nnil\tthe profiling timer is in use.*the callback needs it",
  "nothing calls it where another profiler has the timer")

-- A recording that the compiler has begun refers to code that goes away. Calls
-- of a function like os.clock, which is not compiled, begin many.
if tap.knows_layout() then
  for _, opts in ipairs({ "f", "fl" }) do
    r = run(([[
local n = 0
assert(mp.start({ options = "%s", outputs = "/dev/null", interval = 1,
  callback = function() n = n + 1 jit.flush() end }))
local stop = os.time() + 20
while n < 500 and os.time() < stop do
  busy(0.0005)
  local s = 0
  for i = 1, 1000 do s = s + i %% 7 * 2 end
end
print(n > 0, mp.stop())
]]):format(opts))
    tap.is(r.status..r.out..r.err, "0true\ttrue\n",
      "it may flush compiled code, "..opts)
  end
end

tap.done()
