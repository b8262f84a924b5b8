-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- One HTML file to look at a profile in a browser: nothing else is needed.
----------------------------------------------------------------------------
--
-- The page is viewer.html with style and script (viewer/*) and the profile in
-- it. The profile is JSON by columns: arrays of numbers, and one table of
-- strings to which they point. The script computes everything that it shows.
--
-- Two profiles to compare share functions and strings, so that equal ones have
-- equal numbers. Of functions that have moved, the places are those of the
-- second profile, as in a comparison that is text.
--
----------------------------------------------------------------------------

local columns = require("jit.mp.page.columns")
local encode = require("jit.mp.page.encode")
local facts = require("jit.mp.page.facts")
local heap = require("jit.mp.page.heap")
local jit_of = require("jit.mp.page.jit")
local leaks_of = require("jit.mp.page.leaks")
local files = require("jit.mp.page.source")
local names = require("jit.mp.model.names")
local pairing = require("jit.mp.model.pairing")
local terms = require("jit.mp.model.terms")
local views = require("jit.mp.model.views")
local wall = require("jit.mp.model.wall")

-- Read now: at the end of the program the files may be out of reach.
local parts, missing = require("jit.mp.page.parts")()

local list, object, str = encode.list, encode.object, encode.str

local function encode_profile(p, o, add, moved)
  local t = columns.columns(p, o, add, moved)
  t[#t+1], t[#t+2] = "info", facts.info(p, o.kib)
  return object(t)
end

-- The words for a view in a sentence: "a share of ..."
local words = {
  cpu = "CPU time", alloc = "allocations", inuse = "memory in use",
  peak = "the peak", native = "C memory allocated",
  native_inuse = "C memory in use", temp = "temporary objects"
}

-- Objects that the first collection after their birth freed: only a page has
-- them as a view.
local temporary = { name = "temp", title = "temporary" }

-- The views that a page has: those of C memory, of wall times, and of temporary
-- objects, where one of its profiles knows them.
local function encode_views(native, waits, temp)
  local t = {}
  local function add(v)
    t[#t+1] = object({ "name", str(v.name),
      "title", str((v.title:gsub("^%l", string.upper))),
      "words", str(v.words or words[v.name]),
      "wall", tostring(v.field ~= nil) })
  end
  for _, v in ipairs(views.list) do
    if native or not v.name:find("^native") then add(v) end
  end
  for _, time in ipairs(waits and wall.list or {}) do add(time) end
  if temp then add(temporary) end
  return list(t)
end

-- Whether it is known which objects of a profile were temporary.
local function knows_temporary(p)
  return p.rows[1] and p.rows[1].temp_bytes ~= nil
end

-- Names for what is absent.
local function encode_absent()
  return object({ "stack", str(terms.no_stack), "zone", str(terms.no_zone),
    "label", str(terms.no_label), "other", str(terms.other),
    "type", str(terms.no_type) })
end

-- The view that the page opens with: the one asked for first, or with option I
-- the first time that there is some of.
local function start_view(p, o)
  local waits = o.report == "I" and o.chosen == 0
  for _, time in ipairs(waits and wall.list or {}) do
    local value = wall.values(p, time)
    for _, row in ipairs(p.rows) do
      if p.waits.enabled and value(row) > 0 then return time.name end
    end
  end
  return o.view or "cpu"
end

-- The state in which the page opens, by the options.
local function encode_start(p, o)
  local groups = { t = "type", v = "state", z = "zone",
    y = o.label and "label:"..names.printable(o.label) or "label" }
  return object({ "view", str(start_view(p, o)),
    "objects", tostring(o.objects and true or false),
    "kib", tostring(o.kib and true or false),
    "lines", tostring(o.shows_lines or false),
    "functions", tostring(p.info.no_lines == true),
    "group", str(groups[o.states] or "") })
end

-- extra.before: another profile to compare with.
-- Returns the page, or nil and a message.
return function(p, o, extra)
  if not parts then return nil, "cannot make the page: "..missing end
  local before = extra and extra.before
  local strs, str_list = encode.interner()
  local add, funcs = columns.functions(strs, o)
  local profiles = { encode_profile(p, o, add, {}) }
  if before then
    local _, _, moved = pairing.labels((before:functions()), (p:functions()),
      "f", o.path)
    profiles[2] = encode_profile(before, o, add, moved)
  end
  local sources = files(p, o, strs, extra)
  local walk, decisions = heap(p, strs, before), jit_of(p, strs)
  local alive = leaks_of(p, o, strs)
  local native = p.native.enabled or before and before.native.enabled
  local waits = p.waits.enabled or before and before.waits.enabled
  local data = object({ "version", "2", "start", encode_start(p, o),
    "views", encode_views(native, waits, knows_temporary(p)),
    "absent", encode_absent(),
    "profiles", list(profiles),
    "functions", columns.encode_functions(funcs), "files", sources,
    "heap", walk, "leaks", alive, "jit", decisions,
    "strings", encode.strings(str_list) })
  return (parts.html:gsub("{{(%w+)}}", {
    title = encode.markup(facts.script_name(p)), style = parts.style,
    script = parts.script, data = data
  }))
end
