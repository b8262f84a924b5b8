-- SPDX-License-Identifier: MIT
-- Compression with a growing dictionary of strings, and back.

-- Whether a string is made again depends on when the collector takes it.
collectgarbage("stop")

local words = {}
for i = 1, 1500 do
  words[i] = ("w%d"):format(i * i % 97)..(i % 7 == 0 and "\n" or " ")
end
local text = table.concat(words)

local function codes()
  local t = {}
  for i = 0, 255 do t[string.char(i)] = i end
  return t, 256
end

local function compress(s)
  local code, n = codes()
  local out, prefix = {}, ""
  for i = 1, #s do
    local c = s:sub(i, i)
    local longer = prefix..c
    if code[longer] then
      prefix = longer
    else
      out[#out+1] = code[prefix]
      code[longer], n = n, n + 1
      prefix = c
    end
  end
  out[#out+1] = code[prefix]
  return out
end

local function expand(list)
  local phrase = {}
  for i = 0, 255 do phrase[i] = string.char(i) end
  local before = phrase[list[1]]
  local out, n = { before }, 256
  for i = 2, #list do
    local now = phrase[list[i]] or before..before:sub(1, 1)
    out[#out+1] = now
    phrase[n], n = before..now:sub(1, 1), n + 1
    before = now
  end
  local text = table.concat(out)
  return text
end

for _ = 1, 5 do
  local packed = compress(text)
  assert(expand(packed) == text)
end
print(#text)
