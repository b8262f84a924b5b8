-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Reads the strings and the tables of a profile file: checks every value, and
-- makes records of columns.
----------------------------------------------------------------------------
--
-- Functions that find something wrong raise a table with the text `damage`.
--
----------------------------------------------------------------------------

local columns = require("jit.mp.format.columns")
local fields = require("jit.mp.model.fields")

local MAX_BYTES = 2^29    -- Of an unpacked file.
local MAX_RECORDS = 2^22  -- In a table.

local function damaged(...)
  error({ damage = (...):format(select(2, ...)) }, 0)
end

local function count(word)
  local n = word and #word <= 10 and word:match("^%d+$") and tonumber(word)
  return n and n <= MAX_BYTES and n or damaged("a count is not valid")
end

-- The texts that records refer to, from 1 on.
local function read_strings(text, pos, words)
  local n, list = count(words[2]), {}
  local lengths, from = columns.unpack(text, pos, "u4", n)
  if not lengths then damaged("the strings are cut off") end
  local stop = from + count(words[3])
  for i = 1, n do
    local to = from + lengths[i-1]
    if to > stop then damaged("string %d is cut off", i) end
    list[i] = text:sub(from, to - 1)
    from = to
  end
  if stop > #text then damaged("the strings are cut off") end
  return list, stop
end

-- Numbers as values of a field: expressions for the value of a record,
-- with C the column, S the strings and i the number of the record.
local expressions = {
  text = "S[C[i]]",
  ref = "C[i]",
  line = "C[i] > 0 and C[i] - 1 or nil",
  number = "C[i]",
  amount = "(C[i] == C[i] and C[i] or nil)",
}

-- A function that makes the records of a table: compiled for its fields, for
-- there can be very many records.
local function record_maker(t, present)
  local names, values = {}, {}
  for _, field in ipairs(t.fields) do
    if present[field.name] then
      local kind = field.type == "number" and field.optional and "amount" or
	field.type
      names[#names+1] = "C_"..field.name
      values[#values+1] = field.name.." = "..
	expressions[kind]:gsub("C", "C_"..field.name)
    end
  end
  return assert(loadstring(("local n, S, %s = ...\nlocal t = {}\n"..
    "for i = 0, n - 1 do t[i+1] = { %s } end\nreturn t"):format(
      table.concat(names, ", "), table.concat(values, ", "))))
end

-- Each looks at a column of n records; `ids` are the numbers of records in the
-- tables, with this one. Returns the number of a record that is wrong.
local check = {}

function check.text(field, C, n, _, S)
  for i = 0, n - 1 do
    local s = S[C[i]]
    if not s and (C[i] ~= 0 or not field.optional) or
	s and field.one_of and not field.one_of[s] then return i + 1 end
  end
end

function check.ref(field, C, n, counts, _, own)
  local from, last = field.none and 0 or 1, counts[field.of] or 0
  for i = 0, n - 1 do
    if own then last = i end
    local id = C[i]
    if not (id >= from and id <= last and id % 1 == 0) then return i + 1 end
  end
end

function check.number(field, C, n)
  local min, max, optional = field.min, field.max, field.optional
  for i = 0, n - 1 do
    local v = C[i]
    if not (v >= min and v <= max) and not (optional and v ~= v) then
      return i + 1
    end
  end
end

function check.line(_, C, n)
  for i = 0, n - 1 do
    if not (C[i] <= 2^31 and C[i] % 1 == 0) then return i + 1 end
  end
end

-- The columns of a table by their names, and the position behind them.
local function read_columns(text, pos, words, n)
  local found = {}
  for i = 4, #words do
    local name, kind = words[i]:match("^([%a_]+):(%w+)$")
    if not columns.sizes[kind] then damaged("an unknown kind of column") end
    found[name], pos = columns.unpack(text, pos, kind, n)
    if not pos then damaged("the table %s is cut off", words[2]) end
  end
  return found, pos
end

local function check_table(t, found, n, counts, strings)
  for _, field in ipairs(t.fields) do
    local column = found[field.name]
    if not column and not field.optional then
      damaged("the table %s has no %s", t.name, field.name)
    end
    local bad = column and
      check[field.type](field, column, n, counts, strings, field.of == t.name)
    if bad then
      damaged("the %s of %s %d is not valid", field.name, t.name, bad)
    end
  end
end

-- Objects have bytes, and bytes objects: a record has both, or neither.
local function check_amounts(t, found, n)
  for _, field in ipairs(t.fields) do
    local other = field.name:gsub("_objects$", "_bytes")
    local C, D = found[field.name], found[other]
    if C and other ~= field.name and t.by[other] then
      if not D then damaged("the table %s has no %s", t.name, other) end
      for i = 0, n - 1 do
	if (C[i] == C[i]) ~= (D[i] == D[i]) then
	  damaged("the %s of %s %d is not valid", other, t.name, i + 1)
	end
      end
    end
  end
end

-- A table into the snapshot. Returns the position behind it.
local function read_table(s, text, pos, words)
  local t, n = fields.tables[words[2]], count(words[3])
  if n > MAX_RECORDS then damaged("a table of more than %d", MAX_RECORDS) end
  local found
  found, pos = read_columns(text, pos, words, n)
  if not t then return pos end
  if s.counts[t.name] then damaged("a second table %s", t.name) end
  check_table(t, found, n, s.counts, s.strings)
  check_amounts(t, found, n)
  s.counts[t.name] = n
  local args = {}
  for _, field in ipairs(t.fields) do
    args[#args+1] = found[field.name]
  end
  local records = record_maker(t, found)(n, s.strings, unpack(args))
  if t.columns then
    for _, field in ipairs(t.fields) do
      local list = s[t.key][field.name]
      for i = 1, n do list[i] = records[i][field.name] end
    end
  else
    s[t.key] = records
  end
  return pos
end

return {
  damaged = damaged, read_strings = read_strings, read_table = read_table,
  MAX_BYTES = MAX_BYTES
}
