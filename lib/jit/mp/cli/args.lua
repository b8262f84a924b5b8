-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The words of a command line, by GNU's habits: -oFILE and -o FILE, --opt=value
-- and --opt value, long options by their beginnings, - for standard input, and
-- -- before operands.
----------------------------------------------------------------------------

local options = require("jit.mp.options")
local spec = require("jit.mp.cli.spec")
local stop = require("jit.mp.cli.stop")
local words = require("jit.mp.cli.words")

-- The long options of a command, and all of its options by their spellings.
local function known(command)
  local list, by = {}, {}
  local function add(o)
    list[#list+1] = o.long
    by[o.long] = o
    if o.short then by[o.short] = o end
  end
  for _, name in ipairs(command.options) do add(spec.options[name]) end
  add(spec.options.help)
  return list, by
end

-- The option that a word names, and the value in the word, if any.
local function find(command, word)
  local list, by = known(command)
  if by[word] then return by[word] end
  local short = by[word:sub(1, 2)]
  if short and short.value and word:sub(2, 2) ~= "-" then
    return short, word:sub(3)
  end
  local name, value = word:match("^(%-%-[^=]+)=(.*)$")
  name = name or word:match("^%-%-.+")
  local long, is, meant = nil, "unknown", ""
  if name then long, is, meant = words.find(name, list) end
  if long then return by[long], value end
  stop.usage(("%s: %s option %s%s"):format(command.name, is, word, meant),
    command)
end

-- Takes an option with the word after it, if it needs that. Returns how many
-- words were taken.
local function take(command, given, word, after)
  local o, value = find(command, word)
  local taken = 1
  if value and not o.value then
    stop.usage(("%s: %s takes no value"):format(command.name, o.long), command)
  elseif o.value and not value then
    value, taken = after, 2
  end
  if o.value and (value or "") == "" then
    stop.usage(("%s: %s needs a value"):format(command.name, word), command)
  end
  if o.many then
    given[o.name] = given[o.name] or {}
    table.insert(given[o.name], value)
  else
    given[o.name] = value or true
  end
  return taken
end

-- Whether a word is an operand: a number is one, for options of a report can
-- begin with a depth such as -2.
local function is_operand(word)
  return word == "-" or word:sub(1, 1) ~= "-" or word:find("^%-%d")
end

-- Splits the arguments from the second one on: returns the options by their
-- names, and the operands.
local function parse(command, arguments)
  local given, operands, i = {}, {}, 2
  while i <= #arguments do
    local word = arguments[i]
    if word == "--" and not (command.first and operands[1]) then
      for k = i + 1, #arguments do operands[#operands+1] = arguments[k] end
      break
    elseif command.first and operands[1] or is_operand(word) then
      operands[#operands+1] = word
      i = i + 1
    else
      i = i + take(command, given, word, arguments[i+1])
    end
  end
  if given.help or options.asks_for_help[given.opts] then return given end
  local least, most = command.operands[1], command.operands[2]
  if #operands < least then
    stop.usage(("%s: %s"):format(command.name, command.missing), command)
  elseif #operands > most then
    stop.usage(("%s: extra argument %q"):format(command.name,
      operands[most+1]), command)
  elseif given.out and #given.out > 1 and not command.outs then
    stop.usage(("%s: one -o is enough"):format(command.name), command)
  end
  return given, operands
end

return { parse = parse }
