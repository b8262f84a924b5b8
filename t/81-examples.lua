-- The examples: they run, and always with the same result.

local tap = require("tap")

local expected = {
  json = "checksum\t752022988\tarchived\t26",
  particles = "checksum\t950\t191556.186720",
  wordcount = "checksum\t144789\twords\t480000\tlines\t7855"
}

for name, sum in pairs(expected) do
  local program = tap.quote(("%s/examples/%s.lua"):format(tap.srcdir, name))
  local r = tap.luajit(program.." 0.02")
  tap.is(r.status, 0, name.." runs")
  tap.is(r.out:match("checksum%s+[^\n]+"), sum, name.." has its checksum")
  local p = tap.luajit("-jm=fb1,/dev/null "..program.." 0.02")
  tap.is(p.out, r.out, name.." has the same result when profiled")
end

tap.done()
