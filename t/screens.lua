-- SPDX-License-Identifier: MIT
-- The screens of luajit-mp top: for its test and for README's picture.

local tap = require("tap")

-- Runs top with those arguments on a pseudo-terminal. The commands `keys` type
-- its keys. Returns the screens, with the terminal's sequences in them, and the
-- whole output.
return function(keys, arguments, rows, columns, term)
  local text = tap.sh(([[{ %s; } | TERM=%s timeout 60 script -qec \
    %s /dev/null]]):format(keys, term or "xterm", tap.quote(
      ("stty rows %d cols %d; %s top %s"):format(rows, columns, tap.mp,
      arguments)))).out
  local screens = {}
  for screen in text:gsub("^.-\27%[H", ""):gsub("\27%[H", "\1")
      :gmatch("[^\1]+") do
    screens[#screens+1] = screen
  end
  return screens, text
end
