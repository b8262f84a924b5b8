-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The keys of a live view: each changes the settings from which the options of
-- the next drawing are made.
----------------------------------------------------------------------------

local options = require("jit.mp.options")
local recent = require("jit.mp.model.recent")
local sorting = require("jit.mp.model.sorting")
local views = require("jit.mp.model.views")

-- The views in the order in which key v goes through them: all three, each.
local shown = { "", "c", "h", "u" }

-- The orders that key s goes through: by the first view, by each, by name.
local orders = { "", "c", "h", "u", "name" }
local order_names = { "", "CPU", "allocated", "in use", "name" }

local function index(list, value)
  for i, v in ipairs(list) do
    if v == value then return i end
  end
end

-- The settings that an option string stands for. The string counts as it is
-- until a key changes more than the order. sort: the order that was given with
-- it, if any (jit.mp.model.sorting).
local function new(text, sort)
  local o = options.parse(text)
  local view = o.chosen == 1 and index(shown, views.by[o.view].letter)
  return { given = text, sort = sort, view = view or 1, order = 1,
    lines = o.shows_lines, objects = o.objects,
    depth = math.min(math.abs(o.depth), 20) }
end

-- The option string that the settings stand for.
local function option_text(s)
  if s.given then return s.given end
  return (s.depth > 1 and s.depth or "")..(s.lines and "fl" or "f")..
    shown[s.view]..(s.objects and "o" or "").."m1"
end

-- The parsed options that the settings stand for.
local function parsed(s)
  local o = options.parse(option_text(s))
  -- A table without that view keeps its own order.
  if s.order > 1 and not sorting.set(o, orders[s.order]) then s.order = 1 end
  if s.order == 1 and s.given then o.sort = s.sort end
  return o
end

-- Goes to the next order that the table can have.
local function next_order(s)
  local o = options.parse(option_text(s))
  repeat
    s.order = s.order % #orders + 1
  until s.order == 1 or sorting.set(o, orders[s.order])
end

local keys = {
  v = function(s) s.view = s.view % #shown + 1 end,
  c = function(s) s.view = 2 end,
  h = function(s) s.view = 3 end,
  u = function(s) s.view = 4 end,
  a = function(s) s.view = 1 end,
  l = function(s) s.lines = not s.lines end,
  o = function(s) s.objects = not s.objects end,
  ["+"] = function(s) s.depth = math.min(s.depth + 1, 20) end,
  ["-"] = function(s) s.depth = math.max(s.depth - 1, 1) end,
}

local RECENT = 10 -- Seconds that key t shows.

-- The part of a profile that the settings choose: all of it, its last seconds,
-- or that since key z was pressed. Reports other than a table show all.
local function window(s, p)
  if s.zero == "now" then s.zero = p.info.wall end
  local from = s.recent and p.info.wall - RECENT or s.zero
  if not from or options.parse(option_text(s)).report then return p end
  return recent(p, from)
end

-- Changes the settings by a key. Whether it is one of these keys.
local function press(s, key)
  if key == "s" then
    next_order(s)
  elseif key == "t" then
    s.recent, s.zero = not s.recent, nil
  elseif key == "z" then
    s.recent, s.zero = false, "now"
  elseif keys[key] then
    s.given = nil
    keys[key](s)
  else
    return false
  end
  return true
end

-- The order in words, where one was chosen; else nil.
local function order(s)
  return s.order > 1 and "by "..order_names[s.order] or nil
end

-- The effects of the keys, as parts of a line.
local help = { "v c h u a view", "s sort", "l lines", "o objects", "+- depth",
  "t last 10 s", "z from now on" }

return { new = new, options = parsed, press = press, order = order,
  window = window, help = help }
