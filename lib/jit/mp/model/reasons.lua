-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The reasons for which LuaJIT gives up a trace: their texts, and what can be
-- done. luajit-mp-compiler(7) has a section for each.
----------------------------------------------------------------------------

local builtins = require("jit.mp.model.builtins")
local listing = require("jit.mp.model.listing")

-- -- Texts -------------------------------------------------------------------

local NAME = 6 -- Characters of a bytecode's name in jit.vmdef.
local BYTECODE = "^NYI: bytecode %%" -- The reason that has one.

-- The name of a bytecode.
local function bytecode(vmdef, n)
  return (vmdef.bcnames:sub(n * NAME + 1, (n + 1) * NAME):gsub(" +$", ""))
end

-- Whether a list of names of bytecodes is this LuaJIT's: it is right about a
-- function that makes a function.
local function has_bytecodes(vmdef)
  local ok, util = pcall(require, "jit.util")
  if not ok or type(vmdef.bcnames) ~= "string" then return false end
  local ins = util.funcbc(function() return function() end end, 1)
  return ins ~= nil and bytecode(vmdef, ins % 256) == "FNEW"
end

-- LuaJIT's own jit.vmdef; nil: there is none, or it is that of another build.
-- The module comes from the program's package.path. head: numbers of two
-- reasons, which the core has seen.
local function definitions(head)
  local ok, vmdef = pcall(require, "jit.vmdef")
  if not ok or type(vmdef) ~= "table" or type(vmdef.traceerr) ~= "table" or
      builtins.names(vmdef.ffnames) ~= vmdef.ffnames or
      not has_bytecodes(vmdef) then
    return nil
  end
  if (head.reason_bytecode or 0) == 0 then return vmdef end
  local off = vmdef.traceerr[head.reason_off] or ""
  return (vmdef.traceerr[head.reason_bytecode] or ""):find(BYTECODE) and
    (off == "blacklisted" or off:find("^JIT compilation disabled")) and
    vmdef or nil
end

-- The text of a reason as jit.v has it. g: a trace given up, as the core has
-- it; frames: the profile's.
local function text_of(vmdef, g, frames)
  if g.number < 0 then
    return vmdef and vmdef.traceerr[0] or "error thrown"
  end
  local text = vmdef and vmdef.traceerr[g.number]
  if not text then return ("reason %d"):format(g.number) end
  local called = frames[g.called]
  if text:find(BYTECODE) and not g.detail then return "NYI: bytecode" end
  return (text:gsub("%%[sd]", function()
    if called then return called.name or "of C" end
    if not g.detail then return "?" end
    return text:find(BYTECODE) and bytecode(vmdef, g.detail) or
      ("%d"):format(g.detail)
  end))
end

-- Gives the traces given up, the flushes and the listings of a snapshot their
-- texts.
local function spell(snapshot)
  local head = snapshot.compiler
  if not head or not head.enabled or not snapshot.giveups then return end
  local vmdef = definitions(head)
  head.spelled = vmdef ~= nil
  for _, g in ipairs(snapshot.giveups) do
    if g.number then g.reason = text_of(vmdef, g, snapshot.frames) end
    g.number, g.detail = nil, nil
  end
  for _, t in ipairs(snapshot.traces) do
    if t.recorded then t.listing = listing.text(t.recorded, vmdef) end
    t.recorded = nil
  end
  for _, f in ipairs(snapshot.flushes) do
    if f.why == "given up" then
      local text = vmdef and vmdef.traceerr[f.number] or ""
      f.why = text:find("mcode memory") and "machine code" or "asked"
    end
    f.number = nil
  end
end

-- -- What to do --------------------------------------------------------------

-- Twice the value of a parameter, as an option of luajit; more may be needed.
local function twice(name)
  return function(head)
    return head[name] and head[name] > 0 and
      ("-O%s=%.0f or more"):format(name, head[name] * 2) or "-O"..name
  end
end

local by_bytecode = {
  FNEW = "a function is created here each time: create it once, outside, "..
    "or do without it",
  UCLO = "a function created in this block uses one of its local "..
    "variables: create the function outside",
  VARG = "this use of ... is not compiled: name the arguments",
  TSETM = "a table is made from ... or from all results of a call: fill it "..
    "in a loop",
  ISNEXT = "pairs or next is not compiled here: use ipairs or a list",
  ITERN = "pairs or next is not compiled here: use ipairs or a list",
  CAT = "strings are joined in a loop: collect them, and table.concat them "..
    "once",
}

-- Patterns of texts, with advice: a text, or a function of the parameters.
-- passing: it is often no more than a step on the way to a trace.
local list = {
  { "^error thrown", "errors and hooks abort a trace: test first, rather "..
    "than call pcall in a loop" },
  { "^trace too long", twice("maxrecord"), "or make the loop's body smaller" },
  { "^trace too deep", "calls are nested too deeply: use a loop instead of "..
    "recursion" },
  { "^too many snapshots", twice("maxsnap"), "or fewer branches in the loop" },
  { "^blacklisted", "it runs into code that is blacklisted: deal with that "..
    "place first" },
  { passing = true, "^retry recording", nil },
  { "^NYI: bytecode$", "its name is known only if the profile starts with "..
    "the program" },
  { "^NYI: bytecode (%S+)", by_bytecode },
  { passing = true, "^leaving loop in root trace",
    "the loop ended while it was recorded: it has few iterations; an outer "..
      "loop is compiled instead if possible" },
  { passing = true, "^inner loop in root trace",
    "the inner loop is compiled first, then what follows it: find out what "..
      "prevents either" },
  { "^loop unroll limit reached", "a short inner loop is in the way: unroll "..
    "it by hand, or give it more iterations" },
  { "^bad argument type", "a builtin is called with a type that is not "..
    "compiled: convert it first" },
  { "^JIT compilation disabled", "jit.off was called for it: remove that "..
    "call, or keep the function out of hot loops" },
  { "^call unroll limit reached", "a loop instead of recursion" },
  { passing = true, "^down%-recursion", nil },
  { "FastFunc (%S+)", "this call of a builtin is not compiled: move it out "..
    "of the loop, or use another function" },
  { "^NYI: return to lower frame", "the function in which the trace began "..
    "returns: move the loop into its caller" },
  { "^store with nil or NaN key", "a table is written with the key nil or "..
    "NaN, which is an error" },
  { "^missing metamethod", "an operation fails, or has no metamethod" },
  { "^looping index lookup", "the chain of __index is too long, or circular" },
  { "^NYI: mixed sparse/dense", "a list has holes or is filled from its end: "..
    "fill it from 1 up, or create it with table.new" },
  { "^symbol not in cache", "a C function is used for the first time: keep "..
    "it in a local variable before the loop" },
  { "^NYI: unsupported C type", "this conversion of a C type is not "..
    "compiled: use numbers and pointers" },
  { "^NYI: unsupported C function", "calls of C functions with ..., "..
    "structures or callbacks are not compiled: write a wrapper in C with "..
    "plain arguments" },
  { passing = true, "^guard would always fail", nil },
  { "^too many PHIs", "the loop changes too many variables: split it, or "..
    "keep them in a table" },
  { "^persistent type instability", "a variable changes its type between "..
    "iterations: give it one type" },
  { passing = true, "^failed to allocate mcode", twice("maxmcode"),
    "or less code that is compiled once" },
  { "^machine code too long", twice("sizemcode"), "or a smaller loop" },
  { passing = true, "^hit mcode limit", nil },
  { "^too many spill slots", "too many values are live at once: split the "..
    "loop's body" },
  { "^NYI: cannot assemble", "an operation is not compiled on this "..
    "processor" },
  { "^NYI: PHI shuffling", "the loop swaps too many variables: split it" },
  { "^NYI: register coalescing", "a branch begins with more values than "..
    "there are registers: keep fewer local variables across it" },
}

-- Advice about a reason; nil: nothing is known. head: the group "compiler"
-- of a profile.
local function advice(text, head)
  for _, entry in ipairs(list) do
    local name = text:match(entry[1])
    if name then
      local what = entry[2]
      if type(what) == "table" then what = what[name] end
      if type(what) == "function" then what = what(head) end
      return what and entry[3] and what..", "..entry[3] or what
    end
  end
end

-- Whether a reason is often no more than a step on the way to a trace.
local function is_passing(text)
  for _, entry in ipairs(list) do
    if text:find(entry[1]) then return entry.passing or false end
  end
  return false
end

return { spell = spell, advice = advice, is_passing = is_passing, list = list }
