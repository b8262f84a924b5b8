-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The heap walk, for the page: lines by columns, and the stacks that allocated
-- the memory they hold.
----------------------------------------------------------------------------

local encode = require("jit.mp.page.encode")
local paths = require("jit.mp.heap.paths")

local list, object, number = encode.list, encode.object, encode.number

-- Bytes that no line has: of objects that nothing holds, and the VM's own.
local function others(w)
  local garbage, own = 0, 0
  for _, t in ipairs(w.types) do garbage = garbage + t.garbage_bytes end
  for _, bytes in pairs(w.own) do own = own + bytes end
  return garbage, own
end

local function lines(w, strs)
  local parent, label, path, kind = {}, {}, {}, {}
  for i, line in ipairs((paths.lines(w))) do
    parent[i] = w.lines[i].parent
    label[i] = strs((line.label:gsub("^ ", "")))
    path[i], kind[i] = strs(line.path), strs(line.type)
  end
  return object({ "parent", list(parent), "label", list(label),
    "path", list(path), "type", list(kind),
    "count", encode.ints(w.lines, "count"),
    "self", encode.ints(w.lines, "self"),
    "bytes", encode.ints(w.lines, "bytes") })
end

-- A JSON text, null where there is no walk. strs: the numbers of strings.
return function(p, strs)
  local w = p.walk
  if not w or w.why then return "null" end
  local garbage, own = others(w)
  return object({ "total", number(w.total), "held", number(w.held),
    "garbage", number(garbage), "own", number(own), "at", number(w.at),
    "closing", tostring(w.closing or false), "lines", lines(w, strs),
    "joins", object({ "row", encode.ints(w.joins, "row"),
      "line", encode.ints(w.joins, "line"),
      "bytes", encode.ints(w.joins, "bytes") }) })
end
