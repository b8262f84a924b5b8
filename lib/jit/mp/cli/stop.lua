-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Ends the command with a message: raises an error that main() knows.
----------------------------------------------------------------------------

local DATA, USAGE = 1, 2 -- Exit statuses.

-- A file is wrong, or the report cannot be made of it.
local function data(msg)
  error({ status = DATA, msg = msg }, 0)
end

-- The arguments are wrong. command: as in cli.spec, or nil if no command is
-- meant.
local function usage(msg, command)
  local name = command and command.name.." " or ""
  error({ status = USAGE,
    msg = ("%s; see luajit-mp %s--help"):format(msg, name) }, 0)
end

-- The reader of standard output has gone: dies of the signal, as a command does
-- that does not look. Returns if that is ignored.
local function by_pipe()
  local has, ffi = pcall(require, "ffi")
  if not has then return end
  ffi.cdef("int raise(int);")
  ffi.C.raise(13)  -- SIGPIPE.
end

return { by_pipe = by_pipe, data = data, usage = usage, DATA = DATA }
