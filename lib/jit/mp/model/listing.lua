-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Listings of traces: the bytecode that was recorded, and the instructions that
-- the compiler made of it, with the names that jit.vmdef has.
----------------------------------------------------------------------------
--
-- The core has them as lines of a letter and numbers (sample/listing.h):
--   F line chunk                  the function that the next bytecodes are of
--   B depth pos ins line [const]  a bytecode, in a call of that depth
--   C depth number                a builtin is called; 1: a C function
--   K ref op type value           a constant of the trace
--   I ref op type op1 op2         an instruction of the compiler
--   S number                      the exit of the instructions that follow
--   Z                             the end: without it the rest had no room
--
----------------------------------------------------------------------------

local builtins = require("jit.mp.model.builtins")
local names = require("jit.mp.model.names")

local FIRST = 0x8000 -- Instructions have numbers from it on,
local NIL = 0x7fff   -- and this is the constant nil.

local function set(words)
  local t = {}
  for word in words:gmatch("%S+") do t[word] = true end
  return t
end

-- The name at an index of a text of names that have six characters each.
local function name_in(text, n)
  local name = type(text) == "string" and text:sub(n * 6 + 1, n * 6 + 6)
  name = name and name:gsub(" +$", "") or ""
  return name ~= "" and name or ("op%d"):format(n)
end

-- -- Values ------------------------------------------------------------------

local primitives = { [0] = "nil", "false", "true" }

-- The number of its 64 bits. A build may keep integers beside doubles.
local function double(hi, lo)
  if hi == 0xfff90000 or hi == 0xfffffff2 then
    return ("%.0f"):format(lo < 2^31 and lo or lo - 2^32)
  end
  local sign, e = hi >= 2^31 and "-" or "", math.floor(hi / 2^20) % 2048
  local m = hi % 2^20 * 2^32 + lo
  if e == 2047 then return m == 0 and sign.."inf" or "nan" end
  return sign..("%.14g"):format(e == 0 and math.ldexp(m, -1074) or
    math.ldexp(m + 2^52, e - 1075))
end

local function words_of(digits)
  return tonumber(digits:sub(1, 8), 16), tonumber(digits:sub(9), 16)
end

local function place(line, chunk)
  local file = chunk:match("^[@=](.*)$")
  file = file and (file:match("([^/]+)$") or file) or "[string]"
  return ("%s:%s"):format(names.printable(file), line)
end

local types = { [5] = "upvalue", [6] = "thread", [9] = "trace",
  [10] = "cdata", [11] = "table", [12] = "userdata" }

-- A function of LuaJIT's libraries, or of another one.
local function function_name(n)
  return n == 1 and "(C function)" or builtins.name(n)
end

-- An object of that type.
local function object(value)
  local kind, rest = value:match("^o(%d+) ?(.*)$")
  kind = tonumber(kind)
  if kind == 4 then return '"'..names.printable(rest)..'"' end
  local line, chunk = rest:match("^(%-?%d+) (.+)$")
  if line then return place(line, chunk) end
  if kind == 8 then return function_name(tonumber(rest)) end
  return types[kind] or "object"
end

-- -- Bytecode ----------------------------------------------------------------

local jumps = set("UCLO ISNEXT FORI JFORI FORL IFORL ITERL IITERL LOOP ILOOP "..
  "JMP")
local thirds = set("POW CAT TGETV TGETS TGETB TGETR TSETV TSETS TSETB TSETR "..
  "CALLM CALL ITERC ITERN VARG")
local primitive = set("KPRI ISEQP ISNEP USETP")

local function has_third(name)
  return thirds[name] or name:find("^[ADMS][DUIO][DVBL]?[NV][NV]$") or
    name:find("^%u%u%u[NV][NV]$")
end

-- The operands of a bytecode.
local function operands(name, pos, ins)
  local a, d = math.floor(ins / 2^8) % 256, math.floor(ins / 2^16)
  if jumps[name] then
    return ("%3d => %04d"):format(a, pos + d - 0x7fff)
  elseif has_third(name) then
    return ("%3d %3d %3d"):format(a, math.floor(d / 256), d % 256)
  elseif name == "ISF" or name == "IST" then
    return ("%7d"):format(d)
  elseif primitive[name] then
    return ("%3d %s"):format(a, primitives[d] or d)
  elseif name == "KSHORT" then
    return ("%3d %3d"):format(a, d < 2^15 and d or d - 2^16)
  end
  return ("%3d %3d"):format(a, d)
end

local function bytecode(vmdef, depth, pos, ins, line, value)
  local name = name_in(vmdef.bcnames, ins % 256)
  local constant = value:sub(1, 1) == "n" and double(words_of(value:sub(2))) or
    value ~= "" and object(value)
  return ("%04d %5s %s%-6s %s%s"):format(pos, line > 0 and line or "",
    ("  "):rep(depth), name, operands(name, pos, ins),
    constant and "  ; "..constant or "")
end

-- -- The compiler's instructions ---------------------------------------------

local type_names = { [0] = "nil", "fal", "tru", "lud", "str", "p32", "thr",
  "pro", "fun", "p64", "cdt", "tab", "udt", "flt", "num", "i8", "u8", "i16",
  "u16", "int", "u32", "i64", "u64", "sfp" }

local alone = set("GCSTEP PROF XBAR LREF")
local single = set("USE ALOAD HLOAD ULOAD TBAR STRTO BSWAP BNOT")
local plain = set("TMPREF VLOAD TNEW "..
  "BASE PVAL CALLN CALLA CALLL CALLS FREF FLOAD FPMATH")

local function flags(bits, letters)
  local out = ""
  for i = 1, #letters do
    if math.floor(bits / 2^(i - 1)) % 2 == 1 then
      out = out..letters:sub(i, i)
    end
  end
  return out
end

local words = { TOSTR = { [0] = "INT", "NUM", "CHAR" },
  BUFHDR = { [0] = "RESET", "APPEND", "WRITE" } }

-- The second operand where it is not an instruction; nil: it is one.
local function literal(vmdef, name, n)
  local list = name:find("^CALL[NALS]$") and vmdef.ircall or
    (name == "FREF" or name == "FLOAD") and vmdef.irfield or
    name == "FPMATH" and vmdef.irfpm or words[name]
  if name == "SLOAD" then return flags(n, "PFTCRIK") end
  if name == "XLOAD" then return flags(n, "RVU") end
  if name == "UREFO" or name == "UREFC" then
    return ("#%d"):format(n / 256)
  elseif name == "CONV" then
    local from, to = type_names[n % 32], type_names[math.floor(n / 32) % 32]
    return ("%s.%s%s"):format(to or "?", from or "?",
      math.floor(n / 0x800) % 2 == 1 and " sext" or "")
  end
  return list and list[n] or plain[name] and "#"..n or nil
end

-- The text of a constant. constants: by number: { op, type, value }.
local function constant(vmdef, constants, ref)
  local k = constants[ref]
  local name = k and name_in(vmdef.irnames, k[1])
  if not k then return primitives[NIL - ref] or "?" end
  if k[3]:sub(1, 1) == "o" then return object(k[3]) end
  local hi, lo = words_of(k[3]:sub(2))
  if name == "KNUM" then return double(hi, lo) end
  if name == "KINT" then
    return ("%+.0f"):format(lo < 2^31 and lo or lo - 2^32)
  elseif name == "KSLOT" then
    return ("%s @%d"):format(constant(vmdef, constants, lo % 65536),
      math.floor(lo / 65536))
  elseif name == "KINT64" then
    local n = hi < 2^31 and hi or hi - 2^32
    if math.abs(n) < 2^20 then return ("%+.0f"):format(n * 2^32 + lo) end
    return ("0x%08x%08x"):format(hi, lo)
  end
  return name == "KNULL" and "NULL" or "pointer"
end

-- The arguments of a call, which instructions CARG put together.
local function arguments(t, ref, operand)
  local pair = t.pairs[ref]
  if not pair then return ref == NIL and "" or operand(ref) end
  return arguments(t, pair[1], operand)..", "..operand(pair[2])
end

-- Both operands as texts, or nil.
local function both(t, vmdef, name, op1, op2)
  local function operand(n)
    return n >= FIRST and ("%04d"):format(n - FIRST) or
      constant(vmdef, t.constants, n)
  end
  if alone[name] then return nil end
  if name == "SLOAD" or name == "TNEW" then
    return "#"..op1, literal(vmdef, name, op2)
  elseif name:find("^CALL[NALS]$") then
    return literal(vmdef, name, op2), "("..arguments(t, op1, operand)..")"
  elseif name == "CALLXS" then
    return operand(op2), "("..arguments(t, op1, operand)..")"
  end
  return operand(op1), not single[name] and
    (literal(vmdef, name, op2) or op2 ~= 0 and operand(op2)) or nil
end

-- nil: it is part of another one, does nothing, or is about registers.
local function instruction(t, vmdef, ref, op, kind, op1, op2)
  local name = name_in(vmdef.irnames, op)
  if name == "CARG" then t.pairs[ref] = { op1, op2 } end
  if name == "CARG" or name == "NOP" or name == "RENAME" then return nil end
  if name == "LOOP" then return "  loop" end
  local first, second = both(t, vmdef, name, op1, op2)
  return (("%04d %s%s %-3s %-6s %-5s %s"):format(ref - FIRST,
    kind >= 128 and ">" or " ", math.floor(kind / 64) % 2 == 1 and "+" or " ",
    type_names[kind % 32] or "?", name, first or "", second or "")
    :gsub(" +$", ""))
end

-- -- The text ----------------------------------------------------------------

-- By the first letter of a line: adds what it says to the lines of a text.
local add = {
  F = function(t, rest)
    local line, chunk = rest:match("^(%-?%d+) (.*)$")
    t[#t+1] = "-- "..place(line, chunk)
  end,
  B = function(t, rest, vmdef)
    local depth, pos, ins, line, value =
      rest:match("^(%d+) (%d+) (%d+) (%-?%d+) ?(.*)$")
    t[#t+1] = bytecode(vmdef, tonumber(depth), tonumber(pos), tonumber(ins),
      tonumber(line), value)
  end,
  C = function(t, rest)
    local depth, n = rest:match("^(%d+) (%d+)$")
    t[#t+1] = ("%10s %s%s"):format("", ("  "):rep(tonumber(depth)),
      function_name(tonumber(n)))
  end,
  K = function(t, rest)
    local ref, op, kind, value = rest:match("^(%d+) (%d+) (%d+) (.*)$")
    t.constants[tonumber(ref)] = { tonumber(op), tonumber(kind), value }
  end,
  S = function(t, rest)
    if not t.ir then t[#t+1] = "-- instructions" end
    t.ir = true
    t[#t+1] = ("          exit %s"):format(rest)
  end,
  I = function(t, rest, vmdef)
    local ref, op, kind, op1, op2 =
      rest:match("^(%d+) (%d+) (%d+) (%d+) (%d+)$")
    if not t.ir then t[#t+1] = "-- instructions" end
    t.ir = true
    t[#t+1] = instruction(t, vmdef, tonumber(ref), tonumber(op),
      tonumber(kind), tonumber(op1), tonumber(op2))
  end,
  Z = function(t) t.whole = true end
}

-- The text of a listing. vmdef: the running LuaJIT's jit.vmdef, or nil.
local function text(raw, vmdef)
  local t = { constants = {}, pairs = {} }
  for letter, rest in raw:gmatch("(%u) ?([^\n]*)\n") do
    add[letter](t, rest, vmdef or {})
  end
  if not t.whole then t[#t+1] = "... (there was no room for the rest)" end
  return table.concat(t, "\n").."\n"
end

return { text = text }
