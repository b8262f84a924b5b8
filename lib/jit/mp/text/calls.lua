-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Calls: how often each function was called, and the memory that it allocated
-- by itself and with all that it called, in all and per call.
----------------------------------------------------------------------------

local cumulative = require("jit.mp.model.cumulative")
local numbers = require("jit.mp.model.numbers")
local views = require("jit.mp.model.views")

-- Functions that were called or that allocate: the most memory first.
local function collect(p, o)
  local g = cumulative.sums(p, {
    function(row) return row.calls or 0 end,
    function(row) return row.alloc_bytes end
  }, cumulative.names(p, "f", o.path))
  local list, calls, bytes = {}, 0, 0
  for _, f in ipairs(g.functions) do
    if f.self[1] > 0 or f.self[2] > 0 then
      list[#list+1] = { name = f.name, calls = f.self[1], own = f.self[2],
	all = f.cumulative[2] }
      calls, bytes = calls + f.self[1], bytes + f.self[2]
    end
  end
  table.sort(list, function(a, b)
    if a.all ~= b.all then return a.all > b.all end
    if a.calls ~= b.calls then return a.calls > b.calls end
    return a.name < b.name
  end)
  return list, calls, bytes
end

local function per_call(bytes, calls, kib)
  return calls > 0 and numbers.bytes(bytes / calls, kib) or ""
end

return function(p, o)
  local list, calls, bytes = collect(p, o)
  if calls == 0 then return "no calls\n" end
  local out = { ("%12s%12s%11s%12s%11s   %s\n"):format("calls", "allocated",
    "per call", "with what", "per call", ""),
    ("%12s%12s%11s%12s%11s   %s\n"):format("", "by itself", "", "it calls", "",
    "function") }
  local hidden = 0
  for _, f in ipairs(list) do
    local share = math.max(f.calls / calls, bytes > 0 and f.all / bytes or 0)
    if views.shows(share, o) then
      out[#out+1] = ("%12.0f%12s%11s%12s%11s   %s\n"):format(f.calls,
	numbers.bytes(f.own, o.kib), per_call(f.own, f.calls, o.kib),
	numbers.bytes(f.all, o.kib), per_call(f.all, f.calls, o.kib), f.name)
    else
      hidden = hidden + 1
    end
  end
  out[#out+1] = ("%12.0f%12s%11s   %s\n"):format(calls,
    numbers.bytes(bytes, o.kib), per_call(bytes, calls, o.kib), "in all")
  if hidden > 0 then
    out[#out+1] = ("%d functions below %g%% are not shown: option m\n"):format(
      hidden, o.min)
  end
  return table.concat(out)
end
