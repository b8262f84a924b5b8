-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The heap from within: walks, the growth between two, and the reasons why a
-- value is alive.
----------------------------------------------------------------------------

local core = require("jit.mp.core")
local growth = require("jit.mp.heap.growth")
local numbers = require("jit.mp.model.numbers")
local paths = require("jit.mp.heap.paths")

-- -- Walks -------------------------------------------------------------------

-- Lines of at least a share of all, as a tree.
local function add_lines(out, lines, least, cleast, indent)
  for _, line in ipairs(lines) do
    local has_c = line.c > 0 and line.c >= cleast
    if line.bytes >= least or has_c then
      out[#out+1] = ("%s%s%s  %s  (%s)\n"):format(indent,
	numbers.bytes(line.bytes),
	has_c and " + "..numbers.bytes(line.c).." C" or "", line.path,
	paths.kind(line))
      add_lines(out, line.children, least, cleast, indent.."  ")
    end
  end
end

local Walk = {}
Walk.__index = Walk

function Walk.__tostring(w)
  local out = { ("%s held, %s in all\n"):format(numbers.bytes(w.held),
    numbers.bytes(w.total)) }
  add_lines(out, w.roots, w.total * 0.03, (w.c_bytes or 0) * 0.03, "")
  return table.concat(out)
end

local Growth = {}

function Growth.__tostring(list)
  local out = {}
  for _, d in ipairs(list) do
    out[#out+1] = ("+%s  %s  (%.0f > %.0f x %s)\n"):format(
      numbers.bytes(d.after - d.before), d.path, d.count_before,
      d.count_after, d.type)
  end
  return table.concat(out)
end

-- The paths that grew since another walk, by a hundredth of the bytes held or
-- more: a list, the largest growth first.
function Walk.since(w, before)
  if getmetatable(w) ~= Walk or getmetatable(before) ~= Walk then
    error("jit.mp: since compares two results of mp.heap(), as in "..
      "later:since(earlier)", 2)
  end
  local list, least = {}, w.held / 100
  for _, d in ipairs(growth.between(before.list, w.list)) do
    if d.after - d.before >= least then list[#list+1] = d end
  end
  table.sort(list, function(a, b)
    local x, y = a.after - a.before, b.after - b.before
    if x ~= y then return x > y end
    return a.path < b.path
  end)
  return setmetatable(list, Growth)
end

local function heap(share, file)
  if share ~= nil and not (tonumber(share) and tonumber(share) > 0 and
      tonumber(share) <= 1) then
    error(("jit.mp: heap takes a share of the heap, more than 0 and at most "..
      "1, not %s"):format(tostring(share)), 2)
  elseif file ~= nil and type(file) ~= "string" then
    error("jit.mp: heap takes a file name, not a "..type(file), 2)
  end
  local w, msg, errno = core.heap(share, file)
  if not w then return nil, msg, errno end
  w.list, w.roots = paths.lines(w)
  return setmetatable(w, Walk)
end

-- -- Why ---------------------------------------------------------------------

function core.why_result.__tostring(r)
  local out = { ("%s: %s, with what it holds %s\n"):format(r.what,
    numbers.bytes(r.self), numbers.bytes(r.bytes)) }
  if not r.held then
    out[2] = "held by nothing: not collected yet\n"
  else
    out[2] = "held by "..(r.holder and paths.common(r.holder) or
      "the VM, or by several")..(", %s\n"):format(
      numbers.counted(r.references, "reference"))
  end
  for _, ref in ipairs(r.list) do
    out[#out+1] = "  "..(ref.path and paths.common(ref.path) or
      "only through itself: "..ref.from)..
      (ref.count > 1 and (" (%.0f times)"):format(ref.count) or "").."\n"
  end
  if #r.list < r.referrers then
    out[#out+1] = ("  and %.0f more\n"):format(r.referrers - #r.list)
  end
  return table.concat(out)
end

function core.paths_result.__tostring(r)
  local out = { ("%s: %s%s\n"):format(r.what, numbers.counted(#r.list, "path"),
    r.complete and "" or ", and there are or may be more") }
  for _, p in ipairs(r.list) do
    out[#out+1] = "  "..paths.common(p.path).."\n"
  end
  return table.concat(out)
end

-- No function of Lua in between: its variables would hold the value.
return { heap = heap, why = core.why, paths = core.paths, dot = core.dot }
