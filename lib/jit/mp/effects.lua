-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Options that would change nothing: each has to have an effect on at least one
-- of the outputs, or is an error.
----------------------------------------------------------------------------

local formats = require("jit.mp.format.formats")
local optionlist = require("jit.mp.optionlist")
local views = require("jit.mp.model.views")

-- -- Conditions --------------------------------------------------------------

-- Whether the options show callers of the functions or lines.
local function has_callers(o)
  return math.abs(o.depth) > 1
end

local function has_heap(o)
  for _, view in ipairs(o.views) do
    if view ~= "cpu" then return true end
  end
end

local function has_cpu(o)
  for _, view in ipairs(o.views) do
    if view == "cpu" then return true end
  end
end

-- Those of the option list: a function from parsed options, the option, the
-- output, and whether a program is measured; and advice where it is false.
local conditions = {
  callers = { has_callers, "give s or a depth, too" },
  names = { function(o) return o.scope ~= "" end, "give f, F or l, too" },
  frames = {
    function(o) return has_callers(o) and o.scope ~= "" end,
    "give s or a depth from -2 on, with names"
  },
  stacks = {
    function(o) return has_callers(o) and o.scope ~= "" or o.shows_lines end,
    "give s or a depth, too"
  },
  heap = { has_heap, "give a view of the heap, too" },
  one = {
    function(o, opt) return views.by[o.view].letter == opt.letter end,
    "it has one view, the first that is given"
  },
  amount = {
    function(o) return o.view ~= "cpu" end,
    "give a view of the heap, too"
  },
  bytes = {
    function(o) return has_heap(o) and not o.objects and not o.raw end,
    "bytes are only shown without o and r, and in views of the heap"
  },
  both = {
    function(o) return has_heap(o) and has_cpu(o) end,
    "there is one file anyway: it has CPU or heap, not both"
  },
  first = {
    function(o, opt)
      return o.view ~= "cpu" and views.by[o.view].letter == opt.letter
    end,
    "a page has all views, and opens with CPU or the first that is given"
  },
  measured = {
    function(_, _, _, measures) return measures end,
    "it is for the run of a program"
  },
  memory = { function(o) return not o.cpu_only end,
    "with CPU alone, no allocations are sampled" },
  limit = {
    function(o, _, _, measures) return measures and o.leak_limit end,
    "it shows nothing of leaks; with a number, L sets the exit status"
  },
  live = { function(o) return o.live end,
    "lines are only recorded for a report that shows them" },
  lines = {
    function(_, _, name) return formats.shows_lines(formats.of(name)) end,
    "it shows no lines"
  },
  event = {
    function(_, _, name)
      return name:find("%e", 1, true) and not name:find("://", 1, true)
    end,
    "give a file with %e in its name, as in app-%e.txt"
  },
  named = { function(_, _, name) return name ~= "-" end, "name a file" },
}

-- -- Targets -----------------------------------------------------------------

-- The name that the option list has for what an output shows: a suffix,
-- `server`, the letter of a report, or `table`; and whether it is a text.
local function target_of(o, name)
  local format = formats.of(name)
  if format then return format.kind or format[1], false end
  return o.target or o.report or "table", true
end

local function described(target)
  if target == "table" then return "a table" end
  if target == "server" then return "a server" end
  return #target == 1 and "option '"..target.."'" or target
end

-- The names in a list of targets, for people.
local function explained(shows)
  local words, letters = {}, {}
  local plural = { table = "tables", text = "text", file = "files",
    server = "servers" }
  for target in (" "..shows):gmatch("%s([^%s:]+)") do
    if #target == 1 then letters[#letters+1] = target
    else words[#words+1] = plural[target] or target end
  end
  if letters[1] then
    words[#words+1] = (letters[2] and "options " or "option ")..
      table.concat(letters, ", ")
  end
  local last = table.remove(words)
  return words[1] and table.concat(words, ", ").." and "..last or last
end

-- The condition under which an option has an effect on a target: true for none,
-- nil where it never has any.
local function condition_of(shows, target, is_text)
  for _, name in ipairs({ target, is_text and "text" or "file" }) do
    for word, condition in (" "..shows):gmatch("%s([^%s:]+):?(%S*)") do
      if word == name then
	return condition ~= "" and conditions[condition] or true
      end
    end
  end
end

-- -- Checks ------------------------------------------------------------------

local KEPT = "a profile keeps all of it; give the option to luajit-mp report"

-- The reason why an option has no effect on any of the outputs; nil: it has
-- one. what: the option in words.
local function useless(o, opt, what, outputs, measures)
  local seen, advice, never, kept = {}, nil, {}, nil
  for _, name in ipairs(outputs) do
    local target, is_text = target_of(o, name)
    local condition = condition_of(opt.shows, target, is_text)
    if condition == true or
	condition and condition[1](o, opt, name, measures) then
      return nil
    end
    if condition then advice = advice or condition[2] end
    if target == ".mp" and measures and not opt.report then kept = KEPT end
    if not seen[target] then never[#never+1] = described(target) end
    seen[target] = true
  end
  return ("%s has no effect with %s: %s"):format(what,
    table.concat(never, " and "), advice or kept or
    "it is for "..explained(opt.shows))
end

-- An option, or the field that stands for it, in words.
local function named(o, opt)
  local field = o.fields and o.fields[opt.letter]
  if field then
    return ("the field '%s' (option %s)"):format(field, opt.letter)
  elseif opt.field == "depth" then
    return "a depth"
  end
  return ("option '%s'"):format(opt.letter == "-<n>" and "-" or opt.letter)
end

-- The message about an output that cannot have two reports; nil: all can. Only
-- a run records both.
local function one_report(o, outputs, measures)
  if not o.second then return nil end
  for _, name in ipairs(outputs) do
    local target, is_text = target_of(o, name)
    if is_text or target == ".folded" then
      return ("options '%s' and '%s' are two different reports: give one of "..
	"them%s"):format(o.report, o.second, measures and ", or only outputs "..
	"that have both, such as app.mp and app.html" or "")
    end
  end
end

-- Takes parsed options, the names of the outputs, and whether a program is
-- measured by these options. Returns a message about the first option that has
-- no effect, or nil.
local function check(o, outputs, measures)
  if o.help then return nil end
  if o.run_only and not measures then
    return ("option '%s' is for the run of a program; it cannot change a "..
      "profile afterwards"):format(o.run_only)
  end
  if o.live then outputs = { "-", unpack(outputs) } end
  local two = one_report(o, outputs, measures)
  if two then return two end
  for _, opt in ipairs(optionlist.list) do
    local at = o.seen[opt.letter]
    if at then
      local why = useless(o, opt, named(o, opt), outputs, measures)
      if why then return why end
    end
  end
  if o.leak_limit and not measures then
    return "the number of option 'L' has no effect with a report: it sets "..
      "the exit status of a program"
  end
end

-- The same for a word of a command that shows itself there: as `shows` in the
-- option list.
local function check_word(o, word, shows, outputs)
  if o.live then outputs = { "-", unpack(outputs) } end
  return useless(o, { shows = shows }, word, outputs, false)
end

return { check = check, check_word = check_word }
