----------------------------------------------------------------------------
-- The call graph: each function between its callers and what it calls.
----------------------------------------------------------------------------
--
-- First a flat profile: every function's own part of each view (self), and
-- the part of all stacks that it is on (cumulative), by largest self.
--
-- Then a graph for each view. Functions are numbered by cumulative amount and
-- have an entry each: the callers, the function itself (at its index), and
-- what it calls. In the function's line % is of the whole view; in the others
-- it is of the function's cumulative amount: what came through that caller,
-- or went into that callee. Self is in a caller's line the part of the
-- function's self that came through that caller, in a callee's line the
-- callee's self that came through this function. Samples and objects are
-- cumulative.
--
-- The callers' lines add up to the function's line, and its self and its
-- callees' lines add up to its cumulative amount; but
--
--   (recursive)  marks what a function calls of itself: this lies within the
--                other lines, and is not added to them.
--   <cycle n>    marks the members of a cycle: functions that call each other
--                in a ring. Their lines overlap. The cycle as a whole has an
--                entry too, in which each stack counts once and the sums are
--                right: its members stand right below it, then what they call
--                outside of it.
--   (root)       is the caller of what begins a stack.
--
-- What is below o.min percent has no entry and no index.
--
-- A function is told from others by where it is defined, not by its name: all
-- methods called "new" are not one function that calls itself, and one called
-- by several names is one. It is shown by the name that it is called by most
-- often; without any name as module:line, where it begins. Where several have
-- one name that place is added: name (module:line).
--
----------------------------------------------------------------------------

local grid = require("jit.mp.text.cells")
local cumulative = require("jit.mp.model.cumulative")
local empty = require("jit.mp.model.empty")
local numbers = require("jit.mp.model.numbers")
local profile = require("jit.mp.model.profile")

local cut, pad = grid.cut, grid.pad

local RULER = 79 -- Dashes between entries, unless the terminal is narrower.

local titles = {
  cpu = "CPU", alloc = "allocated", inuse = "in use", peak = "at the peak"
}

-- -- Names -------------------------------------------------------------------

-- What tells a Lua function, or in scope "l" a line, from all others. Code
-- that came from strings has no place but in its string: the name has to do.
local function identity(f, scope, name)
  local line = f.linedefined
  if scope == "l" then line = f.line end
  if f.kind ~= "Lua" or not f.source or not line then return name end
  local key = f.source.."\0"..line
  if f.source:match("^%[") then key = key.."\0"..name end
  return key
end

-- Where a function or line is, for names that several have.
local function place(f, scope, path)
  local line = scope == "l" and f.line or f.linedefined
  return profile.module_name(f, path)..":"..(line or "?")
end

-- The places of several functions: with full paths if they need them.
local function places(keys, frame_of, scope, path)
  local seen, list = {}, {}
  for i, key in ipairs(keys) do
    list[i] = place(frame_of[key], scope, path)
    if seen[list[i]] and not path then
      return places(keys, frame_of, scope, true)
    end
    seen[list[i]] = true
  end
  return list
end

-- Adds their places to names that several functions have.
local function distinguish(labels, frame_of, scope, path)
  local having = {}
  for key, label in pairs(labels) do
    local t = having[label] or {}
    if frame_of[key].kind == "Lua" then t[#t+1] = key end
    having[label] = t
  end
  for label, keys in pairs(having) do
    if #keys > 1 then
      for i, where in ipairs(places(keys, frame_of, scope, path)) do
	labels[keys[i]] = ("%s (%s)"):format(label, where)
      end
    end
  end
end

-- Returns a function from a stack to a key of its top frame's function, and
-- one that makes the table of all keys' names when all stacks have been seen.
local function naming(p, o)
  local scope = (o.scope == "F" or o.scope == "l") and o.scope or "f"
  local text = cumulative.names(p, scope, o.path)
  local keys, calls, frame_of, votes = {}, {}, {}, {}

  local function key_of(stack)
    local name = text(stack)
    local id = p.frame[stack]
    if not name or not id then return name end
    local key = keys[id]
    if not key then
      local f = p.frames[id]
      key = identity(f, scope, name)
      keys[id], calls[id] = key, 0
      frame_of[key], votes[key] = f, votes[key] or {}
      votes[key][id] = name
    end
    calls[id] = calls[id] + 1
    return key
  end

  -- The name that most stacks have; but any name rather than none.
  local function elect(list)
    local sum, named, best = {}, {}, nil
    for id, name in pairs(list) do
      sum[name] = (sum[name] or 0) + calls[id]
      named[name] = named[name] or p.frames[id].name ~= nil
    end
    for name, n in pairs(sum) do
      if not best or (named[name] and not named[best]) or
	  (named[name] == named[best] and
	   (n > sum[best] or (n == sum[best] and name < best))) then
	best = name
      end
    end
    return best
  end

  local function labels()
    local t = {}
    for key, list in pairs(votes) do t[key] = elect(list) end
    distinguish(t, frame_of, scope, o.path)
    return t
  end
  return key_of, labels
end

-- -- Lines -------------------------------------------------------------------

local function percent(v, total)
  return ("%.0f%%"):format(v * 100 / total)
end

-- Whether a number is large enough to be shown.
local function counts(v, total, o)
  return v > 0 and math.floor(v * 100 / total + 0.5) >= o.min
end

-- A view's amount for people, or raw.
local function amount(p, o, view, v, total)
  if o.raw then return ("%.0f"):format(v) end
  if view == "cpu" then return numbers.seconds(v * p.info.cpu / total) end
  return o.objects and numbers.count(v) or numbers.bytes(v, o.kib)
end

-- Writes lines of cells, aligned to the right, with a name behind them. A
-- line is { cells..., name = text, mark = text, indent = columns } where the
-- mark is never cut; or false: a ruler.
-- Returns the columns' widths.
local function write(out, lines, width)
  local w = {}
  for _, line in ipairs(lines) do
    for i, cell in ipairs(line or {}) do w[i] = math.max(w[i] or 0, #cell) end
  end
  for _, line in ipairs(lines) do
    if line then
      local t = {}
      for i, cell in ipairs(line) do t[i] = pad(cell, w[i]) end
      local left = table.concat(t, "  ").."  "..(" "):rep(line.indent or 0)
      local name, mark = line.name, line.mark or ""
      if width then name = cut(name, math.max(width - #left - #mark, 8)) end
      out[#out+1] = left..name..mark.."\n"
    else
      out[#out+1] = ("-"):rep(math.min(width or RULER, RULER)).."\n"
    end
  end
  return w
end

-- -- Flat profile ------------------------------------------------------------

-- Largest share of a function in any view, by "self" or "cumulative".
local function largest(f, field, views, totals)
  local max = 0
  for _, v in ipairs(views) do
    max = math.max(max, f[field][v.amount] / totals[v.amount])
  end
  return max
end

-- Cells of a function in a view: its self, and how much is cumulative.
local function flat_cells(p, o, v, f, total, cells, first)
  local self, all = f.self[v.amount], f.cumulative[v.amount]
  local gap = first and "  " or " "
  local function shown(n, text) return n > 0 and text or "" end
  local own = shown(self, amount(p, o, v.name, self, total))
  if o.raw then
    cells[#cells+1] = gap..own
    cells[#cells+1] = shown(all, amount(p, o, v.name, all, total))
  else
    cells[#cells+1] = gap..shown(self, percent(self, total))
    cells[#cells+1] = own
    cells[#cells+1] = shown(all, percent(all, total))
  end
end

-- The line of the views' titles, each amid its columns.
local function flat_title(views, w)
  local n, t = #w / #views, {}
  for k, v in ipairs(views) do
    local width = 2 * (n - 1)
    for i = (k - 1) * n + 1, k * n do width = width + w[i] end
    local title = titles[v.name] or v.name
    local left = pad(title, math.ceil((width + #title) / 2))
    t[k] = left..(" "):rep(width - #left)
  end
  return (table.concat(t, "  "):gsub(" +$", "")).."\n"
end

local function flat(p, o, g, views, labels, width)
  local totals, list = g.root.cumulative, {}
  local share, whole = {}, {}
  for _, f in ipairs(g.functions) do
    share[f] = largest(f, "self", views, totals)
    whole[f] = largest(f, "cumulative", views, totals)
    if counts(whole[f], 1, o) then list[#list+1] = f end
  end
  if #list == 0 then return nil end
  table.sort(list, function(a, b)
    if share[a] ~= share[b] then return share[a] > share[b] end
    if whole[a] ~= whole[b] then return whole[a] > whole[b] end
    return labels[a.name] < labels[b.name]
  end)
  local head, lines = {}, {}
  for k in ipairs(views) do
    if not o.raw then head[#head+1] = "" end
    head[#head+1] = (k == 1 and "  " or " ").."self"
    head[#head+1] = "cum."
  end
  head.name = "name"
  lines[1] = head
  for i, f in ipairs(list) do
    local cells = { name = labels[f.name] }
    for k, v in ipairs(views) do
      flat_cells(p, o, v, f, totals[v.amount], cells, k == 1)
    end
    lines[i+1] = cells
  end
  local out = {}
  local w = write(out, lines, width)
  return flat_title(views, w)..table.concat(out)
end

-- -- Graphs ------------------------------------------------------------------

-- What has an entry in a view's graph: functions, and cycles. A list, and the
-- same by key, of { f = function (the sums), label = text, ring = key of its
-- cycle if it is in one, members = those of a cycle }.
local function entries(p, g, values, key_of, v, labels)
  local list, by, ring = {}, {}, {}
  local cycles = cumulative.cycles(g, v.amount)
  for n, members in ipairs(cycles) do
    for _, f in ipairs(members) do ring[f.name] = "\0cycle"..n end
  end
  for _, f in ipairs(g.functions) do
    local e = { f = f, label = labels[f.name], ring = ring[f.name] }
    by[f.name], list[#list+1] = e, e
  end
  if #cycles == 0 then return list, by end
  local whole = cumulative.sums(p, values, function(stack)
    local key = key_of(stack)
    return ring[key] or key
  end)
  for n, members in ipairs(cycles) do
    local key = "\0cycle"..n
    local e = { f = whole.by[key], members = {},
      label = ("%d functions"):format(#members) }
    for i, f in ipairs(members) do e.members[i] = by[f.name] end
    by[key], list[#list+1] = e, e
  end
  return list, by
end

-- Sorts by cumulative amount; where that is equal the outer function goes
-- before the inner one, and a cycle before its members.
local function sort(list, v)
  table.sort(list, function(a, b)
    local x, y = a.f.cumulative[v.amount], b.f.cumulative[v.amount]
    if x ~= y then return x > y end
    x, y = a.f.depth, b.f.depth
    if x ~= y then return x < y end
    if not a.members ~= not b.members then return a.members ~= nil end
    return a.label < b.label
  end)
end

-- Numbers the entries that are shown, and the cycles. Returns the former.
local function number(list, by, v, total, o)
  local shown, cycles = {}, 0
  for _, e in ipairs(list) do
    if counts(e.f.cumulative[v.amount], total, o) then
      shown[#shown+1] = e
      e.index = ("[%d]"):format(#shown)
    end
    if e.members then
      cycles = cycles + 1
      e.cycle = (" <cycle %d>"):format(cycles)
      sort(e.members, v)
    end
  end
  for _, e in ipairs(list) do
    local cycle = e.ring and by[e.ring].cycle or e.cycle or ""
    e.mark = cycle..(e.index and " "..e.index or "")
  end
  return shown
end

-- Cells of a line; sums is a function's or an edge's, share a percentage.
local function cells(p, o, v, total, sums, index, share, part)
  local all, self = sums.cumulative, sums.self[v.amount]
  local t = { ("%-5s"):format(index) }
  if not o.raw then t[2], t[3] = share, part end
  t[#t+1] = amount(p, o, v.name, all[v.amount], total)
  t[#t+1] = self > 0 and amount(p, o, v.name, self, total) or ""
  if v.count then t[#t+1] = numbers.count(all[v.count]) end
  return t
end

-- The lines of one entry.
local function entry_lines(p, o, v, total, e, by, lines)
  local all = e.f.cumulative[v.amount]
  local function add(sums, name, mark)
    local line = cells(p, o, v, total, sums, "", "",
      percent(sums.cumulative[v.amount], all))
    line.name, line.mark, line.indent = name, mark, 4
    lines[#lines+1] = line
  end
  -- Edges, the largest first, by what is at their other ends.
  local function edges(list, other)
    local found = {}
    for _, edge in ipairs(list) do
      if edge[other] ~= e.f and edge.cumulative[v.amount] > 0 then
	local to = by[edge[other].name] or { label = "(root)", mark = "" }
	found[#found+1] = { f = edge, label = to.label, mark = to.mark }
      end
    end
    sort(found, v)
    for _, x in ipairs(found) do add(x.f, x.label, x.mark) end
  end
  edges(e.f.callers, "caller")
  local line = cells(p, o, v, total, e.f, e.index, percent(all, total), "")
  line.name, line.mark = e.label, e.mark
  lines[#lines+1] = line
  for _, m in ipairs(e.members or {}) do add(m.f, m.label, m.mark) end
  local again = e.f.to[e.f]
  if again and not e.members and again.cumulative[v.amount] > 0 then
    add(again, e.label, " (recursive)"..e.mark)
  end
  edges(e.f.callees, "callee")
end

-- Headings of the columns.
local function heading(o, v)
  local t = { "index", "%", "part", "cum.", "self", v.counted }
  if o.raw then t = { "index", "cum.", "self" } end
  t.name = "name"
  return t
end

local function nothing(o)
  return ("nothing reaches %d %%; option m sets the limit\n"):format(o.min)
end

local function graph(p, o, g, values, key_of, v, labels, width)
  local total = g.root.cumulative[v.amount]
  local list, by = entries(p, g, values, key_of, v, labels)
  sort(list, v)
  local shown = number(list, by, v, total, o)
  local out = { "\ncall graph: ", titles[v.name] or v.name, "\n\n" }
  if #shown == 0 then return table.concat(out)..nothing(o) end
  local lines = { heading(o, v), false }
  for _, e in ipairs(shown) do
    entry_lines(p, o, v, total, e, by, lines)
    lines[#lines+1] = false
  end
  write(out, lines, width)
  return table.concat(out)
end

-- -- The report --------------------------------------------------------------

-- What is summed: each view's amount, and the count that stands beside it.
local function columns(p, o)
  local views, values = {}, {}
  for k, name in ipairs(o.views) do
    local v = { name = name }
    values[#values+1] = p.value_of(name, o.objects)
    v.amount = #values
    if not o.raw and name == "cpu" then
      v.count, v.counted = v.amount, "samples"
    elseif not o.raw and not o.objects then
      values[#values+1] = p.value_of(name, true)
      v.count, v.counted = #values, "objects"
    end
    views[k] = v
  end
  return views, values
end

-- env.width: columns of the terminal that the report goes to, if any.
return function(p, o, env)
  local width = env and env.width
  local views, values = columns(p, o)
  local key_of, names = naming(p, o)
  local g = cumulative.sums(p, values, key_of)
  local labels, out, full = names(), {}, {}
  for _, f in ipairs(g.functions) do
    labels[f.name] = labels[f.name] or f.name
  end
  for _, v in ipairs(views) do
    if g.root.cumulative[v.amount] > 0 then full[#full+1] = v
    else out[#out+1] = empty(p, v.name).."\n" end
  end
  if #full == 0 then return table.concat(out) end
  if #out > 0 then out[#out+1] = "\n" end
  out[#out+1] = flat(p, o, g, full, labels, width) or nothing(o)
  for _, v in ipairs(full) do
    out[#out+1] = graph(p, o, g, values, key_of, v, labels, width)
  end
  return table.concat(out)
end
