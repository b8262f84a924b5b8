// SPDX-License-Identifier: MIT
// Profiles that are not usual: hostile names, a comparison, next to nothing.

import {
  ok,
  is,
  like,
  open,
  shot,
  close,
  text,
  first,
  names,
  frame,
  place,
  press,
  segment,
  view,
  settle,
  width
} from "./harness.mjs";

// -- Hostile names ------------------------------------------------------------

const bad = "</script><img src=x onerror=document.title='broken'>";
const title = "script><img src=x onerror=document.title='broken'> – luajit-mp";

async function shownNames(page) {
  is(await page.title(), title, "the title is text");
  is(await page.locator("img").count(), 0, "no markup came from a name");
  is(await page.locator("script").count(), 3, "nor a script");
  const all = await names(page);
  for (const name of [
    bad,
    "a\"b'c\\d&amp;<!--",
    "latin \\233\\255 \\192\\128",
    "turn \\u{202E} txet",
    "__proto__"
  ]) {
    ok(all.includes(name), "shown as it is: " + name, all.join("\n"));
  }
  like(
    await page
      .locator(".flame [role=treeitem]")
      .nth(1)
      .getAttribute("aria-label"),
    /^<\/script><img/,
    "frames too"
  );
  is(await page.locator("#notes li").innerText(), bad, "notes too");
  like(await text(page, "#about"), /'<\/script><img/, "the command too");
}

async function usedNames(page) {
  await page.locator("#table .fn", { hasText: "img" }).first().click();
  await settle(page);
  await page.locator("#filters select").nth(0).selectOption("zone");
  await segment(page, "top").click();
  await settle(page);
  like(
    await (await frame(page, bad)).getAttribute("aria-level"),
    /[23]/,
    "zones too"
  );
  await page.locator("#search").fill("<img");
  like(await text(page, "#found"), /matches 100%/, "they can be searched");
  const r = await place(page, ".flame");
  await page.mouse.move(r.x + 20, r.y + 30);
  await shot(page, "hostile");
  await page.locator("#files select").selectOption({ index: 2 });
  like(
    await text(page, "#source"),
    /cannot be shown/,
    "a file that is not there"
  );
  is(await page.title(), title, "nothing ran");
}

export async function hostile() {
  const page = await open("hostile");
  await shownNames(page);
  await usedNames(page);
  await close(page, "hostile");
}

// -- A comparison -------------------------------------------------------------

async function changes(page, colorScheme) {
  await frame(page, "all");
  like(
    await text(page, "#views [data-v=cpu] b"),
    /^3\.80 s → 2\.45 s$/,
    "before and after"
  );
  is(
    await page
      .locator("#table thead tr")
      .last()
      .locator("th")
      .allInnerTexts()
      .then((t) => t.slice(1, 4).join()),
    "Self before,after,change",
    "columns"
  );
  is(await first(page), "encode_string", "the largest change first");
  like(
    (await text(page, "#table tbody tr:first-child")).replace(/\s+/g, " "),
    /28%\s?1\.06 s 4%\s?110 ms −950 ms/,
    "by amount"
  );
  like(
    await (await frame(page, "encode")).getAttribute("aria-label"),
    /^encode, 7% of CPU time, 160 ms, before 1\.46 s, −1\.30 s$/,
    "frames say the change"
  );
  await shot(page, "diff-" + colorScheme);
  await page.locator('[data-of=share] [data-v="true"]').click();
  like(
    (await text(page, "#table tbody tr:first-child")).replace(/\s+/g, " "),
    /−23\.4 pp/,
    "by share"
  );
  await page.locator('[data-of=share] [data-v="false"]').click();
}

// Red where it grew, blue where it shrank: a point of a frame.
function colorOf(label) {
  const canvas = document.querySelector(".flame canvas"),
    frame = document.querySelector(`.flame [aria-label^="${label}"]`);
  const { left, top, width } = frame.style,
    px = devicePixelRatio;
  const x = (parseFloat(left) + parseFloat(width) - 6) * px,
    y = (parseFloat(top) + 4) * px;
  return [...canvas.getContext("2d").getImageData(x, y, 1, 1).data];
}

async function widths(page) {
  const now = await width(page, "encode");
  await segment(page, "before").click();
  ok((await width(page, "encode")) > now * 3, "as wide as it was");
  const [r, , b] = await page.evaluate(colorOf, "encode,");
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
}

export async function diff() {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("diff", { colorScheme });
    await changes(page, colorScheme);
    await widths(page);
    await close(page, "diff " + colorScheme);
  }
}

// -- Nothing, and less than usual ---------------------------------------------

async function nothing() {
  const page = await open("empty");
  like(
    await text(page, "#why"),
    /^no CPU samples: 4 ms of CPU is too short for a timer of 10 ms; i1/,
    "no samples, in words"
  );
  await view(page, "alloc").click();
  like(
    await text(page, "#why"),
    /^no allocation samples/,
    "none of allocations"
  );
  await view(page, "inuse").click();
  like(await text(page, "#why"), /^nothing in use/, "nothing in use");
  await view(page, "peak").click();
  like(
    await text(page, "#why"),
    /^nothing in use at the peak/,
    "nor at the peak"
  );
  like(
    await text(page, "#chart"),
    /^This profile has no timeline/,
    "no timeline"
  );
  for (const v of ["bottom", "sandwich", "top", "lines"])
    await segment(page, v).click();
  await press(page, "c", "s", "g", "i", "Escape");
  await page.locator("#search").fill("x");
  await shot(page, "empty");
  await close(page, "empty");
}

// A profile of functions alone has no lines to show.
async function functions() {
  const page = await open("functions", {}, "#unit=lines");
  is(await text(page, "#functions-title"), "Functions", "functions alone");
  is(await page.locator("[data-v=lines]").count(), 0, "no choice of lines");
  await press(page, "l");
  is(await text(page, "#functions-title"), "Functions", "nor by a key");
  await close(page, "functions");
}

// CPU time that was measured a moment later than the time is no more than all.
async function short() {
  const page = await open("short");
  const most = await page
    .locator("#chart text", { hasText: "of a core" })
    .textContent();
  ok(parseInt(most.replace("up to ", ""), 10) <= 120, "a short interval", most);
  await close(page, "short");
}

// Objects that the next collection freed are a view, where they are known.
async function temporary() {
  const page = await open("exact");
  await view(page, "temp").click();
  await settle(page);
  like(
    await (await frame(page, "all")).getAttribute("aria-label"),
    /^all, 100% of temporary objects, [\d.]+ MB$/,
    "temporary objects as a graph"
  );
  is(
    await page
      .locator("#table thead .group")
      .allInnerTexts()
      .then((t) => t.pop()),
    "Temporary",
    "in the table"
  );
  is(
    await page.locator("#lines thead th", { hasText: "Temporary" }).count(),
    1,
    "and beside the source"
  );
  await shot(page, "exact");
  await close(page, "exact");
}

// So are wall times.
async function wall() {
  const page = await open("waits");
  await view(page, "blocked").click();
  await settle(page);
  like(
    await (await frame(page, "all")).getAttribute("aria-label"),
    /^all, 100% of the time that the thread is blocked, [\d.]+ s$/,
    "what blocks the thread as a graph"
  );
  like(
    await view(page, "waiting").innerText(),
    /^\s*Waiting\s+[\d.]+ s$/,
    "seconds of coroutines that wait"
  );
  like(
    await view(page, "event_loop").innerText(),
    /Event loops\s+–/,
    "no event loop"
  );
  await shot(page, "waits");
  await close(page, "waits");
}

export async function less() {
  await temporary();
  await wall();
  await nothing();
  await functions();
  await short();
  const page = await open("plain");
  is(await text(page, "#functions-title"), "Lines", "opens as the options say");
  await view(page, "peak").click();
  like(
    await text(page, "#why"),
    /^no peak: the profile does not have/,
    "no peak, in words"
  );
  await view(page, "alloc").click();
  await settle(page);
  ok(
    (await page.locator(".flame [role=treeitem]").count()) > 5,
    "a graph without a timeline"
  );
  is(
    await text(page, "#views [data-v=alloc] b"),
    "8.24 MiB",
    "units as the options say"
  );
  await close(page, "plain");
}
