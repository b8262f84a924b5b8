-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The memory of the process by part: a table that adds up to its RSS.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local facts = require("jit.mp.model.facts")
local larger = require("jit.mp.model.larger")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

local STACKS = 5 -- Shown of those whose objects pin segments.
local DEPTH = 3 -- Frames of each.
local WIDTH = 90 -- Of prose, unless the terminal has a width.

local function amount(v, o)
  v = v or 0  -- A file may lack it.
  return (v < 0 and "-" or "")..views.bytes(math.abs(v), o)
end

local function parts(m, o, width)
  local rows = { { "of RSS", "bytes", "" } }
  for _, part in ipairs(facts.memory_parts(m)) do
    rows[#rows+1] = { numbers.share(part.bytes, m.rss), amount(part.bytes, o),
      part.name }
  end
  rows[#rows+1] = { "100%", amount(m.rss, o), "RSS" }
  return cells.rows(rows, width)
end

-- The stacks with memory in use in nearly empty segments, the most first.
local function sites(p)
  local name, by, list = p:namer("l", false, DEPTH), {}, {}
  for _, pin in ipairs(p.pins or {}) do
    local row = p.rows[pin.row]
    local text = row and table.concat(name(row), " < ")
    if text and not by[text] then
      by[text] = { name = text, bytes = 0, objects = 0 }
      list[#list+1] = by[text]
    end
    if text then
      by[text].bytes = by[text].bytes + pin.bytes
      by[text].objects = by[text].objects + pin.objects
    end
  end
  table.sort(list, larger("name"))
  return list
end

local function pins(p, m, o, width)
  if (m.pinned or 0) == 0 then return "" end
  local list = sites(p)
  local head = ("%s of them %s at least half free: %s free, kept by %s "..
    "in use%s\n"):format(numbers.counted(m.pinned, "segment"),
    m.pinned == 1 and "is" or "are", amount(m.pinned_free, o),
    amount(m.pinned_used, o), #list > 0 and "; samples show of these:" or "")
  local rows = {}
  for i = 1, math.min(#list, STACKS) do
    rows[i] = { amount(list[i].bytes, o), numbers.count(list[i].objects),
      "allocated at "..list[i].name }
  end
  return "\n"..cells.wrap(head, width, 0)..cells.rows(rows, width)
end

local function allocator(m, o)
  if not m.segments then
    return "How much LuaJIT's allocator has free is not known: the VM was "..
      "not at rest, or has another allocator.\n"
  end
  return ("LuaJIT's allocator has %s; the largest free piece is %s. A "..
    "segment goes back to the system when nothing in it is in use.\n"):format(
    numbers.counted(m.segments, "segment"), amount(m.largest_free, o))
end

return function(p, o, env)
  local m, width = p.memory, env.width or WIDTH
  if not m.rss then
    return cells.wrap("no table of the memory: the program ran without "..
      "option M, or /proc could not be read\n", width)
  end
  local title = "Memory of the process when the profile ended\n"
  return cells.wrap(title, width, 0).."\n"..parts(m, o, env.width)..
    "\n"..cells.wrap(allocator(m, o), width, 0)..
    pins(p, m, o, env.width)
end
