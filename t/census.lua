-- SPDX-License-Identifier: MIT
-- Counts what src/ consists of, for comparisons of its shape over time:
--   luajit t/census.lua [SRCDIR]
-- A unit is a .c and a .h of one name. A function is exported if its prototype
-- begins a line of a header; its clients are other units that name it. Mutable
-- state is a file-scope variable that is not const.

local srcdir = arg[1] or "."

local function read(name)
  local f = assert(io.open(name, "rb"))
  local text = f:read("*a")
  f:close()
  return text
end

local function files()
  local list = {}
  local pipe = assert(io.popen("cd '"..srcdir.."' && ls src/*.[ch] "..
    "src/*/*.[ch]"))
  for name in pipe:lines() do list[#list+1] = name end
  pipe:close()
  return list
end

local function count_lines(text) return select(2, text:gsub("\n", "")) end

local function median(list)
  table.sort(list)
  local n = #list
  return n % 2 == 1 and list[(n + 1) / 2] or (list[n/2] + list[n/2+1]) / 2
end

-- The words of a text without its comments and strings.
local function words_of(text)
  local set = {}
  text = text:gsub("/%*.-%*/", " "):gsub('"[^"\n]*"', " ")
  for word in text:gmatch("mp_[%w_]+") do set[word] = true end
  return set
end

local lines, sizes, units, words, exported, state = 0, {}, {}, {}, {}, 0
local count = 0
for _, name in ipairs(files()) do
  local text = read(srcdir.."/"..name)
  local unit = name:gsub("%.[ch]$", "")
  lines = lines + count_lines(text)
  sizes[#sizes+1] = count_lines(text)
  if not units[unit] then units[unit], count = true, count + 1 end
  words[unit] = words[unit] or {}
  for word in pairs(words_of(text)) do words[unit][word] = true end
  if name:find("%.h$") then
    for line in text:gmatch("[^\n]+") do
      local f = not line:find("^[%s#/*}]") and not line:find("^typedef") and
	line:match("(mp_[%w_]+)%(")
      if f then exported[f] = unit end
    end
  else
    for line in text:gmatch("[^\n]+") do
      if line:find("^static [^()]*[;={]") and not line:find("const ") and
	not line:find("inline") then
	state = state + 1
      end
    end
  end
end

local functions, lonely = 0, 0
for f, home in pairs(exported) do
  local clients = 0
  for unit, set in pairs(words) do
    if unit ~= home and set[f] then clients = clients + 1 end
  end
  functions = functions + 1
  if clients <= 1 then lonely = lonely + 1 end
end

print(("lines %d  units %d  files %d  median file %g lines"):format(lines,
  count, #sizes, median(sizes)))
print(("exported functions %d, with at most one client %d (%.0f%%)"):format(
  functions, lonely, 100 * lonely / functions))
print(("mutable state: %d variables"):format(state))
