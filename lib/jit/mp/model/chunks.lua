-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Chunks of one name that have different code.
----------------------------------------------------------------------------
--
-- A frame has the identity of its function's code, and that of the outermost
-- function around it that the core had seen by then; once the main chunk has
-- been seen, that is the chunk. If several chunks turn out to have one name,
-- all but the first get a number: 'page.tmpl', 'page.tmpl #2'.
--
-- Two main chunks of different code are two chunks. In code from strings so are
-- functions of different code that begin on one line and have no chunk in
-- common. In a file these may be two functions on one line.
--
----------------------------------------------------------------------------

-- The chunks by code, as far as any frame tells.
local function owners(frames)
  local of = {}
  for _, f in ipairs(frames) do
    if f.source and f.code and f.chunk and f.chunk ~= f.code then
      of[f.source] = of[f.source] or {}
      of[f.source][f.code] = f.chunk
    end
  end
  return of
end

local NESTED = 50

-- The chunk of a frame; nil: not known.
local function chunk_of(f, of)
  local chunk, n = f.chunk or f.code, 0
  local by = of[f.source]
  while by and by[chunk] and n < NESTED do
    chunk, n = by[chunk], n + 1
  end
  return chunk
end

-- The chunks of each source, in the order of the frames, and whether they are
-- known to be several.
local function collect(frames, of)
  local sources = {}
  for _, f in ipairs(frames) do
    local chunk = f.kind == "Lua" and f.source and chunk_of(f, of)
    if chunk then
      local s = sources[f.source]
      if not s then
	s = { n = 0, number = {}, at = {}, several = false }
	sources[f.source] = s
      end
      if not s.number[chunk] then
	s.n = s.n + 1
	s.number[chunk] = s.n
      end
      local line = f.linedefined
      if line and (line == 0 or f.source:find("^%[string ")) then
	s.at[line] = s.at[line] or chunk
	s.several = s.several or s.at[line] ~= chunk
      end
    end
  end
  return sources
end

-- The frames, with copies for those whose source gets a number: `raw` is the
-- frame as it was.
local function tell_apart(frames)
  local of, list = owners(frames), {}
  local sources = collect(frames, of)
  for i, f in ipairs(frames) do
    local s = f.kind == "Lua" and sources[f.source]
    local n = s and s.several and s.number[chunk_of(f, of)]
    list[i] = f
    if n and n > 1 then
      list[i] = { raw = f }
      for k, v in pairs(f) do list[i][k] = v end
      list[i].source = ("%s #%d"):format(f.source, n)
    end
  end
  return list
end

return { tell_apart = tell_apart }
