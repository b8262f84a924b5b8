-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The options that an option string may have, and their help.
----------------------------------------------------------------------------

-- All options: the parser, the help and the test of the manual use this list.
-- arg: "n" takes a number, "bytes" a number with an optional k or m.
local list = {
  { "f", "function names (the default)" },
  { "F", "function names with their module" },
  { "l", "lines; with f or F: the lines within each function" },
  { "<n>", "depth of the stacks shown; default 1" },
  { "-<n>", "the same, callers first" },
  { "s", "split: functions, and their callers (with -: their callees)" },
  { "R", "recursion collapsed: a function that calls itself is one frame" },
  { "p", "full paths of source files" },
  { "v", "VM states; before or after f, F or l: split by it" },
  { "z", "zones (jit.zone); before or after f, F or l: split by it" },
  { "t", "types of objects; before or after f, F or l: split by it" },
  { "c", "view: CPU" },
  { "h", "view: heap, allocated" },
  { "u", "view: heap, in use; default: these three views" },
  { "x", "view: heap, in use when it was largest" },
  { "Y", "view: C memory, allocated; luajit-mp run --native measures it" },
  { "U", "view: C memory, in use" },
  { "o", "count objects in the heap views, not bytes" },
  { "r", "raw numbers: samples, bytes or objects" },
  { "k", "bytes in KiB, MiB and GiB" },
  { "a", "annotated source: lines with samples, and some around them" },
  { "A", "annotated source, whole files" },
  { "g", "call graph: callers and callees of each function" },
  { "e", "exact events: allocations, reallocations and frees by line, and "..
    "where the memory came from; implies b1" },
  { "n", "calls: how often each function was called, and its memory per "..
    "call; implies b1, and the compiler is off" },
  { "L[<n>[k|m]]", "leaks: the memory that collections leave alive, and "..
    "whether it grows; exit status 3 if n bytes or more leak" },
  { "W", "heap walk: the holders of the memory at the end, by size, and "..
    "the stacks that allocated it" },
  { "M", "memory of the process: a table that adds up to its RSS" },
  { "T", "live: shows the table in the terminal while the program runs" },
  { "j", "no lines, in output files either: compiled code keeps its speed" },
  { "N", "no source text in an HTML file" },
  { "P", "one pprof file for CPU and heap instead of two" },
  { "q", "lines and their shares as file:line: text, for editors" },
  { "G", "folded stacks for a flame graph, of one view (default: c)" },
  { "m<n>", "hide rows below n percent in every view; default 3" },
  { "i<n>", "milliseconds between CPU samples; default 10" },
  { "w<n>", "rewrite the files every n seconds, not only at the end" },
  { "b<n>[k|m]", "mean bytes between allocation samples, fixed; b1: every "..
    "allocation, exact; default: adapts, beginning with 16k" },
  { "C<n>[k|m]", "the most bytes that stacks, names and rows may take; twice "..
    "that while a report is made; default 256m" },
  { "H", "print this list and stop" },
}

-- Breaks a text into lines of at most n characters.
local function wrap(text, n)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if line ~= "" and #line + 1 + #word > n then
      lines[#lines+1], line = line, ""
    end
    line = line == "" and word or line.." "..word
  end
  lines[#lines+1] = line
  return lines
end

local function help()
  local out = { "luajit -jm[=options[,output]] script [args]\n\n" }
  for _, opt in ipairs(list) do
    for i, line in ipairs(wrap(opt[2], 62)) do
      out[#out+1] = ("  %-10s  %s\n"):format(i == 1 and opt[1] or "", line)
    end
  end
  return table.concat(out)
end

return { list = list, help = help }
