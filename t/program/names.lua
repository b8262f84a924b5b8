-- SPDX-License-Identifier: MIT
-- Names that the program or a stranger chose are spelled alike everywhere, and
-- nothing of them acts on a terminal, a table or a reader.

local tap = require("tap")
local builtins = require("jit.mp.model.builtins")
local names = require("jit.mp.model.names")
local options = require("jit.mp.options")
local profile = require("jit.mp.model.profile")
local render = require("jit.mp.render")

local printable = names.printable

-- -- One name ----------------------------------------------------------------

for _, good in ipairs({ "", "a", "a b\\n", "\195\164", "\226\130\172",
    "\240\159\152\128", "\244\143\191\191", "\237\159\191", "\194\160" }) do
  tap.is(printable(good), good, "text stays: "..("%q"):format(good))
end
for bad, want in pairs({
    ["a\nb"] = "a\\nb", ["\t"] = "\\t", ["\r\n"] = "\\r\\n",
    ["\27[31m"] = "\\027[31m", ["\0\127"] = "\\000\\127",
    ["\192\128"] = "\\192\\128", ["\224\128\128"] = "\\224\\128\\128",
    ["\237\160\128"] = "\\237\\160\\128", ["\245\128"] = "\\245\\128",
    ["\240\128\128\128"] = "\\240\\128\\128\\128", ["\195"] = "\\195",
    ["\226\130"] = "\\226\\130", ["a\195z"] = "a\\195z",
    ["\226\195\164"] = "\\226\195\164", ["\155"] = "\\155",
    ["\194\155"] = "\\u{9B}", ["\194\128x"] = "\\u{80}x",
    ["\226\128\174abc"] = "\\u{202E}abc", ["\226\129\166"] = "\\u{2066}",
    ["\226\128\168"] = "\\u{2028}", ["\216\156"] = "\\u{61C}",
    ["\226\128\142"] = "\\u{200E}", ["\239\187\191"] = "\\u{FEFF}" }) do
  tap.is(printable(bad), want, "spelled: "..want)
  tap.is(printable(want), want, "and once only: "..want)
end
tap.is(names.source_line("\tx = '\27'\t-- y\r"), "\tx = '\\027'\t-- y",
  "a line of source keeps its tabs")

-- -- Builtins ----------------------------------------------------------------

local number = require("jit.util").funcinfo(string.gsub).ffid
local shifted = {}
for i = 0, 300 do shifted[i] = "shifted"..i end
tap.is(builtins.name(number), "string.gsub", "a builtin by its number")
tap.is(builtins.name(999), "[builtin#999]", "a number without a name")
tap.is(builtins.names()[number], "string.gsub", "a builtin without jit.vmdef")
tap.is(builtins.names(shifted)[number], "string.gsub",
  "a list of another build does not count")
for n, name in pairs(builtins.names()) do shifted[n] = name end
tap.is(builtins.names(shifted), shifted, "one that is right does")

local dir = tap.tmpdir()
assert(os.execute("mkdir "..dir.."/jit") == 0)
tap.write(dir.."/jit/vmdef.lua", [[
local names = {}
for i = 0, 300 do names[i] = "shifted"..i end
return { ffnames = names, bcnames = "", irnames = "", traceerr = {} }
]])
tap.write(dir.."/app.lua", [[
local keep, s = {}, ("%d"):rep(9)
for i = 1, 3000 do keep[i % 9] = s:format(i, 1, 1, 1, 1, 1, 1, 1, 1) end
os.exit(0)
]])
local out = tap.luajit("-joff -jm=hm0b1 "..dir.."/app.lua",
  { env = { LUA_PATH = dir.."/?.lua;"..package.path } }).out
tap.like(out, " string.format\n", "a program with jit.vmdef of another build")
tap.unlike(out, "shifted", "has no name of it")

-- Those of the library package, which have no numbers.
tap.write(dir.."/large.lua", ("local t = { {}, {} }\n"):rep(2000))
tap.write(dir.."/app.lua", [[
require("large")
os.exit(0)
]])
out = tap.luajit("-joff -jm=Ghb1 "..dir.."/app.lua",
  { env = { LUA_PATH = dir.."/?.lua;"..package.path } }).out
tap.like(out, "main chunk;require;%(module loader%) %d+\n",
  "require and the loader behind it")
-- -- C functions -------------------------------------------------------------

-- Modules without headers: text(n) makes a string of that many bytes.
local module = [[
%s
void lua_pushlstring(void *, const char *, unsigned long);
long lua_tointeger(void *, int);
void lua_createtable(void *, int, int);
void lua_pushcclosure(void *, int (*)(void *), int);
void lua_setfield(void *, int, const char *);
%s
static char bytes[5000];
static int %s(void *L)
{
  lua_pushlstring(L, bytes, (unsigned long)lua_tointeger(L, 1));
  return 1;
}
%s
__attribute__((visibility("default"))) int luaopen_cmod(void *L)
{
  lua_createtable(L, 0, 1);
  lua_pushcclosure(L, %s, 0);
  lua_setfield(L, -2, "text");
  return 1;
}
%s
]]
local function compile(cc, name, flags, ...)
  tap.write(dir.."/"..name..".c", module:format(...))
  return tap.sh(("%s -shared -fPIC %s -o %s.so %s.c"):format(cc, flags, name,
    name), { dir = dir }).status == 0
end
local function report(program, library, options)
  tap.sh("cp "..library..".so cmod.so", { dir = dir })
  tap.write(dir.."/app.lua", "local cmod = require('cmod')\n"..
    "local function one(i) return cmod.text(i) end\n"..
    "local function two(i) return cmod.text(i) end\n"..
    "for i = 1, 2000 do "..program.." end\n")
  return tap.luajit("-joff -jm="..(options or "hb1").." app.lua",
    { dir = dir, env = { LUA_CPATH = dir.."/?.so;"..package.cpath } }).out
end

local cc = os.getenv("CC") or "cc"
if not tap.is_foreign() and compile(cc, "plain", "", "", "", "make_text", "",
    "make_text", "") then
  local all = "one(i) two(i + 2000) local s = cmod.text(4000 + i % 900)"
  out = report(all, "plain")
  tap.like(out, " cmod.so:make_text\n", "a function that is not exported")
  tap.unlike(out, "cmod.so:[ot]", "is one, whatever it was called by")
  out = report(all, "plain", "b1,x.mp")
  out = tap.sh(tap.mp.." report x.mp h", { dir = dir }).out
  tap.like(out, " cmod.so:make_text\n", "a profile file has its name")

  compile(cc, "bare", "-s", "", "", "make_text", "", "make_text", "")
  out = report(all, "bare")
  tap.like(out, " cmod.so:text\n", "without symbols: the name of a call")
  tap.unlike(out, "cmod.so:[ot][nw]", "and not of one that made a tail call")
  tap.like(report("local s = cmod.text(i % 900)", "bare"), " cmod.so:text\n",
    "also if it was called by one name at one place")
  out = report("one(i) two(i + 2000)", "bare")
  tap.like(out, " cmod.so%+0x%x+\n", "or its place, if there is no other")

  compile(cc, "other", "", "", "", "other_text", "", "other_text", "")
  out = report("if i == 1 then os.rename('other.so', 'cmod.so') end "..all,
    "plain")
  tap.like(out, " cmod.so:text\n", "a library that was replaced")
end

if not tap.is_foreign() and compile("c++ -x c++", "cxx", "",
    "extern \"C\" {", "} namespace image { namespace {", "decode",
    "} } extern \"C\"", "image::decode",
    "#include <string>\nstd::string unused(\"x\");") then
  tap.like(report("local s = cmod.text(i) "..
    "if i == 2000 then os.exit(0) end", "cxx"), " cmod.so:image::"..
    "%(anonymous namespace%)::decode\n", "a function in C++")
end

-- -- All views and formats ---------------------------------------------------

local EVIL = "\27]0:x\7\155\194\155\226\128\174\255\n"
local SPELLED = printable(EVIL)

-- Every text that a profile has is such a name.
local walk = { at = 1, seconds = 0, total = 900, held = 800, adds_up = true,
  own = { strings = 1, state = 1, buffer = 1, ctypes = 1, rest = 1 },
  types = { { type = EVIL, count = 2, bytes = 800, garbage_count = 0,
    garbage_bytes = 0 } },
  lines = { { parent = 0, count = 1, self = 400, bytes = 800, type = EVIL,
    label = EVIL, what = EVIL }, { parent = 1, count = 2, self = 400,
    bytes = 400, type = EVIL, label = "."..EVIL } },
  joins = { { row = 1, line = 2, objects = 1, bytes = 90 } } }

local function hostile()
  local s = { info = { notes = { EVIL }, wall = 1, cpu = 1, capture = "exact",
      started = 1790000000, pid = 1, command = { EVIL } },
    cpu = { enabled = true, samples = 60, interval = 10 },
    heap = { enabled = true, alloc_objects = 9, alloc_bytes = 900,
      free_objects = 1, free_bytes = 100, realloc_objects = 1,
      realloc_bytes = 10, realloc_freed = 5, samples = 9, dropped = 0,
      period = 1, adaptive = false, inuse = 800, inuse_start = 0, peak = 850 },
    frames = {}, stacks = { parent = {}, frame = {} },
    zones = { parent = { 0 }, name = { EVIL } }, rows = {}, events = {},
    collections = { { wall = 1, allocated = 800, cycle = 1 } }, held = {},
    survivors = {}, collected = true }
  for _, field in ipairs({ "script", "luajit", "os", "arch", "options", "cwd",
      "capture_why" }) do
    s.info[field] = EVIL
  end
  for i, f in ipairs({
      { kind = "Lua", name = EVIL, source = EVIL, line = 1, linedefined = 1 },
      { kind = "Lua", source = EVIL, line = 2, linedefined = 0 },
      { kind = "C", name = EVIL, source = EVIL }, { kind = "C", name = EVIL },
      { kind = "builtin", name = EVIL }, { kind = "pseudo", name = EVIL } }) do
    s.frames[i], s.stacks.frame[i] = f, i
    s.stacks.parent[i] = i > 1 and i < 6 and i - 1 or 0
    s.rows[i] = { stack = i, zone = 1, state = "N", type = EVIL, cpu = 10,
      alloc_objects = 1, alloc_bytes = 100, inuse_objects = 1,
      inuse_bytes = 90, peak_objects = 1, peak_bytes = 95, temp_objects = 0,
      temp_bytes = 0 }
    s.events[i] = { kind = "realloc", row = i, origin = i, count = 1,
      alloc_bytes = 10, free_bytes = 5 }
    s.held[i] = { collection = 1, row = i, objects = 1, bytes = 90,
      variance = 0 }
    s.survivors[i] = { row = i, objects = 1, births = 1 }
  end
  s.walk = walk
  return profile.new(s)
end

-- The first thing in a text that is not to be there; nil: none.
local function wrong(text)
  return text:match("[%z\1-\8\11-\31\127].?.?") or text:match("\194[\128-\159]")
    or text:match("\226\128[\170-\174]") or
    (printable(text:gsub("[\n\t]", "")) ~= text:gsub("[\n\t]", "") and
      "not UTF-8") or nil
end

local function check(name, opts, env_name)
  local o = assert(options.parse(opts))
  local text, msg = render.render(hostile(), o, { name = env_name })
  if not tap.ok(text, name.." is made", msg) then return end
  local bad = wrong(text)
  tap.is(bad and ("%q"):format(bad), nil, name.." has nothing that acts")
  return text
end

for _, opts in ipairs({ "fm0", "Fm0", "lm0", "flm0", "slm0", "-3lm0", "vfm0",
    "zfm0", "tfm0", "pFm0", "gm0", "gpm0", "am0", "Am0", "em0", "Lm0", "G",
    "rm0", "zG", "qm0", "Mm0", "Wm0", "Um0", "xom0" }) do
  local text = check("view "..opts, opts, "-")
  if not opts:find("[lLaA]") then
    tap.ok(text and text:find(SPELLED, 1, true), "view "..opts.." spells it",
      text)
  end
end
for _, name in ipairs({ "x.folded", "x.cpuprofile", "x.heapprofile",
    "x.speedscope.json", "walk.folded" }) do
  local text = check(name, name == "walk.folded" and "W" or "fh", name)
  tap.ok(text and text:gsub("\\\\", "\\"):find((SPELLED:gsub('"', '\\"')), 1,
    true), name.." spells it", text)
end
local gzip = require("jit.mp.format.gzip")
local packed = render.render(hostile(), options.parse("f"),
  { name = "x.heap.pb.gz" })
local text = assert(gzip.unpack(packed, 1e6))
tap.ok(text:find(SPELLED, 1, true), "pprof spells it")
tap.ok(not text:find("\27]", 1, true) and not text:find("\226\128\174", 1, true)
  and not text:find("\194\155", 1, true), "pprof has nothing that acts")

local diff = require("jit.mp.text.diff")
local other = hostile()
for _, row in ipairs(other.rows) do row.cpu = 20 end
text = diff(hostile(), other, options.parse("flcham0"), false, {})
tap.is(wrong(text), nil, "diff has nothing that acts")
tap.ok(text:find(SPELLED, 1, true), "diff spells it", text)

local p = hostile()
p.walk = { why = EVIL }
text = render.render(p, options.parse("W"), {})
tap.is(wrong(text), nil, "the reason why there is no walk acts on nothing")

tap.done()
