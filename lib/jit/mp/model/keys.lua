-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The names that a row of a profile counts for on each level of a table:
-- two functions from a row to a name. The second is nil where there is one
-- level only.
----------------------------------------------------------------------------

return function(p, o)
  local depth = math.abs(o.depth)
  local sep = o.depth < 0 and " > " or " < "
  local function joined(names, from)
    local t = {}
    for i = from, #names do
      t[#t+1] = names[o.depth < 0 and #names + from - i or i]
    end
    return table.concat(t, sep)
  end
  local function state(row)
    return p:split_name(row, o.states)
  end
  if o.scope == "" then return state end
  local namer = p:namer(o.scope, o.path, depth)
  local function whole(row) return joined(namer(row), 1) end
  if o.split == "state" then return state, whole end
  if o.split == "scope" then return whole, state end
  if o.split == "lines" then
    local lines = p:namer("l", o.path, 1)
    return whole, function(row) return lines(row)[1] end
  elseif o.split == "stack" then
    -- The first level is the function, or with -<n> its caller.
    return function(row)
      local names = namer(row)
      return o.depth < 0 and names[#names] or names[1]
    end, function(row)
      local names = namer(row)
      if #names < 2 then return nil end
      if o.depth > 0 then return joined(names, 2) end
      local t = {}
      for i = #names - 1, 1, -1 do t[#t+1] = names[i] end
      return table.concat(t, sep)
    end
  end
  return whole
end
