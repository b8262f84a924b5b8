-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The options that an option string may have, and their help.
----------------------------------------------------------------------------

-- All options. The parser, options as a table (settings.lua), the checks of
-- effects.lua, the help and the tests of the manual go by this list.
--
--   [1], [2]  as the help has it
--   letter    where [1] is more than that
--   sets      the field of parsed options that is true
--   shows     the reports, formats and commands where it has an effect: `table`
--             is the report without a letter, `file` any format. Behind a colon
--             the condition under which it has one (effects.lua)
--   report    it is a report of its own: one at most
--   joins     it goes together with others that do, in files that have them all
--   lined     its report shows lines
--   run       it concerns the way in which a program is measured
--   trigger   it has a number with a unit of its own (options.lua)
--
-- Of those with a number:
--
--   unit      what the number counts; bytes may have a k or m behind them
--   from, to  the least and the largest one
--   sample    for messages, with more words perhaps
--   default   the number without the option, which the help adds
--   optional  whether the letter may stand alone
--   field     of parsed options
--   key       of options as a table, where that is another one
--   with      the number that goes with a report, by its letter
local list = {
  { "f", "function names (the default)",
    shows = "table diff g n L W G a:callers A:callers file" },
  { "F", "function names with their module",
    shows = "table diff g n L W G a:callers A:callers .folded" },
  { "l", "lines; with f or F: the lines within each function",
    lined = true,
    shows = "table diff g J L W G a A q e .folded .html .mp .pb.gz "..
      ".otlp .speedscope.json .cpuprofile .firefox.json .dhat.json server" },
  { "<n>", "depth of the stacks shown",
    unit = "frames", from = 1, to = 100, default = 1, field = "depth",
    shows = "table:names diff:names L W G a A I .folded" },
  { "-<n>", "the same, outermost callers first",
    shows = "table:frames diff:frames L:callers W:callers" },
  { "s", "split: functions, and their callers (with -: their callees)",
    shows = "table diff G a A .folded" },
  { "R", "recursion collapsed: a function that calls itself is one frame",
    sets = "collapse",
    shows = "table:stacks diff:stacks g L W G a:callers A:callers .folded "..
      ".html .pb.gz .otlp .speedscope.json .cpuprofile .heapprofile "..
      ".firefox.json .dhat.json server" },
  { "p", "full paths of source files",
    sets = "path",
    shows = "table:names diff:names g n L W I G a:callers A:callers .folded "..
      ".html" },
  { "v", "VM states; before or after f, F or l: split by it",
    shows = "table diff G a A .folded .html" },
  { "z", "zones (jit.zone); before or after f, F or l: split by it",
    shows = "table diff G a A .folded .html" },
  { "y[:<name>]", "labels (jit.mp.label), or y:route the one of that name; "..
    "before or after f, F or l: split by it", letter = "y",
    shows = "table diff G a A I .folded .speedscope.json .html" },
  { "t", "types of objects; before or after f, F or l: split by it",
    shows = "table:heap diff:heap G:heap a:heap A:heap e:measured "..
      "n:measured .folded:amount .html .mp .pb.gz .otlp server" },
  { "c", "view: CPU",
    shows = "table diff g G a A q .folded:one .pb.gz .otlp "..
      ".speedscope.json server .html:first .cpuprofile .firefox.json" },
  { "h", "view: heap, allocated",
    shows = "table diff g G a A q .folded:one .pb.gz .otlp "..
      ".speedscope.json server .heapprofile .dhat.json .firefox.json "..
      ".html:first" },
  { "u", "view: heap, in use; default: these three views",
    shows = "table diff g G a A q .folded:one .pb.gz .otlp "..
      ".speedscope.json server .heapprofile .dhat.json .html:first" },
  { "x", "view: heap, in use at its peak, beside the others",
    shows = "table diff g G a A q .folded:one .pb.gz .otlp "..
      ".speedscope.json server .heapprofile .dhat.json .html:first" },
  { "Y", "view: C memory, allocated; luajit-mp run --native measures it",
    shows = "table diff g G a A q .folded:one .pb.gz .otlp "..
      ".speedscope.json server .html:first" },
  { "U", "view: C memory, in use",
    shows = "table diff g G a A q .folded:one .pb.gz .otlp "..
      ".speedscope.json server .html:first" },
  { "o", "count objects in the heap views, not bytes",
    sets = "objects",
    shows = "table:heap diff:heap g:heap G:heap a:heap A:heap q:heap n "..
      ".folded:amount .speedscope.json:heap .html" },
  { "r", "raw numbers: samples, bytes or objects",
    sets = "raw", shows = "table diff g n L W M J I a A q" },
  { "k", "bytes in KiB, MiB and GiB",
    sets = "kib",
    shows = "table:heap diff g:heap a:heap A:heap q:bytes e n L W M J "..
      ".html" },
  { "a", "annotated source: lines with samples, and some around them",
    report = true, lined = true, shows = "text" },
  { "A", "annotated source, whole files",
    report = true, lined = true, shows = "text" },
  { "g", "call graph: callers and callees of each function",
    report = true, sets = "callgraph", shows = "text" },
  { "e", "exact events: allocations, reallocations and frees by line, and "..
    "where the memory came from; implies b1",
    report = true, lined = true, sets = "events",
    shows = "text .mp:measured .html:measured" },
  { "n", "calls: how often each function was called, and its memory per "..
    "call; implies b1, and turns the JIT compiler off",
    report = true, sets = "calls",
    shows = "text .mp:measured" },
  { "L[<n>[k|m]]", "leaks: the memory that collections leave alive, and "..
    "whether it grows; exit status 3 if n bytes or more leak",
    letter = "L", report = true, lined = true, sets = "leaks", joins = true,
    unit = "bytes", from = 1, to = 2^40, sample = "100k", optional = true,
    field = "leak_limit",
    shows = "text .mp:measured .html:measured .json:measured .folded "..
      "file:limit" },
  { "W", "heap walk: the holders of the memory at the end, by size, and "..
    "the stacks that allocated it",
    report = true, lined = true, joins = true,
    shows = "text .mp:measured .html:measured .json:measured .folded "..
      ".heapsnapshot" },
  { "M", "memory of the process: a table that adds up to its RSS",
    report = true, lined = true, sets = "memory", joins = true,
    shows = "text .mp:measured .json:measured" },
  { "J[+]", "the JIT compiler: what runs interpreted and why, traces given "..
    "up, traces made, flushes; J+: with the bytecode and the instructions of "..
    "traces", letter = "J",
    report = true, sets = "compiler", joins = true,
    shows = "text .mp:measured .html:measured .json:measured" },
  { "I", "idle: where coroutines wait, in seconds of all of them, and how "..
    "many wait now; what blocks the thread",
    report = true, lined = true, sets = "waits", joins = true,
    shows = "text .mp:measured .html:measured .pb.gz:measured .otlp:measured "..
      "server:measured" },
  { "T", "live: shows the table in the terminal while the program runs",
    run = true, sets = "live", shows = "text file" },
  { "j", "no lines, not even in output files: the least overhead",
    run = true, sets = "functions", shows = "text:live file:lines" },
  { "N", "no source text in an HTML file",
    sets = "nosource", shows = ".html" },
  { "P", "one pprof file for CPU and heap instead of two",
    sets = "combined", shows = ".pb.gz:both" },
  { "q", "lines and their shares as file:line: text, for editors",
    report = true, lined = true, sets = "quickfix", shows = "text" },
  { "G", "folded stacks for a flame graph, of one view (default: c)",
    report = true, sets = "folded", shows = "text .folded" },
  { "m<n>", "hide rows below n percent in every view",
    letter = "m", unit = "percent", from = 0, to = 100, sample = "5",
    default = 3, field = "min",
    shows = "table diff g n e L W J I G a A q .folded" },
  { "i<n>", "milliseconds between CPU samples, fixed; default: adapts to the "..
    "run, 1 at first and 10 at most",
    letter = "i", run = true, unit = "milliseconds", from = 1, to = 1e6,
    sample = "4", optional = true, field = "interval",
    shows = "text file" },
  { "w<n>", "rewrite the files every n seconds, not only at the end",
    letter = "w", run = true, unit = "seconds", from = 1, to = 1e6,
    sample = "60", field = "every", shows = "text:named file" },
  { "B<n>%|k|m|g|s", "write the files with %e in their names, too, when n "..
    "percent of a memory limit or n bytes are in use, or when the thread "..
    "has been busy for n seconds; may be given several times", letter = "B",
    run = true, trigger = true, sample = "80%, B400m or B5s",
    shows = "text:event file:event" },
  { "b<n>[k|m]", "mean bytes between allocation samples, fixed; b1: every "..
    "allocation, exact; default: adapts, beginning with 16k",
    letter = "b", run = true, unit = "bytes", from = 1, to = 2^40,
    sample = "64k; b1 counts every allocation", field = "period",
    with = { e = 1, n = 1, L = 8192 },
    shows = "text:memory file:memory" },
  { "C<n>[k|m|g]", "the most bytes that stacks, names and rows may take; "..
    "up to twice that while a report is made", letter = "C", run = true,
    unit = "bytes", units = "kmg", from = 2^20, to = 2^40,
    sample = "64m", default = 2^28, field = "limit", key = "memory",
    shows = "text file" },
  { "H", "print this list and stop", sets = "help", shows = "text file" },
}

local by_letter = {}
for _, opt in ipairs(list) do
  opt.letter = opt.letter or opt[1]
  by_letter[opt.letter] = opt
end

-- A number of an option as the option string has it.
local function spelled(opt, n)
  return opt.unit == "bytes" and n >= 2^20 and ("%.0fm"):format(n / 2^20) or
    ("%.0f"):format(n)
end

-- The help of an option.
local function help_of(opt)
  return opt[2]..(opt.default and
    "; default "..spelled(opt, opt.default) or "")
end

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
    for i, line in ipairs(wrap(help_of(opt), 62)) do
      out[#out+1] = ("  %-10s  %s\n"):format(i == 1 and opt[1] or "", line)
    end
  end
  return table.concat(out)
end

return {
  list = list, by_letter = by_letter, spelled = spelled, text = help_of,
  help = help
}
