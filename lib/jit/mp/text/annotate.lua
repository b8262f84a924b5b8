-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Annotated source: every view's share beside each line.
----------------------------------------------------------------------------

local cells = require("jit.mp.text.cells")
local empty = require("jit.mp.model.empty")
local estimates = require("jit.mp.model.estimates")
local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")
local profile = require("jit.mp.model.profile")
local sources = require("jit.mp.model.sources")
local terms = require("jit.mp.model.terms")
local views = require("jit.mp.model.views")
local widths = require("jit.mp.text.width")

local pad = cells.pad

local CONTEXT = 3 -- Lines shown around a line that counts, unless all are.

-- Sums by file and line: { [file] = { [line] = sums } }, and totals.
local function by_file(p, o)
  local files = {}
  local list, totals = p:sums(o.views, o.objects, function(row)
    local file, line = p:source_line(row)
    return file and file.."\0"..(line or 0) or ""
  end)
  for _, e in ipairs(list) do
    local file, line = e.name:match("^(.*)%z(%d+)$")
    if file then
      files[file] = files[file] or {}
      files[file][tonumber(line)] = e
    end
  end
  return files, totals
end

-- Files with a line that is worth showing, the largest first.
local function worth(files, totals, o)
  local t = {}
  for file, lines in pairs(files) do
    local max
    for line, e in pairs(lines) do
      local s = views.largest(e, totals)
      if views.shows(s, o) then
	max = math.max(max or 0, s)
      else
	lines[line] = nil
      end
    end
    if max then t[#t+1] = { name = file, lines = lines, max = max } end
  end
  return views.sort(t, "max")
end

-- Cell of a line in a view; e: the sums of that line, or nil.
local function cell(o, e, i, total)
  local v = e and e[i] or 0
  if v <= 0 or total <= 0 then return "" end
  if o.raw then return ("%.0f"):format(v) end
  return estimates.mark(v, e.var[i], total)..numbers.share(v, total)
end

-- Width of each view's column in a file.
local function column_widths(o, lines, totals)
  local w = {}
  for i, view in ipairs(o.views) do
    w[i] = #views.by[view].short
    for _, e in pairs(lines) do
      w[i] = math.max(w[i], #cell(o, e, i, totals[i]))
    end
  end
  return w
end

-- The lines that are shown: all, or those near one with samples.
local function shown(o, lines, n)
  local show = {}
  for line in pairs(lines) do
    local from, to = line - CONTEXT, line + CONTEXT
    for k = math.max(from, 1), math.min(to, n) do show[k] = true end
  end
  return function(k) return o.annotate == "A" or show[k] end
end

local function annotate_file(p, o, entry, totals, out, env)
  local text, msg = sources.lines(p, entry.name, env)
  out[#out+1] = "\n====== "..profile.printable(entry.name).." ======\n"
  if not text then
    out[#out+1] = cells.wrap("[cannot annotate: "..msg.."]\n", env.width)
    return
  end
  local line_changed = p:changed_line(entry.name)
  if line_changed then
    out[#out+1] = cells.wrap(("[not the file that ran: the function on line "..
      "%d is not there]\n"):format(line_changed), env.width)
  end
  local w = column_widths(o, entry.lines, totals)
  local head = {}
  for i, view in ipairs(o.views) do
    head[i] = pad(views.by[view].short, w[i])
  end
  out[#out+1] = " "..table.concat(head, "  ").." |\n"
  local show, gap = shown(o, entry.lines, #text), true
  for k, line in ipairs(text) do
    if show(k) then
      if gap and o.annotate == "a" then out[#out+1] = "@@ "..k.." @@\n" end
      local e, list = entry.lines[k], {}
      for i in ipairs(o.views) do
	list[i] = pad(cell(o, e, i, totals[i]), w[i])
      end
      local shares = " "..table.concat(list, "  ").." | "
      line = names.source_line(line)
      out[#out+1] = shares..(env.width and
	cells.clip(widths.untabbed(line), env.width - #shares) or line).."\n"
    end
    gap = not show(k)
  end
end

-- Whether any number that is shown has a mark.
local function any_rough(o, list, totals)
  for _, entry in ipairs(o.raw and {} or list) do
    for _, e in pairs(entry.lines) do
      for i in ipairs(o.views) do
	if estimates.mark(e[i], e.var[i], totals[i]) ~= "" then return true end
      end
    end
  end
end

return function(p, o, env)
  local out = {}
  local files, totals = by_file(p, o)
  for i, view in ipairs(o.views) do
    if totals[i] == 0 then
      out[#out+1] = cells.wrap(empty(p, view).."\n", env.width)
    end
  end
  local list = worth(files, totals, o)
  for _, entry in ipairs(list) do
    annotate_file(p, o, entry, totals, out, env)
  end
  if #list == 0 and #out < #o.views then
    out[#out+1] = views.nothing("no line", o)
  end
  if any_rough(o, list, totals) then
    out[#out+1] = "\n"..cells.wrap(terms.rough_note.."\n", env.width)
  end
  return table.concat(out)
end
