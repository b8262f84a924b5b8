----------------------------------------------------------------------------
-- Self and cumulative sums of functions, and of the calls between them.
----------------------------------------------------------------------------
--
-- sums(p, values, name) walks the stacks of all rows once and returns
--
--   functions   list of functions, in no order
--   by          the same by name
--   root        what has no caller: a function without a name
--
-- where a function is
--
--   name        as name() returned it
--   self        list, one number for each of values: rows with the function
--               on top of the stack
--   cumulative  the same: rows with the function anywhere on the stack
--   depth       the least number of frames from the root to it, 1 or more
--   callers     list of the edges to it, callees: of those from it
--
-- and an edge is
--
--   caller, callee   functions; the caller of a stack's first frame is root
--   cumulative       rows whose stack has the callee right on the caller
--   self             those of them with the callee on top of the stack
--
-- values is a list of functions from a row to a number; nil counts as 0.
-- name(stack) is the name of the function that the top frame of a stack
-- counts for; functions with equal names are one. It may be nil for a frame
-- that is to count for its caller. names() makes such a function.
--
-- A row counts once for each function and for each edge, however often its
-- stack has them. So, with E for edges and the sums below over the function's
-- edges but the one to itself:
--
--   For a function f that is in no cycle with others (functions that call
--   each other in a ring; that f calls itself does not matter),
--     sum of E(caller, f).cumulative  =  f.cumulative
--     sum of E(caller, f).self        =  f.self
--     f.self + sum of E(f, callee).cumulative  =  f.cumulative
--   For a member of a cycle the left sides may be larger: its stacks can have
--   several of its edges. With the members of each cycle under one name the
--   equations hold for all functions, a cycle being one of them.
--   root.cumulative is the sum of all rows.
--
-- cycles(g, i) finds the cycles in what sums() returned, by values[i].
--
----------------------------------------------------------------------------

local NONE = -1 -- Stands for the empty stack, which is the tree's root too.

local function zeros(n)
  local t = {}
  for i = 1, n do t[i] = 0 end
  return t
end

local function new_function(name, n)
  -- to: edges by callee. active: how often it is on the stack being walked.
  -- top: the last of the edges to it that are on that stack.
  return { name = name, self = zeros(n), cumulative = zeros(n),
    depth = math.huge, callers = {}, callees = {}, to = {}, active = 0 }
end

local function new_edge(caller, callee, n)
  local e = { caller = caller, callee = callee, active = 0,
    self = zeros(n), cumulative = zeros(n) }
  caller.to[callee] = e
  caller.callees[#caller.callees+1] = e
  callee.callers[#callee.callers+1] = e
  return e
end

-- Sums of the rows with equal stacks, by stack.
local function by_stack(p, values)
  local own, n = {}, #values
  for _, row in ipairs(p.rows) do
    local stack = row.stack ~= 0 and row.stack or NONE
    local t = own[stack]
    for i = 1, n do
      local v = values[i](row) or 0
      if v ~= 0 then
	if not t then
	  t = zeros(n)
	  own[stack] = t
	end
	t[i] = t[i] + v
      end
    end
  end
  return own
end

-- The part of the tree of stacks that these are in, from the root (0):
-- first child and next sibling of each.
local function tree(p, own)
  local parent, child, sibling = p.parent, {}, {}
  for _, row in ipairs(p.rows) do
    local s = row.stack ~= 0 and row.stack or NONE
    if own[s] then
      while s ~= 0 and not sibling[s] do
	local up = parent[s] or 0
	sibling[s] = child[up] or 0
	child[up] = s
	s = up
      end
    end
  end
  return child, sibling
end

local function sums(p, values, name)
  local n = #values
  local own = by_stack(p, values)
  local child, sibling = tree(p, own)
  local list, by = {}, {}
  local root = new_function(nil, n)
  -- Along the path from the root, by depth: the stack, its function, the edge
  -- that leads there (if any), and the sums of what lies beyond.
  local path, func, edge, sum = {}, { [0] = root }, {}, { [0] = zeros(n) }

  local function find(text)
    local f = by[text]
    if not f then
      f = new_function(text, n)
      by[text] = f
      list[#list+1] = f
    end
    return f
  end

  local function enter(s, d)
    local caller = func[d-1]
    local text = name(s ~= NONE and s or 0)
    local f, e = caller, nil
    if text then
      f = find(text)
      if d < f.depth then f.depth = d end
      e = caller.to[f] or new_edge(caller, f, n)
      f.active = f.active + 1
      if e.active == 0 then e.below, f.top = f.top, e end
      e.active = e.active + 1
    end
    path[d], func[d], edge[d] = s, f, e
    local to, from = sum[d], own[s]
    if not to then
      to = {}
      sum[d] = to
    end
    if not from then
      for i = 1, n do to[i] = 0 end
      return
    end
    local self = f.self
    for i = 1, n do
      to[i] = from[i]
      self[i] = self[i] + from[i]
    end
    e = f.top
    while e do
      self = e.self
      for i = 1, n do self[i] = self[i] + from[i] end
      e = e.below
    end
  end

  local function leave(d)
    local f, e, from, up = func[d], edge[d], sum[d], sum[d-1]
    for i = 1, n do up[i] = up[i] + from[i] end
    if not e then return end
    e.active = e.active - 1
    if e.active == 0 then
      f.top, e.below = e.below, nil
      local to = e.cumulative
      for i = 1, n do to[i] = to[i] + from[i] end
    end
    f.active = f.active - 1
    if f.active == 0 then
      local to = f.cumulative
      for i = 1, n do to[i] = to[i] + from[i] end
    end
  end

  local s, d = child[0], 0
  while s do
    d = d + 1
    enter(s, d)
    s = child[s]
    while not s and d > 0 do
      leave(d)
      s = sibling[path[d]]
      if s == 0 then s = nil end
      d = d - 1
    end
  end
  root.cumulative = sum[0]
  return { functions = list, by = by, root = root }
end

-- Whether a frame that is no Lua function was called by a Lua line.
local function from_lua(p, stack)
  repeat
    local kind = p.frames[p.frame[stack]].kind
    if kind == "Lua" then return true end
    stack = p.parent[stack]
  until kind == "pseudo" or stack == 0
  return false
end

-- A function from a stack to the name of its top frame in a scope, the one
-- that it has in a table. In scope "l", what a Lua line called counts for
-- the line: nil.
local function names(p, scope, path)
  local namer, cache = p:namer(scope, path, 1), {}
  return function(stack)
    local id = p.frame[stack]
    local name = cache[id]
    if name or not id then return name or namer({ stack = 0 })[1] end
    local lua = p.frames[id].kind == "Lua"
    if scope == "l" and not lua and from_lua(p, stack) then return nil end
    name = namer({ stack = stack })[1]
    if scope ~= "l" or lua then cache[id] = name end
    return name
  end
end

-- Cycles: lists of two functions or more of which each reaches the others by
-- edges that count in values[i]. (Tarjan's algorithm, without recursion: a
-- graph may be deeper than Lua's stack.)
local function cycles(g, i)
  local found, open, order, low, count = {}, {}, {}, {}, 0
  local path, at = {}, {}

  local function enter(f)
    count = count + 1
    order[f], low[f] = count, count
    open[#open+1] = f
    open[f] = true
    path[#path+1], at[#path+1] = f, 0
  end

  local function component(f)
    local members = {}
    repeat
      local m = open[#open]
      open[#open], open[m] = nil, nil
      members[#members+1] = m
    until m == f
    if #members > 1 then found[#found+1] = members end
  end

  local function leave(f)
    path[#path] = nil
    local up = path[#path]
    if up then low[up] = math.min(low[up], low[f]) end
    if low[f] == order[f] then component(f) end
  end

  for _, first in ipairs(g.functions) do
    if not order[first] then enter(first) end
    while #path > 0 do
      local f = path[#path]
      at[#path] = at[#path] + 1
      local e = f.callees[at[#path]]
      if not e then
	leave(f)
      elseif e.cumulative[i] > 0 then
	if not order[e.callee] then enter(e.callee)
	elseif open[e.callee] then
	  low[f] = math.min(low[f], order[e.callee])
	end
      end
    end
  end
  return found
end

return { sums = sums, names = names, cycles = cycles }
