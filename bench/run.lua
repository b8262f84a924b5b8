-- SPDX-License-Identifier: MIT
-- Measures what profiling costs: programs side by side in one run, rounds
-- interleaved, ratios of CPU time and peak RSS to the unprofiled program.
--
--   ./run luajit bench/run.lua [--rounds N] [--only PATTERN] [--scale X]
--     [-o FILE]
--
-- The scale makes the programs shorter, to see that all of them run.
-- Ratios are medians of the ratios of each round. A program whose output
-- changes under the profiler is an error.

local ffi = require("ffi")

ffi.cdef [[
typedef struct { long sec, usec; } mpb_timeval;
typedef struct { mpb_timeval utime, stime; long maxrss, rest[14]; } mpb_rusage;
int fork(void);
int wait4(int, int *, int, mpb_rusage *);
int open(const char *, int, ...);
int dup2(int, int);
int execvp(const char *, char *const *);
void _exit(int);
]]

local luajit = arg[-1] or "luajit"
local here = arg[0]:match("^(.*)run%.lua$")
local rounds, only, scale, outfile = 5, "", nil, nil

local i = 1
while arg[i] do
  if arg[i] == "--rounds" then rounds = tonumber(arg[i+1])
  elseif arg[i] == "--only" then only = arg[i+1]
  elseif arg[i] == "--scale" then scale = arg[i+1]
  elseif arg[i] == "-o" then outfile = arg[i+1]
  else error("unknown argument "..arg[i].." (--rounds N, --only PATTERN, "..
    "--scale X, -o FILE)", 0) end
  i = i + 2
end

local programs = { "binarytrees", "buffers", "cdata", "closures",
  "combinators", "compiler", "coroutines", "hashes", "json", "loading",
  "malloc", "matrix", "nbody", "numeric", "objects", "recursion", "strings",
  "tablechurn" }
local examples = { "filter-wasteful" }

-- Name, option; targets: geometric mean, worst. native: with C memory.
local configs = {
  { "plain" },
  { "-jm", "-jm=f,/dev/null", 1.01, 1.05 },
  { "l", "-jm=fl,/dev/null", 1.02, 1.10 },
  { "b64k", "-jm=fb64k,/dev/null" },
  { "native", "-jm=fb64k,/dev/null", native = true },
  { "b1", "-jm=fb1,/dev/null", 1.25, 2.0 },
  { "e", "-jm=e,/dev/null", 1.6, 2.8 },
  { "L", "-jm=L,/dev/null" },
  { "-jp=fl", "-jp=fl,/dev/null" },
}
local target_rss = 2  -- MB, of all but the exact ones.

-- Runs a command with stdout to a file. Returns CPU seconds and peak RSS in
-- MB; raises if it fails.
local function run(argv, stdout)
  local c = ffi.new("const char *[?]", #argv + 1)
  for k, s in ipairs(argv) do c[k-1] = s end
  local pid = ffi.C.fork()
  if pid == 0 then
    local fd = ffi.C.open(stdout, 577, ffi.new("int", 420))
    ffi.C.dup2(fd, 1)
    ffi.C.execvp(argv[1], ffi.cast("char *const *", c))
    ffi.C._exit(127)
  end
  local status, ru = ffi.new("int[1]"), ffi.new("mpb_rusage")
  ffi.C.wait4(pid, status, 0, ru)
  if status[0] ~= 0 then
    error(table.concat(argv, " ").." failed: status "..status[0], 0)
  end
  local function seconds(tv)
    return tonumber(tv.sec) + tonumber(tv.usec) / 1e6
  end
  return math.max(seconds(ru.utime) + seconds(ru.stime), 1e-6),
    tonumber(ru.maxrss) / 1024
end

local function read(name)
  local f = assert(io.open(name))
  local s = f:read("*a")
  f:close()
  return s
end

local function median(t)
  table.sort(t)
  local n = #t
  return n % 2 == 1 and t[(n + 1) / 2] or (t[n/2] + t[n/2 + 1]) / 2
end

-- As luajit-mp run --native does. LD_PRELOAD takes no directory with a space.
local function preloaded()
  local core = assert(package.searchpath("jit.mp.core", package.cpath))
  return { "env", "LD_LIBRARY_PATH="..core:match("^.*/"),
    "LD_PRELOAD=libluajit-mp-native.so", luajit }
end

-- Ratios and added RSS of all configurations on one program.
local function measure(name, path)
  local ratios, rss, outputs = {}, {}, {}
  local tmp = os.tmpname()
  for c in ipairs(configs) do ratios[c], rss[c] = {}, {} end
  for _ = 1, rounds do
    local base, basers
    for c, config in ipairs(configs) do
      local argv = config.native and preloaded() or { luajit }
      argv[#argv+1] = config[2]
      argv[#argv+1] = path
      argv[#argv+1] = scale
      local t, mb = run(argv, tmp)
      local out = read(tmp)
      outputs[1] = outputs[1] or out
      if out ~= outputs[1] then
	error(name.." has another result under "..config[1], 0)
      end
      if c == 1 then base, basers = t, mb end
      table.insert(ratios[c], c == 1 and t or t / base)
      table.insert(rss[c], mb - basers)
    end
  end
  os.remove(tmp)
  for c in ipairs(configs) do
    ratios[c], rss[c] = median(ratios[c]), median(rss[c])
  end
  return ratios, rss
end

local lines = {}
local function say(fmt, ...)
  lines[#lines+1] = fmt:format(...)
  io.write(lines[#lines], "\n")
  io.flush()
end

local function cells(f, format)
  local t = {}
  for c = 2, #configs do t[#t+1] = format:format(f(c)) end
  return table.concat(t)
end

say("%s, %s; %d rounds; CPU time: ratio to plain; RSS: MB more than plain",
  jit.version, jit.arch, rounds)
say("%-15s %7s%s   %s", "program", "plain", cells(function(c)
  return configs[c][1] end, "%8s"), "RSS: "..cells(function(c)
  return configs[c][1] end, "%8s"))
local logs, worst, where, most = {}, {}, {}, {}
local n = 0

local function run_program(name, path)
  if name:find(only) then
    local r, m = measure(name, path)
    n = n + 1
    for c = 2, #configs do
      logs[c] = (logs[c] or 0) + math.log(r[c])
      if r[c] > (worst[c] or 0) then worst[c], where[c] = r[c], name end
      most[c] = math.max(most[c] or -1e9, m[c])
    end
    say("%-15s %5.2f s%s        %s", name, r[1],
      cells(function(c) return r[c] end, "%8.3f"),
      cells(function(c) return m[c] end, "%8.1f"))
  end
end

for _, name in ipairs(programs) do
  run_program(name, here.."programs/"..name..".lua")
end
for _, name in ipairs(examples) do
  run_program(name, here.."../examples/"..name..".lua")
end
say("%-23s%s", "geometric mean", cells(function(c)
  return math.exp(logs[c] / n) end, "%8.3f"))
say("%-23s%s        %s", "worst", cells(function(c) return worst[c] end,
  "%8.3f"), cells(function(c) return most[c] end, "%8.1f"))

local function target(k)
  return cells(function(c)
    return configs[c][k] and ("%.2f"):format(configs[c][k]) or ""
  end, "%8s")
end
say("%-23s%s", "target: mean", target(3))
say("%-23s%s        %8.1f", "target: worst", target(4), target_rss)

-- One line for each kind of profile, with the targets that it misses.
say("")
say("%-8s %7s %7s  %s", "option", "mean", "worst", "in")
for c = 2, #configs do
  local name, _, mean, most_allowed = unpack(configs[c], 1, 4)
  local found = math.exp(logs[c] / n)
  say("%-8s %7.3f %7.3f  %s%s%s", name, found, worst[c], where[c],
    mean and found > mean and (", mean over %.2f"):format(mean) or "",
    most_allowed and worst[c] > most_allowed and
    (", worst over %.2f"):format(most_allowed) or "")
end

if outfile then
  local f = assert(io.open(outfile, "w"))
  f:write(table.concat(lines, "\n"), "\n")
  f:close()
end
