-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Annotated source: every view's share beside each line, and below the line its
-- parts by state, zone, type or callers, if the options split it.
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

-- A function from a row to the callers of its line, as many as the depth says;
-- or nil for a row without any.
local function caller_namer(p, o)
  local label = p:labeler(o.scope ~= "" and o.scope or "f", o.path)
  return function(row)
    local t, s = {}, p.parent[p:line_stack(row.stack)] or 0
    while s ~= 0 and #t < o.depth - 1 do
      t[#t+1] = label(p.frame[s])
      s = p.parent[s]
    end
    return t[1] and table.concat(t, " < ")
  end
end

-- The kinds of parts that a line has, and functions from a row to its parts.
local function line_parts(p, o)
  local kinds, keys = {}, {}
  local function add(kind, key) kinds[#kinds+1], keys[#keys+1] = kind, key end
  local function add_callers()
    if o.depth > 1 then add("callers", caller_namer(p, o)) end
  end
  for _, level in ipairs(o.levels) do
    if level == "name" then add_callers() end
    if level == "state" then
      add(level, function(row) return p:split_name(row, o) end)
    end
  end
  if o.scope == "" then add_callers() end
  return kinds, keys
end

-- Sums by file and line: { [file] = { [line] = sums } }, totals, and the kinds
-- of the parts that sums have.
local function by_file(p, o)
  local files, kinds, keys = {}, line_parts(p, o)
  local list, totals = p:sums(o.views, o.objects, function(row)
    local file, line = p:source_line(row)
    return file and file.."\0"..(line or 0) or ""
  end, unpack(keys))
  for _, e in ipairs(list) do
    local file, line = e.name:match("^(.*)%z(%d+)$")
    if file then
      files[file] = files[file] or {}
      files[file][tonumber(line)] = e
    end
  end
  return files, totals, kinds
end

-- Leaves those parts that are worth showing, the largest first.
local function choose_parts(e, totals, o)
  local parts = {}
  for _, part in ipairs(e.sub or {}) do
    part.size = views.largest(part, totals)
    if views.shows(part.size, o) then
      parts[#parts+1] = part
      choose_parts(part, totals, o)
    end
  end
  e.sub = views.sort(parts, "size")
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
	choose_parts(e, totals, o)
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
  local function measure(entries)
    for _, e in pairs(entries) do
      for i in ipairs(o.views) do
	w[i] = math.max(w[i], #cell(o, e, i, totals[i]))
      end
      measure(e.sub)
    end
  end
  for i, view in ipairs(o.views) do w[i] = #views.by[view].short end
  measure(lines)
  return w
end

-- Appends the line of a text with its numbers, and those of its parts.
local function put_line(out, a, e, text, level)
  local list, o = {}, a.options
  for i in ipairs(o.views) do
    list[i] = pad(cell(o, e, i, a.totals[i]), a.widths[i])
  end
  local left = " "..table.concat(list, "  ")..(level == 0 and " | " or " : ")
  out[#out+1] = left..(a.columns and
    cells.clip(widths.untabbed(text), a.columns - #left) or text).."\n"
  for _, part in ipairs(e and e.sub or {}) do
    put_line(out, a, part, "  "..cells.arrow(o, a.kinds[level + 1],
      level + 1)..part.name, level + 1)
  end
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

local function annotate_file(p, o, entry, totals, kinds, out, env)
  local text, msg = sources.lines(p, entry.name, env)
  out[#out+1] = "\n====== "..profile.printable(entry.name).." ======\n"
  if not text then
    out[#out+1] = cells.wrap("[source not shown: "..msg.."]\n", env.width)
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
  local a = { options = o, totals = totals, kinds = kinds, widths = w,
    columns = env.width }
  local show, gap = shown(o, entry.lines, #text), true
  for k, line in ipairs(text) do
    if show(k) then
      if gap and o.annotate == "a" then out[#out+1] = "@@ "..k.." @@\n" end
      put_line(out, a, entry.lines[k], names.source_line(line), 0)
    end
    gap = not show(k)
  end
end

-- Whether any number that is shown has a mark.
local function any_rough(o, entries, totals)
  for _, e in pairs(o.raw and {} or entries) do
    for i in ipairs(o.views) do
      if estimates.mark(e[i], e.var[i], totals[i]) ~= "" then return true end
    end
    if any_rough(o, e.sub, totals) then return true end
  end
end

return function(p, o, env)
  local out = {}
  local files, totals, kinds = by_file(p, o)
  for i, view in ipairs(o.views) do
    if totals[i] == 0 then
      out[#out+1] = cells.wrap(empty(p, view).."\n", env.width)
    end
  end
  local list, rough = worth(files, totals, o), false
  for _, entry in ipairs(list) do
    annotate_file(p, o, entry, totals, kinds, out, env)
    rough = rough or any_rough(o, entry.lines, totals)
  end
  if #list == 0 and #out < #o.views then
    out[#out+1] = views.nothing("no line", o)
  end
  if rough then
    out[#out+1] = "\n"..cells.wrap(terms.rough_note.."\n", env.width)
  end
  return table.concat(out)
end
