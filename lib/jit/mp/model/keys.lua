-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The names that a row of a profile counts for on each level of a table:
-- functions from a row to a name, one for each of the options' levels. A
-- function may return nil: the row has no part in that level.
----------------------------------------------------------------------------

-- Names from one number to another one as a text: the top of the stack first,
-- or with a negative depth the callers.
local function joined(names, from, to, depth)
  local t = {}
  for i = from, to do
    t[#t+1] = names[depth < 0 and to + from - i or i]
  end
  return table.concat(t, depth < 0 and " > " or " < ")
end

local of = {}

function of.state(p, o)
  return function(row) return p:split_name(row, o) end
end

-- Where callers have a level of their own: the function alone, or with -<n>
-- the outermost of its callers that are shown.
function of.name(p, o)
  local namer = p:namer(o.scope, o.path, math.abs(o.depth))
  if o.split == "stack" then
    return function(row)
      local names = namer(row)
      return o.depth < 0 and names[#names] or names[1]
    end
  end
  return function(row)
    local names = namer(row)
    return joined(names, 1, #names, o.depth)
  end
end

function of.lines(p, o)
  local lines = p:namer("l", o.path, 1)
  return function(row) return lines(row)[1] end
end

-- The callers, or with -<n> what the outermost one leads to.
function of.callers(p, o)
  local namer = p:namer(o.scope, o.path, math.abs(o.depth))
  return function(row)
    local names = namer(row)
    if #names < 2 then return nil end
    if o.depth > 0 then return joined(names, 2, #names, o.depth) end
    return joined(names, 1, #names - 1, o.depth)
  end
end

local function functions(p, o)
  local list = {}
  for i, level in ipairs(o.levels) do list[i] = of[level](p, o) end
  return unpack(list)
end

return { functions = functions, joined = joined }
