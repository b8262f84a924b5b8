-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Chrome's .cpuprofile: a call tree, and the node of every sample in order.
----------------------------------------------------------------------------
--
-- Its times are CPU time: samples are equally far apart, however long the
-- program waited between two of them.
--
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local export = require("jit.mp.format.export")

local MAX_SAMPLES = 2^22  -- Each of them is written.
local START = 1  -- Of a clock without a date, as Chrome's; readers add to it.

-- Counts the samples of each node, and of each line in it. Returns the nodes
-- of all samples as text, and their number.
local function count(p, tree, hits, ticks)
  local whole, total, out = export.rounder(1), 0, {}
  for _, run in ipairs(export.in_order(p, "cpu")) do
    local row, n = run[1], whole(run[2])
    if n > 0 then
      local node = tree.at(row.stack)
      local f = p.frames[p.frame[row.stack]]
      hits[node] = (hits[node] or 0) + n
      total = total + n
      out[#out+1] = (node..","):rep(n - 1)..node
      if f and f.kind == "Lua" and f.line then
	ticks[node] = ticks[node] or {}
	ticks[node][f.line] = (ticks[node][f.line] or 0) + n
      end
    end
  end
  return table.concat(out, ","), total
end

-- "positionTicks" of a node.
local function ticks_text(lines)
  local order, out = {}, {}
  for line in pairs(lines) do order[#order+1] = line end
  table.sort(order)
  for i, line in ipairs(order) do
    out[i] = ('{"line":%d,"ticks":%d}'):format(line, lines[line])
  end
  return ',"positionTicks":['..table.concat(out, ",").."]"
end

-- Adds all nodes to a list of texts; few strings are made, for there can be
-- very many nodes.
local function add_nodes(tree, hits, ticks, out)
  local call_frame, k, next = export.call_framer(), #out, tree.next
  for node = 1, tree.n do
    out[k+1] = node == 1 and '{"id":' or ',\n{"id":'
    out[k+2] = node
    out[k+3] = ',"callFrame":'
    out[k+4] = call_frame(tree.fn[node])
    out[k+5] = ',"hitCount":'
    out[k+6] = hits[node] or 0
    out[k+7] = ',"children":['
    k = k + 7
    local c = tree.first[node]
    while c do
      out[k+1] = c
      out[k+2] = next[c] and "," or ""
      k, c = k + 2, next[c]
    end
    out[k+1] = ticks[node] and "]"..ticks_text(ticks[node]).."}" or "]}"
    k = k + 1
  end
end

-- Whole microseconds for each of n samples, which add up to a number of them.
local function deltas(microseconds, n)
  local whole, out = export.rounder(microseconds / n), {}
  for i = 1, n do out[i] = whole(1) end
  return table.concat(out, ",")
end

return function(p)
  local _, total = export.values(p, "cpu")
  if total > MAX_SAMPLES then
    return nil, ("%.0f CPU samples are more than a .cpuprofile holds (%d)")
      :format(total, MAX_SAMPLES)
  end
  local tree, hits, ticks = export.tree(p), {}, {}
  local samples, n = count(p, tree, hits, ticks)
  if n == 0 then return nil, empty(p, "cpu") end
  local time = math.floor(p.info.cpu * 1e6 + 0.5)
  local out = { '{"nodes":[\n' }
  add_nodes(tree, hits, ticks, out)
  out[#out+1] = ('],\n"startTime":%.0f,"endTime":%.0f,\n"samples":['):format(
    START, START + time + 1) -- A sample at the very end is not left out.
  out[#out+1] = samples
  out[#out+1] = '],\n"timeDeltas":['
  out[#out+1] = deltas(time, n)
  out[#out+1] = "]}\n"
  return table.concat(out)
end
