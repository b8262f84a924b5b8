-- SPDX-License-Identifier: MIT
-- The data of a call graph's report, and its lines: shared by the flat profile
-- and the graphs.

local cells = require("jit.mp.text.cells")
local cumulative = require("jit.mp.model.cumulative")
local estimates = require("jit.mp.model.estimates")
local style = require("jit.mp.text.style")
local views = require("jit.mp.model.views")
local width_of = require("jit.mp.text.width").width

local cut, pad = cells.cut, cells.pad

local NAME = 24  -- Columns that a name should have,
local LEAST = 10 -- and has, unless it stands above its numbers.
local RULER = 79 -- Dashes between entries, unless the terminal is narrower.

-- -- Lines -------------------------------------------------------------------

-- The columns' widths of lines, as write takes them.
local function widths(lines)
  local w = {}
  for _, line in ipairs(lines) do
    for i, cell in ipairs(line or {}) do w[i] = math.max(w[i] or 0, #cell) end
  end
  return w
end

-- The cells of a line as they stand before its name.
local function left_of(line, w)
  local t = {}
  for i, cell in ipairs(line) do
    t[i] = pad(cell, w[i])
    if line.bold and line.bold[i] then t[i] = style.bold(t[i]) end
  end
  return table.concat(t, "  ").."  "..(" "):rep(line.indent or 0)
end

-- The columns that a line has beside its name.
local function beside(line) return (line.indent or 0) + #(line.mark or "") end

-- The columns before the names, which are none if these stand above.
local function before(lines, w, width)
  local left, above = 0, false
  for _, n in ipairs(w) do left = left + n + 2 end
  for _, line in ipairs(width and lines or {}) do
    above = above or line and cells.above(width - left - beside(line),
      width_of(line.name), LEAST)
  end
  return above and 0 or left
end

-- Writes lines of cells, aligned to the right, with a name behind them, or
-- above them on a narrow terminal. A line is { cells..., name = text, mark =
-- text, indent = columns, bold = set of cells } where the mark is never cut; or
-- false: a ruler. The first line is the headings.
local function write(out, lines, width)
  local w = widths(lines)
  local left = before(lines, w, width)
  for i, line in ipairs(lines) do
    if line then
      local name = width and cut(line.name, width - left - beside(line)) or
	line.name
      name = name..(line.mark or "")
      if left == 0 and i > 1 then
	out[#out+1] = (" "):rep(line.indent or 0)..name.."\n"
      end
      out[#out+1] = (left_of(line, w)..(left > 0 and name or "")):gsub(" +$",
	"").."\n"
    else
      out[#out+1] = ("-"):rep(math.min(width or RULER, RULER)).."\n"
    end
  end
end

-- Whether the names of lines have all the room that they need, or as much as
-- names should have.
local function fits(lines, width)
  local left, need = 0, 0
  for _, n in ipairs(widths(lines)) do left = left + n + 2 end
  for _, line in ipairs(lines) do
    if line then
      need = math.max(need, beside(line) + math.min(width_of(line.name), NAME))
    end
  end
  return not width or left + need <= width
end

-- -- The report's data -------------------------------------------------------

-- A report: the profile and its options, the columns (see below), the sums of
-- all stacks by function; width and bold, of the terminal.
local Report = {}
Report.__index = Report

-- The numbers that are summed: each view's amount, its variance, and the count
-- that stands beside it.
-- Returns a list of { name, amount, doubt, count, counted }, where amount,
-- doubt and count are indices of the second, a list of functions from a row to
-- a number.
local function columns(p, o)
  local list, values = {}, {}
  for k, name in ipairs(o.views) do
    local v = { name = name }
    values[#values+1] = p.value_of(name, o.objects)
    v.amount = #values
    values[#values+1] = estimates.variance(p, name, o.objects)
    v.doubt = #values
    if not o.raw and name == "cpu" then
      v.count, v.counted = v.amount, "samples"
    elseif not o.raw and not o.objects then
      values[#values+1] = p.value_of(name, true)
      v.count, v.counted = #values, "objects"
    end
    list[k] = v
  end
  return list, values
end

local function new_report(p, o, env)
  local r = setmetatable({ profile = p, options = o, width = env.width,
    bold = env.bold and not o.raw }, Report)
  local scope = (o.scope == "F" or o.scope == "l") and o.scope or "f"
  r.views, r.values = columns(p, o)
  r.name_of = cumulative.names(p, scope, o.path)
  r.sums = cumulative.sums(p, r.values, r.name_of)
  return r
end

function Report:total(v) return self.sums.root.cumulative[v.amount] end

-- An amount of a view, of sums by function or edge, for people: marked where it
-- rests on few samples, empty where there is none.
function Report:amount(v, sums)
  local n, total, mark = sums[v.amount], self:total(v), ""
  if n <= 0 then return "" end
  if not self.options.raw then
    mark = estimates.mark(n, sums[v.doubt], total)
    self.rough = self.rough or mark ~= ""
  end
  return mark..views.amount(self.profile, self.options, v.name, n, total)
end

return { new = new_report, write = write, fits = fits, widths = widths }
