-- SPDX-License-Identifier: MIT
-- Deep stacks are kept whole: whatever the depth, what was called lies below
-- who called it, down to the main chunk.

local tap = require("tap")

-- Prints the deepest stack, how many objects lie outside of the main chunk's
-- stacks, and how many were allocated on line 3.
local look = [==[
local s = core.snapshot()
local depth, root, parent = {}, {}, s.stacks.parent
for id, up in ipairs(parent) do
  depth[id] = up > 0 and depth[up] + 1 or 1
  root[id] = up > 0 and root[up] or id
end
local function frame(stack) return s.frames[s.stacks.frame[stack]] end
local deepest, elsewhere, line3 = 0, 0, 0
for _, r in ipairs(s.rows) do
  deepest = math.max(deepest, depth[r.stack])
  -- The collector's blocks belong to no call.
  if r.state ~= "G" and frame(root[r.stack]).linedefined ~= 0 then
    elsewhere = elsewhere + r.alloc_objects
  end
  local f = frame(r.stack)
  if f.line == 3 and f.linedefined == 2 then line3 = line3 + r.alloc_objects end
end
print(deepest, elsewhere, line3, s.info.cut or 0, s.info.capture)]==]

local program = [[
local core = require("jit.mp.core")
local function down(n)
  local t = { n }
  if n > 0 then t[2] = down(n - 1) end
  return t
end
assert(core.start("flb1", "/dev/null"))
down(%d)
]]..look

for _, n in ipairs({ 50, 120, 2500, 5000 }) do
  for _, mode in ipairs({ "", "-joff ", "-Ohotloop=2 -Ohotexit=1 " }) do
    local r = tap.luajit(mode..tap.program(program:format(n)))
    local name = ("%d calls%s: "):format(n, mode == "" and "" or ", "..mode)
    tap.is(r.status, 0, name.."exit status", r.err)
    local deepest, elsewhere, line3, cut, capture =
      r.out:match("(%d+)\t(%d+)\t(%d+)\t(%d+)\t(%a+)")
    if capture == "safepoint" then  -- Dumps are of 100 frames.
      tap.is(cut ~= "0", tonumber(deepest) > 100,
      name.."stacks that are cut are counted")
      break
    end
    tap.ok(tonumber(deepest) and tonumber(deepest) >= n + 2, name.."all frames",
      r.out)
    tap.is(elsewhere, "0", name.."all below the main chunk")
    -- Among them one is the stack, grown.
    line3 = (tonumber(line3) or 0) - n - 1
    tap.ok(line3 >= 0 and line3 < 20, name.."each table on its line", r.out)
    tap.is(cut, "0", name.."none was cut")
  end
end

tap.done()
