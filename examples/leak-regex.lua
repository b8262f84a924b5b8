-- SPDX-License-Identifier: MIT
-- A leak in C memory: examples/CASES.md.
--
-- Lines are matched by POSIX regular expressions of the C library, through the
-- FFI. An expression is compiled for each line; Lua frees the regex_t, but not
-- what regcomp has allocated for it. With the argument "repaired" expressions
-- are compiled once, and freed by regfree.

local ffi = require("ffi")

ffi.cdef [[
typedef struct { char data[64]; } regex;  // regex_t of glibc on x86-64
int regcomp(regex *, const char *, int);
int regexec(const regex *, const char *, size_t, void *, int);
void regfree(regex *);
]]
local C = ffi.C

local repaired = arg[1] == "repaired"
local lines = tonumber(arg[2]) or 2000

local function compile(pattern)
  local r = ffi.new("regex[1]")
  assert(C.regcomp(r, pattern, 1) == 0)
  return repaired and ffi.gc(r, C.regfree) or r
end

local compiled = {}

local function expression(pattern)
  if not repaired then return compile(pattern) end
  compiled[pattern] = compiled[pattern] or compile(pattern)
  return compiled[pattern]
end

local function matches(line)
  return C.regexec(expression("^(GET|PUT) /[a-z]+/([0-9]+)$"), line, 0, nil, 0)
    == 0
end

local n = 0
for i = 1, lines do
  if matches("GET /item/"..i) then n = n + 1 end
end
print("lines", lines, "matched", n)
os.exit(0)
