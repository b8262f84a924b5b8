-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The parts that all pages share: markup, style and script.
----------------------------------------------------------------------------

local ascii = require("jit.mp.page.ascii")
local order = require("jit.mp.page.order")

local function read(name)
  local dir = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
  local fp, msg = io.open(dir..name, "rb")
  if not fp then error(msg, 0) end
  local text = fp:read("*a")
  fp:close()
  return text
end

local function style()
  local t = {}
  for i, name in ipairs(order.style) do t[i] = read("viewer/"..name..".css") end
  return table.concat(t, "\n")
end

-- Each part is a block of its own, and offers its functions as a field of mp.
local function script()
  local t = { '"use strict";' }
  for _, name in ipairs(order.script) do
    t[#t+1] = "{\n"..read("viewer/"..name..".js").."}"
  end
  return table.concat(t, "\n")
end

-- Returns { html, style, script }, or nil and a message.
return function()
  local ok, parts = pcall(function()
    return { html = ascii.markup(read("viewer.html")),
      style = ascii.style(style()), script = ascii.script(script()) }
  end)
  if not ok then return nil, parts end
  return parts
end
