-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A heap walk's lines, with their paths: names as a Lua program writes them.
----------------------------------------------------------------------------
--
-- A line of the core has a label that is appended to its holder's path. Texts
-- are spelled as all names are: a line may be a stranger's.
--
----------------------------------------------------------------------------

local numbers = require("jit.mp.model.numbers")
local printable = require("jit.mp.model.names").printable

-- Paths that begin so are written otherwise: the globals by their names, the
-- modules as package.loaded has them.
local function common(path)
  local rest = path:match("^_G%.(.+)")
  if rest then return rest:sub(1, 1) == "*" and path or rest end
  rest = path:match("^_G(%[.+)") or path:match("^_G( .+)")
  if rest then return "_G"..rest end
  rest = path:match("^registry%._LOADED(.*)")
  if rest then return "package.loaded"..rest end
  return (path:gsub("^ ", ""))
end

-- Bytes of a line: of the heap, and of C memory that it leads to.
local function weight(line) return line.bytes + line.c end

local function order(a, b)
  local x, y = weight(a), weight(b)
  if x ~= y then return x > y end
  return a.number < b.number
end

local EMPTY = 65536 -- Bytes of empty slots that are told, at least.

-- Whether most of the slots that the line's tables have are empty, which is
-- worth telling from a hundredth of the heap on.
local function is_sparse(l, walk)
  return l.slots and l.slots_used < l.slots / 2 and
    l.slots_empty >= math.max(EMPTY, walk.total / 100) or false
end

-- Lines by number, with these fields besides: path, children (a list of lines,
-- the largest first), above (line of the holder, nil: the VM), number, goes_on
-- (it is the first of a chain, such as a linked list; the others are no
-- children), more (traces that this one leads to; their first is this line, and
-- what they hold is its children). Returns the list and the lines that the VM
-- itself holds.
local function lines(walk)
  local list, roots = {}, {}
  for i, l in ipairs(walk.lines) do
    local above = list[l.parent]
    local line = { number = i, above = above, count = l.count, self = l.self,
      bytes = l.bytes, was = l.was, c = l.c or 0, type = printable(l.type),
      what = l.what and printable(l.what),
      label = printable(l.label or "?"), children = {},
      slots = l.slots, slots_used = l.slots_used, empty = l.slots_empty,
      sparse = is_sparse(l, walk) }
    local shown = above and (above.first or above)
    local is_side = above and above.type == "trace" and line.type == "trace"
    -- A chain, such as a linked list: its first lines tell it all.
    line.chain = is_side or shown and (shown.chain or
      shown.label == line.label and shown.type == line.type)
    line.raw = above and (is_side and above or shown).raw..line.label or
      line.label
    line.path = common(line.raw)
    list[i] = line
    if is_side then
      line.first = shown
      shown.more = (shown.more or 0) + 1
    elseif line.chain then
      shown.goes_on = true
    else
      local siblings = shown and shown.children or roots
      siblings[#siblings+1] = line
    end
  end
  table.sort(roots, order)
  for _, line in ipairs(list) do table.sort(line.children, order) end
  return list, roots
end

-- The line that tells best where the memory is: the largest one that the VM
-- holds, or one below it that has as good as all of it; nil: it holds little.
local function main(walk, roots)
  local line = roots[1]
  if not line or weight(line) < (walk.held + (walk.c_led or 0)) * 0.1 then
    return nil
  end
  while line.children[1] and
      weight(line.children[1]) >= weight(line) * 0.8 do
    line = line.children[1]
  end
  return line
end

-- The slots of a line's tables: "each 4 of 16 slots used".
local function slots_used(line)
  return ("%s%s of %s slots used"):format(line.count > 1 and "each " or "",
    numbers.plain(line.slots_used / line.count),
    numbers.plain(line.slots / line.count))
end

-- The object or objects that a line stands for.
local function kind(line)
  local text = line.count == 1 and line.what or
    ("%.0f x %s"):format(line.count, line.what or line.type)
  if line.goes_on then text = text..", and so on" end
  if line.more then
    text = ("%s, and %s"):format(text, numbers.counted(line.more, "more trace"))
  end
  if line.sparse then
    text = text..", "..slots_used(line)
  end
  return line.c > 0 and text.."; C likely" or text
end

-- The reason why a profile has no walk, and how to get one if that may be the
-- matter; nil: it has one.
local function absent(w)
  if w then return w.why and printable(w.why) end
  return "the program was not stopped where its heap is at rest, or the "..
    "profile has none; option W asks for one"
end

return { lines = lines, main = main, kind = kind, common = common,
  slots_used = slots_used, absent = absent }
