-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The last part of a profile that goes on, by its timeline: CPU time and
-- allocations since a moment. What is in use is that of now.
----------------------------------------------------------------------------

-- The last point of the timeline up to a moment, and its number; or nil, 0.
local function point_at(p, from)
  local point, n = nil, 0
  for i, at in ipairs(p.course) do
    if at.wall > from then break end
    point, n = at, i
  end
  return point, n
end

local counted = { "cpu", "alloc_objects", "alloc_bytes" }

-- For each row, what it counted after that point.
local function counts(p, point)
  local by, sum = {}, { cpu = 0, alloc_objects = 0, alloc_bytes = 0 }
  for i in ipairs(p.rows) do
    by[i] = { cpu = 0, alloc_objects = 0, alloc_bytes = 0 }
  end
  for _, change in ipairs(p.timeline) do
    if change.point > point then
      local row = by[change.row]
      for _, field in ipairs(counted) do
	row[field] = row[field] + change[field]
	sum[field] = sum[field] + change[field]
      end
    end
  end
  return by, sum
end

local function over(t, changed)
  return setmetatable(changed, { __index = t })
end

-- The rows with these counts: an amount is in doubt as the part of it that it
-- is of all.
local function rows_of(p, by)
  local rows = {}
  for i, row in ipairs(p.rows) do
    local part = by[i]
    for _, field in ipairs(counted) do
      part[field] = math.max(part[field], 0)
    end
    if row.alloc_variance and row.alloc_bytes > 0 then
      part.alloc_variance = row.alloc_variance * part.alloc_bytes /
	row.alloc_bytes
    end
    if row.cpu_variance and row.cpu > 0 then
      part.cpu_variance = row.cpu_variance * part.cpu / row.cpu
    end
    rows[i] = over(row, part)
  end
  return rows
end

local function course_of(p, base, n)
  local course = {}
  for i = n + 1, #p.course do
    local at = p.course[i]
    course[#course+1] = over(at, { wall = at.wall - base.wall,
      cpu = at.cpu - base.cpu })
  end
  return course
end

-- The profile from that second of the run on; the same profile where its
-- timeline has nothing before.
return function(p, from)
  local base, n = point_at(p, from)
  if not base then return p end
  local by, sum = counts(p, n)
  local all = p.heap.alloc_bytes
  local part = all > 0 and math.max(all - base.allocated, 0) / all or 0
  local heap = over(p.heap, { alloc_bytes = all * part,
    alloc_objects = sum.alloc_objects,
    samples = math.floor(p.heap.samples * part + 0.5),
    gc_cycles = p.heap.gc_cycles and p.heap.gc_cycles - base.cycles })
  local changed = { rows = rows_of(p, by), heap = heap,
    info = over(p.info, { wall = p.info.wall - base.wall,
      cpu = p.info.cpu - base.cpu, window = base.wall }),
    cpu = over(p.cpu, { samples = math.floor(sum.cpu + 0.5) }),
    course = course_of(p, base, n) }
  return setmetatable(changed, { __index = p })
end
