-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A heap walk as groups and tables of a profile file (model/fields), and back.
----------------------------------------------------------------------------

local DEPTH = 64        -- Lines below each other, at most.
local PATHS = 2^26      -- Bytes of all paths.

local own = { "strings", "state", "buffer", "ctypes", "rest" }
local plain = { "at", "seconds", "child", "alone", "why", "total", "adds_up",
  "closing", "left", "held", "references", "memory", "c_why", "c_bytes",
  "c_led", "c_partly", "slots", "slots_used", "slots_bytes", "slots_empty",
  "base_at", "base_least", "chains", "chains_used", "chain_longest",
  "least" }

-- The walk as fields of a snapshot: walk_head, walk_types, walk_kinds,
-- walk_lines, walk_joins, walk_cjoins.
local function flat(w)
  local head = {}
  if not w then return { walk_head = head } end
  for _, name in ipairs(plain) do head[name] = w[name] end
  if w.why then return { walk_head = head } end
  for _, name in ipairs(own) do head["own_"..name] = w.own[name] end
  if w.arena then
    head.arena_system, head.arena_free = w.arena.system, w.arena.free
    head.arena_largest = w.arena.largest
  end
  return { walk_head = head, walk_types = w.types, walk_kinds = w.kinds,
    walk_lines = w.lines, walk_joins = w.joins, walk_cjoins = w.cjoins }
end

-- A stranger's lines would otherwise become paths of any length.
local function check_lines(lines)
  local depth, length, sum = { [0] = 0 }, { [0] = 0 }, 0
  for i, line in ipairs(lines) do
    depth[i] = depth[line.parent] + 1
    length[i] = length[line.parent] + #(line.label or "")
    sum = sum + length[i]
    if depth[i] > DEPTH or sum > PATHS then
      return "the paths of the heap walk are too long"
    end
  end
end

-- The walk of a snapshot that was read; nil: it has none, or a text for what is
-- wrong with it follows.
local function whole(s)
  local head, w = s.walk_head, {}
  for _, name in ipairs(plain) do w[name] = head[name] end
  if w.why then return w end
  w.types, w.lines, w.joins = s.walk_types, s.walk_lines, s.walk_joins
  if not (w.types or w.lines or w.joins or w.total) then return nil end
  if not (w.types and w.lines and w.joins and w.total and w.held and w.at and
      w.seconds) then
    return nil, "a part of the heap walk is missing"
  end
  w.kinds, w.cjoins = s.walk_kinds, s.walk_cjoins
  if w.c_bytes and not (w.cjoins and w.c_led) then
    return nil, "a part of the heap walk is missing"
  end
  w.own = {}
  for _, name in ipairs(own) do w.own[name] = head["own_"..name] or 0 end
  if head.arena_system and head.arena_free and head.arena_largest then
    w.arena = { system = head.arena_system, free = head.arena_free,
      largest = head.arena_largest }
  end
  local wrong = check_lines(w.lines)
  if wrong then return nil, wrong end
  return w
end

return { flat = flat, whole = whole }
