-- Pure number crunching: nothing is allocated.
local scale = tonumber((...)) or 1
local bodies, n = {}, 5
for i = 1, n do
  bodies[i] = { x = i, y = i * 0.5, z = -i, vx = 0, vy = 0.01 * i, vz = 0,
    mass = 1 / i }
end
local function step(dt)
  for i = 1, n do
    local a = bodies[i]
    for j = i + 1, n do
      local b = bodies[j]
      local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
      local d2 = dx * dx + dy * dy + dz * dz + 0.01
      local mag = dt / (d2 * math.sqrt(d2))
      a.vx = a.vx - dx * b.mass * mag
      a.vy = a.vy - dy * b.mass * mag
      a.vz = a.vz - dz * b.mass * mag
      b.vx = b.vx + dx * a.mass * mag
      b.vy = b.vy + dy * a.mass * mag
      b.vz = b.vz + dz * a.mass * mag
    end
  end
  for i = 1, n do
    local a = bodies[i]
    a.x, a.y, a.z = a.x + dt * a.vx, a.y + dt * a.vy, a.z + dt * a.vz
  end
end
for _ = 1, 6000000 * scale do step(0.001) end
print(("%.9f"):format(bodies[1].x))
