-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Options as a table: made into an option string and names of outputs.
----------------------------------------------------------------------------

-- The fields that stand for a letter with a number behind it; letters whose
-- number may have a unit come last.
local fields = { "min", "interval", "every", "period", "leak_limit",
  "memory" }
local letters = { min = "m", interval = "i", every = "w", period = "b",
  leak_limit = "L", memory = "C" }
local known = "options, outputs, depth, min, interval, period, every, "..
  "leak_limit, memory, sort and callback"

local function wrong(field, what)
  return nil, ("the field '%s' must be %s"):format(field, what)
end

local function names(outputs)
  if outputs == nil then return {} end
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

-- A number, with k or m behind it perhaps, as an option string has it; or nil.
local function number(value)
  if type(value) == "number" and value >= 0 and value % 1 == 0 then
    return ("%.0f"):format(value)
  end
  return type(value) == "string" and value:match("^%d+[km]?$")
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
    if letters[field] and not number(value) or
	field == "depth" and type(value) ~= "number" then
      return wrong(field, "a whole number")
    elseif not letters[field] and field ~= "depth" and field ~= "options" and
	field ~= "outputs" and field ~= "callback" and field ~= "sort" then
      return nil, ("unknown field '%s'; the fields are %s"):format(
	tostring(field), known)
    end
  end
  if t.sort then
    outputs = { "--sort="..tostring(t.sort), unpack(outputs) }
  end
  text = (t.depth or "")..text
  for _, field in ipairs(fields) do
    if t[field] then text = text..letters[field]..number(t[field]) end
  end
  return text, outputs
end

return { read = read }
