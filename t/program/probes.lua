-- SPDX-License-Identifier: MIT
-- The core has notes of its static probes as their readers want them, and runs
-- as before while nobody listens.

local tap = require("tap")

local core = package.searchpath("jit.mp.core", package.cpath)
if not core then tap.skip("the core is not on the path") end
if tap.sh("readelf --version").status ~= 0 then tap.skip("no readelf") end
local machine = tap.sh("uname -m").out
if not machine:find("^x86_64") and not machine:find("^aarch64") and
    not machine:find("^i.86") then
  tap.skip("no probes for "..machine)
end

local notes = tap.sh("readelf -W -n '"..core.."'").out
local sections = tap.sh("readelf -W -S '"..core.."'").out

-- The addresses of a section: first, and behind the last.
local function extent(name)
  local at, size = sections:match("%s"..name:gsub("%p", "%%%0")..
    "%s+%u+%s+(%x+)%s+%x+%s+(%x+)")
  tap.ok(at, "section "..name, sections)
  at = tonumber(at, 16)
  return at, at + tonumber(size, 16)
end

local text, text_end = extent(".text")
local data, data_end = extent(".probes")
local base = extent(".stapsdt.base")

-- Where an operand is: a size, and a register or a place in memory.
local function operands(list)
  local n = 0
  for size, where in list:gmatch("(%d+)@(%S+)") do
    tap.like(size, "^[48]$", "a word")
    tap.like(where, "^[%%%w%(%)%[%],+-]+$", "in a place")
    n = n + 1
  end
  return n
end

local arguments, semaphores = { alloc = 3, free = 1 }, {}
for name, count in pairs(arguments) do
  local location, of, semaphore, list = notes:match(
    "Provider: otel_memory%s+Name: "..name.."%s+Location: 0x(%x+), "..
    "Base: 0x(%x+), Semaphore: 0x(%x+)%s+Arguments: ([^\n]*)")
  tap.ok(location, name..": a note", notes)
  location, semaphore = tonumber(location, 16), tonumber(semaphore, 16)
  tap.ok(location >= text and location < text_end, name..": the probe is code")
  tap.is(tonumber(of, 16), base, name..": the base is its section's")
  tap.ok(semaphore >= data and semaphore + 2 <= data_end,
    name..": the semaphore is data")
  tap.is(operands(list), count, name..": its arguments")
  semaphores[name] = semaphore
end
tap.ok(semaphores.alloc ~= semaphores.free, "each has its own semaphore")
local _, found = notes:gsub("Provider: ", "")
tap.is(found, 2, "and there are no others")
tap.done()
