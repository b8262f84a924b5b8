----------------------------------------------------------------------------
-- The lines above a report: what was measured, and how far to trust it.
----------------------------------------------------------------------------

local numbers = require("jit.mp.model.numbers")
local profile = require("jit.mp.model.profile")

local function cpu_part(p)
  local s = numbers.seconds(p.info.cpu).." CPU"
  if not p.cpu.enabled then return s end
  local rate = p.info.cpu > 0 and p.cpu.samples / p.info.cpu or 0
  return s..(", %s (%.0f/s)"):format(numbers.samples(p.cpu.samples), rate)
end

local function heap_part(p, kib)
  local h = p.heap
  local counted = h.period <= 1
  local alloc = counted and "every allocation" or numbers.samples(h.samples)
  local inuse = not counted and h.inuse_samples and
    ", "..numbers.samples(h.inuse_samples) or ""
  return ("%s allocated, %s   in use %s%s, peak %s"):format(
    numbers.bytes(h.alloc_bytes, kib), alloc, numbers.bytes(h.inuse, kib),
    inuse, numbers.bytes(h.peak, kib))
end

local function capture_part(p)
  local s = "capture "..p.info.capture
  if p.info.capture_why then s = s.." ("..p.info.capture_why..")" end
  local share = p:line_share("alloc")
  if share then s = s.."   with a line "..numbers.percent(share) end
  return s
end

local function gc_part(p)
  local n, share = p.heap.gc_cycles, p:state_share("G")
  local s = "GC "..(n and ("%d cycle%s"):format(n, n == 1 and "" or "s") or
    "cycles not known")
  if share then s = s..(", %.0f %% of CPU"):format(share * 100) end
  return s
end

local function period_part(p)
  local h = p.heap
  if h.period <= 1 then return "allocations exact" end
  return ("estimated from a sample every %s%s"):format(
    numbers.period(h.period), h.adaptive and ", adaptive" or "")
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
  local script = p.info.script and profile.module_name({ source = p.info.script })
  local first = "luajit-mp"..(script and "  "..script or "").."  "..cpu_part(p)
  local out = {
    join({ first, heap_part(p, kib) }, width),
    join({ capture_part(p), gc_part(p), period_part(p) }, width)
  }
  if p.heap.dropped > 0 then
    out[#out+1] = ("%d samples lost: no memory for them\n"):format(
      p.heap.dropped)
  end
  for _, note in ipairs(p.info.notes) do out[#out+1] = note.."\n" end
  out[#out+1] = "\n"
  return table.concat(out)
end
