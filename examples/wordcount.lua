-- A text processor: makes up a text, counts its words, and sets it anew in
-- lines of equal width.
--
-- A profile shows two different hot spots: most of the CPU time goes into
-- looking at each character (tokenize), most of the memory comes from the
-- lines that are set (justify), and what stays in use are the positions of
-- the words in the index.
--
--   luajit -jm=fl examples/wordcount.lua [work, default 1]

local work = tonumber(arg and arg[1]) or 1

-- A text -------------------------------------------------------------------

local seed = 1

local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n + 1
end

local syllables = { "ka", "lo", "mi", "ren", "tu", "sa", "vor", "el", "an",
  "dri", "pe", "osk" }

local function make_words(n)
  local words = {}
  for i = 1, n do
    local parts = {}
    for k = 1, random(4) do parts[k] = syllables[random(#syllables)] end
    words[i] = table.concat(parts)
  end
  return words
end

local function paragraph(words, n)
  local t = {}
  for i = 1, n do
    -- Small numbers are frequent, as in any language.
    t[i] = words[math.ceil(random(#words) * random(1000) / 1000)]
    if i % 12 == 0 then t[i] = t[i].."." end
  end
  return table.concat(t, " ")
end

-- Counting -----------------------------------------------------------------

local function is_letter(c)
  return c >= 97 and c <= 122 or c >= 65 and c <= 90
end

-- Calls found(first, last) for each word, and returns a checksum.
local function tokenize(text, found)
  local first, sum = nil, 0
  for i = 1, #text + 1 do
    local c = text:byte(i) or 32
    sum = (sum * 31 + c) % 65521
    if is_letter(c) then
      first = first or i
    elseif first then
      found(first, i - 1)
      first = nil
    end
  end
  return sum
end

local index, total = {}, 0

local function count_words(text, number)
  local sum = tokenize(text, function(first, last)
    local word = text:sub(first, last)
    local entry = index[word]
    if not entry then
      entry = { count = 0, places = {} }
      index[word] = entry
    end
    entry.count = entry.count + 1
    total = total + 1
    if entry.count % 20 == 1 then
      entry.places[#entry.places+1] = number * 100000 + first
    end
  end)
  return sum
end

-- Setting ------------------------------------------------------------------

local function justify(text, width)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if #line + #word + 1 > width then
      lines[#lines+1] = line..(" "):rep(width - #line)
      line = word
    else
      line = line == "" and word or line.." "..word
    end
  end
  lines[#lines+1] = line
  return lines
end

-- Main ---------------------------------------------------------------------

local words, sum, set = make_words(3000), 0, 0
for number = 1, math.ceil(1000 * work) do
  local text = paragraph(words, 4000)
  for _ = 1, 6 do sum = (sum + count_words(text, number)) % 1000003 end
  set = set + #justify(text, 72)
end

local ranked = {}
for word, entry in pairs(index) do
  ranked[#ranked+1] = { word = word, count = entry.count }
end
table.sort(ranked, function(a, b)
  if a.count ~= b.count then return a.count > b.count end
  return a.word < b.word
end)
for i = 1, 3 do print(ranked[i].count, ranked[i].word) end
print("checksum", sum, "words", total, "lines", set)
