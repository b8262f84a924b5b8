-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Estimates from samples: scaled to the counted totals, with the doubt of each.
----------------------------------------------------------------------------
--
-- The bytes and blocks allocated, those in use and those in use at the peak are
-- counted, while their parts by stack are estimated. The sum of all rows is
-- therefore known: the estimates are brought into line with it, so that a
-- quantity has one number everywhere. The difference is shared out in
-- proportion to the variances of the rows, which is the best use of a known
-- sum (bench/estimates.lua has the numbers).
--
-- Memory that was there before the profile belongs to no stack. It gets a row
-- of its own, terms.before, so that the rows add up to all that is in use. How
-- much of it is still there is not known: at most as much as there was, and
-- the remainder belongs to the rows. Between these bounds the estimates stay as
-- they are. If there are no samples of the remainder, it has a row, too:
-- terms.unsampled.
--
-- A sample of a block of s bytes, with samples every N bytes on average, stands
-- for 1/p blocks where p = 1-exp(-s/N). A sum over n such samples has the
-- variance n (1-p) (1/p)^2, in blocks. CPU samples are counted as they come:
-- the variance of a number of them is that number. Where their interval adapts,
-- each has the weight of the interval before it, and the variance is the sum of
-- the squares; weights are scaled so that they add up to the number of samples.
--
----------------------------------------------------------------------------

local terms = require("jit.mp.model.terms")

-- -- Doubt -------------------------------------------------------------------

local function chance(row, view, period)
  local size = row[view.."_bytes"] / row[view.."_objects"]
  return 1 - math.exp(-size / period)
end

-- The distance of samples that gives the number of samples that there were.
-- (The distance may have grown in the course of the run.)
local function mean_period(p, view, samples, period)
  if period <= 1 or not samples or samples <= 0 then return period end
  for _ = 1, 8 do
    local n = 0
    for _, row in ipairs(p.rows) do
      local objects = row[view.."_objects"] or 0
      if objects > 0 then n = n + objects * chance(row, view, period) end
    end
    if n <= 0 then return period end
    period = math.max(period * n / samples, 1)
  end
  return period
end

-- The distance of samples that gives the doubt that was recorded, or 0. The
-- distance may have grown in the course of the run: then most samples are from
-- before, and most bytes from afterwards.
local function doubtful_period(p, view)
  local field = view == "peak" and "alloc" or view
  local bytes, var = 0, 0
  for _, row in ipairs(p.rows) do
    bytes = bytes + (row[field.."_bytes"] or 0)
    var = var + (row[field.."_variance"] or 0)
  end
  return bytes > 0 and var / bytes or 0
end

-- The mean bytes between the samples of a view of the heap; at most 1: every
-- allocation was counted.
local function sampled_period(p, view)
  if view:find("^native") then
    local n = p.native or {}
    return mean_period(p, view, view == "native" and n.samples or
      n.inuse_samples, n.period or 1)
  end
  local samples = view == "alloc" and p.heap.samples or
    view == "inuse" and p.heap.inuse_samples
  return mean_period(p, view == "peak" and "alloc" or view,
    samples or p.heap.samples, p.heap.period)
end

-- The distance that tells how far numbers may be off.
local function period_of(p, view)
  local period = sampled_period(p, view)
  return period > 1 and math.max(period, doubtful_period(p, view)) or period
end

-- A function from a row to the variance of its bytes in a view, as the profile
-- recorded it; bytes at the peak have that of as many bytes allocated. nil: the
-- profile has no such values.
local function recorded(p, view)
  local field = (view == "peak" and "alloc" or view).."_variance"
  local has = false
  for _, row in ipairs(p.rows) do has = has or row[field] ~= nil end
  if not has then return end
  return function(row)
    local var = row[field] or 0
    if view ~= "peak" then return var end
    return row.alloc_bytes > 0 and var * row.peak_bytes / row.alloc_bytes or 0
  end
end

local function cpu_variance(p)
  local n, var = 0, 0
  for _, row in ipairs(p.rows) do
    n, var = n + row.cpu, var + (row.cpu_variance or row.cpu)
  end
  local each = n > 0 and var / n or 1
  return function(row)
    return row.cpu_variance or row.stack and row.cpu or row.cpu * each
  end
end

-- A function from a row to the variance of its number in a view. A row of
-- another profile has no stack, and gets the variance that it would have here.
local function variance(p, view, objects)
  if view == "cpu" then return cpu_variance(p) end
  local period, known = period_of(p, view), recorded(p, view)
  if period <= 1 then return function() return 0 end end
  return function(row)
    local n, bytes = row[view.."_objects"] or 0, row[view.."_bytes"] or 0
    if n <= 0 or bytes <= 0 then return 0 end
    local size = bytes / n
    if known and row.stack then
      return known(row) / (objects and size * size or 1)
    end
    local q = chance(row, view, period)
    return n * (1 - q) / q * (objects and 1 or size * size)
  end
end

-- -- One number for one quantity ---------------------------------------------

local function sum(rows, field)
  local n = 0
  for _, row in ipairs(rows) do n = n + (row[field] or 0) end
  return n
end

-- Brings the sum of a field to the counted number. The difference is shared out
-- in proportion to the variances: large blocks, which are all sampled, keep
-- their bytes. follow: a field that changes by the same factors.
local function scale(s, view, field, counted, follow)
  local all, doubt, factors = sum(s.rows, field), 0, {}
  if math.abs(counted / all - 1) < 1e-9 then return factors end
  local var = variance(s, view, field == view.."_objects")
  for _, row in ipairs(s.rows) do doubt = doubt + var(row) end
  if not (all + doubt < math.huge) then return factors end -- A stranger's.
  for i, row in ipairs(s.rows) do
    local v = row[field] or 0
    local share = v > 0 and doubt > 0 and var(row) / v / doubt or 0
    factors[i] = math.max(0.5, math.min(2, 1 + (counted - all) * share))
    if row[field] then row[field] = v * factors[i] end
  end
  local rest = counted / sum(s.rows, field) -- Of what was cut off, if any.
  for i, row in ipairs(s.rows) do
    factors[i] = factors[i] * rest
    if row[field] then row[field] = row[field] * rest end
    if field == view.."_bytes" and row[view.."_variance"] then
      row[view.."_variance"] = row[view.."_variance"] * factors[i]^2
    end
    if follow and row[follow] then row[follow] = row[follow] * factors[i] end
  end
  return factors
end

-- Scales the amounts allocated, and their changes over time.
local function scale_allocated(s)
  for _, field in ipairs({ "alloc_objects", "alloc_bytes" }) do
    local counted = s.heap[field] or 0
    if counted > 0 and sum(s.rows, field) > 0 then
      local factors = scale(s, "alloc", field, counted)
      for _, change in ipairs(s.timeline or {}) do
	local factor = factors[change.row]
	if factor and change[field] then
	  change[field] = change[field] * factor
	end
      end
    end
  end
end

-- The row of a pseudo frame of that name, made if need be.
local function pseudo_row(s, name)
  for _, row in ipairs(s.rows) do
    local f = s.frames[s.stacks.frame[row.stack]]
    if f and f.kind == "pseudo" and f.name == name then return row end
  end
  local stacks, n = s.stacks, #s.stacks.parent + 1
  s.frames[#s.frames+1] = { kind = "pseudo", name = name }
  stacks.parent[n], stacks.frame[n] = 0, #s.frames
  local row = { stack = n, zone = 0, state = "I", cpu = 0, alloc_bytes = 0,
    alloc_objects = 0, inuse_objects = 0, inuse_bytes = 0, peak_objects = 0,
    peak_bytes = 0 }
  s.rows[#s.rows+1] = row
  return row
end

-- Adds bytes to the row of a pseudo frame.
local function add_to(s, name, field, bytes)
  if bytes < 1 then return end
  local row = pseudo_row(s, name)
  row[field] = (row[field] or 0) + bytes
end

-- Scales the amounts in use in a view, of which so much was counted; adds the
-- rows of what has no stack. Returns the factors.
local function scale_held(s, view, counted)
  local field = view.."_bytes"
  local all, start = sum(s.rows, field), s.heap.inuse_start or 0
  local least = math.max(counted - start, 0)
  local held, factors = math.max(math.min(all, counted), least), {}
  if all <= 0 then
    add_to(s, terms.unsampled, field, held)
  elseif s.heap.period > 1 then
    factors = scale(s, view, field, held, view.."_objects")
  end
  add_to(s, terms.before, field, counted - held)
  return factors
end

-- Scales the records of what collections left, as what is in use was: the last
-- one is a part of that.
local function scale_records(s, factors)
  for _, record in ipairs(s.held or {}) do
    local factor = factors[record.row] or 1
    record.objects, record.bytes = record.objects * factor,
      record.bytes * factor
    record.variance = record.variance * factor^2
  end
end

-- Scales what was in use over time, as what is in use at the end was.
local function scale_curve(s, factors)
  for _, change in ipairs(s.timeline or {}) do
    local factor = factors[change.row]
    if factor and change.inuse_bytes then
      change.inuse_bytes = change.inuse_bytes * factor
    end
  end
end

-- Scales the weights of CPU samples so that their sum is the samples' number.
local function scale_cpu(s)
  local all = s.cpu.adaptive and sum(s.rows, "cpu") or 0
  local factor = all > 0 and s.cpu.samples / all or 1
  if math.abs(factor - 1) < 1e-9 then return end
  for _, row in ipairs(s.rows) do
    row.cpu = row.cpu * factor
    row.cpu_variance = row.cpu_variance and row.cpu_variance * factor^2
  end
  for _, change in ipairs(s.timeline or {}) do
    change.cpu = change.cpu * factor
  end
  for _, trace in ipairs(s.traces or {}) do
    trace.ticks = trace.ticks and trace.ticks * factor
  end
end

-- Brings the rows of a snapshot into line with its totals. Doing so again
-- changes nothing.
local function calibrate(s)
  local heap = s.heap
  if s.calibrated then return end
  if s.cpu then scale_cpu(s) end
  if not heap or not heap.inuse_start then return end
  if heap.period > 1 then scale_allocated(s) end
  local factors = scale_held(s, "inuse", heap.inuse)
  scale_records(s, factors)
  scale_curve(s, factors)
  if s.rows[1] and s.rows[1].peak_bytes then
    scale_held(s, "peak", heap.peak)
  end
  s.calibrated = true
end

-- The number of samples of equal weight that would give so much doubt.
local function samples_of(v, var)
  return var > 0 and v * v / var or math.huge
end

-- With fewer samples a number may be off by a third or more.
local ENOUGH = 9

local function is_rough(v, var)
  return v > 0 and samples_of(v, var) < ENOUGH
end

-- The mark of a number in a report: "" unless it is rough, and large enough for
-- that to matter.
local function mark(v, var, total)
  return v >= total * 0.005 and is_rough(v, var) and terms.rough or ""
end

return {
  calibrate = calibrate, variance = variance, period = period_of,
  samples_of = samples_of, is_rough = is_rough, mark = mark, enough = ENOUGH
}
