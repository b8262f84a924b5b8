-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The part of a .json report that option J records: interpreted code and why
-- it is, the bytes of compiled code, traces given up. luajit-mp(5) describes
-- it.
----------------------------------------------------------------------------

local decisions = require("jit.mp.model.decisions")
local json = require("jit.mp.format.json")
local remedies = require("jit.mp.model.remedies")

local str, num = json.string, json.number
local object, list = json.object, json.list

local ADVICE = "^try: (.*)$"

local function all() return true end

local function interpreted(p, j)
  local out = {}
  for i, entry in ipairs((remedies.entries(p, j, all))) do
    local reasons, advice = {}, nil
    for _, line in ipairs(entry.lines) do
      local what = line:match(ADVICE)
      if what then advice = what else reasons[#reasons+1] = line end
    end
    local share = j.all.cpu > 0 and entry.e.cpu / j.all.cpu
    out[i] = object({ { "text", str(entry.name) },
      { "cpu_share", share and num(share) },
      { "bytes", num(entry.e.bytes) }, { "reasons", json.strings(reasons) },
      { "advice", advice and str(advice) } })
  end
  return list(out)
end

local function allocated(p, j)
  local out = {}
  for i, e in ipairs(decisions.allocated(p, j, "l")) do
    local why = decisions.allocated_why(e)
    out[i] = object({ { "line", str(e.name) }, { "bytes", num(e.bytes) },
      { "compiled", num(e.compiled) }, { "interpreted", num(e.interpreted) },
      { "c", num(e.c) }, { "reason", why and str(why) } })
  end
  return list(out)
end

local function given_up(p, j)
  local out = {}
  for i, r in ipairs(decisions.reasons_of(p.giveups)) do
    out[i] = object({ { "start", str(j.place(r.start)) },
      { "at", r.at ~= 0 and str(j.place(r.at)) },
      { "times", r.count > 0 and num(r.count) }, { "reason", str(r.reason) } })
  end
  return list(out)
end

-- Nil: nothing of the kind was recorded.
return function(p)
  if not p.compiler.enabled or not p.giveups then return nil end
  local j = decisions.join(p)
  local _, flushes = decisions.flushes(p)
  return object({ { "summary", str(decisions.words(p)) },
    { "flushes", num(flushes) }, { "interpreted", interpreted(p, j) },
    { "allocated", allocated(p, j) }, { "given_up", given_up(p, j) } })
end
