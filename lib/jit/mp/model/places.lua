-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The places of exact events: a line, a C function, or the VM itself.
----------------------------------------------------------------------------

-- The VM allocates for itself at any line: such memory has names of its own.
-- The core gives these types to rows also where others have none.
local own = {
  trace = "(traces)", ["JIT recorder"] = "(JIT recorder)",
  ["string table"] = "(string table)", ["thread stack"] = "(thread stacks)"
}
local compiler = "(JIT compiler)" -- On top of the recorder's stacks.

-- The frame of a row's place, by its number; or nil and the name of the VM's
-- own, which is nil if nothing is known. Builtins count for their callers.
local function of_row(p, row)
  if own[row.type] then return nil, own[row.type] end
  local s = row.stack
  while s ~= 0 and p.frames[p.frame[s]].kind == "builtin" do
    s = p.parent[s]
  end
  if s == 0 then return nil end
  local f = p.frames[p.frame[s]]
  if f.name == compiler and f.kind ~= "Lua" and f.kind ~= "C" then
    return nil, own["JIT recorder"]
  end
  return p.frame[s]
end

return { of_row = of_row }
