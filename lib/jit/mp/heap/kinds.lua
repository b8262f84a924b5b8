-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The kinds of objects in a heap walk, beyond their types, in words.
----------------------------------------------------------------------------

local larger = require("jit.mp.model.larger")
local numbers = require("jit.mp.model.numbers")
local printable = require("jit.mp.model.names").printable

local words = {}

-- Slots or bytes of a size, which is a power of two: what a class begins with.
local function from(k) return k.size > 1 and k.size / 2 + 1 or k.size end

local function use(k)
  return (", %s used"):format(numbers.share(k.used, k.slots))
end

local function slots(k)
  return from(k) == k.size and ("%.0f slots"):format(k.size) or
    ("%.0f to %.0f slots"):format(from(k), k.size)
end

function words.array(k) return "array parts of "..slots(k)..use(k) end

function words.hash(k)
  return ("hash parts of %.0f slots%s"):format(k.size, use(k))
end

function words.long(k)
  return ("strings of %.0f to %.0f bytes"):format(from(k), k.size)
end

function words.numbered(k, name)
  return ('strings "%s" that differ in numbers only'):format(name or "")
end

local function class(of)
  return function(_, name)
    if name == "(others)" then return "other "..of end
    return of.." "..(name or "without a name")
  end
end
words.userdata, words.cdata = class("userdata"), class("cdata")

function words.code() return "machine code of traces, outside of the heap" end

-- The kinds of a walk, the largest first: kind (as in the file), text, count,
-- bytes.
return function(w)
  local list = {}
  for i, k in ipairs(w.kinds or {}) do
    list[i] = { kind = k.kind, count = k.count, bytes = k.bytes,
      size = k.size, slots = k.slots, used = k.used,
      name = k.name and printable(k.name),
      text = words[k.kind](k, k.name and printable(k.name)) }
  end
  table.sort(list, larger("text"))
  return list
end
