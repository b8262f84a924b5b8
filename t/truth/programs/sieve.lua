-- SPDX-License-Identifier: MIT
-- Prime numbers by streams that are made as they are asked for: closures, and
-- the same by coroutines.

local function from(n)
  return { head = n, tail = function() return from(n + 1) end }
end

local function filter(s, keep)
  while not keep(s.head) do s = s.tail() end
  return { head = s.head, tail = function()
    return filter(s.tail(), keep)
  end }
end

local function primes(s)
  local p = s.head
  return { head = p, tail = function()
    return primes(filter(s.tail(), function(n) return n % p ~= 0 end))
  end }
end

local s, sum = primes(from(2)), 0
for _ = 1, 90 do
  sum = sum + s.head
  s = s.tail()
end

local wrap, yield = coroutine.wrap, coroutine.yield
local function numbers(n)
  return wrap(function() for i = 2, n do yield(i) end end)
end
local function without(p, source)
  return wrap(function()
    for n in source do
      if n % p ~= 0 then yield(n) end
    end
  end)
end
local source = numbers(500)
for p in source do
  sum = sum + p
  source = without(p, source)
  if p > 40 then break end
end
print(sum)
