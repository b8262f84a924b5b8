-- SPDX-License-Identifier: MIT
-- A compiler from Lua to the code of a stack machine that compiles its own
-- text: a parser made of combinators, which are closures that call closures,
-- and a generator with a function for each kind of node. Its stacks are deep,
-- and many are distinct.
local scale = tonumber((...)) or 1

-- A parser is function(tokens, at) -> node, at behind it; or nothing.
local function word(kind)
  return function(tokens, at)
    local t = tokens[at]
    if t.kind == kind then return t, at + 1 end
  end
end

local function seq(tag, ...)
  local parts = { ... }
  return function(tokens, at)
    local node = { tag = tag }
    for i = 1, #parts do
      local child, after = parts[i](tokens, at)
      if not child then return nil end
      node[i], at = child, after
    end
    return node, at
  end
end

local function alt(...)
  local choices = { ... }
  return function(tokens, at)
    for i = 1, #choices do
      local node, after = choices[i](tokens, at)
      if node then return node, after end
    end
  end
end

local function many(part)
  return function(tokens, at)
    local node = { tag = "many" }
    while true do
      local child, after = part(tokens, at)
      if not child then return node, at end
      node[#node + 1], at = child, after
    end
  end
end

local function opt(part)
  return function(tokens, at)
    local node, after = part(tokens, at)
    if node then return node, after end
    return { tag = "many" }, at
  end
end

local rules = {}
local function rule(name)
  return function(tokens, at) return rules[name](tokens, at) end
end

local function list(part)
  return seq("each", part, many(seq("each", word ",", part)))
end

-- Operators that bind alike, between operands of the next level.
local function binary(operand, ...)
  local ops = {}
  for i, op in ipairs({ ... }) do ops[i] = word(op) end
  return seq("binary", operand, many(seq("operation", alt(unpack(ops)),
    operand)))
end

local expr, block = rule "expr", rule "block"
local name = word "name"
local exprs, names = list(expr), list(name)
local field = alt(seq("each", word "[", expr, word "]", word "=", expr),
  seq("each", name, word "=", expr), expr)
local constructor = seq("table", word "{", opt(list(field)),
  opt(word ","), word "}")
local params = list(alt(name, word "..."))
local body = seq("body", word "(", opt(params), word ")", block, word "end")
local args = alt(seq("each", word "(", opt(exprs), word ")"),
  word "string", constructor)
local suffix = alt(seq("member", word ".", name),
  seq("index", word "[", expr, word "]"),
  seq("method", word ":", name, args), seq("call", args))
local prefixed = seq("each", alt(name, seq("each", word "(", expr, word ")")),
  many(suffix))
local simple = alt(word "number", word "string", word "nil", word "true",
  word "false", word "...", constructor,
  seq("each", word "function", body), prefixed)
local power = binary(simple, "^")
rules.unary = alt(seq("unary", alt(word "not", word "-", word "#"),
  rule "unary"), power)
local sum = binary(binary(rule "unary", "*", "/", "%"), "+", "-")
local order = binary(binary(sum, ".."), "<", ">", "<=", ">=", "==", "~=")
rules.expr = binary(binary(order, "and"), "or")

local func = seq("define", word "function", name, many(seq("each", word ".",
  name)), body)
local loop = seq("loop", word "for", names, alt(word "=", word "in"), exprs,
  word "do", block, word "end")
local branch = seq("branch", word "if", expr, word "then", block,
  many(seq("branch", word "elseif", expr, word "then", block)),
  opt(seq("each", word "else", block)), word "end")
local statement = alt(seq("define", word "local", func),
  seq("each", word "local", names, opt(seq("each", word "=", exprs))), func,
  loop, branch, seq("loop", word "while", expr, word "do", block, word "end"),
  seq("return", word "return", opt(exprs)), word "break",
  seq("assign", list(prefixed), word "=", exprs), prefixed)
rules.block = many(statement)

local keywords = {}
for w in ([[and break do else elseif end false for function if in nil not or
  return then true while]]):gmatch("%a+") do
  keywords[w] = true
end

local patterns = { { "name", "^[%a_][%w_]*" }, { "number", "^%d+%.?%d*" },
  { "string", '^"[^"]*"' }, { "string", "^'[^']*'" },
  { "string", "^%[%[.-%]%]" }, { "op", "^%.%.%.?" }, { "op", "^[=~<>]=" },
  { "op", "^%p" } }

local function next_token(s, at)
  for _, p in ipairs(patterns) do
    local _, e = s:find(p[2], at)
    if e then
      local text = s:sub(at, e)
      local kind = (p[1] == "op" or keywords[text]) and text or p[1]
      return { kind = kind, text = text }, e + 1
    end
  end
end

local function scan(s)
  local tokens, at = {}, s:find("%S")
  while at do
    if s:sub(at, at + 1) == "--" then
      at = s:find("\n", at, true)
    else
      tokens[#tokens + 1], at = next_token(s, at)
    end
    at = s:find("%S", at)
  end
  tokens[#tokens + 1] = { kind = "eof" }
  return tokens
end

local emit = {}

local function generate(node, code)
  local f = emit[node.tag or node.kind]
  if f then return f(node, code) end
  for i = 1, #node do generate(node[i], code) end
end

local function add(code, op, operand)
  code[#code + 1] = { op = op, operand = operand }
end

function emit.name(node, code) add(code, "load", node.text) end
function emit.number(node, code) add(code, "push", tonumber(node.text)) end
function emit.string(node, code) add(code, "push", node.text) end
function emit.member(node, code) add(code, "get", node[2].text) end

function emit.operation(node, code)
  generate(node[2], code)
  add(code, node[1].text)
end

function emit.call(node, code)
  generate(node[1], code)
  add(code, "call")
end

function emit.branch(node, code)
  generate(node[2], code)
  add(code, "jump")
  local jump = code[#code]
  for i = 4, #node do generate(node[i], code) end
  jump.operand = #code + 1
end

function emit.loop(node, code)
  local start = #code + 1
  for i = 1, #node do generate(node[i], code) end
  add(code, "back", start)
end

function emit.body(node, code)
  add(code, "closure")
  local closure = code[#code]
  for i = 2, 4 do generate(node[i], code) end
  add(code, "end")
  closure.operand = #code
end

local function listing(code)
  local lines = {}
  for i, c in ipairs(code) do
    lines[i] = ("%s %s"):format(c.op, tostring(c.operand or ""))
  end
  return table.concat(lines, "\n")
end

local function compile(text)
  local tokens, code = scan(text), {}
  local tree, at = rules.block(tokens, 1)
  assert(tokens[at].kind == "eof", tokens[at].text)
  generate(tree, code)
  return listing(code)
end

local f = assert(io.open(arg[0]))
local own = f:read("*a")
f:close()
local out
for _ = 1, math.max(1, 250 * scale) do out = compile(own) end
print(#out > 5000 and out == compile(own))
