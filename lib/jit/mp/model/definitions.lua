-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The name that a source gives to the function that begins on a line.
----------------------------------------------------------------------------
--
--   function a.b:name(     local function name(     name = function(
--   a.b.name = function(   ["name"] = function(
--
-- A function that is passed or returned has none.
--
----------------------------------------------------------------------------

-- A line with its strings blanked and without its comment, each character
-- where it was.
local function code_of(line)
  local out, pos = {}, 1
  while pos <= #line do
    local from, _, c = line:find("([\"'%-])", pos)
    if not from then break end
    out[#out+1] = line:sub(pos, from - 1)
    if c == "-" then
      if line:sub(from, from + 1) == "--" then return table.concat(out) end
      out[#out+1] = c
      pos = from + 1
    else
      local to = from + 1
      while to < #line and line:sub(to, to) ~= c do
	to = to + (line:sub(to, to) == "\\" and 2 or 1)
      end
      out[#out+1] = c..(" "):rep(to - from - 1)..c
      pos = to + 1
    end
  end
  return table.concat(out)..line:sub(pos)
end

-- The last variable of an assignment to several has not the first value.
local function of_several(before)
  return before:find("^%s*local%s[%w_,%s]+,%s*[%a_][%w_]*%s*=%s*$") ~= nil
end

-- The name on the left of `function', where line is the whole text of it.
local function assigned(before, line)
  if of_several(before) then return nil end
  local name = before:match("([%a_][%w_]*)%s*=%s*$")
  if name then return name end
  local from, to = before:match("%[%s*[\"']() *()[\"']%s*%]%s*=%s*$")
  name = from and line:sub(from, to - 1)
  return name and name:match("^[%a_][%w_]*$")
end

-- The names of all functions that begin on a line of a source, false for one
-- without; an empty list: none begins there.
local function names(lines, n)
  local line, found = lines[n] or "", {}
  local code = code_of(line)
  for from, to in code:gmatch("()%f[%w_]function%f[^%w_]()") do
    local before = code:sub(1, from - 1)
    local name = code:match("^%s*([%a_][%w_.:]*)%s*%(", to)
    name = name and name:match("[%a_][%w_]*$")
    if not name and before:find("^%s*$") and n > 1 then
      name = assigned(code_of(lines[n-1]), lines[n-1])
    elseif not name then
      name = assigned(before, line)
    end
    found[#found+1] = name or false
  end
  return found
end

return { names = names }
