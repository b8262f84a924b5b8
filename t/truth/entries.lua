-- SPDX-License-Identifier: MIT
-- Random programs whose functions are entered in many ways: called, tail
-- called, with variable arguments, protected, as metamethods, as iterators and
-- as methods. Each makes objects, one kind on a line: program(seed) returns the
-- text of one. No object is a string, as one that is there is not made again.

local R = math.random

-- Uses of function F or its object, with i for a number.
local uses = {
  "r = r + F(i)", "r = r + F(i)",
  "local ok, x = pcall(F, i) r = r + x",
  "local ok, x = xpcall(F, same, i) r = r + x",
  "r = r + select(2, pcall(F, i, r))",
  "r = r + F(i, unpack({ i, 2 }))",
  "for a, b in F, i do r = r + 1 break end",
  "for a in (function(s, c) if not c then return F(i) end end), nil do "..
    "r = r + a end",
  "r = r + (O + i)", "r = r + (i - O)", "r = r + (i % O)",
  "r = r + O[i]", "O[-i-1] = r", "r = r + O(i)", "r = r + O:m(i)",
  "if O < O then r = r + 1 end", "if O <= O then r = r + 1 end",
  "if O == E then r = r + 1 end",
  "r = r + #tostring(O..i)", "r = r + -O",
}

-- Metamethods of an object of function F.
local metamethods = [[
mt.__add = function(a, b)
  return F(tonumber(b) or 4)
end
mt.__sub = function(...)
  local a = ...
  return (F(tonumber(a) or 3))
end
mt.__mod = mt.__sub
mt.__index = function(t, k)
  if k == "m" then return function(self, i) return F(i) end end
  local x = F(k)
  return x
end
mt.__newindex = function(t, k)
  F(k)
end
mt.__call = function(self, ...)
  return F(...)
end
mt.__lt = function(a, b)
  local x = F(2)
  return x > 1
end
mt.__le = function(a, b)
  return F(3) > 2
end
mt.__eq = function(a, b)
  return F(5) > 2
end
mt.__concat = function(a, b)
  return F(tonumber(b) or 1)
end
mt.__unm = function(...)
  local x = F(6)
  return x
end
]]

local objects = { "{ i }", "{ x = i, y = 1 }", "{ i, i, { i } }",
  "function() return i end" }

local lines

-- Adds lines to the program.
local function out(format, ...)
  for line in (format:format(...).."\n"):gmatch("(.-)\n") do
    lines[#lines+1] = line
  end
end

local function object()
  out("  keep[%d] = %s", R(9), objects[R(#objects)])
end

local function use(n)
  out("  %s", (uses[R(#uses)]:gsub("%f[%w][FOE]%f[%W]",
    { F = "f"..n, O = "objects["..n.."]", E = "others["..n.."]" })))
end

-- Function k, which uses those before it, and its objects.
local function define(k)
  local any = R(3) == 1
  out("f%d = function(%s)", k, any and "..." or "i")
  if any then out("  local i = ...") end
  if any and R(2) == 1 then out("  keep[1] = { ... }") end
  out("  i = tonumber(i) or 3\n  local r = 0")
  if R(3) == 1 then
    out("  for k = 1, %d do", R(4))
    object()
    out("  end")
  end
  for _ = 1, R(2) do object() end
  for _ = 1, k > 1 and R(2) or 0 do use(R(math.max(1, k - 2), k - 1)) end
  if R(2) == 1 then object() end
  if k > 1 and R(5) == 1 then
    out("  if r >= 0 then return f%d(i) end", k - 1)
  end
  out("  return r + i %% 7\nend\ndo\nlocal mt = {}")
  out("%s", (metamethods:gsub("%f[%w]F%f[%W]", "f"..k)))
  out("objects[%d] = setmetatable({}, mt)", k)
  out("others[%d] = setmetatable({}, mt)\nend", k)
end

local function program(seed)
  math.randomseed(seed)
  lines = {}
  local n = R(3, 7)
  out("local keep, objects, others = {}, {}, {}")
  out("local pcall, xpcall, select, unpack = pcall, xpcall, select, unpack")
  out("local function same(e) return e end")
  for k = 1, n do out("local f%d", k) end
  for k = 1, n do define(k) end
  out("local s = 0\nfor k = 1, 3 do\nfor i = 1, %d do\n  local r = 0",
    R(200, 600))
  for _ = 1, R(3) do use(R(math.max(1, n - 2), n)) end
  out("  s = s + r\nend\nend\nprint(s)")
  return table.concat(lines, "\n").."\n"
end

return { program = program }
