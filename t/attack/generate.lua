-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Random programs: generate(seed) returns the text of one.
----------------------------------------------------------------------------
--
-- A program prints a sum that depends on all it has computed, and on nothing
-- else: no times, addresses, order of keys or moments of collections. It ends
-- after some tenths of a second. Where jit.mp is loaded, some of its finalizers
-- stop and start profiles, a few times.
--
----------------------------------------------------------------------------

local tap = require("tap")

-- The beginning of a program, then pieces of functions' bodies, after "----".
-- In a piece N is a small count, K a larger one, x a number in scope, F the
-- call of another function, O an option string.
local function read()
  local f = assert(io.open(tap.srcdir.."/t/attack/generate.txt"))
  local text, pieces = f:read("*a"), {}
  f:close()
  for piece in (text.."----\n"):gmatch("(.-)%-%-%-%-\n") do
    pieces[#pieces+1] = piece
  end
  return table.remove(pieces, 1), pieces
end

-- Where all is slow, a program does a part of its work.
local share = tap.slow and 10 or 1

local prelude, pieces = read()

-- The text of one function; it calls only those before it.
local function body(random, index)
  local lines = { ("f[%d] = function(x, depth)"):format(index) }
  for _ = 1, random(2, 5) do
    local piece = pieces[random(#pieces)]
    local call = index > 1 and
      ("f[%d](x %% 97, depth)"):format(random(index - 1)) or "rnd(9)"
    piece = piece:gsub("%f[%w]([NKOF])%f[%W]", {
      N = tostring(random(3, 40)), K = tostring(random(40, 400)), F = call,
      O = ("%q"):format(({ "f", "fl", "fb1", "W", "vf", "e", "L" })[random(7)])
    })
    lines[#lines+1] = "  do "..piece.." end"
  end
  if random(3) == 1 then
    lines[#lines+1] = ("  if depth > 0 then return f[%d](x + 1, depth - 1) end")
      :format(index)
  end
  lines[#lines+1] = "  return x % 65521\nend"
  return table.concat(lines, "\n")
end

return function(seed)
  math.randomseed(seed)
  local n = math.random(4, 12)
  local text = { (prelude:gsub("SEED", seed)) }
  for i = 1, n do text[#text+1] = body(math.random, i) end
  text[#text+1] = ([[
for round = 1, %d do
  local ok, e = pcall(f[rnd(%d)], round, 3)
  add(ok and e or 7)
end
print(sum)]]):format(math.floor(math.random(200, 1500) / share), n)
  return table.concat(text, "\n").."\n"
end
