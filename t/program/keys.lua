-- SPDX-License-Identifier: MIT
-- Keys in the live view, in a pseudo-terminal: where they are taken, and that
-- the program's input and the terminal's modes stay as they are.

local tap = require("tap")

if tap.slow or tap.sh("script -qec true /dev/null").status ~= 0 then
  tap.skip("there are no pseudo-terminals here, or little time")
end

local typescript, typed = tap.tmpname(), tap.tmpname()

-- For programs: await(TEXT) computes until the terminal has shown that,
-- await_keys() until all keys were typed; a minute at most.
local await = ([[
local function make_objects(keep)
  for i = 1, 1e5 do keep[i %% 1000] = { i } end
end
local function await(text, name)
  local t0, keep, seen = os.time(), {}, nil
  repeat
    make_objects(keep)
    local f = io.open(name or %q, "rb")
    seen = f:read("*a")
    f:close()
  until seen:find(text, 1, true) or os.time() > t0 + 60
end
local function await_keys() await("typed", %q) end
]]):format(typescript, typed)

-- For the shell that types: await TEXT, and typed.
local typist = ([[await() {
  n=0
  until grep -qaF -e "$1" %s || [ $n -gt 600 ]; do
    sleep 0.1; n=$((n+1))
  done
}
typed() { echo typed >%s; }
]]):format(typescript, typed)

-- Runs a command on a terminal whose keys are typed by those commands. Returns
-- the output.
local function on_terminal(command, keys)
  tap.write(typescript, "")
  tap.write(typed, "")
  return tap.sh(("{ %s%s; await 'the last words'; } | TERM=xterm "..
    "timeout 120 script -qefc %s %s"):format(typist, keys,
    tap.quote("stty rows 30 cols 100; "..command), typescript)).out
end

-- A command as a shell with job control runs it: a job of its own.
local function job(command) return "set -m; "..command.."; set +m" end

local function run(options, program)
  return ("%s -jm=%s %s"):format(tap.command, options, program)
end

-- The texts that were drawn, one for each drawing.
local function screens(out)
  local t = {}
  for text in (out:gsub("\27%[%d*m", "").."\0277"):gmatch("(.-)\0277") do
    t[#t+1] = text:gsub("\27%[%d+;1H\27%[2K", "\n")
  end
  return t
end

-- -- All keys -----------------------------------------------------------------

local program = tap.program(await..[[
await_keys()
await("\27[r\27[30;1H")
make_objects({})
os.execute("stty -g </dev/tty")
print("the last words")
]])
local out = on_terminal("stty -g; exec "..run("fT", program).." </dev/null",
  "await 'q close'; printf l; await '-- '"..program:match("[^/]*$")..":; "..
  "printf s; await 'by CPU'; printf c; "..
  "await \"$(printf '\\033[3;1H\\033[2K\\033[4;1H')\"; printf q; typed")
local before, after = out:match("^(%x+:[%x:]+)"),
  out:match("(%x+:[%x:]+)\r?\nthe last words")
tap.ok(before ~= nil, "the terminal's modes are known", out)
tap.is(after, before, "they are the same while the view takes keys")
local drawn = screens(out)
tap.like(drawn[3], "\n%-%- q close   v c h u a view   s sort   l lines",
  "the last line says what the keys do")
tap.like(out, "%-%- "..program:match("[^/]*$"):gsub("%p", "%%%0")..":%d",
  "key l: lines")
tap.like(out, "\n?%-%- by CPU   q close", "key s: the order")
local last
for _, text in ipairs(drawn) do
  if text:find("q close", 1, true) then last = text end
end
tap.unlike(last:match("^(.-)q close"), "allocated", "key c: CPU alone")
tap.like(out, "\27%[r\27%[30;1H[^%z]*the last words\r?\nluajit%-mp  ",
  "key q: the view is closed, the program goes on, and has its report")

-- -- Keys that are the program's ----------------------------------------------

local reader = tap.program(await..[[
await("keys: luajit-mp top")
print("the program read "..tostring(io.read()))
print("the last words")
]])
out = on_terminal(job(run("fT", reader)),
  "await 'keys: luajit-mp top'; echo lscq")
tap.like(out, "%-%- keys: luajit%-mp top %d+, or run with </dev/null",
  "input from the terminal: the last line says where there are keys")
tap.like(out, "the program read lscq\r?\n", "the program has its input")

local silent = tap.program(await..[[
await("keys: luajit-mp top")
print("it is time to type")
await_keys()
]])
local typing = "await 'it is time'; echo lscq; sleep 1; typed"
out = on_terminal(run("fT", silent).." </dev/null; read line; "..
  "echo the script read $line; echo the last words", typing)
tap.like(out, "%-%- keys: luajit%-mp top %d+\27", "a script's program: none")
tap.like(out, "the script read lscq\r?\n", "the script has its input")

out = on_terminal(job("cat | "..run("fT", tap.program(await..[[
await("keys: luajit-mp top")
print("the program read "..tostring(io.read()))
print("the last words")
]]))), "await 'keys: luajit-mp top'; echo lscq")
tap.like(out, "the program read lscq\r?\n", "a pipeline has its input")

out = on_terminal(job(run("fT", tap.program([[
os.execute("stty -icanon -echo </dev/tty")
]]..await..[[
await("keys: luajit-mp top")
local f = io.open("/dev/tty")
print("it is time to type")
await_keys()
print("the program read "..f:read(4))
os.execute("stty icanon echo </dev/tty")
print("the last words")
]])).." </dev/null"), typing)
tap.like(out, "the program read lscq\r?\n",
  "a program that takes keys from the terminal has them")

-- -- Ends ---------------------------------------------------------------------

for end_of, how in pairs({
    ["SIGKILL"] = 'os.execute("kill -9 $PPID")',
    ["SIGTERM"] = 'os.execute("kill $PPID") while true do end',
    ["an error"] = 'error("an error")',
    ["an exit"] = 'os.exit(3)',
    ["a stop"] = 'os.execute("kill -STOP $PPID") os.exit(3)' }) do
  out = on_terminal("stty -g; "..job(run("fT", tap.program(await..[[
await("q close")
]]..how)).." </dev/null").."; echo; stty -g; kill -9 %1 2>&-; "..
    "echo the last words", "true")
  local first, second = out:match("^(%x+:[%x:]+).*\n(%x+:[%x:]+)\r?\n")
  tap.ok(first and first == second, end_of..": the terminal's modes stay", out)
end

-- A child of a fork, which computes too, leaves the keys to the parent.
local forks = tap.program([[
local ffi = require("ffi")
ffi.cdef("int fork(void); int waitpid(int, int *, int); void _exit(int);")
]]..await..[[
await("q close")
local child = ffi.C.fork()
if child == 0 then
  io.stdout:write("it is time to type\n")
  io.stdout:flush()
  await_keys()
  ffi.C._exit(0)
end
ffi.C.waitpid(child, nil, 0)
await("by CPU")
print("the last words")
]])
out = on_terminal(job(run("fT,/dev/null", forks).." </dev/null"), (typing:gsub(
  "echo lscq", "printf s")))
tap.like(out, "by CPU", "a forked child does not take the parent's keys")

-- A profile without lines has none to show: it says so, and goes on.
local functions = tap.program(await..[[
await("no lines: ")
print("the last words")
]])
if tap.knows_layout() then  -- Elsewhere lines are always recorded.
  out = on_terminal(job(run("fjT", functions).." </dev/null"),
    "await 'q close'; printf l")
  tap.like(out, "no lines: ", "option j and key l")
end

tap.done()
