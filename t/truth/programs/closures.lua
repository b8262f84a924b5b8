-- SPDX-License-Identifier: MIT
-- Closures and iterators made of them.

local function counter(from)
  local n = from
  return function()
    n = n + 1
    return n
  end
end

local function range(n)
  local i = 0
  return function()
    i = i + 1
    if i <= n then return i end
  end
end

local function map(f, iterator)
  return function()
    local v = iterator()
    if v ~= nil then return f(v) end
  end
end

local function filter(keep, iterator)
  return function()
    while true do
      local v = iterator()
      if v == nil or keep(v) then return v end
    end
  end
end

local function collect(iterator)
  local t = {}
  for v in iterator do
    t[#t+1] = { v }
  end
  return t
end

local function compose(f, g)
  return function(x) return f(g(x)) end
end

local counters, total = {}, 0
for i = 1, 3000 do
  local c = counter(i)
  c()
  counters[i % 100 + 1] = c
end

for round = 1, 400 do
  local squares = map(function(x) return x * x end, range(30))
  local odd = filter(function(x) return x % 2 == 1 end, squares)
  local list = collect(odd)
  total = total + #list
end

local add = function(x) return x + 1 end
for i = 1, 3000 do
  local f = compose(add, compose(add, add))
  total = total + f(i)
end
print(total)
