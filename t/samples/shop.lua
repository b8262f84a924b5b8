-- For the manual's samples: a list is read and shown again.
local text = ("apple=3\npear=5\nplum=8\n"):rep(2000)

local last = 0

local function parse(lines)
  local list = {}
  for name, count in lines:gmatch("(%a+)=(%d+)\n") do
    list[#list+1] = { id = last, name = name, count = tonumber(count) }
    last = last + 1
  end
  return list
end

local function show(item)
  return item.id..": "..item.count.." "..item.name
end

local function render(list)
  local parts = {}
  for i, item in ipairs(list) do
    if i % 3 > 0 then parts[#parts+1] = show(item) end
  end
  return table.concat(parts, "\n")
end

local pages = {}
for i = 1, 20 do pages[i] = render(parse(text..i)) end
os.exit(0)
