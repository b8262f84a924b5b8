-- A simulation with many objects: particles in a box, in a grid of cells.
--
-- A profile shows two different hot spots: most of the CPU time goes into the
-- pairs of near particles (World:collide), most of the memory comes from the
-- vectors that are made anew in every step (Vector.new, called by
-- World:move), and what stays in use are the trails that particles leave.
--
--   luajit -jm=fl examples/particles.lua [work, default 1]

local work = tonumber(arg and arg[1]) or 1

-- Vectors: immutable, so that every result is a new one --------------------

local Vector = {}
Vector.__index = Vector

function Vector.new(x, y)
  return setmetatable({ x = x, y = y }, Vector)
end

function Vector.__add(a, b)
  return Vector.new(a.x + b.x, a.y + b.y)
end

function Vector:scaled(k)
  return Vector.new(self.x * k, self.y * k)
end

-- The world ----------------------------------------------------------------

local SIZE, CELLS, TRAIL = 64, 5, 64

local World = {}
World.__index = World

local seed = 7

local function random()
  seed = (seed * 16807) % 2147483647
  return seed / 2147483647
end

function World.new(n)
  local world = setmetatable({ particles = {}, grid = {} }, World)
  for i = 1, n do
    world.particles[i] = {
      position = Vector.new(random() * SIZE, random() * SIZE),
      velocity = Vector.new(random() - 0.5, random() - 0.5),
      trail = {}, hits = 0
    }
  end
  for cell = 0, CELLS * CELLS - 1 do world.grid[cell] = { n = 0 } end
  return world
end

local function cell_of(p)
  local x = math.floor(p.x * CELLS / SIZE) % CELLS
  local y = math.floor(p.y * CELLS / SIZE) % CELLS
  return y * CELLS + x
end

-- Moves all particles; they come back in on the other side of the box.
function World:move(dt)
  for _, p in ipairs(self.particles) do
    local q = p.position + p.velocity:scaled(dt)
    p.position = Vector.new(q.x % SIZE, q.y % SIZE)
    p.trail[#p.trail % TRAIL + 1] = p.position
  end
end

function World:sort_into_cells()
  for cell = 0, CELLS * CELLS - 1 do self.grid[cell].n = 0 end
  for _, p in ipairs(self.particles) do
    local cell = self.grid[cell_of(p.position)]
    cell.n = cell.n + 1
    cell[cell.n] = p
  end
end

-- Near particles of a cell exchange their velocities.
function World:collide(radius)
  local limit = radius * radius
  for c = 0, CELLS * CELLS - 1 do
    local cell = self.grid[c]
    for i = 1, cell.n do
      local p = cell[i]
      for j = i + 1, cell.n do
	local q = cell[j]
	local dx = p.position.x - q.position.x
	local dy = p.position.y - q.position.y
	if dx * dx + dy * dy < limit then
	  p.velocity, q.velocity = q.velocity, p.velocity
	  p.hits, q.hits = p.hits + 1, q.hits + 1
	end
      end
    end
  end
end

-- Main ---------------------------------------------------------------------

local world = World.new(6000)
for _ = 1, math.ceil(700 * work) do
  world:move(0.5)
  world:sort_into_cells()
  world:collide(0.05)
end

local hits, x = 0, 0
for _, p in ipairs(world.particles) do
  hits = hits + p.hits
  x = x + p.position.x
end
print("checksum", hits, ("%.6f"):format(x))
