-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The parts of the page's style and script, in the order in which they are
-- joined: a part of the script uses the parts before it, and a part of the
-- style overrides them.
----------------------------------------------------------------------------

local style = { "base", "controls", "graph", "tables", "media" }

local script = {
  "dom", "numbers", "items", "profile", "state", "counts", "sums", "matches",
  "steps", "tree", "course", "layout", "words", "colors", "widgets", "flame",
  "graph", "search", "calls", "columns", "source", "table", "timeline", "heat",
  "range", "controls", "heaptree", "heap", "leaks", "jit", "save", "address",
  "help", "main"
}

return { style = style, script = script }
