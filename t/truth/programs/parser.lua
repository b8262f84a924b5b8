-- SPDX-License-Identifier: MIT
-- Reads arithmetic into a tree, by recursive descent, and computes it.

local text, pos, token, value

local function next_token()
  local from, to = text:find("^%s*", pos)
  pos = to + 1
  local digits = text:match("^%d+", pos)
  if digits then
    token, value = "number", tonumber(digits)
    pos = pos + #digits
  elseif pos > #text then
    token = "end"
  else
    token = text:sub(pos, pos)
    pos = pos + 1
  end
  return from
end

local expression

local function primary()
  if token == "(" then
    next_token()
    local node = expression()
    assert(token == ")", "no )")
    next_token()
    return node
  elseif token == "-" then
    next_token()
    return { op = "neg", primary() }
  end
  assert(token == "number", token)
  local node = { op = "number", value = value }
  next_token()
  return node
end

local function term()
  local left = primary()
  while token == "*" or token == "/" do
    local op = token
    next_token()
    left = { op = op, left, primary() }
  end
  return left
end

function expression()
  local left = term()
  while token == "+" or token == "-" do
    local op = token
    next_token()
    left = {
      op = op,
      left,
      term()
    }
  end
  return left
end

local function compute(node)
  local op = node.op
  if op == "number" then return node.value end
  if op == "neg" then return -compute(node[1]) end
  local a, b = compute(node[1]), compute(node[2])
  if op == "+" then return a + b end
  if op == "-" then return a - b end
  if op == "*" then return a * b end
  return b ~= 0 and a / b or 0
end

local kept, sum = {}, 0
for i = 1, 4000 do
  text = ("(%d + 7) * -%d - (%d / (3 + %d)) * 2"):format(i, i + 1, i * 2, i)
  pos = 1
  next_token()
  local tree = expression()
  kept[#kept+1] = text
  sum = sum + compute(tree)
end
print(sum)
