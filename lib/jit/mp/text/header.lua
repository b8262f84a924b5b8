----------------------------------------------------------------------------
-- The lines above a report: what was measured, and how far to trust it.
----------------------------------------------------------------------------

local facts = require("jit.mp.model.facts")
local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")

local function cpu_part(p)
  local samples = facts.cpu_samples(p)
  return numbers.seconds(p.info.cpu).." CPU"..(samples and ", "..samples or "")
end

local function heap_part(p, kib)
  local h, inuse = p.heap, facts.inuse_samples(p)
  return ("%s allocated, %s   in use %s%s, peak %s"):format(
    numbers.bytes(h.alloc_bytes, kib), facts.alloc_samples(p),
    numbers.bytes(h.inuse, kib), inuse and ", "..inuse or "",
    numbers.bytes(h.peak, kib))
end

local function capture_part(p)
  local s, lines = "capture "..p.info.capture, facts.lines(p)
  if p.info.capture_why then
    s = s.." ("..names.printable(p.info.capture_why)..")"
  end
  return s..(lines and "   "..lines or "")
end

local function gc_part(p)
  local cycles, share = facts.gc(p)
  return "GC "..cycles..(share and ", "..share or "")
end

local function period_part(p)
  local period = facts.period(p)
  return period and "estimated from a sample "..period or "allocations exact"
end

-- Puts parts on one line, or on several where the terminal is narrower.
local function join(parts, width)
  local lines, line = {}, nil
  for _, part in ipairs(parts) do
    if line and width and #line + 3 + #part > width then
      lines[#lines+1], line = line, nil
    end
    line = line and line.."   "..part or part
  end
  lines[#lines+1] = line
  return table.concat(lines, "\n").."\n"
end

-- Returns the header as text, with an empty line at its end.
return function(p, width, kib)
  local script = facts.script(p)
  local first = "luajit-mp"..(script and "  "..script or "").."  "..cpu_part(p)
  local out = {
    join({ first, heap_part(p, kib) }, width),
    join({ capture_part(p), gc_part(p), period_part(p) }, width)
  }
  local lost = facts.lost(p)
  if lost then out[#out+1] = lost.."\n" end
  local cut = facts.cut(p)
  if cut then out[#out+1] = cut.."\n" end
  for _, note in ipairs(p.info.notes) do
    out[#out+1] = names.printable(note).."\n"
  end
  out[#out+1] = "\n"
  return table.concat(out)
end
