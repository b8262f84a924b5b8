-- SPDX-License-Identifier: MIT
-- A compiler from Lua to Lua that compiles its own text: a scanner, a parser by
-- recursive descent, constant folding, and a printer. Many functions call one
-- another at many depths: many distinct stacks.
local scale = tonumber((...)) or 1

local function set(text)
  local t = {}
  for w in text:gmatch("%S+") do t[w] = true end
  return t
end

local keywords = set [[and break do else elseif end false for function if in
  local nil not or repeat return then true until while]]

local function scan_long(s, at)
  local level = s:match("^%[(=*)%[", at)
  if not level then return end
  local _, e, body = s:find("^%[=*%[(.-)%]"..level.."%]", at)
  return body, e + 1
end

local function scan_quoted(s, at)
  local quote = s:sub(at, at)
  local e = at + 1
  while s:sub(e, e) ~= quote do
    e = e + (s:sub(e, e) == "\\" and 2 or 1)
  end
  return s:sub(at, e), e + 1
end

local operators = { "...", "..", "==", "~=", "<=", ">=" }

local function scan_operator(s, at)
  for _, op in ipairs(operators) do
    if s:sub(at, at + #op - 1) == op then return op, at + #op end
  end
  return s:sub(at, at), at + 1
end

local function token(kind, text) return { kind = kind, text = text } end

local function scan_token(s, at)
  local word = s:match("^[%a_][%w_]*", at)
  if word then
    return token(keywords[word] and word or "name", word), at + #word
  end
  local number = s:match("^0[xX]%x+", at) or
    s:match("^%d+%.?%d*[eE][+-]?%d+", at) or s:match("^%d+%.?%d*", at)
  if number then return token("number", number), at + #number end
  local c = s:sub(at, at)
  if c == '"' or c == "'" then
    local text, after = scan_quoted(s, at)
    return token("string", text), after
  end
  local long, after = scan_long(s, at)
  if long then return token("string", ("%q"):format(long)), after end
  local op, rest = scan_operator(s, at)
  return token(op, op), rest
end

local function scan(s)
  local tokens, at = {}, 1
  while true do
    at = s:find("%S", at)
    if not at then break end
    if s:sub(at, at + 1) == "--" then
      at = s:find("\n", at, true) or #s + 1
    else
      tokens[#tokens + 1], at = scan_token(s, at)
    end
  end
  tokens[#tokens + 1] = token("eof", "")
  return tokens
end

-- The parser: a method for each rule. A node is { tag, ... }.
local P = {}
P.__index = P

function P:kind() return self.tokens[self.at].kind end

function P:take()
  local t = self.tokens[self.at]
  self.at = self.at + 1
  return t.text
end

function P:accept(kind)
  if self:kind() == kind then return self:take() end
end

function P:expect(kind)
  return self:accept(kind) or
    error(("%s expected, not %s"):format(kind, self.tokens[self.at].text))
end

function P:name() return { "name", self:expect("name") } end

function P:list(rule)
  local list = { "list", rule(self) }
  while self:accept(",") do list[#list + 1] = rule(self) end
  return list
end

function P:field()
  if self:accept("[") then
    local key = self:expression()
    self:expect("]")
    self:expect("=")
    return { "pair", key, self:expression() }
  end
  local after = self.tokens[self.at + 1]
  if self:kind() == "name" and after.kind == "=" then
    local key = self:take()
    self:take()
    return { "named", key, self:expression() }
  end
  return self:expression()
end

function P:constructor()
  local node = { "table" }
  self:expect("{")
  while self:kind() ~= "}" do
    node[#node + 1] = self:field()
    if not (self:accept(",") or self:accept(";")) then break end
  end
  self:expect("}")
  return node
end

function P:parameter()
  return self:accept("...") and { "vararg" } or self:name()
end

function P:body()
  self:expect("(")
  local params = self:kind() == ")" and { "list" } or self:list(P.parameter)
  self:expect(")")
  local block = self:block()
  self:expect("end")
  return { "function", params, block }
end

function P:arguments()
  if self:kind() == "string" then
    return { "list", { "string", self:take() } }
  elseif self:kind() == "{" then
    return { "list", self:constructor() }
  end
  self:expect("(")
  local args = self:kind() == ")" and { "list" } or self:list(P.expression)
  self:expect(")")
  return args
end

function P:primary()
  if self:accept("(") then
    local inner = self:expression()
    self:expect(")")
    return { "paren", inner }
  end
  return self:name()
end

function P:suffixed()
  local node = self:primary()
  while true do
    local kind = self:kind()
    if kind == "." then
      self:take()
      node = { "member", node, self:expect("name") }
    elseif kind == "[" then
      self:take()
      node = { "index", node, self:expression() }
      self:expect("]")
    elseif kind == ":" then
      self:take()
      local name = self:expect("name")
      node = { "method", node, name, self:arguments() }
    elseif kind == "(" or kind == "string" or kind == "{" then
      node = { "call", node, self:arguments() }
    else
      return node
    end
  end
end

local constants = set "nil true false"

function P:simple()
  local kind = self:kind()
  if kind == "number" or kind == "string" then return { kind, self:take() } end
  if constants[kind] then return { "constant", self:take() } end
  if kind == "..." then self:take() return { "vararg" } end
  if kind == "{" then return self:constructor() end
  if kind == "function" then self:take() return self:body() end
  return self:suffixed()
end

local unary = set "not - #"

function P:power()
  local left = self:simple()
  if self:accept("^") then return { "binary", "^", left, self:unary() } end
  return left
end

function P:unary()
  if unary[self:kind()] then
    local op = self:take()
    return { "unary", op, self:unary() }
  end
  return self:power()
end

-- A rule for operators that group to the left, over that of the next level.
local function level(ops, nextrule)
  ops = set(ops)
  return function(self)
    local left = nextrule(self)
    while ops[self:kind()] do
      local op = self:take()
      left = { "binary", op, left, nextrule(self) }
    end
    return left
  end
end

P.product = level("* / %", P.unary)
P.sum = level("+ -", P.product)

function P:concat()
  local left = self:sum()
  if self:accept("..") then return { "binary", "..", left, self:concat() } end
  return left
end

P.comparison = level("< > <= >= == ~=", P.concat)
P.conjunction = level("and", P.comparison)
P.expression = level("or", P.conjunction)

local statements = {}

function statements.keyword_if(p)
  local node = { "if", p:expression() }
  p:expect("then")
  node[3] = p:block()
  if p:accept("elseif") then
    node[4] = { "block", statements.keyword_if(p) }
    return node
  end
  if p:accept("else") then node[4] = p:block() end
  p:expect("end")
  return node
end

function statements.keyword_while(p)
  local condition = p:expression()
  p:expect("do")
  local block = p:block()
  p:expect("end")
  return { "while", condition, block }
end

function statements.keyword_do(p)
  local block = p:block()
  p:expect("end")
  return { "do", block }
end

function statements.keyword_repeat(p)
  local block = p:block()
  p:expect("until")
  return { "repeat", block, p:expression() }
end

function statements.keyword_for(p)
  local names = p:list(P.name)
  local kind = p:accept("=") and "numeric" or p:expect("in") and "generic"
  local values = p:list(P.expression)
  p:expect("do")
  local block = p:block()
  p:expect("end")
  return { kind, names, values, block }
end

function statements.keyword_function(p)
  local name = p:name()
  while p:accept(".") do name = { "member", name, p:expect("name") } end
  if p:accept(":") then
    local f = { "selfname", name, p:expect("name") }
    return { "define", f, p:body() }
  end
  return { "define", name, p:body() }
end

function statements.keyword_local(p)
  if p:accept("function") then
    return { "localfunction", p:name(), p:body() }
  end
  local names = p:list(P.name)
  local values = p:accept("=") and p:list(P.expression)
  return { "local", names, values or { "list" } }
end

local block_ends = set "eof end else elseif until"

function statements.keyword_return(p)
  if block_ends[p:kind()] then return { "return", { "list" } } end
  return { "return", p:list(P.expression) }
end

function statements.keyword_break() return { "break" } end

function P:statement()
  local rule = statements["keyword_"..self:kind()]
  if rule then
    self:take()
    return rule(self)
  end
  local first = self:suffixed()
  if self:kind() ~= "=" and self:kind() ~= "," then return first end
  local targets = { "list", first }
  while self:accept(",") do targets[#targets + 1] = self:suffixed() end
  self:expect("=")
  return { "assign", targets, self:list(P.expression) }
end

function P:block()
  local node = { "block" }
  while not block_ends[self:kind()] do
    node[#node + 1] = self:statement()
    self:accept(";")
  end
  return node
end

local function parse(text)
  return setmetatable({ tokens = scan(text), at = 1 }, P):block()
end

-- Constants are folded from the leaves up; other nodes are copied.
local fold

local function fold_children(node)
  local copy = {}
  for i, child in ipairs(node) do
    copy[i] = type(child) == "table" and fold(child) or child
  end
  return copy
end

local arithmetic = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
}

function fold(node)
  local copy = fold_children(node)
  if copy[1] ~= "binary" then return copy end
  local f, a, b = arithmetic[copy[2]], copy[3], copy[4]
  if f and a[1] == "number" and b[1] == "number" then
    local value = f(tonumber(a[2]), tonumber(b[2]))
    if value >= 0 and value % 1 == 0 and value < 1e9 then
      return { "number", ("%d"):format(value) }
    end
  end
  return copy
end

-- The printer: a function for each tag.
local printers = {}
local function text_of(node) return printers[node[1]](node) end

local function list_of(node, separator, from)
  local t = {}
  for i = from or 2, #node do t[#t + 1] = text_of(node[i]) end
  return table.concat(t, separator)
end

local function plain(node) return node[2] end
printers.name, printers.number, printers.string = plain, plain, plain
printers.constant = plain
function printers.vararg() return "..." end
function printers.list(n) return list_of(n, ",") end
function printers.block(n) return list_of(n, "\n") end
function printers.table(n) return "{"..list_of(n, ",").."}" end
function printers.pair(n) return "["..text_of(n[2]).."]="..text_of(n[3]) end
function printers.named(n) return n[2].."="..text_of(n[3]) end
function printers.paren(n) return "("..text_of(n[2])..")" end
function printers.member(n) return text_of(n[2]).."."..n[3] end
function printers.selfname(n) return text_of(n[2])..":"..n[3] end
function printers.index(n) return text_of(n[2]).."[ "..text_of(n[3]).."]" end
function printers.call(n) return text_of(n[2]).."("..text_of(n[3])..")" end
function printers.method(n)
  return text_of(n[2])..":"..n[3].."("..text_of(n[4])..")"
end
function printers.unary(n) return n[2].." "..text_of(n[3]) end
function printers.binary(n)
  return text_of(n[3]).." "..n[2].." "..text_of(n[4])
end

local function body(n)
  return "("..text_of(n[2])..")\n"..text_of(n[3]).."\nend"
end

printers["function"] = function(n) return "function"..body(n) end
function printers.define(n) return "function "..text_of(n[2])..body(n[3]) end
function printers.localfunction(n)
  return "local function "..text_of(n[2])..body(n[3])
end
printers["local"] = function(n)
  local names = "local "..text_of(n[2])
  return #n[3] > 1 and names.."="..text_of(n[3]) or names
end
function printers.assign(n) return text_of(n[2]).."="..text_of(n[3]) end
printers["return"] = function(n) return "return "..text_of(n[2]) end
printers["break"] = function() return "break" end
printers["do"] = function(n) return "do\n"..text_of(n[2]).."\nend" end
printers["while"] = function(n)
  return "while "..text_of(n[2]).." do\n"..text_of(n[3]).."\nend"
end
printers["repeat"] = function(n)
  return "repeat\n"..text_of(n[2]).."\nuntil "..text_of(n[3])
end
printers["if"] = function(n)
  local s = "if "..text_of(n[2]).." then\n"..text_of(n[3])
  if n[4] then s = s.."\nelse\n"..text_of(n[4]) end
  return s.."\nend"
end

local function loop(between)
  return function(n)
    return "for "..text_of(n[2])..between..text_of(n[3]).." do\n"..
      text_of(n[4]).."\nend"
  end
end
printers.numeric, printers.generic = loop("="), loop(" in ")

local function compile(text) return text_of(fold(parse(text))) end

local f = assert(io.open(arg[0]))
local own = f:read("*a")
f:close()
local out
for _ = 1, math.max(1, 500 * scale) do out = compile(own) end
assert(compile(out) == out and loadstring(out))
print(#out > 5000)
