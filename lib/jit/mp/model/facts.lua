-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- A profile as a whole, and how far to trust it: the phrases that the headers
-- of the text report and of the page have in common.
----------------------------------------------------------------------------

local estimates = require("jit.mp.model.estimates")
local numbers = require("jit.mp.model.numbers")
local profile = require("jit.mp.model.profile")
local views = require("jit.mp.model.views")

local facts = {}

local SELDOM = 0.05 -- A part of the time that is not worth a word.
local HALF, MOST = 0.5, 0.75
local BUSY = 0.2    -- The compiler's part of the time that is worth a word.
local TELLS = 50    -- CPU samples among which compiled code would be.

local FEW = 100	-- CPU samples; below, rows of a small part are chance.

-- Name of the program.
function facts.script(p)
  return p.info.script and profile.module_name({ source = p.info.script })
end

-- A remark on the timer, or "". rate: samples in a second of CPU time.
local function timer(p, rate)
  local clock = p.cpu.clock or ""
  if clock:find("watched", 1, true) then
    return ", no timers: watched by a thread"
  end
  if clock:find("tick", 1, true) and p.cpu.samples > 0 and
    rate < 900 / p.cpu.interval then
    return ", limited by the kernel's tick"
  end
  if p.cpu.adaptive then return ", adaptive" end
  return p.cpu.samples > 0 and p.cpu.samples < FEW and p.cpu.interval > 1 and
    "; i1 takes more" or ""
end

-- "1.20 s", or that the time is not known.
function facts.cpu(p)
  local known = p.info.cpu > 0 or not p.cpu.why
  return known and numbers.seconds(p.info.cpu) or "not known"
end

-- "582 samples (108/s)"; nil where CPU was not sampled.
function facts.cpu_samples(p)
  if not p.cpu.enabled then return nil end
  local rate = p.info.cpu > 0 and
    p.cpu.samples / math.max(p.info.cpu, 1e-3) or 0
  return ("%s (%.0f/s%s)"):format(numbers.samples(p.cpu.samples), rate,
    timer(p, rate))
end

-- The samples that allocated bytes rest on.
function facts.alloc_samples(p)
  return p.heap.period <= 1 and "every allocation" or
    numbers.samples(p.heap.samples)
end

-- The samples that bytes in use rest on; nil where they are counted, or nobody
-- knows.
function facts.inuse_samples(p)
  return p.heap.period > 1 and p.heap.inuse_samples and
    numbers.samples(p.heap.inuse_samples) or nil
end

-- The time for which the program had stopped the collector: "stopped"; or nil:
-- as good as none.
local function stopped(p)
  local looks, n = p.heap.gc_looks or 0, p.heap.gc_stopped or 0
  if n < looks * SELDOM or n == 0 then return nil end
  return n > looks * (1 - SELDOM) and "stopped" or
    "stopped "..numbers.share(n, looks).." of the time"
end

-- The number of collections, and their share of the CPU time, if there are
-- enough samples to tell; and whether they were held off.
function facts.gc(p)
  local n, t = p.heap.gc_cycles, {}
  local share = p.cpu.samples >= estimates.enough and p:state_share("G")
  if share then t[1] = numbers.share(share, 1).." of CPU" end
  t[#t+1] = stopped(p)
  return n and numbers.counted(n, "cycle") or "cycles not known",
    t[1] and table.concat(t, ", ")
end

-- Whether the program may be faster without the compiler, which has so much CPU
-- time, and the code that it has made so much.
function facts.may_lose(own, compiled) return own > compiled * 2 end

-- "92% interpreted, nothing compiled"; where little was compiled, or the
-- compiler itself is busy, what says why, and what to try where compiling may
-- be a loss; nil: neither, or there are too few samples to tell.
function facts.compiler(p)
  local share = p.cpu.samples >= TELLS and p:state_share("I")
  if not share then return nil end
  local text, own = numbers.share(share, 1).." interpreted", p:state_share("J")
  local compiled = p:state_share("N")
  if share >= HALF and compiled == 0 then
    return text..", nothing compiled"
  elseif own >= BUSY then
    text = numbers.share(own, 1).." compiling"
    if facts.may_lose(own, compiled) and not p.compiler.enabled then
      text = ("%s, %s in compiled code: compare with luajit -joff"):format(text,
	numbers.share(compiled, 1))
    end
  elseif share < MOST then
    return nil
  end
  return p.compiler.enabled and text or text.."; option J says why"
end

-- The part of the heap that nothing held when it was walked: "76% garbage";
-- nil: it was not walked, or there is little. While a state is closed, nothing
-- holds the locals of the main chunk.
function facts.garbage(p)
  local w, n = p.walk, 0
  if not w or w.why or (w.closing and not w.left) then return nil end
  for _, t in ipairs(w.types) do n = n + t.garbage_bytes end
  return n >= w.total * 0.01 and numbers.share(n, w.total).." garbage" or nil
end

-- Whether it was merged from several profiles.
function facts.is_sum(p) return (p.info.runs or 1) > 1 end

-- "5.21 s", "37.7 s in 5 profiles".
function facts.duration(p)
  return numbers.seconds(p.info.wall)..
    (facts.is_sum(p) and (" in %d profiles"):format(p.info.runs) or "")
end

-- "every 64 KiB"; if the distance adapts, the mean one of so many samples of so
-- many bytes: "every 1.04 MiB, adaptive".
local function every(distance, adaptive, bytes, samples)
  if not adaptive then return "every "..numbers.period(distance) end
  return ("every %s, adaptive"):format(numbers.period(samples > 0 and
    bytes / samples or distance))
end

-- The distance of samples; nil where every allocation is counted. A merged
-- profile has the largest one of its parts.
function facts.period(p)
  local h = p.heap
  if h.period <= 1 then return nil end
  if facts.is_sum(p) then
    return "every "..numbers.period(h.period).." or less"
  end
  return every(h.period, h.adaptive, h.alloc_bytes, h.samples)
end

-- Bytes of the process in memory at the end, as far as it is known.
function facts.rss(p)
  local last = p.course[#p.course]
  return last and last.rss and last.rss > 0 and last.rss or nil
end

-- Bytes of C memory: allocated, and in use at the end.
function facts.native(p)
  local all, held = 0, 0
  for _, row in ipairs(p.rows) do
    all = all + (row.native_bytes or 0)
    held = held + (row.native_inuse_bytes or 0)
  end
  return all, held
end

-- The basis of these amounts: "every allocation", or samples and their
-- distance.
function facts.native_samples(p)
  local n = p.native
  local lost = (n.dropped or 0) > 0 and
    (", %s lost"):format(numbers.samples(n.dropped)) or ""
  if (n.period or 1) <= 1 then return "every allocation"..lost end
  return numbers.samples(n.samples or 0)..", "..every(n.period, n.adaptive,
    (facts.native(p)), n.samples or 0)..lost
end

local memory_names = {
  { "lua", "Lua objects in use, as the collector counts" },
  { "lua_free", "free in LuaJIT's allocator" },
  { "lua_heads", "headers and padding of its blocks" },
  { "code", "machine code of traces" }, { "stacks", "C stacks" },
  { "malloc_used", "malloc, in use" }, { "malloc_free", "malloc, free" },
  { "mixed", "malloc and others, not told apart" },
  { "files", "mapped files: programs and libraries" },
  { "profiler", "the profiler itself" }, { "other", "other" },
}

-- The parts of the memory of a process, which add up to its RSS: a list of
-- { name, bytes }.
function facts.memory_parts(m)
  local t = {}
  for _, part in ipairs(memory_names) do
    local bytes = m[part[1]]
    if bytes then t[#t+1] = { name = part[2], bytes = bytes } end
  end
  return t
end

-- The largest parts, as words: "free in LuaJIT's allocator 60%, ..."; nil: the
-- profile has none.
function facts.memory(p)
  local m, t = p.memory or {}, {}
  if not m.rss then return nil end
  local parts = facts.memory_parts(m)
  table.sort(parts, function(a, b) return a.bytes > b.bytes end)
  for i = 1, math.min(3, #parts) do
    t[i] = parts[i].name.." "..numbers.share(parts[i].bytes, m.rss)
  end
  return table.concat(t, ", ")
end

-- Where lines of memory are not those that allocate.
local neighbours = {
  safepoint = "memory the next safepoint's",
  mixed = "memory in part the next safepoint's",
}

-- The share of each view that has a line:
-- "with a line CPU 98%, allocated 99.9%"; or that there are none.
function facts.lines(p, list)
  if p.info.no_lines then return "functions; option l shows lines" end
  local near = neighbours[p.info.capture]
  local t, memory = {}, nil
  for _, name in ipairs(list or { "cpu", "alloc", "inuse" }) do
    local share = p:line_share(name)
    if share and (name == "cpu" or not near) then
      t[#t+1] = views.by[name].title.." "..numbers.percent(share)
    elseif share then
      memory = near
    end
  end
  t[#t+1] = memory
  return #t > 0 and "with a line "..table.concat(t, ", ") or nil
end

-- The notes for the reader, and whether one of them says why there are no
-- zones: it is among them only if zones are asked for.
function facts.notes(p, zones)
  local list, why = {}, false
  for _, note in ipairs(p.info.notes or {}) do
    local of_zones = note:find("^no zones: ") ~= nil
    why = why or of_zones
    if zones or not of_zones then list[#list+1] = note end
  end
  return list, why
end

-- Samples that are missing, as a line of its own; or nil.
function facts.lost(p)
  if p.heap.dropped == 0 then return nil end
  local why = p.info.capture == "exact" and "no memory for them" or
    "the run ended before a safepoint, or no memory for them"
  return ("%s lost: %s"):format(numbers.samples(p.heap.dropped), why)
end

-- Samples whose stacks had more frames than are kept, in the same way.
function facts.cut(p)
  local cut = p.info.cut or 0
  if cut == 0 then return nil end
  return ("%s with more frames than are kept: their stacks end in "..
    "(more frames)"):format(numbers.samples(cut))
end

return facts
