-- The example: an encoder and decoder.
arg = { [0] = "json", 0.8 * (tonumber((...)) or 1) }
local here = debug.getinfo(1, "S").source:match("^@(.*)bench/programs/")
dofile((here or "") .. "examples/json.lua")
