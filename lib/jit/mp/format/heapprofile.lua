-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Chrome's .heapprofile: a call tree with the bytes of one view, in use if it
-- is among those chosen.
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local export = require("jit.mp.format.export")
local json = require("jit.mp.format.json")

-- The peak, if it alone was asked for; or of the views the first of these.
local function choose(o)
  if o.chosen == 1 and o.view == "peak" then return "peak" end
  local has = {}
  for _, view in ipairs(o.views) do has[view] = true end
  return not has.inuse and (has.peak and "peak" or has.alloc and "alloc") or
    "inuse"
end

-- Adds the tree, as nested nodes, to a list of texts; few strings are made, for
-- there can be very many nodes. Stacks may be deep: no recursion.
local function add_nodes(tree, sizes, out)
  local call_frame, up, next = export.call_framer(), tree.up, tree.next
  local k = #out
  local function open(node)
    out[k+1] = '{"callFrame":'
    out[k+2] = call_frame(tree.fn[node])
    out[k+3] = ',"selfSize":'
    out[k+4] = sizes[node] and json.number(sizes[node]) or "0"
    out[k+5] = ',"id":'
    out[k+6] = node
    out[k+7] = ',"children":['
    k = k + 7
  end
  local function close(text)
    out[k+1] = text
    k = k + 1
  end
  local node = 1
  open(node)
  while node do
    if tree.first[node] then
      node = tree.first[node]
      open(node)
    else
      while node and not next[node] do
	close("]}")
	node = up[node]
      end
      if node then
	close("]},\n")
	node = next[node]
	open(node)
      end
    end
  end
end

-- A node's bytes are one sample.
local function add_samples(tree, sizes, out)
  local ordinal = 0
  for node = 1, tree.n do
    if sizes[node] then
      ordinal = ordinal + 1
      out[#out+1] = ('%s{"size":%s,"nodeId":%d,"ordinal":%d}'):format(
	ordinal > 1 and ",\n" or "", json.number(sizes[node]), node, ordinal)
    end
  end
end

return function(p, o)
  local view = choose(o)
  local value, total = export.values(p, view)
  if total <= 0 then return nil, empty(p, view) end
  local tree, sizes, whole = export.tree(p), {}, export.rounder(1)
  for _, row in ipairs(p.rows) do
    local n = whole(value(row))
    if n ~= 0 then
      local node = tree.at(row.stack)
      sizes[node] = (sizes[node] or 0) + n
    end
  end
  local out = { '{"head":' }
  add_nodes(tree, sizes, out)
  out[#out+1] = ',\n"samples":[\n'
  add_samples(tree, sizes, out)
  out[#out+1] = "]}\n"
  return table.concat(out)
end
