-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Formats of a report, by the suffix of the file name.
----------------------------------------------------------------------------

local names = require("jit.mp.model.names")
local address = require("jit.mp.push.address")

local profile = { ".mp", view = "format.file_write", types = true }
-- See misc.lua.
local memprof = { ".mp", view = "format.memprof", types = true }

-- view: the module. set: options that the suffix implies. part: another suffix
-- stands for this one. kind: the name in the option list, if not the suffix.
-- lines: false where the format shows none. types: whether it shows types of
-- objects.
local list = {
  { ".cpu.pb.gz", view = "format.pprof", part = true, kind = ".pb.gz",
    set = { pprof = "cpu" } },
  { ".heap.pb.gz", view = "format.pprof", part = true, kind = ".pb.gz",
    types = true, set = { pprof = "heap" } },
  { ".pb.gz", view = "format.pprof", pprof = true, types = true },
  { ".otlp", view = "format.otlp", pprof = true, types = true },
  { ".speedscope.json", view = "format.speedscope" },
  { ".cpuprofile", view = "format.cpuprofile" },
  { ".heapprofile", view = "format.heapprofile" },
  { ".firefox.json", view = "format.firefox" },
  { ".dhat.json", view = "format.dhat" },
  { ".json", view = "format.report", types = true },
  { ".prom", view = "format.metrics", lines = false },
  { ".folded", view = "format.folded", lines = false,
    set = { folded = true } },
  { ".heapsnapshot", view = "format.heapsnapshot", walk = true },
  { ".html", view = "format.html", types = true },
  profile,
  { ".bin", view = "format.file_write", part = true,  -- See misc.lua.
    kind = ".mp", types = true },
}

local server = { "", kind = "server", view = "format.server", types = true }

-- The format of a file name, or of the address of a server; nil: text. o: the
-- options of a plan, of which memprof means a profile in any file.
local function of(name, o)
  if o and o.memprof then return memprof end
  if address.is_address(name) then return server end
  for _, format in ipairs(list) do
    if #name > #format[1] and name:sub(-#format[1]) == format[1] then
      return format
    end
  end
end

-- Whether that format shows lines; nil, a text: the options decide.
local function shows_lines(format)
  return format ~= nil and format.lines ~= false
end

-- The contents of a pprof file: "cpu", "heap", or "all" of it.
local function pprof_kind(o)
  local cpu, heap = false, false
  for _, view in ipairs(o.views) do
    cpu, heap = cpu or view == "cpu", heap or view ~= "cpu"
  end
  return (o.combined or cpu and heap) and "all" or cpu and "cpu" or "heap"
end

-- Suffixes of plain text. A name without a suffix is one too, and so is one
-- that ends in digits, as rotated files do.
local texts = { txt = true, text = true, log = true, out = true, md = true,
  tmp = true, report = true, prof = true }

-- The suffixes, as a sentence for a message.
local function known()
  local t = {}
  for _, format in ipairs(list) do
    if not format.part then t[#t+1] = format[1] end
  end
  return table.concat(t, " ")..",\nand for text .txt or none"
end

-- The message about a name whose suffix is not a format; nil: it is one.
local function wrong_suffix(name)
  if address.is_address(name) then return select(2, address.parse(name)) end
  local suffix = name:match("[^/]%.([^./]+)$")
  if not suffix and of("app."..name) then
    return ('"%s" is a format: name a file, such as app.%s'):format(name, name)
  end
  if not suffix or of(name) or texts[suffix] or suffix:find("^[%d%%]") or
      name:find("^/dev/") or name:find("^/proc/") then
    return nil
  end
  return ('"%s": unknown output format .%s; known formats: %s'):format(
    names.printable(name), names.printable(suffix), (known():gsub("\n", " ")))
end

-- The files that are written for a name: pprof's readers want CPU and heap
-- apart, unless only one of them was asked for, or option P is given.
local function files(name, o)
  local format = of(name)
  if not format or format[1] ~= ".pb.gz" or o.combined or
      pprof_kind(o) ~= "all" then
    return { name }
  end
  local stem = name:sub(1, -#".pb.gz" - 1)
  return { stem..".cpu.pb.gz", stem..".heap.pb.gz" }
end

-- Module of the text report that the options ask for.
local function text_view(o)
  return o.folded and "format.folded" or o.callgraph and "text.callgraph" or
    o.events and "text.events" or o.calls and "text.calls" or
    o.leaks and "text.leaks" or
    o.walk and "heap.report" or o.memory and "text.memory" or
    o.compiler and "text.compiler" or o.waits and "text.waits" or
    o.annotate and "text.annotate" or
    o.quickfix and "text.quickfix" or "text.table"
end

-- The options with those that a suffix implies.
local function with(o, set)
  local t = {}
  for k, v in pairs(o) do t[k] = v end
  for k, v in pairs(set) do t[k] = v end
  return t
end

-- The view for a file name, the options with those that the name implies, and
-- whether it is a text for people.
local function view(name, o)
  local format = of(name, o)
  if format and format.view == "format.folded" and o.walk then
    return require("jit.mp.format.folded_walk"), o, false
  end
  if not format then return require("jit.mp."..text_view(o)), o, true end
  local set = format.pprof and { pprof = pprof_kind(o) } or format.set
  return require("jit.mp."..format.view), set and with(o, set) or o, false
end

return {
  of = of, shows_lines = shows_lines, files = files, view = view, known = known,
  wrong_suffix = wrong_suffix
}
