-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Sends a profile to a server, and waits until the server has it.
----------------------------------------------------------------------------

local curl = require("jit.mp.push.curl")
local requests = require("jit.mp.push.requests")

-- A file of our own with that text; its name goes to the list.
local function temporary(names, text)
  local name = os.tmpname()
  names[#names+1] = name
  local fp = assert(io.open(name, "wb"))
  assert(fp:write(text))
  fp:close()
  return name
end

-- curl's answer: a line for each request, with its status and what was wrong.
local function run(names, list)
  local bodies = {}
  for i, request in ipairs(list) do
    bodies[i] = temporary(names, request.body)
  end
  local config = assert(curl.config(list, function(i) return bodies[i] end,
    false))
  local command = io.popen("curl -q -K '"..temporary(names, config).."'")
  local answer = command:read("*a")
  command:close()
  return answer
end

-- Takes a profile, parsed options and an address. Returns true, or nil and a
-- message.
return function(p, o, name)
  local list, names = requests(p, o, name), {}
  if not list[1] then
    return nil, "the profile has nothing that could be sent"
  end
  local ok, answer = pcall(run, names, list)
  for _, file in ipairs(names) do os.remove(file) end
  if not ok then return nil, answer end
  local answered = 0
  for status, why in answer:gmatch("(%d+) ([^\n]*)\n") do
    answered = answered + 1
    if status == "000" then
      return nil, why ~= "" and why or "the server cannot be reached"
    elseif status:sub(1, 1) ~= "2" then
      return nil, "the server answers "..status
    end
  end
  if answered == #list then return true end
  return nil, "there is no curl command, or it failed"
end
