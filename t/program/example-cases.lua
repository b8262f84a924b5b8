-- SPDX-License-Identifier: MIT
-- The two cases of examples/CASES.md: the wasteful and the repaired program
-- print the same, the repaired one needs at most a fifth of the memory, and
-- the comparison of their profiles names what was repaired.

local tap = require("tap")
local file = require("jit.mp.format.file")

local cases = {
  {
    name = "options", work = 0.06, what = "the peak of the heap", view = "x",
    measure = function(heap) return heap.peak end,
    -- The number of checks that fail depends on LuaJIT's rounding of the input.
    prints = "volatility +0.00  549913.65\t18000\tsome wrong\n"..
      "volatility -0.05  531314.39\t18000\t\n"..
      "volatility -0.02  542245.87\t18000\t\n"..
      "volatility +0.02  557860.31\t18000\t\n"..
      "volatility +0.05  570259.77\t18000\t\n"..
      "volatility +0.10  592052.43\t18000\t\n",
    line = "      record[names[n]] = field\n", func = "read_portfolio"
  },
  {
    name = "filter", work = 0.01, what = "the bytes allocated", view = "h",
    measure = function(heap) return heap.alloc_bytes end,
    prints = "pictures\t25\tink\t44704\tchecksum\t972973\n",
    line = "      picture[y][x] = { r = r, g = g, b = b }\n", func = "decode"
  }
}

-- The number of the one line that is this text.
local function line_of(text, line)
  local at, last = text:find(line, 1, true)
  assert(at and not text:find(line, last, true), "the line is not there once")
  local _, before = text:sub(1, at):gsub("\n", "")
  return before + 1
end

local function quoted(s) return (s:gsub("%p", "%%%0")) end

-- The first row below the sum in the table of this title.
local function first_row(text, title)
  return text:match("   "..title.."\n[^\n]*   %(all%)\n([^\n]*)\n")
end

-- The output of a program, and a profile of it that counts everything.
local function run(name, work)
  local program = ("%s/examples/%s.lua"):format(tap.srcdir, name)
  local plain = tap.luajit(("%s %s"):format(tap.quote(program), work))
  tap.is(plain.status, 0, name.." runs")
  tap.is(plain.err, "", name.." has no errors")
  local mp = tap.tmpname(".mp")
  local r = tap.luajit(("-jm=fb1,%s %s %s"):format(mp,
    tap.quote(program), work))
  tap.is(r.out, plain.out, name.." prints the same when profiled")
  local profile, msg = file.read(tap.read(mp) or "")
  tap.ok(profile, name.." has a profile", msg)
  return { out = plain.out, program = program, mp = mp, profile = profile }
end

local titles = { h = "allocated", x = "at the peak" }

for _, case in ipairs(cases) do
  local before = run(case.name.."-wasteful", case.work)
  local after = run(case.name, case.work)
  tap.is(before.out:gsub("%d+ wrong", "some wrong"), case.prints,
    case.name.." prints what it should")
  tap.is(after.out, before.out, case.name.." prints the same when repaired")

  local old = case.measure(before.profile.heap)
  local new = case.measure(after.profile.heap)
  tap.diag(("%s: %s: %d, repaired %d, a factor of %.1f"):format(case.name,
    case.what, old, new, old / new))
  tap.ok(old >= 5 * new, case.name..": "..case.what..", a fifth at most")

  local function diff(opts)
    local r = tap.sh(("%s diff -O %s %s %s"):format(tap.mp, opts..case.view,
      before.mp, after.mp))
    tap.is(r.status, 0, case.name..": diff "..opts)
    return first_row(r.out, titles[case.view])
  end
  tap.like(diff("f"), "%-[%d.]+ .?B   "..case.func.."$",
    case.name..": the function that was repaired stands first")
  -- Elsewhere samples may be a line late.
  if before.profile.info.capture == "exact" then
    local line = line_of(tap.read(before.program), case.line)
    tap.like(diff("l"), ("%%-[%%d.]+ .?B   %s:%d$"):format(
      quoted(case.name.."-wasteful.lua"), line),
      case.name..": the line that was repaired stands first")
  end
end

-- The samples of the text have the layout of today's reports: the titles of
-- their tables, word for word.
local text = tap.read(tap.srcdir.."/examples/CASES.md")
local layout = tap.knows_layout() -- Without one nothing is known of leaks.
for _, sample in ipairs({ { "-jm=flx", "options-wasteful", 0.06 },
    { layout and "-jm=L" or "-jm=flx", "options-wasteful", 0.06 },
    { "-jm=flh", "filter-wasteful", 0.01 },
    { "-jm=hs", "filter-wasteful", 0.01 } }) do
  local opts, name, work = sample[1], sample[2], sample[3]
  local shown = text:match("%$ luajit "..quoted(opts).." [^\n]*\n(.-)\n\n")
  local r = tap.luajit(("%s,/dev/stderr %s/examples/%s.lua %s"):format(opts,
    tap.quote(tap.srcdir), name, work))
  local title = r.err:match("\n *([^\n]*allocated  cum%.)\n") or
    r.err:match("\n *([^\n]*%[at the peak%]  cum%.)\n") or
    r.err:match("\n +(held +new[^\n]*)\n") or r.err:match("\n +(allocated)\n")
  local words = (title or "none"):gsub("%s+", " ")
  tap.ok(shown and shown:gsub("%s+", " "):find(words, 1, true),
    "the sample of "..opts.." has the titles of today", words)
end

tap.done()
