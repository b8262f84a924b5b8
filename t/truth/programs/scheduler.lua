-- SPDX-License-Identifier: MIT
-- A simulated operating system: tasks by inheritance, queues of packets.

local Packet = {}
Packet.__index = Packet
function Packet.new(kind, to)
  local p = setmetatable({}, Packet)
  p.kind, p.to, p.data = kind, to, { 0, 0, 0, 0 }
  return p
end

local Task = {}
Task.__index = Task
function Task:new(name)
  self.__index = self
  return setmetatable({ name = name, queue = {}, done = 0 }, self)
end
function Task:give(p) table.insert(self.queue, p) end
function Task:take() return table.remove(self.queue, 1) end
function Task:run() self.done = self.done + 1 end

local tasks = {}
local Idle, Device, Worker = Task:new(), Task:new(), Task:new()

function Idle:run(i)
  Task.run(self)
  tasks[i % 2 == 0 and "device" or "worker"]:give(
    Packet.new("work", i % 3 == 0 and "device" or "worker"))
end

function Device:run()
  local p = self:take()
  if not p then return end
  Task.run(self)
  for k = 1, #p.data do p.data[k] = p.data[k] + k end
  local answer = Packet.new("answer", "worker")
  answer.data = {}
  for k = 1, #p.data do answer.data[k] = p.data[k] end
  tasks.worker:give(answer)
end

function Worker:run()
  local p = self:take()
  if not p then return end
  Task.run(self)
  self.log = { p.kind, self.log and self.log[1] }
  if p.kind == "work" then
    p.to = "device"
    tasks.device:give(p)
  end
end

tasks.idle, tasks.device = Idle:new("idle"), Device:new("device")
tasks.worker = Worker:new("worker")
for i = 1, 6000 do
  tasks.idle:run(i)
  tasks.device:run()
  tasks.worker:run()
end
print(tasks.device.done, tasks.worker.done)
