-- SPDX-License-Identifier: MIT
-- Random programs in all modes: output and status are the plain program's.
-- Meant for builds of LuaJIT with assertions, too.

local tap = require("tap")
local trial = require("attack.trial")
local generate = require("attack.generate")

local modes = { "f", "fl", "flb1", "zl", "e", "el", "Ll", "W", "fn", "xi1",
  "fli1", "b1i1", "vb100", "Lb100", "J",
  "Ji1", "Jb1i1", "J+i1", "J+b1" }
local flags = { "", "-Ohotloop=2 -Ohotexit=1", "-joff",
  "-Ohotloop=5 -Omaxtrace=30 -Omaxmcode=64" }

local count = trial.count(20)
local dir = tap.tmpdir()

local function run(file, options)
  return tap.sh(("exec timeout -s KILL 300 %s %s %s"):format(tap.command,
    options, file))
end

for i = 1, count do
  local seed = trial.seed * 100000 + i
  local file = ("%s/%d.lua"):format(dir, seed)
  local f = assert(io.open(file, "w"))
  f:write(generate(seed))
  f:close()
  math.randomseed(seed)
  local mode, flag = trial.pick(modes), trial.pick(flags)
  local plain = run(file, flag)
  local r = run(file, ("-jm=%s,/dev/null %s"):format(mode, flag))
  trial.check(plain.status == 0 and r.status == plain.status and
    r.out == plain.out and r.err == "",
    ("program %d -jm=%s %s"):format(seed, mode, flag),
    ("status %d, plain %d\n%s%s\nplain: %s%s"):format(r.status, plain.status,
      r.out, r.err, plain.out, plain.err))
  os.remove(file)
end
trial.done("random programs in all modes")
