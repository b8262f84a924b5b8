-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The commands of luajit-mp and their options. The parser and the help are made
-- from this list, and tests hold the completions and the manual to it.
----------------------------------------------------------------------------

-- value: the kind of value that the option takes. many: it may be repeated.
local options = {
  { name = "out", short = "-o", long = "--output", value = "OUT", many = true,
    about = "write here (default: standard output)" },
  { name = "opts", short = "-O", long = "--options", value = "OPTIONS",
    about = "the report's options; -O H lists them" },
  { name = "nosource", long = "--no-source",
    about = "leaves sources out of a page" },
  { name = "native", long = "--native",
    about = "measures C memory too: malloc and mmap" },
  { name = "source_root", long = "--source-root", value = "DIR",
    about = "the directory of the sources" },
  { name = "leak_only", long = "--leak-only",
    about = "only the heap summary of option e" },
  { name = "share", long = "--share",
    about = "compares shares of the totals" },
  { name = "threshold", long = "--threshold", value = "PERCENT",
    about = "fails if a total grew by more" },
  { name = "time", short = "-t", long = "--time", value = "SECONDS",
    about = "how long to profile (default: until Ctrl-C)" },
  { name = "outside", long = "--outside",
    about = "CPU time or the heap, loading nothing there" },
  { name = "state", long = "--state", value = "N",
    about = "the Lua state, if there are several" },
  { name = "sort", long = "--sort", value = "KEY",
    about = "order of rows: a view's letter, or name" },
  { name = "help", short = "-h", long = "--help", about = "prints this" },
}
for _, o in ipairs(options) do options[o.name] = o end

-- operands: their least and largest number. first: words after the first
-- operand are the program's. outs: there may be several outputs. measures: a
-- program runs meanwhile. own: what options do here, where that differs.
-- example: the words of a call. remark: the end of the help.
local commands = {
  { name = "run", measures = true, usage = "SCRIPT|PROGRAM [ARG]...",
    operands = { 1, math.huge }, outs = true,
    options = { "out", "opts", "sort", "native", "nosource" }, first = true,
    about = "profiles a program",
    example = "run -o app.html app.lua",
    remark = "Options come before the script or program: the rest is its own.",
    missing = "no script or program given" },
  { name = "attach", measures = true, usage = "PID", operands = { 1, 1 },
    outs = true,
    options = { "time", "out", "opts", "nosource", "source_root", "state",
      "outside" },
    about = "profiles a running process",
    example = "attach -t 10 -o worker.html 4711",
    missing = "no process ID given" },
  { name = "top", measures = true, usage = "PID", operands = { 1, 1 },
    options = { "time", "opts", "state" },
    about = "shows the profile of a running process live",
    example = "top 4711",
    missing = "no process ID given" },
  { name = "report", usage = "FILE [OPTIONS]", operands = { 1, 2 },
    options = { "out", "opts", "sort", "nosource", "source_root", "leak_only" },
    about = "shows a profile",
    example = "report app.mp fl",
    missing = "no profile given" },
  { name = "diff", usage = "OLD NEW", operands = { 2, 2 },
    options = { "out", "opts", "sort", "nosource", "source_root", "share",
      "threshold" },
    own = { sort = "order of rows: change, before, after or name" },
    about = "compares two profiles",
    example = "diff before.mp after.mp", missing = "two profiles are needed" },
  { name = "merge", usage = "FILE...", operands = { 1, math.huge },
    options = { "out" }, about = "adds profiles up",
    example = "merge -o all.mp a.mp b.mp",
    missing = "no profiles given" },
  { name = "convert", usage = "FILE OUT", operands = { 2, 2 },
    options = { "opts", "nosource", "source_root" },
    about = "writes a profile in another format",
    example = "convert app.mp app.pb.gz",
    missing = "a profile and an output file are needed" },
  { name = "push", usage = "URL FILE...", operands = { 2, math.huge },
    options = { "opts" }, about = "sends profiles to Pyroscope or Parca",
    example = "push http://localhost:4040 app.mp",
    missing = "a server's address and profiles are needed" },
  { name = "open", usage = "FILE", operands = { 1, 1 },
    options = { "opts", "nosource", "source_root" },
    about = "shows a profile in a browser",
    example = "open app.mp", missing = "no profile given" },
}
for _, c in ipairs(commands) do commands[c.name] = c end

local MARGIN = (" "):rep(#"usage: ")

-- "-o OUT", "--share"
local function spelled(o)
  return (o.short or o.long)..(o.value and " "..o.value or "")
end

-- The line that says how a command is called, in lines of at most 80 columns.
local function synopsis(c)
  local line, lines = "luajit-mp "..c.name, {}
  local indent = (" "):rep(#line)
  local function add(word)
    if #MARGIN + #line + 1 + #word > 79 then
      lines[#lines+1] = line
      line = indent
    end
    line = line.." "..word
  end
  for _, name in ipairs(c.options) do
    local o = options[name]
    add("["..spelled(o).."]"..(o.many and c.outs and "..." or ""))
  end
  add(c.usage)
  lines[#lines+1] = line
  return table.concat(lines, "\n"..MARGIN)
end

return { options = options, commands = commands, synopsis = synopsis }
