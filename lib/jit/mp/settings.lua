-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Options as a table: made into an option string and names of outputs.
----------------------------------------------------------------------------

-- The numbers: the letter that a field stands for, the least and the largest
-- value, what it counts, and whether it may have a unit. Those that may come
-- last: an m behind one would be taken for its unit.
local numbers = {
  { "depth", "", -100, 100, "frames, from 1 to 100 or from -1 to -100" },
  { "min", "m", 0, 100, "percent, from 0 to 100" },
  { "interval", "i", 1, 1e6, "milliseconds, from 1 to 1000000" },
  { "every", "w", 1, 1e6, "seconds, from 1 to 1000000" },
  { "period", "b", 1, 2^40, "bytes, from 1 to 1048576m", unit = true },
  { "leak_limit", "L", 1, 2^40, "bytes, from 1 to 1048576m", unit = true },
  { "memory", "C", 2^20, 2^40, "bytes, from 1m to 1048576m", unit = true },
}
local by_field = {}
for _, n in ipairs(numbers) do by_field[n[1]] = n end

local others = { options = true, outputs = true, sort = true, callback = true }
local known = "options, outputs, depth, min, interval, period, every, "..
  "leak_limit, memory, sort and callback"

local function wrong(field, what)
  return nil, ("the field '%s' must be %s"):format(field, what)
end

local function names(outputs)
  if outputs == nil or outputs == "" then return {} end
  if type(outputs) == "string" then return { outputs } end
  if type(outputs) ~= "table" then
    return wrong("outputs", "a file name or a list of file names")
  end
  for _, name in ipairs(outputs) do
    if type(name) ~= "string" then
      return wrong("outputs", "a file name or a list of file names")
    end
  end
  return outputs
end

local factor = { [""] = 1, k = 2^10, m = 2^20 }

-- The value of a field as an option string has it; or nil.
local function number(n, value)
  local text = type(value) == "number" and ("%.14g"):format(value) or value
  if type(text) ~= "string" then return nil end
  local digits, unit = text:match("^(%-?%d+)([km]?)$")
  if not digits or unit ~= "" and not n.unit then return nil end
  local amount = digits * factor[unit]
  if amount < n[3] or amount > n[4] or n[2] == "" and amount == 0 then
    return nil
  end
  return text
end

-- Takes the table. Returns the string and a list of names, or nil and a
-- message.
local function read(t)
  local text = t.options
  if text == nil then text = "f" end
  if type(text) ~= "string" then return wrong("options", "a string") end
  local outputs, msg = names(t.outputs)
  if not outputs then return nil, msg end
  for field, value in pairs(t) do
    local n = by_field[field]
    if n and not number(n, value) then
      return wrong(field, "a whole number of "..n[5])
    elseif not n and not others[field] then
      return nil, ("unknown field '%s'; the fields are %s"):format(
	tostring(field), known)
    end
  end
  if t.sort then
    outputs = { "--sort="..tostring(t.sort), unpack(outputs) }
  end
  for _, n in ipairs(numbers) do
    local value = t[n[1]] and number(n, t[n[1]])
    if value and n[2] == "" then text = value..text
    elseif value then text = text..n[2]..value end
  end
  return text, outputs
end

return { read = read }
