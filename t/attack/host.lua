-- SPDX-License-Identifier: MIT
-- A host whose own allocator refuses memory: t/attack/poor.c, which does it
-- all and prints TAP.

local tap = require("tap")
local trial = require("attack.trial")

local count = trial.count(140)
local program = tap.builddir.."/t/attack/poor"
if not tap.read(program) then tap.skip("t/attack/poor is not built") end
local r = tap.sh(("exec %s %s %d %d"):format(os.getenv("MP_RUN") or "",
  tap.quote(program), count, trial.seed))
io.write(r.out, r.err)
os.exit(r.status)
