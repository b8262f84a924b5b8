// SPDX-License-Identifier: MIT
// The page by keyboard.

import {
  ok,
  is,
  like,
  open,
  shot,
  close,
  text,
  first,
  status,
  frame,
  press,
  segment,
  view,
  settle,
  width
} from "./harness.mjs";

// -- Keys ---------------------------------------------------------------------

const theme = (page) =>
  page.evaluate(() => document.documentElement.dataset.theme);

async function walking(page) {
  is(await theme(page), "dark", "dark, as the system is");
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
    /^encode, 40%/,
    "the active frame is told"
  );
  is(
    await page.locator("#" + id).getAttribute("aria-selected"),
    "true",
    "and selected"
  );
  const outline = await page
    .locator("#" + id)
    .evaluate((e) => getComputedStyle(e).boxShadow);
  ok(outline !== "none", "and to be seen");
}

async function zooming(page) {
  const before = await width(page, "encode");
  await press(page, "Enter");
  ok((await width(page, "encode")) > before * 1.5, "Enter zooms");
  await shot(page, "keys-zoomed", false);
  await press(page, "ArrowUp");
  like(await status(page), /^handle /, "up: the caller");
  await press(page, "Escape");
  is(await width(page, "encode"), before, "Escape resets");
}

async function searching(page) {
  await press(page, "/");
  is(
    await page.evaluate(() => document.activeElement.id),
    "search",
    "/ searches"
  );
  await page.keyboard.type("gsub");
  like(await text(page, "#found"), /^matches 9% of CPU time/, "what is typed");
  await press(page, "Escape");
  is(await page.inputValue("#search"), "", "Escape ends it");
}

async function switching(page) {
  await press(page, "2");
  is(
    await view(page, "alloc").getAttribute("aria-checked"),
    "true",
    "2: allocated"
  );
  await press(page, "1", "i");
  is(
    await segment(page, "bottom").getAttribute("aria-checked"),
    "true",
    "i inverts"
  );
  await press(page, "i", "o", "l");
  is(
    await segment(page, "true").getAttribute("aria-checked"),
    "true",
    "o: objects"
  );
  is(await text(page, "#functions-title"), "Lines", "l: lines");
  await press(page, "o", "l");
}

async function going(page) {
  await press(page, "g", "ArrowDown", "ArrowDown", "c");
  await settle(page);
  is(
    await page.locator(".part b").first().innerText(),
    "serve",
    "c: callers and callees"
  );
  await press(page, "s");
  is(await page.locator("#lines tr.on .n").innerText(), "33", "s: source");
  await press(page, "?");
  ok(await page.locator("#help").isVisible(), "? shows the keys");
  await shot(page, "keys-help", false);
  await press(page, "Escape");
  ok(!(await page.locator("#help").isVisible()), "Escape closes them");
  await press(page, "t");
  is(await theme(page), "light", "t: light");
}

// Radio groups are one stop, and arrows choose.
async function choosing(page) {
  await segment(page, "time").focus();
  await press(page, "ArrowRight");
  is(
    await page.evaluate(() => document.activeElement.dataset.v),
    "top",
    "arrows choose in a group"
  );
  is(
    await segment(page, "top").getAttribute("aria-checked"),
    "true",
    "at once"
  );
}

// The element with the focus: what it is called, and whether it is marked.
function focused() {
  const a = document.activeElement,
    c = getComputedStyle(a);
  return {
    tag: a.tagName,
    outline: c.outlineStyle !== "none" || c.boxShadow !== "none",
    name:
      a.getAttribute("aria-label") ||
      a.textContent ||
      a.id ||
      a.getAttribute("aria-labelledby")
  };
}

// All that can be focused can be seen to be.
async function tabbing(page) {
  await page.evaluate(() => {
    document.activeElement.blur();
    scrollTo(0, 0);
  });
  const unseen = [],
    names = new Set();
  for (let i = 0; i < 40; i++) {
    await press(page, "Tab");
    const e = await page.evaluate(focused);
    if (e.tag !== "BODY" && (!e.outline || !e.name))
      unseen.push(JSON.stringify(e));
    names.add(e.name);
  }
  is(unseen.join("\n"), "", "focus is visible and has a name");
  ok(names.size > 20, "Tab goes through the page", [...names].join("\n"));
}

export async function keys() {
  const page = await open("normal", { colorScheme: "dark" });
  await walking(page);
  await zooming(page);
  await searching(page);
  await switching(page);
  await going(page);
  await choosing(page);
  await tabbing(page);
  await close(page, "keys");
}
