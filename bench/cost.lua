-- SPDX-License-Identifier: MIT
-- Makes the table of the manual's chapter on cost from what make bench wrote:
--
--   luajit bench/cost.lua results.txt man/luajit-mp-sampling.7
--
-- The lines between the two comments "cost:" of the manual are made anew.

local results, manual = arg[1], arg[2]
if not manual then
  io.stderr:write("usage: luajit bench/cost.lua results.txt MANUAL\n")
  os.exit(2)
end

local modes = { "-jm", "l", "b1", "e", "L" }
local names = { ["-jm"] = "none of these", l = ".Cm l",
  b1 = ".Cm b1", e = ".Cm e", L = ".Cm L" }

-- The column of each mode, and the ratios of each program.
local columns, rows
for line in assert(io.open(results)):lines() do
  local name, rest = line:match("^(%S+)%s+plain%s+(.-)%s*RSS:")
  if name == "program" then
    columns, rows = {}, {}
    for mode in rest:gmatch("%S+") do columns[#columns + 1] = mode end
  end
  name, rest = line:match("^(%S+)%s+[%d.]+ s%s+(.*)$")
  if name and columns then
    local row, k = { program = name }, 0
    for ratio in rest:gmatch("%S+") do
      k = k + 1
      if columns[k] then row[columns[k]] = tonumber(ratio) end
    end
    rows[#rows + 1] = row
  end
end
if not rows or #rows == 0 then
  error(results.." is not an output of make bench", 0)
end

local function line_of(mode)
  local sum, worst = 0, rows[1]
  for _, row in ipairs(rows) do
    if not row[mode] then error("no column "..mode.." in "..results, 0) end
    sum = sum + math.log(row[mode])
    if row[mode] > worst[mode] then worst = row end
  end
  local name = names[mode]:gsub("^%.", "")
  return (".It %s Ta %.2f Ta %.2f Ta %s"):format(name,
    math.exp(sum / #rows), worst[mode], worst.program)
end

local out = {
  ("On %d programs, most of which do little but allocate, a profile took"):
    format(#rows),
  "so many times the CPU time of the program alone:",
  '.Bl -column "none of these" "mean" "worst" "filter-wasteful" -offset indent',
  ".It Em option Ta Em mean Ta Em worst Ta Em in",
}
for _, mode in ipairs(modes) do out[#out + 1] = line_of(mode) end
out[#out + 1] = ".El"

local f = assert(io.open(manual))
local text = f:read("*a")
f:close()
local before, after = text:match('^(.-%.\\" cost: begin[^\n]*\n).-'..
  '(%.\\" cost: end.*)$')
if not before then error(manual.." has no place for the table", 0) end
f = assert(io.open(manual, "w"))
f:write(before, table.concat(out, "\n"), "\n", after)
f:close()
