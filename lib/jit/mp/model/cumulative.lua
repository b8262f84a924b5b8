-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Self and cumulative sums of functions, and of the calls between them.
----------------------------------------------------------------------------
--
-- sums(p, values, name) walks the stacks of all rows once and returns
--
--   functions   list of functions, in no order
--   by          the same by name
--   root        the caller of the first frames: a function without a name
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
-- cycles(g, i) finds the cycles in a result of sums(), by values[i].
--
----------------------------------------------------------------------------

local terms = require("jit.mp.model.terms")

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

-- -- The walk over the tree of stacks -----------------------------------------

-- The path from the root to the stack being looked at, by depth: the stack, its
-- function, the edge that leads there (if any), and the sums of the stacks
-- beyond it; and all functions found.
local Path = {}
Path.__index = Path

local function new_path(n, own, name)
  local root = new_function(nil, n)
  return setmetatable({ n = n, own = own, name = name, root = root,
    list = {}, by = {}, depth = 0, stack = {}, func = { [0] = root }, edge = {},
    sum = { [0] = zeros(n) } }, Path)
end

local function add(to, from, n)
  for i = 1, n do to[i] = to[i] + from[i] end
end

function Path:find(text)
  local f = self.by[text]
  if not f then
    f = new_function(text, self.n)
    self.by[text] = f
    self.list[#self.list+1] = f
  end
  return f
end

-- The function of a stack, which the path's last one calls, and the edge
-- between them; or the caller itself, for a frame that counts for it.
function Path:call(stack, depth)
  local caller = self.func[depth-1]
  local text = self.name(stack ~= NONE and stack or 0)
  if not text then return caller end
  local f = self:find(text)
  if depth < f.depth then f.depth = depth end
  local e = caller.to[f] or new_edge(caller, f, self.n)
  f.active = f.active + 1
  if e.active == 0 then e.below, f.top = f.top, e end
  e.active = e.active + 1
  return f, e
end

function Path:enter(stack)
  local d, n = self.depth + 1, self.n
  local f, e = self:call(stack, d)
  self.depth, self.stack[d], self.func[d], self.edge[d] = d, stack, f, e
  local from = self.own[stack]
  self.sum[d] = self.sum[d] or {}
  for i = 1, n do self.sum[d][i] = from and from[i] or 0 end
  if not from then return end
  add(f.self, from, n)
  e = f.top
  while e do
    add(e.self, from, n)
    e = e.below
  end
end

-- Goes back by one; returns the stack that was left.
function Path:leave()
  local d, n = self.depth, self.n
  local f, e, from = self.func[d], self.edge[d], self.sum[d]
  self.depth = d - 1
  add(self.sum[d-1], from, n)
  if e then
    e.active = e.active - 1
    if e.active == 0 then
      f.top, e.below = e.below, nil
      add(e.cumulative, from, n)
    end
    f.active = f.active - 1
    if f.active == 0 then add(f.cumulative, from, n) end
  end
  return self.stack[d]
end

local function sums(p, values, name)
  local own = by_stack(p, values)
  local child, sibling = tree(p, own)
  local path = new_path(#values, own, name)
  local s = child[0]
  while s do
    path:enter(s)
    s = child[s]
    while not s and path.depth > 0 do
      s = sibling[path:leave()]
      if s == 0 then s = nil end
    end
  end
  path.root.cumulative = path.sum[0]
  return { functions = path.list, by = path.by, root = path.root }
end

-- A function from a stack to the name of its top frame in a scope, the one
-- that it has in a table. In scope "l", what a Lua line called counts for
-- the line: nil.
local function names(p, scope, path)
  local label = p:labeler(scope, path)
  return function(stack)
    if stack == 0 then return terms.no_stack end
    local id = p.frame[stack]
    if scope == "l" and p.frames[id].kind ~= "Lua" and
	p:line_stack(stack) ~= stack then
      return nil
    end
    return label(id)
  end
end

-- -- Cycles -------------------------------------------------------------------

-- Tarjan's algorithm, without recursion: a graph may be deeper than Lua's
-- stack. order: when a function was met; low: the first one met that it
-- reaches; stack: those whose cycle is not known yet (open, as a set); path:
-- the functions being looked at; at: how many callees of each are done. The
-- lengths are counted: older LuaJITs may compile # wrongly for such a loop.
local Search = {}
Search.__index = Search

function Search:enter(f)
  self.count = self.count + 1
  self.order[f], self.low[f] = self.count, self.count
  self.opened, self.depth = self.opened + 1, self.depth + 1
  self.stack[self.opened], self.open[f] = f, true
  self.path[self.depth], self.at[self.depth] = f, 0
end

function Search:component(f)
  local members = {}
  repeat
    local m = self.stack[self.opened]
    self.opened, self.open[m] = self.opened - 1, nil
    members[#members+1] = m
  until m == f
  if #members > 1 then self.found[#self.found+1] = members end
end

function Search:leave(f)
  local low = self.low
  self.depth = self.depth - 1
  local up = self.path[self.depth]
  if up then low[up] = math.min(low[up], low[f]) end
  if low[f] == self.order[f] then self:component(f) end
end

-- Follows an edge from f.
function Search:follow(f, callee)
  if not self.order[callee] then
    self:enter(callee)
  elseif self.open[callee] then
    self.low[f] = math.min(self.low[f], self.order[callee])
  end
end

-- Lists of two functions or more of which each reaches the others by edges
-- that count in values[i].
local function cycles(g, i)
  local search = setmetatable({ found = {}, order = {}, low = {}, open = {},
    stack = {}, path = {}, at = {}, count = 0, opened = 0, depth = 0 }, Search)
  local path, at = search.path, search.at
  for _, first in ipairs(g.functions) do
    if not search.order[first] then search:enter(first) end
    while search.depth > 0 do
      local d = search.depth
      local f = path[d]
      at[d] = at[d] + 1
      local e = f.callees[at[d]]
      if not e then search:leave(f)
      elseif e.cumulative[i] > 0 then search:follow(f, e.callee) end
    end
  end
  return search.found
end

return { sums = sums, names = names, cycles = cycles }
