----------------------------------------------------------------------------
-- Formats of a report, by the suffix of the file name.
----------------------------------------------------------------------------

-- view: the module. set: what the suffix says besides.
local list = {
  { ".cpu.pb.gz", view = "format.pprof", set = { pprof = "cpu" } },
  { ".heap.pb.gz", view = "format.pprof", set = { pprof = "heap" } },
  { ".pb.gz", view = "format.pprof", set = { pprof = "all" } },
  { ".speedscope.json", view = "format.speedscope" },
  { ".cpuprofile", view = "format.cpuprofile" },
  { ".heapprofile", view = "format.heapprofile" },
  { ".folded", view = "format.folded", set = { folded = true } },
  { ".html", view = "page.html" },
  { ".mp", view = "format.file_write" },
}

-- The format of a file name; nil: text.
local function of(name)
  for _, format in ipairs(list) do
    if #name > #format[1] and name:sub(-#format[1]) == format[1] then
      return format
    end
  end
end

-- The files that are written for a name: pprof's readers want CPU and heap
-- apart, unless one of them is all that was asked for.
local function files(name, o)
  local format = of(name)
  if not format or format[1] ~= ".pb.gz" or o.combined then return { name } end
  local heap = 0
  for _, view in ipairs(o.views) do
    if view ~= "cpu" then heap = heap + 1 end
  end
  local stem, out = name:sub(1, -#".pb.gz" - 1), {}
  if #o.views > heap then out[#out+1] = stem..".cpu.pb.gz" end
  if heap > 0 then out[#out+1] = stem..".heap.pb.gz" end
  return out
end

-- Module of the text report that the options ask for.
local function text_view(o)
  return o.folded and "format.folded" or o.callgraph and "text.callgraph" or
    o.events and "text.events" or o.leaks and "text.leaks" or
    o.annotate and "text.annotate" or "text.table"
end

-- The options with what a suffix says besides.
local function with(o, set)
  local t = {}
  for k, v in pairs(o) do t[k] = v end
  for k, v in pairs(set) do t[k] = v end
  return t
end

-- The view for a file name, the options with what the name says, and whether
-- it is a text for people.
local function view(name, o)
  local format = of(name)
  if not format then return require("jit.mp."..text_view(o)), o, true end
  return require("jit.mp."..format.view),
    format.set and with(o, format.set) or o, false
end

return { of = of, files = files, view = view }
