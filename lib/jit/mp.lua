-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- luajit-mp: CPU and memory, one profile.
----------------------------------------------------------------------------
--
-- This module samples what a program does at every tick of a timer and at
-- every N bytes that it allocates, and reports both side by side, by function
-- and line, with the JIT compiler on.
--
-- From the command line:
--
--   luajit -jm app.lua              functions: CPU, allocated, in use
--   luajit -jm=fl app.lua           functions, and the lines within each
--   luajit -jm=l app.lua            lines
--   luajit -jm=F3 app.lua           stacks three deep, with module names
--   luajit -jm=-2s app.lua          callers and what they call
--   luajit -jm=vf app.lua           VM states, and the functions in each
--   luajit -jm=zf app.lua           zones (see jit.zone)
--   luajit -jm=fy:route app.lua     functions, split by a label (mp.label)
--   luajit -jm=a app.lua            annotated source
--   luajit -jm=Gh,out.txt app.lua   folded stacks of bytes, for a flame graph
--   luajit -jm=ub64k app.lua        in use only, a sample every 64 KiB
--   luajit -jm=hb1 app.lua          allocated, every allocation counted
--   luajit -jm=tf app.lua           types of objects, and the functions of each
--   luajit -jm=x app.lua            memory in use when the heap was largest
--   luajit -jm=g app.lua            call graph
--   luajit -jm=e app.lua            exact events, and totals
--   luajit -jm=L app.lua            leaks
--   luajit -jm=T app.lua            the table live, in the terminal
--   luajit -jm=f,app.html app.lua   a page for the browser; other suffixes give
--                                   .pb.gz .otlp .speedscope.json .cpuprofile
--                                   .heapprofile .folded .mp
--   luajit -jm=H                    all the options
--
-- From Lua:
--
--   local mp = require("jit.mp")
--   mp.start(options, output...)   -- true; or nil, message, errno;
--                                  -- false: the options were printed (H)
--   mp.report(options, output...)  -- any view of the profile so far
--   mp.write(output...)            -- the same, by the options of the start
--   mp.snapshot()                  -- the profile so far as a table
--   mp.window()                    -- the time since the last window
--   mp.stop()                      -- writes the report
--   mp.label({ route = "/cart" })  -- labels of the running coroutine
--   mp.with({ route = "/" }, f, ...)  -- calls f with these
--   print(mp.heap())               -- the holders of the memory now
--   print(mp.why(value))           -- the references to that value
--   print(mp.paths(value))         -- all paths that lead to it
--   mp.limit({ allocated = "2m" })(f, ...)  -- an error if f takes more
--   mp.measure(f, ...)             -- the memory that f takes, as a table
--
-- Percentages are of the whole view, on the second level too: the lines of a
-- function add up to the function. Bytes and objects of a view are estimates
-- from samples unless b1 is given; the totals in the header are exact.
--
----------------------------------------------------------------------------

if not jit then
  error("jit.mp: this is "..(_VERSION or "Lua")..", not LuaJIT", 0)
end

-- Another VM of that name may lack functions, or the program not export them.
local loaded, core = pcall(require, "jit.mp.core")
if not loaded then
  local symbol = core:match("undefined symbol: (luaJIT?_[%w_]+)")
  error(symbol and "jit.mp: "..(jit.version or "LuaJIT").." has no function "..
    symbol.." that a module can call" or core, 0)
end

-- The functions about the heap, which few programs use, are loaded on demand.
local rare = { heap = "heap.walk", why = "heap.walk", dot = "heap.walk",
  paths = "heap.walk",
  limit = "test.measure", measure = "test.measure" }

local function rare_function(mp, name)
  if not rare[name] then return nil end
  mp[name] = require("jit.mp."..rare[name])[name]
  return mp[name]
end

-- The results of a call with labels, or its error, once the labels are those
-- from before it.
local function back(before, run, ok, ...)
  core.back(before, run)
  if not ok then error((...), 0) end
  return ...
end

local function with(labels, f, ...)
  local before, run = core.with(labels, f)
  if not before then return f(...) end
  return back(before, run, pcall(f, ...))
end

return setmetatable({
  label = core.label,
  with = with,
  start = core.start,
  report = core.report,
  snapshot = core.snapshot,
  write = core.again,
  window = core.window,
  stop = core.stop
}, { __index = rare_function })
