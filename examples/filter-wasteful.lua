-- Makes noisy colour pictures of a few strokes readable: grayscale, threshold,
-- blur, threshold, invert.
--
-- In this version every filter makes a new picture. CASES.md tells what a
-- profile of it shows; filter.lua is the repaired version.
--
--   luajit -jm=fhl examples/filter-wasteful.lua [work, default 1]

local ffi = require("ffi")

local work = tonumber(arg and arg[1]) or 1
local WIDTH, HEIGHT = 160, 60

-- Pictures to work on: three bytes for each pixel --------------------------

local seed = 3

local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n
end

local function draw(canvas, x1, y1, x2, y2)
  for t = 0, 1, 0.02 do
    local x = math.floor(x1 + (x2 - x1) * t)
    local y = math.floor(y1 + (y2 - y1) * t)
    for i = 0, 8 do
      local at = 3 * ((y + math.floor(i / 3)) * WIDTH + x + i % 3)
      canvas[at], canvas[at+1], canvas[at+2] = 30, 20 + random(60), 50
    end
  end
end

local function write_pictures(name, n)
  local file = assert(io.open(name, "wb"))
  local size = 3 * WIDTH * HEIGHT
  local canvas = ffi.new("uint8_t[?]", size)
  for _ = 1, n do
    for i = 0, size - 1, 3 do
      local noise = random(200)
      canvas[i], canvas[i+1], canvas[i+2] = 255 - noise, 250 - noise / 2, 200
    end
    for _ = 1, 8 do
      draw(canvas, random(WIDTH - 3), random(HEIGHT - 3), random(WIDTH - 3),
	random(HEIGHT - 3))
    end
    file:write(ffi.string(canvas, size))
  end
  file:close()
end

-- Filters ------------------------------------------------------------------

-- A picture is a list of rows, a row a list of pixels.
local function decode(data)
  local picture, i = {}, 1
  for y = 1, HEIGHT do
    picture[y] = {}
    for x = 1, WIDTH do
      local r, g, b = data:byte(i, i + 2)
      picture[y][x] = { r = r, g = g, b = b }
      i = i + 3
    end
  end
  return picture
end

local function map(picture, f)
  local result = {}
  for y, row in ipairs(picture) do
    local new = {}
    for x, pixel in ipairs(row) do new[x] = f(pixel, x, y) end
    result[y] = new
  end
  return result
end

local function grayscale(picture)
  return (map(picture, function(p)
    return math.floor((299 * p.r + 587 * p.g + 114 * p.b) / 1000)
  end))
end

local function threshold(picture, limit)
  return (map(picture, function(p) return p < limit and 0 or 255 end))
end

-- The mean of a pixel and its neighbours; outside is as the edge.
local function blur(picture)
  return (map(picture, function(_, x, y)
    local left, right = math.max(x - 1, 1), math.min(x + 1, WIDTH)
    local sum = 0
    for k = y - 1, y + 1 do
      local row = picture[math.max(1, math.min(k, HEIGHT))]
      sum = sum + row[left] + row[x] + row[right]
    end
    return math.floor(sum / 9)
  end))
end

local function invert(picture)
  return (map(picture, function(p) return 255 - p end))
end

-- Main ---------------------------------------------------------------------

local name, count = os.tmpname(), math.ceil(2500 * work)
write_pictures(name, count)

local ink, checksum = 0, 0
local file = assert(io.open(name, "rb"))
for _ = 1, count do
  local picture = decode(file:read(3 * WIDTH * HEIGHT))
  picture = grayscale(picture)
  picture = threshold(picture, 150)
  picture = blur(picture)
  picture = threshold(picture, 120)
  picture = invert(picture)
  for _, row in ipairs(picture) do
    for x, p in ipairs(row) do
      if p == 255 then ink = ink + 1 end
      checksum = (checksum * 31 + p + x) % 1000003
    end
  end
end
file:close()
os.remove(name)
print("pictures", count, "ink", ink, "checksum", checksum)
