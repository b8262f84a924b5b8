-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The views: their names, how their numbers are written, and which numbers are
-- worth a row.
----------------------------------------------------------------------------
--
-- A view has a name, the letter of its option, a title, a short title for
-- narrow columns, and a unit: samples of "seconds", or "bytes" (or objects).
--
----------------------------------------------------------------------------

local estimates = require("jit.mp.model.estimates")
local numbers = require("jit.mp.model.numbers")

local list = {
  { name = "cpu", letter = "c", title = "CPU", short = "CPU",
    unit = "seconds" },
  { name = "alloc", letter = "h", title = "allocated", short = "alloc",
    unit = "bytes" },
  { name = "inuse", letter = "u", title = "in use", short = "in use",
    unit = "bytes" },
  { name = "peak", letter = "x", title = "at the peak", short = "peak",
    unit = "bytes" },
  { name = "native", letter = "Y", title = "C allocated", short = "C alloc",
    unit = "bytes" },
  { name = "native_inuse", letter = "U", title = "C in use",
    short = "C in use", unit = "bytes" },
}

local by = {}
for _, view in ipairs(list) do by[view.name] = view end

-- Whether a share of a view (0 to 1) has that percentage, as it is printed.
local function reaches(share, percent)
  return share > 0 and math.floor(share * 100 + 0.5) >= percent
end

-- Whether option m shows a share of a view.
local function shows(share, o) return reaches(share, o.min) end

-- The line that stands for a report in which option m hides everything.
local function nothing(what, o)
  return ("%s reaches %d%%; option m sets the limit\n"):format(what, o.min)
end

-- Bytes for people, or raw.
local function bytes(v, o)
  return o.raw and ("%.0f"):format(v) or numbers.bytes(v, o.kib)
end

-- A view's amount for people, or raw. v is a part of total, in samples, bytes
-- or objects.
local function amount(p, o, name, v, total)
  if o.raw then return ("%.0f"):format(v) end
  if name == "cpu" then
    return numbers.seconds(total > 0 and v * p.info.cpu / total or 0)
  end
  return o.objects and numbers.count(v) or numbers.bytes(v, o.kib)
end

-- The largest share that an entry of sums (see Profile:sums) has in any view.
local function largest(entry, totals)
  local max = 0
  for i, total in ipairs(totals) do
    if total > 0 then max = math.max(max, entry[i] / total) end
  end
  return max
end

-- The same for the order of rows that are alike otherwise: a share counts for
-- less the more doubtful it is, so that a stray sample does not head them.
local function weight(entry, totals)
  local max = 0
  for i, total in ipairs(totals) do
    if total > 0 then
      local n = estimates.samples_of(entry[i], entry.var[i])
      max = math.max(max, entry[i] / total * math.max(0, 1 - 1 / n^0.5))
    end
  end
  return max
end

-- The parts of an entry of sums, and how many levels below it they are: one
-- part of the same name, as parts of the VM have, is left out.
local function parts(e)
  local sub, below = e.sub, 1
  while sub and #sub == 1 and sub[1].name == e.name do
    sub, below = sub[1].sub, below + 1
  end
  return sub, below
end

-- Sorts a list by its elements' fields: the largest first, and by name where
-- all are equal, so that reports can be compared.
local function sort(entries, ...)
  local fields = { ... }
  table.sort(entries, function(a, b)
    for _, field in ipairs(fields) do
      if a[field] ~= b[field] then return a[field] > b[field] end
    end
    return a.name < b.name
  end)
  return entries
end

return {
  list = list, by = by, reaches = reaches, shows = shows, nothing = nothing,
  bytes = bytes, amount = amount,
  largest = largest, weight = weight, parts = parts, sort = sort
}
