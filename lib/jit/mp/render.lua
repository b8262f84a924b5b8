-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A report: a profile and an option string make a text, or a file's contents.
----------------------------------------------------------------------------

local facts = require("jit.mp.model.facts")
local formats = require("jit.mp.format.formats")
local header = require("jit.mp.text.header")

-- Whether the program ran with that option. A sum of profiles has the options
-- of its parts, but not all that these recorded.
local function has_asked(p, letter)
  return not facts.is_sum(p) and
    (p.info.options or ""):find(letter, 1, true) ~= nil
end

-- The options that have these recorded, which every report needs that shows
-- them.
local recorded = {
  lines = "option l, or with an output file that shows lines",
  types = "option t, with an output file that shows types, or without "..
    "options b1 and e"
}

-- The one of these that a report needs and this profile lacks; or nil.
local function unrecorded(p, o)
  if p.info.no_lines and (o.shows_lines or o.annotate or o.quickfix) then
    return "lines"
  end
  return p.info.no_types and o.states == "t" and "types" or nil
end

-- The message about that; or nil.
local function lacking(p, o)
  local what = unrecorded(p, o)
  return what and ("no %s: a profile has them where the program ran with %s")
    :format(what, recorded[what])
end

-- The part of a profile that a text needs and this profile lacks, and the
-- option by which the program would have had it recorded; or nil.
local function absent(p, o)
  if o.events and not p.events then return "events", "e" end
  if o.calls and not p:has_calls() then return "calls", "n" end
  if o.leaks and not p.survivors then return "ages of objects", "L" end
  -- Where the program ran with the option, the report says why.
  if p.from_file and not has_asked(p, "W") and o.walk and not o.leaks and
      not p.walk then
    return "heap walk", "W"
  elseif p.from_file and not has_asked(p, "M") and o.memory and
      not p.memory.rss then
    return "table of the memory", "M"
  elseif o.compiler and not p.compiler.enabled then
    return "decisions of the compiler", "J"
  elseif p.from_file and o.listings and not p.compiler.listed then
    return "listings of traces", "J+"
  elseif o.waits and not p.waits.enabled then
    return "times of waiting coroutines", "I"
  end
end

-- The text of a report that lacks that part. Where the program ran without the
-- option: nil and a message.
local function without(p, what, letter)
  if p.info.window and letter == "L" then
    return ("no %s in a window: they are of the whole run\n"):format(what)
  elseif facts.is_sum(p) then
    return ("no %s in a sum of profiles: each of them has its own\n"):format(
      what)
  elseif has_asked(p, letter) then
    return ("no %s: they could not be recorded\n"):format(what)
  end
  return nil, ("no %s: a profile has %s where the program ran with option %s")
    :format(what, what:find("s$") and "them" or "it", letter)
end

-- The options with the views of C memory, where the profile has it and no view
-- was chosen.
local function with_native(p, o)
  if not p.native.enabled or o.chosen ~= 0 or o.folded or #o.views ~= 3 then
    return o
  end
  local t = {}
  for k, v in pairs(o) do t[k] = v end
  t.views = { "cpu", "alloc", "inuse", "native", "native_inuse" }
  return t
end

-- The bytes that leak, for an output that does not show them.
local function bytes_leaked(p, o)
  return (select(3, formats.view("-", o)(p, o, {})))
end

-- Renders a profile (jit.mp.model.profile) by parsed options.
--   env.name   the output's name, whose suffix says the format
--   env.width  columns of the terminal that the report goes to, if any
--   env.bold   whether the largest numbers are to be bold there
--   env.live   whether the report is one of many while the program runs
--   env.source_root  where the user says that the sources are
-- Returns the text, or nil and a message; and the bytes that leak, where the
-- options ask for leaks.
local function render(p, o, env)
  if o.collapse and not (env.name or ""):find("%.mp$") then
    p = p:collapsed()
  end
  o = with_native(p, o)
  p.source_root = env.source_root  -- Names of functions come from there.
  local view, vo, is_text = formats.view(env.name or "-", o)
  local msg = lacking(p, o)
  if msg then return nil, msg end
  local what, letter = absent(p, o)
  local body, leaked
  if what and is_text then
    body, msg = without(p, what, letter)
  else
    body, msg, leaked = view(p, vo, env)
  end
  if not body then return nil, msg end
  if o.leak_limit and not is_text then leaked = bytes_leaked(p, o) end
  if is_text and not (o.folded or o.leak_only or o.quickfix) then
    local above, below = header(p, vo, env)
    body = above..body..below
  end
  return body, nil, leaked
end

return { render = render, lacking = lacking }
