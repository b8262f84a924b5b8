-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Options as a table: made into an option string and names of outputs.
----------------------------------------------------------------------------

local optionlist = require("jit.mp.optionlist")
local options = require("jit.mp.options")

-- The options with a number, by the field that stands for each. In the string
-- those with bytes come last: an m behind one would be taken for its unit.
local numbers, by_key = {}, {}
for _, last in ipairs({ false, true }) do
  for _, opt in ipairs(optionlist.list) do
    if opt.unit and (opt.unit == "bytes") == last then
      numbers[#numbers+1] = opt
      by_key[opt.key or opt.field] = opt
    end
  end
end

local others = { options = true, outputs = true, sort = true, callback = true,
  trigger = true }

-- All fields, in words.
local function known()
  local t = { "options", "outputs" }
  for _, opt in ipairs(numbers) do t[#t+1] = opt.key or opt.field end
  t[#t+1] = "trigger, sort and callback"
  return table.concat(t, ", ")
end

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

-- The value of a field as an option string has it; nil: it is a wrong one.
local function number(opt, value)
  local text = type(value) == "number" and ("%.14g"):format(value) or value
  local letter = opt.letter == "<n>" and "" or opt.letter
  local pattern = opt.unit == "bytes" and
    "^%d+["..(opt.units or "km").."]?$" or "^%-?%d+$"
  if type(text) ~= "string" or not text:find(pattern) then return nil end
  return options.parse(letter..text) and letter..text
end

-- The options for triggers: one, as in "80%", or a list of them.
local function triggers(value)
  local text = ""
  for _, word in ipairs(type(value) == "table" and value or { value }) do
    if type(word) ~= "string" or not word:find("^%d+[%%kmgs]$") or
	not options.parse("B"..word) then
      return wrong("trigger", 'a text such as "80%", "400m" or "5s", or a '..
	"list of them")
    end
    text = text.."B"..word
  end
  return text
end

-- Takes the table. Returns the string, a list of names, and the fields that
-- stand for options, by letter; or nil and a message.
local function read(t)
  local text = t.options
  if text == nil then text = "f" end
  if type(text) ~= "string" then return wrong("options", "a string") end
  local given, outputs, msg = {}, names(t.outputs)
  if not outputs then return nil, msg end
  for field, value in pairs(t) do
    local opt = by_key[field]
    if opt and not number(opt, value) then
      return wrong(field, "a whole number of "..options.range(opt)..
	(opt.field == "depth" and " or from -1 to -100" or ""))
    elseif not opt and not others[field] then
      return nil, ("unknown field '%s'; the fields are %s"):format(
	tostring(field), known())
    end
  end
  if t.trigger then
    local word
    word, msg = triggers(t.trigger)
    if not word then return nil, msg end
    text, given.B = word..text, "trigger"
  end
  if t.sort then
    outputs = { "--sort="..tostring(t.sort), unpack(outputs) }
  end
  if select(2, text:gsub(":", "")) == 1 then text = text..":" end
  for _, opt in ipairs(numbers) do
    local value = t[opt.key or opt.field]
    local word = value and number(opt, value)
    if word and opt.field == "depth" then text = word..text
    elseif word then text = text..word end
    if word then given[opt.letter] = opt.key or opt.field end
  end
  return text, outputs, given
end

return { read = read }
