-- SPDX-License-Identifier: MIT
-- A leak through a closure that a timer keeps: examples/CASES.md.
--
-- A server gives each session a timer that ends it when it has been idle.
-- Sessions that end by themselves forget theirs: the timer is far in the
-- future, its function refers to the session, and the session to its data.
-- With the argument "repaired" a session that ends cancels its timer.

local repaired = arg[1] == "repaired"
local sessions = tonumber(arg[2]) or 3000
local IDLE = 1e6

local timers, now = {}, 0

local function after(delay, f)
  local timer = { at = now + delay, run = f }
  timers[timer] = true
  return timer
end

local function cancel(timer) timers[timer] = nil end

local function tick()
  now = now + 1
  for timer in pairs(timers) do
    if timer.at <= now then
      cancel(timer)
      timer.run()
    end
  end
end

local function load_user(id)
  local rights = {}
  for i = 1, 40 do rights[i] = "right "..id.."/"..i end
  return { id = id, rights = rights }
end

local function open(id)
  local session = { user = load_user(id), open = true }
  session.timer = after(IDLE, function() session.open = false end)
  return session
end

local function close(session)
  session.open = false
  if repaired then cancel(session.timer) end
end

local function serve(id)
  local session, n = open(id), 0
  for _, right in ipairs(session.user.rights) do
    n = n + #(right.."," ..id)  -- A line of the answer.
  end
  close(session)
  return n
end

local sum = 0
for id = 1, sessions do
  sum = sum + serve(id)
  if id % 500 == 0 then tick() end
end
print("sessions", sessions, "sum", sum)
os.exit(0)
