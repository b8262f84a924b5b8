----------------------------------------------------------------------------
-- The command luajit-mp. Its manual is luajit-mp(1).
----------------------------------------------------------------------------

local file = require("jit.mp.format.file")
local formats = require("jit.mp.format.formats")
local names = require("jit.mp.model.names")
local options = require("jit.mp.options")
local render = require("jit.mp.render")

local DATA, USAGE = 1, 2 -- Exit statuses.

local usage = [[
usage: luajit-mp run [-o OUT]... [-O OPTIONS] [--no-source] SCRIPT [ARG]...
       luajit-mp report [-o OUT] [--source-root DIR] FILE [OPTIONS]
       luajit-mp diff [-o OUT] [-O OPTIONS] [--share] [--threshold PERCENT]
                      OLD NEW
       luajit-mp merge [-o OUT] FILE...
       luajit-mp convert [-O OPTIONS] [--no-source] IN OUT
       luajit-mp --help | --version

FILE, IN, OLD, NEW: profiles, as luajit -jm=f,NAME.mp writes them.
OUT: a file; its suffix says the format: .html .pb.gz .speedscope.json
.cpuprofile .heapprofile .folded .mp, anything else is text.
OPTIONS: those of luajit -jm; luajit -jm=H lists them.
]]

-- Ends the command: an error object that main() knows.
local function fail(status, msg)
  error({ status = status, msg = msg }, 0)
end

local function wrong_usage(msg)
  fail(USAGE, msg.."; luajit-mp --help shows how")
end

-- -- Arguments ---------------------------------------------------------------

-- Options with a value, and those without.
local with_value = { ["-o"] = "out", ["-O"] = "opts",
  ["--threshold"] = "threshold", ["--source-root"] = "source_root" }
local plain = { ["--share"] = "share", ["--no-source"] = "nosource" }

-- Splits arguments. allowed: names of options, as a set. first_only: what
-- follows the first operand is left alone. Returns options and operands.
local function split_args(args, allowed, first_only)
  local o, operands, i = { outs = {} }, {}, 2
  while i <= #args do
    local a = args[i]
    if first_only and #operands > 0 or a == "-" or not a:match("^%-") then
      operands[#operands+1] = a
    elseif a == "--" then
      for k = i + 1, #args do operands[#operands+1] = args[k] end
      break
    else
      local name = with_value[a] or plain[a]
      if not name or not allowed[name] then
	wrong_usage(("%s: unknown option %s"):format(args[1], a))
      elseif with_value[a] then
	i = i + 1
	if not args[i] then wrong_usage(("%s needs a value"):format(a)) end
	if name == "out" then o.outs[#o.outs+1] = args[i] end
	o[name] = args[i]
      else
	o[name] = true
      end
    end
    i = i + 1
  end
  if #o.outs > 1 and not first_only then
    wrong_usage(args[1]..": one -o is enough")
  end
  return o, operands
end

-- Options of a report, with what command-line options add to them.
local function parse_options(text, o)
  if o and o.nosource then text = text.."N" end
  local parsed, msg = options.parse(text)
  if not parsed then wrong_usage(msg) end
  return parsed
end

-- -- Files -------------------------------------------------------------------

local function read_profile(name)
  local fp, msg = io.open(name, "rb")
  if not fp then fail(DATA, "cannot read "..msg) end
  local text, err = fp:read("*a")
  fp:close()
  if not text then fail(DATA, ("cannot read %s: %s"):format(name, err)) end
  local p, what = file.read(text)
  if not p then fail(DATA, ("%s: %s"):format(name, what)) end
  return p
end

-- Writes beside and renames, so that a file is complete or absent.
local function write_file(name, text)
  local device = name == "-" or name:match("^/dev/")
  local temp = device and name or ("%s.%d.tmp"):format(name, os.time())
  local fp, msg = io.stdout
  if name ~= "-" then fp, msg = io.open(temp, "wb") end
  if not fp then fail(DATA, "cannot write "..msg) end
  local ok, err = fp:write(text)
  if ok and name ~= "-" then ok, err = fp:close() end
  if ok and not device then ok, err = os.rename(temp, name) end
  if not ok then
    if not device then os.remove(temp) end
    fail(DATA, ("cannot write %s: %s"):format(name, err))
  end
end

-- Renders a profile to an output; several files for some formats, of which
-- one may have nothing in it.
local function write_profile(p, o, out, env)
  local failure
  for _, name in ipairs(formats.files(out or "-", o)) do
    env = env or {}
    env.name = name
    local text, msg = render.render(p, o, env)
    if text then write_file(name, text) else failure = name..": "..msg end
  end
  if failure then fail(DATA, failure) end
end

-- -- Commands ----------------------------------------------------------------

local commands = {}

-- Replaces this process, so that everything of the program's is kept.
local function exec(argv, path)
  local ffi = require("ffi")
  ffi.cdef [[
    int execvp(const char *, char *const *);
    int setenv(const char *, const char *, int);
    char *strerror(int);
  ]]
  if path then ffi.C.setenv("LUA_PATH", path.lua, 1) end
  if path then ffi.C.setenv("LUA_CPATH", path.c, 1) end
  local c = ffi.new("const char *[?]", #argv + 1)
  for i, s in ipairs(argv) do c[i-1] = s end
  ffi.C.execvp(argv[1], ffi.cast("char *const *", c))
  fail(DATA, ("cannot run %s: %s"):format(argv[1],
    ffi.string(ffi.C.strerror(ffi.errno()))))
end

function commands.run(args, luajit, path)
  local o, operands = split_args(args,
    { out = true, opts = true, nosource = true }, true)
  if #operands == 0 then wrong_usage("run: which script?") end
  local text = o.opts or "f"
  parse_options(text, o)
  if text:find(",", 1, true) then
    wrong_usage("run: give output files with -o, not after a comma")
  end
  local words = { text..(o.nosource and "N" or "") }
  for _, out in ipairs(o.outs) do
    if out:find(",", 1, true) then
      wrong_usage(("run: no comma in the name of a file, as in %q"):format(out))
    end
    words[#words+1] = out
  end
  local argv = { luajit, "-jm="..table.concat(words, ",") }
  for _, word in ipairs(operands) do argv[#argv+1] = word end
  exec(argv, path)
end

function commands.report(args)
  local o, operands = split_args(args, { out = true, source_root = true })
  if #operands < 1 or #operands > 2 then
    wrong_usage("report: give a profile, and options if you like")
  end
  local parsed = parse_options(operands[2] or "f")
  write_profile(read_profile(operands[1]), parsed, o.out,
    { source_root = o.source_root })
end

function commands.diff(args)
  local o, operands = split_args(args,
    { out = true, opts = true, share = true, threshold = true,
      nosource = true })
  if #operands ~= 2 then wrong_usage("diff: give two profiles") end
  local parsed = parse_options(o.opts or "f", o)
  local threshold = tonumber(o.threshold)
  if o.threshold and not threshold then
    wrong_usage("diff: --threshold needs a percentage, as in 10")
  end
  local old, new = read_profile(operands[1]), read_profile(operands[2])
  local text, most = require("jit.mp.text.diff")(old, new, parsed, o.share)
  if o.out and formats.of(o.out) then
    if formats.of(o.out)[1] ~= ".html" then
      wrong_usage("diff: writes text or .html")
    end
    write_profile(new, parsed, o.out, { before = old })
  else
    write_file(o.out or "-", text)
  end
  if threshold and most > threshold then
    fail(DATA, ("diff: %s by %s, more than %s"):format(
      o.share and "a share changed" or "grew", most == math.huge and
      "more than can be said in percent" or ("%.1f %%"):format(most),
      ("%g %%"):format(threshold)))
  end
end

function commands.merge(args)
  local o, operands = split_args(args, { out = true })
  if #operands == 0 then wrong_usage("merge: which profiles?") end
  local list = {}
  for i, name in ipairs(operands) do list[i] = read_profile(name) end
  local p = require("jit.mp.model.merge")(list)
  local parsed = parse_options("f")
  if o.out and formats.of(o.out) then
    write_profile(p, parsed, o.out)
  else
    write_file(o.out or "-", file.write(p))
  end
end

function commands.convert(args)
  local o, operands = split_args(args, { opts = true, nosource = true })
  if #operands ~= 2 then wrong_usage("convert: give a profile and a file") end
  local parsed = parse_options(o.opts or "f", o)
  write_profile(read_profile(operands[1]), parsed, operands[2])
end

-- Runs the command. luajit: what runs scripts; path: Lua's search paths if
-- the modules are not on its own ({ lua, c }); version: of the package.
-- Returns the exit status.
local function main(args, luajit, path, version)
  if args[1] == "--help" then
    io.stdout:write(usage)
    return 0
  elseif args[1] == "--version" then
    io.stdout:write("luajit-mp "..version.."\n")
    return 0
  end
  local ok, err = pcall(function()
    if not args[1] then wrong_usage("which command?") end
    local command = commands[args[1]]
    if not command then
      wrong_usage(("unknown command %s"):format(args[1]))
    end
    command(args, luajit, path)
  end)
  if ok then return 0 end
  if type(err) ~= "table" then err = { status = DATA, msg = tostring(err) } end
  io.stderr:write("luajit-mp: "..names.printable(err.msg).."\n")
  return err.status
end

return { main = main, usage = usage }
