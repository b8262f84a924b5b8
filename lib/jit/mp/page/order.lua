----------------------------------------------------------------------------
-- The parts of the page's script, in the order in which they are joined: a
-- part uses what stands before it.
----------------------------------------------------------------------------

return {
  "dom", "numbers", "items", "profile", "state", "counts", "sums", "matches",
  "tree", "layout", "words", "colors", "widgets", "flame", "graph", "search",
  "calls", "columns", "source", "table", "timeline", "range", "controls",
  "save", "address", "help", "main"
}
