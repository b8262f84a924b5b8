-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The order of rows that the user asks for: --sort, with a view or "name".
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")
local views = require("jit.mp.model.views")

-- The name of the view that a word stands for: by its letter, name or title.
local function view_of(word)
  for _, view in ipairs(views.list) do
    if word == view.letter or word == view.name or word == view.title then
      return view.name
    end
  end
end

local function letters(o)
  local t = {}
  for _, name in ipairs(o.views) do t[#t+1] = views.by[name].letter end
  return table.concat(t, ", ")
end

-- Sets the order of parsed options (jit.mp.options) to that of a word. Returns
-- true, or nil and a message.
local function set(o, word)
  local view = view_of(word)
  if o.annotate or o.folded or o.events or o.calls or o.leaks or o.memory or
      o.compiler or o.waits or o.quickfix or o.walk then
    return nil, "--sort is for tables and call graphs"
  elseif word == "name" then
    o.sort = "name"
    return true
  end
  for i, name in ipairs(o.views) do
    if name == view then
      o.sort = i
      return true
    end
  end
  if view then
    return nil, ("--sort=%s: the table has no such view; option %s adds it")
      :format(names.printable(word), views.by[view].letter)
  end
  return nil, ("--sort takes %s or name, not %q"):format(letters(o),
    names.printable(word))
end

return { set = set }
