-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Addresses of servers that profiles are sent to.
----------------------------------------------------------------------------
--
-- http://HOST[:PORT][/PATH][?name=APPLICATION[&LABEL=VALUE]...]
--
-- A path that ends in /profiles/writeraw is Parca's, every other one is the
-- root of a Pyroscope, with or without /ingest at its end.
--
----------------------------------------------------------------------------

local function is_address(name) return name:find("^https?://") ~= nil end

-- The address as messages show it: without a password.
local function shown(name)
  return (name:gsub("(://)[^/?#, \t\n]*@", "%1"))
end

local function decode(s)
  return (s:gsub("%+", " "):gsub("%%(%x%x)", function(hex)
    return string.char(tonumber(hex, 16))
  end))
end

local function encode(s)
  return (s:gsub("[^%w%-_.~]", function(c)
    return ("%%%02X"):format(c:byte())
  end))
end

-- Whether the text can be the value of a label: in a name of Pyroscope's the
-- labels follow in braces.
local function is_value(s) return s ~= "" and not s:find("[{},=%c]") end

-- The application's name, or nil, and a list of { label, value }; or nil and
-- a message.
local function labels(query)
  local name, list = nil, {}
  for pair in query:gmatch("[^&]+") do
    local key, value = pair:match("^([^=]+)=(.*)$")
    if not key then
      return nil, ("%q after the ? is not LABEL=VALUE"):format(pair)
    end
    key, value = decode(key), decode(value)
    if not key:find("^[%a_][%w_.]*$") then
      return nil, ("%q is not a name of a label: letters, digits, _")
        :format(key)
    elseif not is_value(value) then
      return nil, ("the value of %s is empty or has one of , = { }"):format(key)
    end
    if key == "name" then name = value else list[#list+1] = { key, value } end
  end
  return list, name
end

-- Takes an address apart. Returns a table, or nil and a message:
--   kind    "pyroscope" or "parca"
--   url     where to send to, without a query
--   name    of the application, or nil
--   labels  list of { label, value }
local function parse(text)
  local url, query = text:match("^([^?#]+)%??([^#]*)$")
  local path = url and url:match("^https?://[^/%s]+(/?[^%s]*)$")
  if not path or url:find('["\\%c]') then
    return nil, ("%q is not an address of a server, as "..
      "http://localhost:4040 is")
      :format(shown(text))
  end
  local list, name = labels(query)
  if not list then return nil, ("%s: %s"):format(shown(text), name) end
  url = url:gsub("/+$", "")
  local parca = url:find("/profiles/writeraw$")
  if not parca and not url:find("/ingest$") then url = url.."/ingest" end
  return { kind = parca and "parca" or "pyroscope", url = url, name = name,
    labels = list }
end

return { is_address = is_address, parse = parse, encode = encode,
  shown = shown }
