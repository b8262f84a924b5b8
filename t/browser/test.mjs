// The HTML page in a browser: what it shows and does, by mouse and by
// keyboard. Prints TAP.
//
//   npm install          in a copy of this directory
//   LUA_PATH=.../lib/?.lua SCREENSHOTS=DIR node test.mjs
//
// LUAJIT makes the pages (default: luajit), CHROMIUM shows them (default:
// /usr/bin/chromium). SCREENSHOTS is a directory for pictures, if wanted.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const shots = process.env.SCREENSHOTS;
const pages = mkdtempSync(join(tmpdir(), "mp-browser-"));
if (shots) mkdirSync(shots, { recursive: true });

// -- TAP ----------------------------------------------------------------------

let tests = 0,
  failed = 0;
function ok(cond, name, why) {
  tests++;
  if (!cond) failed++;
  console.log(`${cond ? "ok" : "not ok"} ${tests} - ${name}`);
  if (!cond && why !== undefined) {
    console.log(String(why).replace(/^/gm, "# "));
  }
}
const is = (got, want, name) => ok(got === want, name, `got:  ${got}\nwant: ${want}`);
const like = (got, want, name) => ok(want.test(got), name, `no ${want} in: ${got}`);

// -- The browser --------------------------------------------------------------

const [luajit, ...words] = (process.env.LUAJIT || "luajit").split(" ");
execFileSync(luajit, [...words, join(here, "pages.lua"), pages], { stdio: "inherit" });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync"
  ]
});

// Opens a page, and takes note of all that should not happen.
async function open(name, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 900 },
    reducedMotion: "reduce",
    ...options
  });
  const page = await context.newPage();
  const url = pathToFileURL(join(pages, name + ".html")).href;
  page.trouble = [];
  page.on("console", (m) => page.trouble.push(m.text()));
  page.on("pageerror", (e) => page.trouble.push(e.stack));
  page.on("request", (r) => {
    if (r.url() !== url && !r.url().startsWith("data:")) page.trouble.push(r.url());
  });
  await page.goto(url);
  return page;
}
async function shot(page, name, fullPage = true) {
  if (shots) await page.screenshot({ path: join(shots, name + ".png"), fullPage });
}
async function close(page, name) {
  is(page.trouble.join("\n"), "", `${name}: no error, no request`);
  is(
    await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
    true,
    `${name}: nothing sticks out at the side`
  );
  await page.context().close();
}

const text = (page, sel) => page.locator(sel).first().innerText();
const first = (page) => text(page, "#table tbody tr:first-child .fn");
const names = (page) => page.locator("#table tbody .fn").allInnerTexts();
const status = async (page) => (await text(page, "#status")).replace(/\s+/g, " ");
// The frame of that name on the page; they are drawn a moment later.
async function frame(page, name, box = ".flame") {
  const item = page.locator(`${box} [role=treeitem][aria-label^="${name},"]`).first();
  await item.waitFor({ state: "attached" });
  return item;
}
async function place(page, sel) {
  const item = typeof sel === "string" ? page.locator(sel).first() : sel;
  await item.scrollIntoViewIfNeeded();
  return item.boundingBox();
}
async function clickFrame(page, name) {
  const r = await place(page, await frame(page, name));
  await page.mouse.click(r.x + r.width / 2, r.y + r.height / 2);
}
const press = async (page, ...keys) => {
  for (const k of keys) await page.keyboard.press(k);
};
const segment = (page, v) => page.locator(`.seg [data-v="${v}"]`).first();
const view = (page, v) => page.locator(`#views [data-v="${v}"]`);
// Until the frames are those of now.
const settle = (page) =>
  page.waitForFunction(() => new Promise((done) => setTimeout(() => done(true), 200)));
async function width(page, name) {
  await settle(page);
  return (await (await frame(page, name)).boundingBox()).width;
}

// -- A usual profile ----------------------------------------------------------

async function usual() {
  const page = await open("normal");
  is(await text(page, "h1"), "server.lua", "the script's name");
  like(
    await text(page, "#about"),
    /luajit -jm=W,server.html server.lua --port 8080 · LuaJIT/,
    "the command"
  );
  like(
    await text(page, "#facts"),
    /CPU\s+\d\.\d\d s\s+\d+ samples \(\d+\/s\)\s+Allocated\s+[\d.]+ MB/,
    "the header's facts"
  );
  is(await page.locator("#chart path").count(), 3, "the course has three strips");
  ok((await page.locator("#chart .gc").count()) > 10, "collections are marked");
  like(
    await page.locator("#chart svg").getAttribute("aria-label"),
    /^Over 4\.20 s: in use up to .*51 cycles/,
    "the course in words"
  );
  await shot(page, "normal-light");

  // Frames have words, and they are right.
  const root = await (await frame(page, "all")).getAttribute("aria-label");
  like(root, /^all, 100 % of CPU, 4\.04 s$/, "the whole");
  like(
    await (await frame(page, "encode")).getAttribute("aria-label"),
    /^encode, 40 % of CPU, 1\.61 s$/,
    "a frame"
  );
  const items = await page
    .locator(".flame [role=treeitem]")
    .evaluateAll((all) => all.map((e) => e.ariaLevel + e.ariaLabel));
  ok(
    items.some((x) => /^2server.lua:0,/.test(x)) && items.some((x) => /^6encode_string,/.test(x)),
    "frames have levels",
    items.join("\n")
  );
  is(await page.locator(".flame").getAttribute("role"), "tree", "the graph is a tree");

  // Zoom by mouse, and back.
  const before = await width(page, "encode_string");
  await clickFrame(page, "encode");
  ok((await width(page, "encode_string")) > before * 1.5, "a click zooms");
  like(
    await status(page),
    /^encode server.lua:19 40 % of CPU, 1\.61 s/,
    "the frame's numbers are shown"
  );
  await page.locator("#reset").click();
  is(await width(page, "encode_string"), before, "reset");
  await page.mouse.move(0, 0);
  const r = await place(page, await frame(page, "encode"));
  await page.mouse.move(r.x + 9, r.y + 9);
  like(
    (await text(page, "#tip")).replace(/\s+/g, " "),
    /^encode server\.lua:19 CPU 40 % 1\.61 s/,
    "pointing shows what it is"
  );

  // Search.
  await page.locator("#search").fill("^encode");
  like(
    await text(page, "#found"),
    /^matches 40 % of CPU, 1\.61 s$/,
    "share of what is found; what is in another once"
  );
  is((await names(page)).join(), "encode_string,encode", "the table shows what is found");
  await shot(page, "normal-search");
  await page.locator("#search").fill("dec(");
  like(await text(page, "#found"), /unterminated group/i, "a bad expression says so");
  is(await page.locator("#search").getAttribute("aria-invalid"), "true", "and is marked");
  await page.locator("#search").fill("SERVE");
  is(
    await text(page, "#found"),
    "matches 0 % of CPU, 0 ms",
    "capital letters count, if there are any"
  );
  await page.locator("#search").fill("");
  is(await page.locator("#found").textContent(), "", "no search");

  // The table.
  is(await first(page), "decode_value", "the largest first");
  is(
    await page
      .locator("#table thead .group")
      .allInnerTexts()
      .then((t) => t.join()),
    "CPU,Allocated,In use,Peak",
    "all views side by side"
  );
  const total = page.locator('#table [data-sort="total cpu"]');
  await total.click();
  is((await names(page)).slice(0, 2).join(), "serve,server.lua:0", "sorted by total");
  is(
    await page.locator("#table [aria-sort]").getAttribute("aria-sort"),
    "descending",
    "which is said"
  );
  await page.locator('#table [data-sort="total cpu"]').click();
  is(
    await page.locator("#table [aria-sort]").getAttribute("aria-sort"),
    "ascending",
    "the other way round"
  );
  await page.locator('#table [data-sort="name"]').click();
  is(
    (await names(page)).slice(0, 3).join(),
    "(JIT compiler),(garbage collector),decode_value",
    "by name"
  );
  await page.locator('#table [data-sort="self alloc"]').click();
  is(await first(page), "decode_value", "by another view");
  is(
    await page.locator("#table [aria-sort] button").getAttribute("data-sort"),
    "self alloc",
    "which is marked"
  );
  await page.locator('#table [data-sort="self cpu"]').click();
  const recursion = await page
    .locator("#table tbody tr", { hasText: "decode_value" })
    .locator("td")
    .nth(2)
    .innerText();
  like(recursion, /^57 %/, "recursion counts once");

  // Views.
  await view(page, "alloc").click();
  await settle(page);
  like(
    await (await frame(page, "encode")).getAttribute("aria-label"),
    /^encode, 54 % of allocated, 18\.9 MB$/,
    "the view allocated"
  );
  is(await view(page, "alloc").getAttribute("aria-checked"), "true", "is marked");
  await segment(page, "true").click();
  await settle(page);
  like(
    await (await frame(page, "encode")).getAttribute("aria-label"),
    /^encode, 62 % of allocated, 448 k$/,
    "objects"
  );
  await segment(page, "false").click();
  await view(page, "inuse").click();
  await settle(page);
  like(
    await (await frame(page, "all")).getAttribute("aria-label"),
    /^all, 100 % of in use, 157 kB$/,
    "the view in use"
  );
  await view(page, "peak").click();
  await settle(page);
  like(
    await (await frame(page, "all")).getAttribute("aria-label"),
    /^all, 100 % of the peak, 497 kB$/,
    "the view peak"
  );
  await shot(page, "normal-peak");
  await view(page, "cpu").click();

  // Inverted: what runs stands first.
  await segment(page, "bottom").click();
  await settle(page);
  is(await (await frame(page, "encode_string")).getAttribute("aria-level"), "2", "leaves first");
  like(
    await (await frame(page, "encode_string")).getAttribute("aria-label"),
    /^encode_string, 30 % of CPU/,
    "with what is their own"
  );
  await shot(page, "normal-inverted");
  await segment(page, "top").click();

  // One function.
  await page.locator("#table .fn", { hasText: /^encode$/ }).click();
  await settle(page);
  is(await page.locator(".flame").count(), 2, "callers and callees");
  is(
    await page
      .locator(".part b")
      .allInnerTexts()
      .then((t) => t.join()),
    "encode,encode",
    "of the function"
  );
  const up = await (await frame(page, "handle", '.flame[aria-label="Callers"]')).boundingBox();
  const at = await (await frame(page, "encode", '.flame[aria-label="Callers"]')).boundingBox();
  ok(up.y < at.y, "callers stand above");
  like(
    await (
      await frame(page, "encode_string", '.flame[aria-label="Callees"]')
    ).getAttribute("aria-label"),
    /39 % of CPU/,
    "callees"
  );
  await shot(page, "normal-sandwich");
  await segment(page, "top").click();

  // Levels and filters.
  await page.locator("#filters select").nth(0).selectOption("zone");
  await settle(page);
  is(await (await frame(page, "read")).getAttribute("aria-level"), "3", "a zone within a zone");
  await shot(page, "normal-zones");
  await page.locator("#filters select").nth(0).selectOption("state");
  await settle(page);
  is(await (await frame(page, "Garbage Collector")).getAttribute("aria-level"), "2", "VM states");
  await view(page, "alloc").click();
  await page.locator("#filters select").nth(0).selectOption("type");
  await settle(page);
  is(await (await frame(page, "table")).getAttribute("aria-level"), "2", "object types");
  await page.locator("#filters select").nth(0).selectOption("");
  await page.locator("#filters select").nth(3).selectOption("userdata");
  await settle(page);
  is(
    (await names(page)).filter((n) => !/garbage/.test(n)).includes("socket.so:send"),
    true,
    "a filter by type"
  );
  is(await text(page, "#views [data-v=alloc] b"), "191 kB", "which counts that type only");
  await page.locator("#filters select").nth(3).selectOption("");
  await page.locator("#filters select").nth(1).selectOption("request › read");
  await settle(page);
  ok(!(await names(page)).includes("encode_string"), "a filter by zone");
  await page.locator("#filters select").nth(1).selectOption("");
  await view(page, "cpu").click();

  // Lines, and source.
  await segment(page, "lines").click();
  is(await first(page), "server.lua:16", "lines: builtins count for the line that called them");
  like(await text(page, "#table tbody tr:first-child"), /39 %\s*1\.58 s/, "all of it");
  await segment(page, "func").click();
  await page.locator("#table .at", { hasText: "server.lua:15" }).click();
  is(await page.locator("#lines tr.on .n").innerText(), "15", "the source of a function");
  like(
    await page.locator("#lines tr", { hasText: "gsub" }).first().innerText(),
    /^39 %\s+22 %\s+14 %\s+16\s+return '"'/,
    "shares beside a line"
  );
  is(await page.locator("#lines tr.gap").count(), 1, "what does not count is left out");
  await page.locator('#files [data-v="true"]').click();
  is(await page.locator("#lines tr.gap").count(), 0, "or not");
  await close(page, "normal");
}

// -- The same numbers as the text report has ---------------------------------

async function report() {
  const page = await open("normal");
  for (const unit of ["func", "lines"]) {
    await segment(page, unit).click();
    const shown = await page.locator("#table tbody tr").evaluateAll((rows) =>
      rows.map((row) => {
        const cell = (i) => row.cells[i].lastChild?.textContent || "";
        return [row.querySelector(".fn").textContent, cell(1), cell(3), cell(5), cell(7)];
      })
    );
    const own = shown
      .filter((row) => row.slice(1).some((x) => x))
      .map((row) => row.join("\t"))
      .sort();
    const want = readFileSync(join(pages, "normal." + unit), "utf8")
      .trim()
      .split("\n")
      .map((x) => x.trimEnd())
      .sort();
    is(own.map((x) => x.trimEnd()).join("\n"), want.join("\n"), "as in the text report: " + unit);
  }
  await close(page, "report");
}

// -- A part of the time -------------------------------------------------------

async function brush() {
  const page = await open("normal");
  const box = await place(page, "#chart svg");
  const all = await text(page, "#views [data-v=cpu] b");
  await page.mouse.move(box.x + box.width * 0.4, box.y + 90);
  like(
    await text(page, "#readout"),
    /^1\.\d\d s: \d+ samples\/s, allocating [\d.]+ MB\/s, in use [\d.]+ [kM]B, RSS [\d.]+ MB, GC cycle \d+ \(\w+\)$/,
    "what was at a time"
  );
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 90, { steps: 4 });
  await page.mouse.up();
  await settle(page);
  like(await text(page, "#course-note"), /^1\.6\d s to 2\.1\d s chosen$/, "a time is chosen");
  const part = await text(page, "#views [data-v=cpu] b");
  like(part, /^1\.\d\d s$/, "the views are of that time");
  like(
    await (await frame(page, "all")).getAttribute("aria-label"),
    new RegExp(`100 % of CPU, ${part}$`),
    "the graph too"
  );
  like(await text(page, "#functions-note"), /whole run/, "the table says what is not");
  await shot(page, "normal-brushed");
  await view(page, "inuse").click();
  like(await text(page, "#hint"), /^In use has no times/, "in use has no times");
  await view(page, "cpu").click();
  await page.locator("#whole").click();
  await settle(page);
  is(await text(page, "#views [data-v=cpu] b"), all, "the whole run again");

  // All parts together are the whole: points 0 to 120 and 120 to 240.
  const slider = (i) => page.locator(".handle").nth(i);
  const sum = async () => {
    const label = await (await frame(page, "encode_string")).getAttribute("aria-label");
    const m = /([\d.]+) (ms|s)$/.exec(label);
    return m[2] === "s" ? m[1] * 1000 : +m[1];
  };
  const whole = await sum();
  await slider(1).focus();
  for (let i = 0; i < 5; i++) await press(page, "PageDown");
  await settle(page);
  is(await slider(1).getAttribute("aria-valuenow"), "120", "by keyboard");
  is(await slider(1).getAttribute("aria-valuetext"), "2.10 s", "in words");
  const left = await sum();
  await press(page, "End");
  await slider(0).focus();
  for (let i = 0; i < 5; i++) await press(page, "PageUp");
  await settle(page);
  const right = await sum();
  ok(Math.abs(left + right - whole) <= 10 && left > 0 && right > 0, "parts add up to the whole", [
    left,
    right,
    whole
  ]);
  await press(page, "ArrowRight");
  is(await slider(0).getAttribute("aria-valuenow"), "121", "arrows move by one");
  await press(page, "Escape");
  await settle(page);
  is(await sum(), whole, "Escape chooses all of it");
  await close(page, "brush");
}

// -- Keys ---------------------------------------------------------------------

async function keys() {
  const page = await open("normal", { colorScheme: "dark" });
  is(
    await page.evaluate(() => document.documentElement.dataset.theme),
    "dark",
    "dark, as the system is"
  );
  await frame(page, "all");
  await shot(page, "normal-dark");
  await press(page, "g");
  is(
    await page.evaluate(() => document.activeElement.getAttribute("role")),
    "tree",
    "g goes to the graph"
  );
  await press(page, "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown");
  like(await status(page), /^decode_value /, "down: the largest callee");
  await press(page, "ArrowRight");
  like(await status(page), /^encode /, "right: beside");
  const id = await page.locator(".flame").getAttribute("aria-activedescendant");
  like(
    await page.locator("#" + id).getAttribute("aria-label"),
    /^encode, 40 %/,
    "the active frame is told"
  );
  is(await page.locator("#" + id).getAttribute("aria-selected"), "true", "and selected");
  const outline = await page.locator("#" + id).evaluate((e) => getComputedStyle(e).boxShadow);
  ok(outline !== "none", "and to be seen");
  const before = await width(page, "encode");
  await press(page, "Enter");
  ok((await width(page, "encode")) > before * 1.5, "Enter zooms");
  await shot(page, "keys-zoomed", false);
  await press(page, "ArrowUp");
  like(await status(page), /^handle /, "up: the caller");
  await press(page, "Escape");
  is(await width(page, "encode"), before, "Escape resets");
  await press(page, "/");
  is(await page.evaluate(() => document.activeElement.id), "search", "/ searches");
  await page.keyboard.type("gsub");
  like(await text(page, "#found"), /^matches 9 % of CPU/, "what is typed");
  await press(page, "Escape");
  is(await page.inputValue("#search"), "", "Escape ends it");
  await press(page, "2");
  is(await view(page, "alloc").getAttribute("aria-checked"), "true", "2: allocated");
  await press(page, "1", "i");
  is(await segment(page, "bottom").getAttribute("aria-checked"), "true", "i inverts");
  await press(page, "i", "o", "l");
  is(await segment(page, "true").getAttribute("aria-checked"), "true", "o: objects");
  is(await text(page, "#functions-title"), "Lines", "l: lines");
  await press(page, "o", "l");
  await press(page, "g", "ArrowDown", "ArrowDown", "c");
  await settle(page);
  is(await page.locator(".part b").first().innerText(), "serve", "c: callers and callees");
  await press(page, "s");
  is(await page.locator("#lines tr.on .n").innerText(), "33", "s: source");
  await press(page, "?");
  ok(await page.locator("#help").isVisible(), "? shows the keys");
  await shot(page, "keys-help", false);
  await press(page, "Escape");
  ok(!(await page.locator("#help").isVisible()), "Escape closes them");
  await press(page, "t");
  is(await page.evaluate(() => document.documentElement.dataset.theme), "light", "t: light");
  // Radio groups are one stop, and arrows choose.
  await segment(page, "sandwich").focus();
  await press(page, "ArrowRight");
  is(
    await page.evaluate(() => document.activeElement.dataset.v),
    "top",
    "arrows choose in a group"
  );
  is(await segment(page, "top").getAttribute("aria-checked"), "true", "at once");
  // All that can be focused can be seen to be.
  await page.evaluate(() => {
    document.activeElement.blur();
    scrollTo(0, 0);
  });
  const unseen = [],
    names = new Set();
  for (let i = 0; i < 40; i++) {
    await press(page, "Tab");
    const e = await page.evaluate(() => {
      const a = document.activeElement,
        c = getComputedStyle(a);
      return {
        tag: a.tagName,
        outline: c.outlineStyle !== "none" || c.boxShadow !== "none",
        name:
          a.getAttribute("aria-label") || a.textContent || a.id || a.getAttribute("aria-labelledby")
      };
    });
    if (e.tag !== "BODY" && (!e.outline || !e.name)) unseen.push(JSON.stringify(e));
    names.add(e.name);
  }
  is(unseen.join("\n"), "", "focus is visible and has a name");
  ok(names.size > 20, "Tab goes through the page", [...names].join("\n"));
  await close(page, "keys");
}

// -- Hostile names ------------------------------------------------------------

async function hostile() {
  const page = await open("hostile");
  const bad = "</script><img src=x onerror=document.title='broken'>";
  is(
    await page.title(),
    "script><img src=x onerror=document.title='broken'> – luajit-mp",
    "the title is text"
  );
  is(await page.locator("img").count(), 0, "no markup came from a name");
  is(await page.locator("script").count(), 2, "nor a script");
  const all = await names(page);
  for (const name of [
    bad,
    "a\"b'c\\d&amp;<!--",
    "latin \\233\\255 \\192\\128",
    "turn \\u202E txet",
    "__proto__"
  ]) {
    ok(all.includes(name), "shown as it is: " + name, all.join("\n"));
  }
  like(
    await page.locator(".flame [role=treeitem]").nth(1).getAttribute("aria-label"),
    /^<\/script><img/,
    "frames too"
  );
  is(await page.locator("#notes li").innerText(), bad, "notes too");
  like(await text(page, "#about"), /'<\/script><img/, "the command too");
  await page.locator("#table .fn", { hasText: "img" }).first().click();
  await settle(page);
  await page.locator("#filters select").nth(0).selectOption("zone");
  await segment(page, "top").click();
  await settle(page);
  like(
    await (
      await frame(page, "</script><img src=x onerror=document.title='broken'>")
    ).getAttribute("aria-level"),
    /[23]/,
    "zones too"
  );
  await page.locator("#search").fill("<img");
  like(await text(page, "#found"), /matches 100 %/, "they can be searched");
  const r = await place(page, ".flame");
  await page.mouse.move(r.x + 20, r.y + 30);
  await shot(page, "hostile");
  await page.locator("#files select").selectOption({ index: 2 });
  like(await text(page, "#source"), /cannot be shown/, "a file that is not there");
  is(
    await page.title(),
    "script><img src=x onerror=document.title='broken'> – luajit-mp",
    "nothing ran"
  );
  await close(page, "hostile");
}

// -- A comparison -------------------------------------------------------------

async function diff() {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("diff", { colorScheme });
    await frame(page, "all");
    like(await text(page, "#views [data-v=cpu] b"), /^3\.80 s → 2\.45 s$/, "before and after");
    is(
      await page
        .locator("#table thead tr")
        .nth(1)
        .locator("th")
        .allInnerTexts()
        .then((t) => t.slice(1, 4).join()),
      "Self before,after,change",
      "columns"
    );
    is(await first(page), "encode_string", "the largest change first");
    like(
      (await text(page, "#table tbody tr:first-child")).replace(/\s+/g, " "),
      /28 %\s?1\.06 s 4 %\s?110 ms −23\.4 pp/,
      "by share"
    );
    like(
      await (await frame(page, "encode")).getAttribute("aria-label"),
      /^encode, 7 % of CPU, 160 ms, before 1\.46 s, −31\.9 pp$/,
      "frames say the change"
    );
    await shot(page, "diff-" + colorScheme);
    await page.locator('[data-of=share] [data-v="false"]').click();
    like(
      (await text(page, "#table tbody tr:first-child")).replace(/\s+/g, " "),
      /−950 ms/,
      "by amount"
    );
    const now = await width(page, "encode");
    await segment(page, "before").click();
    ok((await width(page, "encode")) > now * 3, "as wide as it was");
    // Red where it grew, blue where it shrank.
    const [r, , b] = await page.evaluate(() => {
      const c = document.querySelector(".flame canvas"),
        e = document.querySelector('.flame [aria-label^="encode,"]');
      const px = devicePixelRatio;
      return c
        .getContext("2d")
        .getImageData(
          (parseFloat(e.style.left) + parseFloat(e.style.width) - 6) * px,
          (parseFloat(e.style.top) + 4) * px,
          1,
          1
        ).data;
    });
    ok(b > r + 20, "what shrank is blue", [r, b]);
    await segment(page, "sandwich").click();
    await settle(page);
    await segment(page, "bottom").click();
    await settle(page);
    like(
      await (await frame(page, "encode_string")).getAttribute("aria-label"),
      /before 1\.06 s/,
      "inverted"
    );
    await view(page, "inuse").click();
    await close(page, "diff " + colorScheme);
  }
}

// -- Nothing, and less than usual ---------------------------------------------

async function less() {
  let page = await open("empty");
  like(
    await text(page, "#why"),
    /^no CPU samples: 4 ms of CPU is too short for a timer of 10 ms$/,
    "no samples, in words"
  );
  await view(page, "alloc").click();
  like(await text(page, "#why"), /^no allocation samples/, "none of allocations");
  await view(page, "inuse").click();
  like(await text(page, "#why"), /^nothing in use/, "nothing in use");
  await view(page, "peak").click();
  like(await text(page, "#why"), /^nothing in use at the peak/, "nor at the peak");
  like(await text(page, "#chart"), /does not have the course/, "no course");
  for (const v of ["bottom", "sandwich", "top", "lines"]) await segment(page, v).click();
  await press(page, "c", "s", "g", "i", "Escape");
  await page.locator("#search").fill("x");
  await shot(page, "empty");
  await close(page, "empty");

  page = await open("plain");
  is(await text(page, "#functions-title"), "Lines", "opens as the options say");
  await view(page, "peak").click();
  like(await text(page, "#why"), /not recorded/, "no peak, in words");
  await view(page, "alloc").click();
  await settle(page);
  ok((await page.locator(".flame [role=treeitem]").count()) > 5, "a graph without a course");
  is(await text(page, "#views [data-v=alloc] b"), "8.24 MiB", "units as the options say");
  await close(page, "plain");
}

// -- A phone ------------------------------------------------------------------

async function phone() {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("normal", {
      viewport: { width: 390, height: 844 },
      deviceScaleFactor: 2,
      isMobile: true,
      hasTouch: true,
      colorScheme,
      reducedMotion: "no-preference"
    });
    const narrow = await width(page, "encode_string");
    await shot(page, "phone-" + colorScheme);
    const cells = await page.locator("#table tbody tr:first-child td:visible").count();
    is(cells, 3, "the chosen view only");
    const r = await place(page, await frame(page, "encode"));
    await page.touchscreen.tap(r.x + r.width / 2, r.y + 8);
    await settle(page);
    like(await status(page), /^encode /, "a tap zooms");
    ok((await width(page, "encode_string")) > narrow * 1.5, "in motion");
    const size = await page.evaluate(() =>
      [...document.querySelectorAll("button, select, input")]
        .filter((e) => e.offsetParent && !e.closest("table"))
        .map((e) => e.getBoundingClientRect().height)
        .reduce((a, b) => Math.min(a, b))
    );
    ok(size >= 30, "what is to be touched is large enough", size);
    await view(page, "alloc").tap();
    await segment(page, "sandwich").tap();
    await settle(page);
    await shot(page, "phone-sandwich-" + colorScheme);
    await close(page, "phone " + colorScheme);
  }
}

// -- A tablet -----------------------------------------------------------------

async function tablet() {
  for (const name of ["normal", "diff", "hostile"]) {
    const page = await open(name, { viewport: { width: 800, height: 1100 } });
    const wide = await width(page, "all");
    await shot(page, "tablet-" + name);
    await page.setViewportSize({ width: 1100, height: 800 });
    ok((await width(page, "all")) > wide + 200, `tablet ${name}: turned`);
    await page.setViewportSize({ width: 800, height: 1100 });
    is(await width(page, "all"), wide, `tablet ${name}: and back`);
    await close(page, "tablet " + name);
  }
}

// -- Many stacks --------------------------------------------------------------

async function many() {
  const page = await open("many");
  ok(
    await page
      .locator(".flame [role=treeitem]")
      .first()
      .waitFor({ state: "attached" })
      .then(() => true),
    "50,000 stacks open"
  );
  is(
    await page.evaluate(
      () =>
        JSON.parse(document.getElementById("profile").textContent).profiles[0].stacks.parent.length
    ),
    50000,
    "all of them"
  );
  is(await page.locator("#table tbody tr").count(), 100, "the table begins with a hundred rows");
  await page.locator("#more").click();
  is(await page.locator("#table tbody tr").count(), 500, "and has more");
  for (const v of ["bottom", "sandwich", "lines", "func", "top"]) {
    await segment(page, v).click();
    await settle(page);
    await press(page, "g", "ArrowDown");
    like(await status(page), /^[^ ]+:?\S* .*% of CPU/, "many: " + v);
    ok(!/^all /.test(await status(page)), "many: a frame below, " + v);
  }
  await page.locator("#search").fill("fn_12");
  like(await text(page, "#found"), /^matches \d+ % of CPU/, "many: search");
  const box = await place(page, "#chart svg");
  await page.mouse.move(box.x + 200, box.y + 90);
  await page.mouse.down();
  await page.mouse.move(box.x + 420, box.y + 90, { steps: 20 });
  await page.mouse.up();
  await settle(page);
  like(await text(page, "#course-note"), /^\d.* s to \d.* chosen$/, "many: a part of the time");
  await page.locator("#search").fill("");
  await press(page, "Escape");
  await page.evaluate(() => scrollTo(0, 420));
  await shot(page, "many", false);
  await close(page, "many");
}

// -----------------------------------------------------------------------------

try {
  for (const part of [usual, report, brush, keys, hostile, diff, less, phone, tablet, many]) {
    try {
      await part();
    } catch (e) {
      ok(false, part.name, e.stack);
    }
  }
} finally {
  await browser.close();
  rmSync(pages, { recursive: true });
}
console.log(`1..${tests}`);
process.exit(failed ? 1 : 0);
