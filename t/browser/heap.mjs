// SPDX-License-Identifier: MIT
// The heap walk: who holds the memory, who allocated it, and the way between.

import {
  close,
  frame,
  is,
  like,
  open,
  place,
  press,
  segment,
  settle,
  shot,
  status
} from "./harness.mjs";

const holder = async (page) =>
  (await page.locator("#holder").innerText()).replace(/\s+/g, " ");
// The frame that has, or would have, the focus.
const active = (page) =>
  page.evaluate(() => {
    const id = document
      .querySelector("#holders .flame")
      .getAttribute("aria-activedescendant");
    return document.getElementById(id)?.getAttribute("aria-label");
  });
const focused = (page) =>
  page.evaluate(() => document.activeElement.getAttribute("aria-label"));

async function pointer(page) {
  const all = page.locator('#holders [aria-label^="all,"]');
  like(
    await all.getAttribute("aria-label"),
    /^all, 90% of the heap, 900 kB$/,
    "heap: the whole is what the collector counts, less garbage"
  );
  like(
    await page.locator("#heap-note").innerText(),
    /790 kB held of 1\.00 MB.*; garbage, 100 kB, is left out\./,
    "heap: garbage is told"
  );
  await frame(page, "(the VM itself)", "#holders");
  const r = await place(page, await frame(page, "cache", "#holders"));
  await page.mouse.move(r.x + 30, r.y + 8);
  like(
    await page.locator("#tip").innerText(),
    /cache\s+table\s+60% of the heap, 600 kB; self 40 B/,
    "heap: a tip"
  );
  await page.mouse.click(r.x + 30, r.y + 8);
  await settle(page);
  like(await holder(page), /^cache table holds 60%/, "heap: a click zooms");
  const zoomed = await place(page, await frame(page, "cache", "#holders"));
  is(zoomed.width > r.width * 1.5, true, "heap: it is as wide as the graph");
}

async function keyboard(page) {
  await press(page, "w");
  is(await focused(page), "Heap, by retained size", "heap: w goes there");
  await press(page, "ArrowDown", "ArrowDown");
  await settle(page);
  is(
    await active(page),
    "cache[*].word, 30% of the heap, 300 kB, 4000 × string",
    "heap: keys go to what is held"
  );
  await press(page, "ArrowUp", "Enter");
  await settle(page);
  await page.waitForURL(/[#&]heap=3(&|$)/); // The zoom is in the address.
}

async function toStacks(page) {
  const site = page.locator("#holder button").first();
  like(await site.innerText(), /^\S+:\d+ ← \S+:\d+: [\d.]+ kB$/, "allocated");
  const line = /^(\w+)\S*:\d+/.exec(await site.innerText())[1];
  await site.focus();
  await press(page, "Enter");
  await settle(page);
  is(await focused(page), "Flame graph", "heap: the stack has the focus");
  like(
    await status(page),
    new RegExp(`^${line} .*of memory in use`),
    "heap: it is the one that allocated, in use"
  );
  await shot(page, "heap-site", false);
}

async function andBack(page) {
  const back = page.locator("#status button", { hasText: "Holder" });
  await back.focus();
  await press(page, "Enter");
  await settle(page);
  is(await focused(page), "Heap, by retained size", "heap: and back");
  like(
    await active(page),
    /^cache\[\*\](\.word)?, /,
    "heap: to the line that holds what the stack allocated"
  );
  await segment(page, "calls").click();
  await segment(page, "bottom").click();
  await settle(page);
  await press(page, "g", "ArrowDown");
  is(await back.count(), 0, "heap: an inverted graph has no way to it");
}

// Two walks, and kinds of objects.
async function growth() {
  const page = await open("grown");
  const table = (await page.locator("#kinds").innerText()).replace(/\s+/g, " ");
  like(
    table,
    /Growth Change Before After Path \+200 kB 360 kB 560 kB cache\[\*\]/,
    "heap: the path that grew most"
  );
  is(table.includes("_LOADED"), false, "heap: not one without a line before");
  like(
    table,
    /400 kB 903 hash parts of 16 slots, 25% used/,
    "heap: parts of tables"
  );
  like(table, /290 kB 3000 strings "<\/script>#"/, "heap: a name is a text");
  like(
    table,
    /resized most Bytes .* parts Line \S+ MB \S+ k server\.lua:6/,
    "heap: where tables were resized"
  );
  await shot(page, "heap-grown");
  await page.locator("#kinds button").first().click();
  await settle(page);
  is(
    await active(page),
    "cache[*], 56% of the heap, 560 kB, 900 × table, before 360 kB, +200 kB",
    "heap: to the path that grew"
  );
  await page.locator("#kinds button").last().click();
  await settle(page);
  is(
    (await page.locator("#lines tr.on .n").innerText()).trim(),
    "6",
    "heap: to the line that resized them"
  );
  await close(page, "heap grown");
}

export async function heap() {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("walked", { colorScheme });
    await pointer(page);
    await keyboard(page);
    await shot(page, "heap-" + colorScheme);
    await toStacks(page);
    await andBack(page);
    await close(page, "heap " + colorScheme);
  }
  let page = await open("walked", {}, "#heap=3");
  await settle(page);
  like(await holder(page), /^cache\[\*\] 900 × table/, "heap: a link shows it");
  await close(page, "heap link");
  page = await open("walked", {}, "#heap=99999&heap=-1");
  like(await holder(page), /^all /, "heap: a line that is not there is none");
  await close(page, "heap bad link");
  page = await open("normal");
  is(await page.locator("#heap").isVisible(), false, "no walk, no heap");
  await press(page, "w");
  await close(page, "no heap");
  await growth();
}
