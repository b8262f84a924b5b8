-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The event at which a profile was written (option B), in a sentence: what
-- came near its limit, and what holds the memory.
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")
local paths = require("jit.mp.heap.paths")

local function event(p, kib)
  local i = p.info
  local function bytes(n) return numbers.bytes(n or 0, kib) end
  if i.trigger == "busy" then
    return ("the thread has not waited for %s of CPU time"):format(
      numbers.seconds(i.trigger_used or 0))
  elseif i.trigger == "refused" then
    return ("%s were refused, with %s in use"):format(
      bytes(i.trigger_limit), bytes(i.trigger_used))
  end
  local text = "in use "..bytes(i.trigger_used)
  local asked = i.trigger_asked and (", and %s more are asked for"):format(
    bytes(i.trigger_asked))
  local most = bytes(i.trigger_limit)
  if i.trigger_of then
    return ("%s of a limit of %s (%s)%s"):format(text, most,
      names.printable(i.trigger_of), asked or "")
  end
  return ("%s%s more than %s"):format(text, asked and asked..":" or ",", most)
end

-- The line, or without lines the function, that allocated most of what a line
-- of the walk holds; or nil.
local function site(p, line, list)
  local name = p:namer(p.info.no_lines and "f" or "l", false, 1)
  local by, most = {}, nil
  for _, j in ipairs(p.walk.joins) do
    local row, l = p.rows[j.row], list[j.line]
    while l and l ~= line do l = l.above end
    if row and l then
      local text = name(row)[1]
      by[text] = (by[text] or 0) + j.bytes
      if not most or by[text] > by[most] or
	  by[text] == by[most] and text < most then
	most = text
      end
    end
  end
  return most
end

-- The bytes that the line held in the walk before, and how long ago; nil:
-- nobody knows.
local function before(w, line, kib)
  if not (w.base_at and w.base_least) then return nil end
  local ago = numbers.seconds(math.max(0, w.at - w.base_at))
  if line.was and line.was < line.bytes then
    return (", grown from %s in %s"):format(numbers.bytes(line.was, kib), ago)
  elseif line.was then
    return (", %s there %s before"):format(numbers.bytes(line.was, kib), ago)
  end
  return (", not among the holders of %s or more %s before"):format(
    numbers.bytes(w.base_least, kib), ago)
end

local function holder(p, kib)
  local w = p.walk
  if not w or p.info.trigger == "busy" then return nil end
  if w.why then return "no heap walk: "..names.printable(w.why) end
  local list, roots = paths.lines(w)
  local line = paths.main(w, roots)
  if not line then return nil end
  local where = site(p, line, list)
  return ("%s held at %s%s%s"):format(numbers.bytes(line.bytes, kib),
    line.path, where and ", allocated at "..where or "",
    before(w, line, kib) or "")
end

local function growth(p, kib)
  if p.info.trigger == "busy" or not p.heap.inuse_start then return nil end
  return ("the Lua heap has grown from %s to %s in %s"):format(
    numbers.bytes(p.heap.inuse_start, kib), numbers.bytes(p.heap.inuse, kib),
    numbers.seconds(p.info.wall))
end

-- The parts of the sentence; an empty list where there was no event.
local function parts(p, kib)
  if not p.info.trigger then return {} end
  local t = { event(p, kib) }
  t[#t+1] = p.info.trigger_at and "at "..names.printable(p.info.trigger_at)
  t[#t+1] = holder(p, kib)
  t[#t+1] = growth(p, kib)
  return t
end

return { parts = parts }
