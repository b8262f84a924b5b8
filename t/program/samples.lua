-- SPDX-License-Identifier: MIT
-- The samples of output in the manuals and in README are what is printed now:
-- the same lines, but for their numbers. MP_GOLDEN=new writes them again.
--
-- A sample follows a comment of the document, `sample: NAME`, and ends where
-- the block of literal text does. Its program is in t/samples or examples.

local tap = require("tap")

local write_anew = os.getenv("MP_GOLDEN") == "new"

-- -- Parts of the output -----------------------------------------------------

-- The table without the lines at the top.
local function body(text) return (text:match("\n\n(.*)")) end

-- The first function of a call graph, between the lines that frame it.
local function first_of_graph(text)
  local title, entry = text:match(
    "\n(call graph: [^\n]*\n.-\n%-+\n)(.-)\n%-%-+\n")
  return title..entry.."\n"
end

-- The sections of a report of events, with their first entries: a title, and
-- as many lines as say what there is.
local function shortened(text)
  local kept = { ALLOCATIONS = 3, REALLOCATIONS = 4, DEALLOCATIONS = 4,
    ["HEAP SUMMARY:"] = 3 }
  local out = {}
  for section in (text.."\n\n"):gmatch("(.-\n)\n%f[%u%z]") do
    local n = kept[section:match("^[^\n]*")] or 0
    for line in section:gmatch("([^\n]*)\n") do
      if n > 0 then out[#out+1] = line:gsub("\t", "    ") end
      n = n - 1
    end
    if kept[section:match("^[^\n]*")] then out[#out+1] = "...\n" end
  end
  return table.concat(out, "\n")
end

local function by_stack(text)
  local held, stacks = text:match("\n(Held [^\n]*\n\n).-(By stack:\n.*)")
  return held..stacks
end

-- Reports that vary from run to run, with the processor's time, are only
-- compared up to the titles of the columns.
local function top(rows)
  return function(text)
    local lines = {}
    for line in text:gmatch("[^\n]*\n") do
      lines[#lines+1] = line
      if #lines == 7 + rows then break end
    end
    -- A user may have no timer but the kernel's tick.
    return (table.concat(lines):gsub(", limited by the kernel's tick",
      ", adaptive"))
  end
end

-- The first lines around one with a share, in annotated source.
local function first_lines(text)
  return (text:match("\n([^\n]*|\n@@ %d+ @@\n.-)\n +|[ \n]*\n"))
end

-- The rows of a table, as many; the numbers at the top are not shown.
local function rows(n)
  return function(text)
    local lines = {}
    for line in body(text):gmatch("[^\n]*\n") do
      lines[#lines+1] = line
      if #lines == n + 1 then break end
    end
    return table.concat(lines)
  end
end

-- Folded stacks of the program's own functions.
local function folded(text)
  return (text:gsub("[^\n]*%([^\n]*\n", ""):gsub("[^\n]*gmatch[^\n]*\n", ""))
end

local samples = {
  types = { "-joff -jm=tfm10b1 shop.lua", body, varies = true },
  peak = { "-joff -jm=xub1 peak.lua", body },
  kib = { "-joff -jm=xukb1 peak.lua", body },
  graph = { "-joff -jm=ghb1 shop.lua", first_of_graph, varies = true },
  events = { "-joff -jm=e shop.lua", shortened },
  leaks = { "-joff -jm=Lm5b1 server.lua", by_stack },
  report = { "-jm=f json.lua 0.3", top(6), varies = true },
  callers = { "-jm=cs json.lua 0.3", rows(8), varies = true },
  source = { "-joff -jm=hab1 shop.lua", first_lines },
  folded = { "-joff -jm=Ghb1 shop.lua", folded },
  lines = { "-jm=fl json.lua", top(60), varies = true, whole = true },
}

-- -- Documents ---------------------------------------------------------------

-- The marks around a sample in a document, and its spelling there.
local manual = {
  pattern = '(%.\\" sample: (%a+)\n%.Bd [^\n]*\n)(.-)(\n%.Ed\n)',
  write = function(text)
    return (text:gsub("\\", "\\e"):gsub("%f[^\n%z]([.'])", "\\&%1"))
  end
}
local documents = {
  ["man/luajit-mp.1"] = manual, ["man/luajit-mp-options.7"] = manual,
  ["README.md"] = {
    pattern = "(<!%-%- sample: (%a+) %-%->\n+```\n)(.-)(\n```\n)",
    write = function(text)
      return (text:gsub("(this LuaJIT [^\n]*:) ", "%1\n  "))
    end
  }
}

-- The words of a text, line by line: without numbers, their units and space,
-- since cells may be empty by chance, and without a remark about small rows or
-- about a bug that not every LuaJIT has.
local function shape(text, varies)
  text = text:gsub("this LuaJIT has a bug .-\n\n", "\n")
  if varies then
    text = text:match("^(.-\n\n[^\n]*\n)") or text:match("^[^\n]*\n")
  end
  return (text:gsub("[^\n]*rows? below[^\n]*\n?", "")
    :gsub("%-?%f[%w]%d[%d.]*", "N"):gsub("N [kKMG]?i?B%f[%W]", "N")
    :gsub("N [kMGm]?s?%f[%W]", "N"):gsub("N%%?", ""):gsub("[ \t>-]+", " ")
    :gsub(" +\n", "\n"):gsub("^%s+", ""):gsub("%s+$", ""))
end

local function output_of(sample)
  local dir = sample[1]:find("json") and "/examples" or "/t/samples"
  local r = tap.luajit(sample[1], { dir = tap.srcdir..dir })
  -- The program's own output comes before the report. All samples but one are
  -- those of a LuaJIT without the bug that a report may name.
  local text = r.out:match("luajit%-mp  .*") or r.out ~= "" and r.out or r.err
  if sample.whole then return text end
  return (text:gsub("this LuaJIT has a bug [^\n]*\n", ""))
end

local texts = {}
local function text_of(name)
  local sample = assert(samples[name], "no sample of that name: "..name)
  texts[name] = texts[name] or sample[2](output_of(sample)):gsub("\n+$", "")
  return texts[name]
end

local function check(file, document)
  local page = tap.read(tap.srcdir.."/"..file)
  local found = 0
  local new = page:gsub(document.pattern, function(first, name, old, last)
    local text = document.write(text_of(name))
    local varies = samples[name].varies
    found = found + 1
    if not write_anew then
      tap.is(shape(old.."\n", varies), shape(text.."\n", varies),
        file..": the sample "..name.." is what is printed")
    end
    return first..text..last
  end)
  tap.ok(found > 0, file.." has samples")
  if write_anew then tap.write(tap.srcdir.."/"..file, new) end
end

local probe = tap.luajit("-jm=f -e 'local t = {}'")
if tap.slow or not probe.out:find("capture exact", 1, true) then
  tap.skip("samples are of exact captures")
end
for file, document in pairs(documents) do check(file, document) end
tap.done()
