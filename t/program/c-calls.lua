-- SPDX-License-Identifier: MIT
-- CPU in a C function that compiled code calls through the FFI: it belongs to
-- the line and the function with the call, and not to where these return.

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

tap.done()
