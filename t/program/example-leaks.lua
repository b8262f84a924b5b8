-- SPDX-License-Identifier: MIT
-- The four leaks of examples/CASES.md: each is found by the commands that the
-- text shows, and its repair is none.
local tap = require("tap")

-- Runs a command on an example, and on its repair, of which it says less.
local function example(name, command, repair)
  local path = ("%s/examples/%s.lua"):format(tap.srcdir, name)
  local function ends(args)
    local r = tap.sh(command:format(tap.quote(path)).." "..args)
    tap.is(r.status, 0, name.." "..args.." ends as it would")
    return r.out
  end
  local out, repaired = ends(""), ends(repair)
  return out, repaired, out:find("capture exact", 1, true)
end

local mp = tap.command.." -jm="

local out, repaired, exact = example("leak-timer", mp.."L %s", "repaired")
if exact then
  tap.like(out, "MB [^\n]* grows [^\n]*\n +leak%-timer.lua:%d+\n"..
    " +held by main thread local timers[^\n]* a key\n",
    "leak-timer: what grows, and who holds it")
  tap.unlike(repaired, "  grows  ", "in the repair nothing grows")
end

out, repaired, exact = example("leak-trace", mp.."W %s", "repaired")
if not out:find("no heap walk", 1, true) and exact then
  tap.like(out, "\n +9%d%% +4%.%d+ MB +main thread local each[^\n]*"..
    "trace #%d+ constant [^\n]*index  %(table%)\n"..
    " +allocated at leak%-trace.lua:",
    "leak-trace: machine code holds the table")
  tap.unlike(repaired, "trace #%d+ constant [^\n]*table", "but not repaired")
end

-- Bytes that LuaJIT's allocator keeps. The RSS has what a sanitizer takes, too.
local function kept(text)
  return tonumber(text:match("%%  +(%d+)   free in LuaJIT's allocator\n"))
end
out, repaired, exact = example("pseudo-leak", mp.."Mr %s", "parts")
if kept(out) then
  -- A little memory has no row.
  tap.ok(kept(out) > 16e6 and kept(out) > 4 * (kept(repaired) or 0),
    "pseudo-leak: the process is small again", out..repaired)
  tap.like(out, "RSS +[%d.]+ MB +free in LuaJIT's allocator [5-9]%d%%",
    "pseudo-leak: most of it is free")
  tap.like(out, "allocated at pseudo%-leak.lua:%d+", "and kept by these")
end

out, repaired, exact = example("leak-regex", mp.."M %s", "repaired")
if out:find("malloc, in use\n", 1, true) then
  tap.like(out, "RSS +[%d.]+ MB +malloc, in use [8-9]%d%%",
    "leak-regex: malloc has most of the memory")
  tap.unlike(repaired, "RSS +[%d.]+ MB +malloc, in use", "but not repaired")
end
local run = tap.sh(tap.mp.." run --native -O lU "..
  tap.quote(tap.srcdir.."/examples/leak-regex.lua"),
  { env = { LUA_CPATH = tap.loadable().."/.uninstalled/?.so;;" } })
local sanitized = (os.getenv("LIBASAN") or "") ~= "" -- It has a malloc itself.
if exact and not sanitized and not run.err:find("is not beside", 1, true) then
  tap.is(run.status, 0, "leak-regex: under the library it ends as it would")
  -- As without the compiler: regexec makes most of an expression's automaton.
  tap.like(run.out, "\n +[6-9]%d%% +%d+%.?%d* MB[^\n]* leak%-regex.lua:37\n"..
    " +[12]%d%% +%d+%.?%d* MB[^\n]* leak%-regex.lua:24\n",
    "the lines that leak")
end

tap.done()
