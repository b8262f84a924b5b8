-- SPDX-License-Identifier: MIT
-- A program that compiles, runs and drops code all the time, as a server that
-- loads templates: with a sample each millisecond it ends, after so many
-- rounds and with the sum that it has without a profile. COUNT: the seconds
-- that it runs in each mode; 360 make an hour.

local tap = require("tap")
local trial = require("attack.trial")

local program = tap.program([==[
  local rounds, seconds = tonumber(arg[1]), tonumber(arg[2])
  local stop = os.time() + (seconds or 1e9)
  local texts = {
    [[local t, i = ... local s = 0
      for k = 1, 8 do for _, v in pairs(t) do s = s + v % (i + k) end end
      return s]],
    [[local t, i = ... local n = 0
      for k = 1, 6 do
	local r = {}
	for name, v in pairs(t) do r[#r+1] = name .. v + k end
	n = n + #table.concat(r)
      end
      return n + i % 7]],
    [[local t, i = ... local sum = 0
      local function add(x) sum = sum + x % 11 end
      local function each(f)
	for _, v in ipairs { 3, i, 5, 8, i } do f(v) end
      end
      for k = 1, 20 do each(add) end
      return sum]],
    [[local t, i = ... local n = 0
      local co = coroutine.wrap(function()
	for name, v in pairs(t) do coroutine.yield(v + #name) end
      end)
      for v in co do n = n + v end
      return n * (i % 3)]],
    [[local t, i = ... local n = 0
      local text = ("%d:%s "):rep(9):format(i, i, i, i, i, i, i, i, i, i, i, i,
	i, i, i, i, i, i)
      for word in text:gmatch("%d+") do n = n + tonumber(word) % 13 end
      return n]],
    [[local t, i = ... local r = setmetatable({}, { __index = function(_, k)
	return t[k] or k % 5
      end })
      local s = 0
      for k = 1, 60 do s = s + r[k + i % 9] end
      return s]],
  }
  local t = {}
  for i = 1, 60 do t["k"..i] = i end
  local n, sum, random = 0, 0, 7
  while n < rounds and (n % 16 ~= 0 or os.time() < stop) do
    n = n + 1
    random = (random * 69069 + 1) % 2 ^ 32
    local text = texts[math.floor(random / 65536) % #texts + 1]
    sum = (sum + assert(loadstring(text))(t, n)) % 1e9
  end
  print(n, sum)]==])

local modes = { "li1", "fli1b1", "lei1", "fi1", "fli1w1", "Ji1", "J+i1" }
local seconds = trial.count(4)

-- A loop without end is killed.
local function run(options, rounds, limit)
  return tap.sh(("exec timeout -s KILL %d %s -Ohotloop=5 -Omaxtrace=200 %s "..
    "%s %.0f %s"):format(600 + 8 * seconds, tap.command, options, program,
    rounds, limit or ""))
end

for _, mode in ipairs(modes) do
  local r = run(("-jm=%s,/dev/null"):format(mode), 1e15, seconds)
  local n = tonumber(r.out:match("^(%d+)"))
  local plain = n and run("", n)
  if n then tap.diag(("%s: %.0f rounds"):format(mode, n)) end
  trial.check(n ~= nil and r.status == 0 and r.err == "" and
    r.out == plain.out, mode, ("status %d\n%s\n%s\nplain: %s"):format(r.status,
    r.out, r.err, plain and plain.out or "not run"))
end
trial.done("a program that compiles all the time")
