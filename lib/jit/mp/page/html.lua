----------------------------------------------------------------------------
-- One HTML file to look at a profile in a browser: nothing else is needed.
----------------------------------------------------------------------------
--
-- The page is viewer.html with viewer.css, viewer.js and the profile in it.
-- The profile is JSON by columns: arrays of numbers, and one table of strings
-- to which they point. All that is computed from it, the page computes.
--
-- Functions are shared by the two profiles of a comparison, so that the page
-- knows what belongs together.
--
----------------------------------------------------------------------------

local empty = require("jit.mp.model.empty")
local facts = require("jit.mp.model.facts")
local names = require("jit.mp.model.names")
local numbers = require("jit.mp.model.numbers")
local profile = require("jit.mp.model.profile")

local MAX_SOURCE = 4 * 1024 * 1024 -- Bytes of a source file that is shown.

local floor, huge = math.floor, math.huge

-- -- The parts of the page --------------------------------------------------

-- Read now: at the end of the program they might be out of reach.
local function read_part(name)
  local dir = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
  local fp, msg = io.open(dir..name, "rb")
  if not fp then return nil, msg end
  local text = fp:read("*a")
  fp:close()
  return text
end

-- Without comments and indentation: those are for us.
local function shrink(text)
  return (text:gsub("^/%*.-%*/\n", ""):gsub("\n%s*/%*.-%*/%f[\n]", "")
    :gsub("\n%s+", "\n"))
end

local parts, missing = {}, nil
for _, name in ipairs({ "html", "css", "js" }) do
  local text, msg = read_part("viewer."..name)
  parts[name] = text and shrink(text)
  missing = missing or msg
end

-- -- JSON -------------------------------------------------------------------

-- A string. No character that means something to HTML is left in it.
local function str(s)
  return '"'..names.utf8(s):gsub('[%c"\\<>&]', function(c)
    return ("\\u%04x"):format(c:byte())
  end)..'"'
end

local function list(t) return "["..table.concat(t, ",").."]" end

local function strings(t)
  local out = {}
  for i, s in ipairs(t) do out[i] = str(s) end
  return list(out)
end

-- An object from a list of keys and texts, in that order.
local function object(t)
  local out = {}
  for i = 1, #t, 2 do out[#out+1] = '"'..t[i]..'":'..t[i+1] end
  return "{"..table.concat(out, ",").."}"
end

local function number(n)
  return n == n and n > -huge and n < huge and ("%.14g"):format(n) or "0"
end

-- Values that may be estimates, in steps of 1/scale. What rounding takes from
-- one it gives to the next: their sum is that of the profile.
local function amounts(rows, field, scale)
  local out, rest = {}, 0
  for i = 1, #rows do
    local v = rows[i][field]
    if v and v > 0 and v < huge then
      rest = rest + v * scale
      local n = floor(rest + 0.5)
      if n < 0 then n = 0 end
      rest = rest - n
      out[i] = scale == 1 and n or n / scale
    else
      out[i] = 0
    end
  end
  return list(out)
end

-- Whole numbers; missing is what stands for one that is not there.
local function ints(rows, field, absent)
  local out = {}
  for i = 1, #rows do out[i] = rows[i][field] or absent or 0 end
  return list(out)
end

-- -- Tables of what both profiles name --------------------------------------

-- A function from a string to its number, from 0 on, and the list.
local function interner()
  local index, t = {}, {}
  return function(s)
    local i = index[s]
    if not i then
      i = #t
      index[s] = i
      t[i+1] = s
    end
    return i
  end, t
end

local kinds = { Lua = 0, builtin = 1, C = 2, pseudo = 3 }

-- Functions: a name, and where they are defined.
local function functions(strs, o)
  local index = {}
  local t = { name = {}, module = {}, source = {}, line = {}, kind = {} }
  local function add(f, name)
    local lua = f.kind == "Lua"
    local key = table.concat({ f.kind, name, f.source or "",
      lua and f.linedefined or "" }, "\0")
    local i = index[key]
    if i then return i end
    i = #t.name
    index[key] = i
    t.name[i+1] = strs(name)
    t.module[i+1] = lua and strs(profile.module_name(f, o.path)) or -1
    t.source[i+1] = f.source and strs(f.source) or -1
    t.line[i+1] = lua and f.linedefined or -1
    t.kind[i+1] = kinds[f.kind] or 3
    return i
  end
  return add, t
end

local function encode_functions(t)
  return object({ "name", list(t.name), "module", list(t.module),
    "source", list(t.source), "line", list(t.line), "kind", list(t.kind) })
end

-- -- One profile ------------------------------------------------------------

-- Frames: the function and line of each.
local function encode_frames(p, o, add)
  local namer = p:namer("f", o.path, 1)
  local func, line = {}, {}
  for i = 1, #p.frames do func[i], line[i] = -1, -1 end
  for s = 1, #p.frame do
    local i = p.frame[s]
    if func[i] == -1 then
      local f = p.frames[i]
      func[i] = add(f, namer({ stack = s })[1])
      line[i] = f.kind == "Lua" and f.line or -1
    end
  end
  return object({ "func", list(func), "line", list(line) })
end

-- Rows. Columns that the profile does not have are left out.
local function encode_rows(p, strs)
  local states, state_list = interner()
  local types, type_list = interner()
  local state, kind, peak = {}, {}, false
  for i, row in ipairs(p.rows) do
    state[i] = states(p:state_name(row))
    kind[i] = row.type and types(row.type) or -1
    peak = peak or row.peak_bytes ~= nil
  end
  local t = {
    "stack", ints(p.rows, "stack"), "zone", ints(p.rows, "zone"),
    "state", list(state), "type", list(kind),
    "states", strings(state_list), "types", strings(type_list),
    "cpu", amounts(p.rows, "cpu", 1000),
    "alloc_objects", amounts(p.rows, "alloc_objects", 1000),
    "alloc_bytes", amounts(p.rows, "alloc_bytes", 1),
    "inuse_objects", amounts(p.rows, "inuse_objects", 1000),
    "inuse_bytes", amounts(p.rows, "inuse_bytes", 1)
  }
  if peak then
    t[#t+1], t[#t+2] = "peak_objects", amounts(p.rows, "peak_objects", 1000)
    t[#t+1], t[#t+2] = "peak_bytes", amounts(p.rows, "peak_bytes", 1)
  end
  return object(t)
end

local function encode_zones(p)
  local zones = {}
  for i, name in ipairs(p.zones.name) do zones[i] = names.printable(name) end
  return object({ "parent", list(p.zones.parent), "name", strings(zones) })
end

local function encode_course(p)
  local course = p.course or {}
  local phases, phase_list = interner()
  local wall, cpu, phase = {}, {}, {}
  for i, c in ipairs(course) do
    wall[i], cpu[i] = ("%.6f"):format(c.wall or 0), ("%.6f"):format(c.cpu or 0)
    phase[i] = phases(c.phase or "")
  end
  return object({ "wall", list(wall), "cpu", list(cpu),
    "allocated", amounts(course, "allocated", 1),
    "inuse", amounts(course, "inuse", 1), "rss", amounts(course, "rss", 1),
    "cycles", ints(course, "cycles"), "phase", list(phase),
    "phases", strings(phase_list) })
end

-- What was counted when, in order of time.
local function encode_timeline(p)
  local t, points, sorted = p.timeline or {}, p.course and #p.course or 0, {}
  local by = {}
  for _, e in ipairs(t) do
    by[e.point] = by[e.point] or {}
    table.insert(by[e.point], e)
  end
  for i = 1, points do
    for _, e in ipairs(by[i] or {}) do sorted[#sorted+1] = e end
  end
  return object({ "point", ints(sorted, "point"), "row", ints(sorted, "row"),
    "cpu", amounts(sorted, "cpu", 1000),
    "alloc_objects", amounts(sorted, "alloc_objects", 1000),
    "alloc_bytes", amounts(sorted, "alloc_bytes", 1) })
end

-- The header of a report: name, value, and what else is to say.
local function header(p, kib)
  local h, t = p.heap, {}
  local function add(name, value, more)
    t[#t+1] = strings({ name, value, more or "" })
  end
  add("CPU", numbers.seconds(p.info.cpu), facts.cpu_samples(p) or "not sampled")
  add("Allocated", numbers.bytes(h.alloc_bytes, kib), facts.alloc_samples(p))
  local few = facts.inuse_samples(p)
  add("In use", numbers.bytes(h.inuse, kib), (few and few..", " or "")..
    "peak "..numbers.bytes(h.peak, kib))
  add("GC", facts.gc(p))
  add("Capture", p.info.capture, facts.lines(p))
  local period = facts.period(p)
  if period then add("Estimated", "from a sample", period)
  else add("Allocations", "exact") end
  return list(t)
end

local function notes(p)
  local t = {}
  if p.info.capture_why then
    t[1] = ("capture %s: %s"):format(p.info.capture, p.info.capture_why)
  end
  t[#t+1] = facts.lost(p)
  for _, note in ipairs(p.info.notes or {}) do t[#t+1] = note end
  return strings(t)
end

-- Why a view is empty, in case it is.
local function reasons(p)
  return object({ "cpu", str(empty(p, "cpu")), "alloc", str(empty(p, "alloc")),
    "inuse", str(empty(p, "inuse")), "peak", str(empty(p, "peak")) })
end

local function command_line(p)
  local t = {}
  for i, word in ipairs(p.info.command or {}) do
    t[i] = names.printable(word)
    if t[i] == "" or t[i]:find("[%s'\"$`\\|&;<>()*?]") then
      t[i] = "'"..t[i]:gsub("'", "'\\''").."'"
    end
  end
  return table.concat(t, " ")
end

local function script_name(p)
  return facts.script(p) or "luajit"
end

local function encode_info(p, kib)
  local i = p.info
  local about = { i.luajit or "", (i.os or "").." "..(i.arch or "") }
  if i.pid then about[#about+1] = ("process %d"):format(i.pid) end
  if i.started then
    about[#about+1] = os.date("!%Y-%m-%d %H:%M:%S UTC", i.started)
  end
  if i.wall then about[#about+1] = "ran "..numbers.seconds(i.wall) end
  return object({ "script", str(script_name(p)), "command",
    str(command_line(p)), "about", strings(about), "cpu", number(i.cpu),
    "wall", number(i.wall or i.cpu), "facts", header(p, kib), "notes", notes(p),
    "empty", reasons(p) })
end

local function encode_profile(p, o, add)
  return object({ "info", encode_info(p, o.kib),
    "frames", encode_frames(p, o, add),
    "stacks", object({ "parent", list(p.parent), "frame", list(p.frame) }),
    "zones", encode_zones(p), "rows", encode_rows(p),
    "course", encode_course(p), "timeline", encode_timeline(p) })
end

-- -- Source -----------------------------------------------------------------

-- The text of a source file, or nil and why not.
local function read_source(p, file)
  local path = p:source_path(file)
  if not path or path:match("^/dev/") then return nil, "not a file" end
  local fp, msg = io.open(path, "rb")
  if not fp then return nil, msg end
  local text, why = fp:read(MAX_SOURCE + 1)
  fp:close()
  if not text then return nil, why or "an empty file" end
  if text:byte() == 27 then return nil, "a bytecode file" end
  if #text > MAX_SOURCE then
    return nil, ("larger than %s"):format(numbers.period(MAX_SOURCE))
  end
  return text
end

-- The files that some row has a line of.
local function encode_files(p, o, strs)
  local seen, files, out = {}, {}, {}
  for _, row in ipairs(p.rows) do
    local file, line = p:source_line(row)
    if file and line and not seen[file] then
      seen[file] = true
      files[#files+1] = file
    end
  end
  table.sort(files)
  for i, file in ipairs(files) do
    local text, msg
    if o.nosource then
      msg = "left out of this page"
    else
      text, msg = read_source(p, file)
    end
    out[i] = object({ "source", strs(file), "name",
      str(profile.module_name({ source = file })),
      text and "text" or "error", str(text or msg) })
  end
  return list(out)
end

-- -- The page ---------------------------------------------------------------

local function escape(s)
  local text = str(s):sub(2, -2):gsub("\\\\", "&#x5c;")
  return (text:gsub("\\u(%x%x%x%x)", "&#x%1;"))
end

-- How the page opens, by the options.
local function encode_start(o)
  local groups = { t = "type", v = "state", z = "zone" }
  return object({ "view", str(o.views and o.views[1] or "cpu"),
    "objects", tostring(o.objects and true or false),
    "kib", tostring(o.kib and true or false),
    "lines", tostring(o.scope == "l" or o.split == "lines"),
    "group", str(groups[o.states] or "") })
end

-- extra.before: another profile to compare with.
-- Returns the page, or nil and a message.
return function(p, o, extra)
  if missing then return nil, "cannot make the page: "..missing end
  local before = extra and extra.before
  local strs, str_list = interner()
  local add, funcs = functions(strs, o)
  local profiles = { encode_profile(p, o, add) }
  if before then profiles[2] = encode_profile(before, o, add) end
  local files = encode_files(p, o, strs)
  local data = object({ "version", "1", "start", encode_start(o),
    "profiles", list(profiles), "functions", encode_functions(funcs),
    "files", files, "strings", strings(str_list) })
  return (parts.html:gsub("{{(%w+)}}", {
    title = escape(script_name(p)), style = parts.css, script = parts.js,
    data = data
  }))
end
