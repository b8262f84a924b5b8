-- SPDX-License-Identifier: MIT
-- The site: every link leads somewhere, and nothing comes from elsewhere.

local tap = require("tap")

if tap.slow or tap.sh("command -v mandoc").status ~= 0 then
  tap.skip("there is no mandoc, or little time")
end

local dir = tap.tmpname().." site"
local function make(env)
  env.srcdir, env.builddir, env.LUAJIT = tap.srcdir, tap.builddir, tap.command
  return tap.sh(("%s %s"):format(tap.quote(tap.srcdir.."/packaging/site"),
    tap.quote(dir)), { env = env })
end
local r = make({ WORK = "0.02" })
tap.is(r.status, 0, "it is made")
tap.is(r.err, "", "without a complaint")

local pages = {}
for name in tap.sh("ls "..tap.quote(dir)).out:gmatch("[^\n]+") do
  pages[name] = tap.read(dir.."/"..name)
end
for _, name in ipairs({ "index.html", "sample.html", "luajit-mp.1.html",
    "luajit-mp.3.html", "luajit-mp.5.html", "jit.mp.3.html",
    "luajit-mp-hosts.7.html", "luajit-mp-options.7.html",
    "luajit-mp-sampling.7.html" }) do
  tap.ok((pages[name] or ""):find("</html>", 1, true), name.." is whole")
end
tap.like(pages["sample.html"], "encode_string", "the sample has its functions")

local links, dead, foreign = 0, {}, {}
for name, text in pairs(pages) do
  if name:find("%.html$") and name ~= "sample.html" then
    for attribute, url in text:gmatch('(%l+)="([^"#]+)') do
      if attribute == "href" or attribute == "src" then
	links = links + 1
	if not pages[url] then dead[#dead+1] = name..": "..url end
      end
    end
  end
  if text:find(tap.builddir, 1, true) or text:find(dir, 1, true) then
    foreign[#foreign+1] = name
  end
end
tap.ok(links > 20, "there are links", links)
tap.is(table.concat(dead, "\n"), "", "no link is dead")
tap.is(table.concat(foreign, "\n"), "", "no page names this machine's files")
tap.is(tap.sh("rm -r "..tap.quote(dir)).status, 0, "removed")

tap.done()
