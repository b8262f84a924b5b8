-- SPDX-License-Identifier: MIT
-- CPU in a C function that compiled code calls through the FFI: it belongs to
-- the line and the function with the call, and not to where these return. That
-- of a host between its calls of Lua is its own.

local tap = require("tap")
if not tap.knows_layout() then tap.skip("ticks wait for safepoints") end
if (os.getenv("LIBASAN") or "") ~= "" or tap.slow then
  tap.skip("memset is another function there")
end
if not pcall(require, "ffi") then tap.skip("no FFI") end

local head = [[
local ffi = require("ffi")
ffi.cdef("void *memset(void *, int, size_t); "..
  "size_t strlen(const char *); int memcmp(const char *, char *, size_t);")
local C, N = ffi.C, 99999
local a, b = ffi.new("char[100000]"), ffi.new("char[100000]")
ffi.fill(a, N, 1)
ffi.fill(b, N, 1)
]]

-- Line 9 calls C in the function inner.
local shapes = {
  ["a call for its effect"] = [[
local function inner()
  C.memset(a, 1, N) end]],
  ["a call with a line behind it"] = [[
local function inner()
  C.memset(a, 1, N)
end]],
  ["ffi.fill"] = [[
local function inner()
  ffi.fill(a, N, 1)
end]],
  ["ffi.copy"] = [[
local function inner()
  ffi.copy(a, b, N) end]],
  ["a result that is used"] = [[
local function inner()
  local n = C.strlen(a)
  return n
end]],
  ["a result that is compared"] = [[
local function inner()
  return C.memcmp(a, b, N) == 0 end]],
}

local tail = [[

local function outer()
  inner()
end
for i = 1, 60000 do
  outer()
end]]

-- Percent of the CPU in the row that matches.
local function share(text, row)
  return tonumber(text:match("(%d+)%% [^\n]*   "..row.."\n") or 0)
end
local names = {}
for name in pairs(shapes) do names[#names+1] = name end
table.sort(names)
for _, name in ipairs(names) do
  local app = tap.program(head..shapes[name]..tail)
  local function report(options)
    return tap.luajit(("-jm=%s %s"):format(options, app)).out
  end
  local text = report("cl")
  tap.ok(share(text, "%S*:9") >= 80, name..": its line has the CPU", text)
  text = report("cf")
  tap.ok(share(text, "inner") >= 80, name..": its function has it", text)
end

-- -- A host program ----------------------------------------------------------

local host = [[
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <time.h>

static double cpu(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs the function of that name 50 times, by a call or in new coroutines, and
** uses that much CPU time behind each. Returns the seconds in Lua. */
static double work(lua_State *L, const char *name, int resumed, double seconds)
{
  double sum = 0;
  int i;
  for (i = 0; i < 50; i++) {
    double t = cpu();
    lua_State *co = resumed ? lua_newthread(L) : L;
    lua_getglobal(co, name);
    if (resumed) lua_resume(co, 0);
    else lua_call(co, 0, 0);
    sum += cpu() - t;
    for (t = cpu() + seconds; cpu() < t; );
    if (resumed) lua_pop(L, 1);
  }
  return sum;
}

int main(void)
{
  lua_State *L = luaL_newstate();
  double called, resumed, t;
  luaL_openlibs(L);
  if (luaL_dofile(L, "host.lua")) return 1;
  for (t = cpu() + 0.05; cpu() < t; );
  called = work(L, "called", 0, 0.004);
  resumed = work(L, "resumed", 1, 0.004);
  printf("%.0f %.0f %.0f\n", called * 1e3, resumed * 1e3, 0.45 * 1e3);
  lua_getglobal(L, "finish");
  lua_call(L, 0, 0);
  lua_close(L);
  return 0;
}
]]

local dir = tap.tmpdir()
tap.write(dir.."/host.c", host)
tap.write(dir.."/host.lua", [[
local mp = require("jit.mp")
assert(mp.start("fi1", "r.txt", "r.mp"))
local function loop(n)
  local t = {}
  for i = 1, n do t[i % 9] = { i } end
end
function called() loop(10000) end
function resumed() loop(10000) coroutine.yield() end
function finish() mp.stop() end
]])
if not tap.is_foreign() and tap.sh("cc -O -o host host.c "..
    "$(pkg-config --cflags --libs luajit)", { dir = dir }).status == 0 then
  local r = tap.sh("exec ./host", { dir = dir })
  local lua1, lua2, own = r.out:match("(%d+) (%d+) (%d+)")
  local text = tap.read(dir.."/r.txt") or ""
  tap.ok(own, "a host program runs", r.err)
  local p, why = require("jit.mp.format.file").read(tap.read(dir.."/r.mp"))
  tap.ok(p, "its profile can be read", why)
  local want = 100 * own / (own + lua1 + lua2)
  local got = share(text, "%(host program%)")
  tap.ok(math.abs(got - want) < 15, "what it does between calls is its own",
    ("%d%%, and it was %d%%\n"):format(got, want)..text)
end

tap.done()
