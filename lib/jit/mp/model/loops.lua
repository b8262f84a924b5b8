-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The loops that the lines of a source are in.
----------------------------------------------------------------------------
--
-- read(text) returns a table by number of line, and the lines themselves. An
-- element of the former is { loop, inside, of }: loop is the set of names that
-- are local to the innermost loop of the function that the line begins in, or
-- nil, and inside says whether that is a function other than the main chunk. If
-- a loop begins within the line, of has the same for each name that the line
-- has in a loop alone.
--
----------------------------------------------------------------------------

local definitions = require("jit.mp.model.definitions")

local OPENS = { ["do"] = true, ["then"] = true, ["repeat"] = true,
  ["function"] = true }
local CLOSES = { ["end"] = true, ["until"] = true, ["else"] = true,
  ["elseif"] = true }

-- The place of what comes next: the innermost loop's names, with those of the
-- blocks in it, but not of a function around it.
local function place(blocks)
  local names, found = {}, nil
  for i = #blocks, 1, -1 do
    local b = blocks[i]
    if b.kind == "function" then
      return { loop = found, inside = true }
    end
    if not found then
      for name in pairs(b.names) do names[name] = true end
      if b.loop then found = names end
    end
  end
  return { loop = found, inside = false }
end

-- Takes a token. s: the open blocks; head, the names of a for before its do;
-- declares, where the names of a local or a for are taken.
local function step(s, kind, text)
  if CLOSES[kind] and s.blocks[2] then s.blocks[#s.blocks] = nil end
  if kind == "else" then
    s.blocks[#s.blocks+1] = { kind = kind, names = {} }
  elseif OPENS[kind] then
    local loop = kind == "repeat" or kind == "do" and s.head ~= nil
    s.blocks[#s.blocks+1] = { kind = kind, loop = loop,
      names = kind == "do" and s.head or {} }
    s.looped = s.looped or loop
    if kind == "do" then s.head = nil end
  elseif kind == "for" or kind == "while" then
    s.head = {}
  end
  if kind == "local" then
    s.declares = s.blocks[#s.blocks].names
  elseif kind == "for" then
    s.declares = s.head
  elseif kind == "name" and s.declares then
    s.declares[text] = true
  elseif kind ~= "," then
    s.declares = nil
  end
end

-- Takes a name on a line in which a loop has begun. outside: the names that the
-- line has outside of its loops.
local function note(at, outside, blocks, word)
  local here = place(blocks)
  at.of = at.of or {}
  if not here.loop then outside[word] = true end
  at.of[word] = not outside[word] and here or nil
end

local function read(text)
  local s = { blocks = { { kind = "chunk", names = {} } } }
  local places, lines, outside = {}, {}, {}
  for line in (text.."\n"):gmatch("([^\n]*)\n") do lines[#lines+1] = line end
  definitions.each(text, function(kind, word, line)
    if not places[line] then
      places[line], outside, s.looped = place(s.blocks), {}, false
    end
    if kind == "name" and not places[line].loop then
      if s.looped then note(places[line], outside, s.blocks, word)
      else outside[word] = true end
    end
    step(s, kind, word)
  end)
  return places, lines
end

return { read = read }
