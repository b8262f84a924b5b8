-- Makes noisy colour pictures of a few strokes readable: grayscale, threshold,
-- blur, threshold, invert.
--
-- In this version all pictures are worked on in one buffer, each filter in
-- place. CASES.md tells how a profile of filter-wasteful.lua led to it.
--
--   luajit -jm=fhl examples/filter.lua [work, default 1]

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

local SIZE = WIDTH * HEIGHT

-- The filters change the picture: a buffer with a byte for each pixel.
local function grayscale(picture, data)
  for i = 0, SIZE - 1 do
    local r, g, b = data:byte(3 * i + 1, 3 * i + 3)
    picture[i] = math.floor((299 * r + 587 * g + 114 * b) / 1000)
  end
end

local function threshold(picture, limit)
  for i = 0, SIZE - 1 do picture[i] = picture[i] < limit and 0 or 255 end
end

-- Two rows as they were before the blur.
local above, here = ffi.new("uint8_t[?]", WIDTH), ffi.new("uint8_t[?]", WIDTH)

-- The mean of a pixel and its neighbours; outside is as the edge.
local function blur(picture)
  ffi.copy(above, picture, WIDTH)
  for y = 0, HEIGHT - 1 do
    local row = picture + y * WIDTH
    ffi.copy(here, row, WIDTH)
    local below = y < HEIGHT - 1 and row + WIDTH or here
    for x = 0, WIDTH - 1 do
      local left, right = math.max(x - 1, 0), math.min(x + 1, WIDTH - 1)
      row[x] = math.floor((above[left] + above[x] + above[right] +
	here[left] + here[x] + here[right] +
	below[left] + below[x] + below[right]) / 9)
    end
    above, here = here, above
  end
end

local function invert(picture)
  for i = 0, SIZE - 1 do picture[i] = 255 - picture[i] end
end

-- Main ---------------------------------------------------------------------

local name, count = os.tmpname(), math.ceil(2500 * work)
write_pictures(name, count)

local ink, checksum = 0, 0
local picture = ffi.new("uint8_t[?]", SIZE)
local file = assert(io.open(name, "rb"))
for _ = 1, count do
  grayscale(picture, file:read(3 * SIZE))
  threshold(picture, 150)
  blur(picture)
  threshold(picture, 120)
  invert(picture)
  for i = 0, SIZE - 1 do
    if picture[i] == 255 then ink = ink + 1 end
    checksum = (checksum * 31 + picture[i] + i % WIDTH + 1) % 1000003
  end
end
file:close()
os.remove(name)
print("pictures", count, "ink", ink, "checksum", checksum)
