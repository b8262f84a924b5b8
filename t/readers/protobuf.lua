-- SPDX-License-Identifier: MIT
-- A reader of protocol buffers, for what our writers use of them.

local function varint(s, pos)
  local n, scale = 0, 1
  while true do
    local b = s:byte(pos)
    n, pos, scale = n + b % 128 * scale, pos + 1, scale * 128
    if b < 128 then return n, pos end
  end
end

-- A field's value at a position, and the position behind it.
local function value(s, kind, pos)
  if kind == 0 then return varint(s, pos) end
  if kind == 1 then
    local n = 0
    for i = 7, 0, -1 do n = n * 256 + s:byte(pos + i) end
    return n, pos + 8
  end
  assert(kind == 2, "a type of field that nobody writes")
  local n, from = varint(s, pos)
  return s:sub(from, from + n - 1), from + n
end

-- Fields of a message: { [field] = list of numbers or strings }.
local function message(s)
  local t, pos = setmetatable({}, { __index = function(t, k)
    t[k] = {}
    return t[k]
  end }), 1
  while pos <= #s do
    local tag
    tag, pos = varint(s, pos)
    local list = t[math.floor(tag / 8)]
    list[#list+1], pos = value(s, tag % 8, pos)
  end
  assert(pos == #s + 1, "a field that ends behind its message")
  return t
end

-- The numbers of a packed field.
local function packed(s)
  local t, pos = {}, 1
  while pos <= #s do t[#t+1], pos = varint(s, pos) end
  return t
end

return { message = message, packed = packed }
