-- SPDX-License-Identifier: MIT
-- The manual's table of builds is true for the running one: a row is made of
-- what a small program shows, and compared.
--
-- MP_BUILD names the row, as a comment before it does.

local process = require("attach.process")
local tap = require("tap")

local dir = tap.tmpdir()

-- Allocations on lines of their own, none of which the compiler can avoid, nor
-- of strings, whose table grows on any line; one coroutine that waits; a leak;
-- C memory of files.
tap.write(dir.."/app.lua", [[
kept = {}
local some = {}
local function leak(i) kept[#kept + 1] = { i, { i } } end
local function waiting() coroutine.yield() end
local co = coroutine.wrap(waiting)
co()
for i = 1, 4000 do
  leak(i)
  some[i % 7 + 1] = { some, i = i }
  some[i % 7 + 8] = function() return i end
end
for _ = 1, 100 do io.open("/dev/null"):close() end
local before = os.clock()
while os.clock() < before + 0.02 do end
print("result")
]])

-- Runs it. The program is not changed by an option that it has, nor run with
-- one that is refused.
local function run(command, what, env)
  os.remove(dir.."/out.txt")
  local r = tap.sh(command, { dir = dir, env = env })
  local refused = r.status == 1 and r.out == "" and
    r.err:find("%f[%w]jit.mp: ") or r.err:find("^luajit%-mp: ")
  tap.ok(refused or r.status == 0 and r.out == "result\n",
    what..": the program runs, or it is said why not", r.out..r.err)
  return tap.read(dir.."/out.txt") or "", r.err
end

local function report(options, flags, env)
  return run(("%s %s -jm=%s,out.txt app.lua"):format(tap.command, flags or "",
    options), options, env)
end

-- A cell: whether that is in a report, or else that it cannot be had is.
local function seen(pattern, what, text, err)
  if text:find(pattern) then return "yes" end
  if (text..err):find("%f[%w]no %l[%w ]*: ") or text:find("  other\n") or
      err:find("jit.mp: ") or err:find("^luajit%-mp: ") then
    return "no"
  end
  tap.ok(false, what..": the view, or why it cannot be had", text..err)
  return "?"
end

local function cell(options, pattern)
  return seen(pattern, options, report(options))
end

-- Bytes by line, of the program alone.
local function lines(flags)
  local bytes, all = {}, 0
  for stack, n in report("Glhb1", flags):gmatch("([^\n]+) (%d+)\n") do
    local line = stack:match(".*app%.lua:(%d+)")
    if line and not stack:find("%(JIT compiler%)$") then
      bytes[line] = (bytes[line] or 0) + tonumber(n)
      all = all + tonumber(n)
    end
  end
  return bytes, all
end

-- Whether compiled code has as many bytes on each line as the interpreter, but
-- for one in a hundred.
local function lines_cell()
  local got, moved = lines(), 0
  local want, all = lines("-joff")
  tap.ok(all > 5e5, "bytes have lines", all)
  for line, n in pairs(got) do
    moved = moved + math.max(n - (want[line] or 0), 0)
  end
  tap.diag(("%d of %d bytes on another line"):format(moved, all))
  return moved <= all / 100 and "yes" or "no"
end

-- nil here and below: that cannot be tried here.
local function attach_cell()
  if (os.getenv("LIBASAN") or "") ~= "" then return nil end
  local p = process.start(dir, ("%s '%s/t/attach/alloc.lua'"):format(
    tap.command, tap.srcdir))
  local r = tap.sh(tap.mp.." attach -t 0.3 -O fl "..p.pid)
  local out, status = p:stop()
  tap.is((status or -1)..(out or ""), "0right\n", "attach: the program's end")
  if r.err:find("not permitted", 1, true) then return nil end
  if r.status == 0 and r.out:find("\nallocated ") then return "yes" end
  tap.like(r.err, "^luajit%-mp: [^\n]+\n$", "attach: why not")
  return "no"
end

-- The manual says that --outside works where attach does, but that memory of
-- malloc is not walked.
local function look_from_outside()
  local p = process.start(dir, ("%s '%s/t/attach/alloc.lua'"):format(
    tap.command, tap.srcdir))
  local cpu = tap.sh(tap.mp.." attach --outside -t 0.3 "..p.pid)
  local walk = tap.sh(tap.mp.." attach --outside -O W "..p.pid)
  local out, status = p:stop()
  tap.is((status or -1)..(out or ""), "0right\n", "outside: the program's end")
  tap.like(cpu.out, "\ncapture outside", "outside: CPU time", cpu.err)
  if walk.status == 0 then
    tap.like(walk.out, "\nHeap walk: [^\n]+ held", "outside: the heap's walk")
  else
    tap.like(walk.err, "^luajit%-mp: [^\n]*allocator[^\n]*\n$",
      "outside: only the memory of another allocator is not walked")
    tap.is(os.getenv("MP_BUILD"), "head-malloc", "outside: which malloc has")
  end
end

-- A command of another processor cannot become the program.
local function native_cell()
  local library = tap.loadable().."/.uninstalled/jit/mp/libluajit-mp-native.so"
  local pattern, text, err = "\nC memory "
  if (os.getenv("LIBASAN") or "") ~= "" or not tap.read(library) then
    return nil
  elseif tap.is_foreign() then
    text, err = report("Y", nil, { LD_PRELOAD = library })
  else
    text, err = run(tap.mp.." run --native -O Y -o out.txt app.lua", "native")
  end
  return seen(pattern, "native", text, err)
end

local capture = report("fl"):match("\ncapture (%l+)")
tap.ok(capture == "exact" or capture == "safepoint", "capture has a level",
  capture)
local attached = attach_cell()
if attached == "yes" then look_from_outside() end
local row = { capture, lines_cell(), cell("t", "\n[^\n]+  table\n"),
  cell("W", "\n[^\n]+ kept%f[^%w_]"), cell("L", "\n +app%.lua:3\n"),
  cell("I", "coroutine%.yield < app%.lua:4\n"),
  cell("J", "\nJIT compiler: %d+ traces made"), attached or "-",
  native_cell() or "-" }
tap.diag(table.concat(row, " Ta "))

-- -- The manual --------------------------------------------------------------

-- Debian's is known by its name, but others have that, too.
local function name()
  local given = os.getenv("MP_BUILD")
  if given or jit.version ~= "LuaJIT 2.1.0-beta3" or jit.arch ~= "x64" or
      pcall(require, "table.nkeys") or pcall(require, "misc") then
    return given
  end
  return "debian"
end

local build = (name() or ""):gsub("%-assert$", "")
if build == "" then
  tap.skip("the manual has no row for "..jit.version.." on "..jit.arch)
end
local manual = tap.read(tap.srcdir.."/man/luajit-mp-hosts.7")
local cells = manual:match('\n%.\\" '..build:gsub("%p", "%%%0")..
  '\n%.It [^\n]+ \\\nTa ([^\n]+)') or ""
local want, i = {}, 0
for word in (cells.." Ta "):gmatch("(.-) Ta ") do
  i = i + 1
  want[i] = row[i] == "-" and "-" or word
end
tap.is(table.concat(row, " "), table.concat(want, " "),
  "luajit-mp-hosts(7) has this row for "..build)
tap.done()
