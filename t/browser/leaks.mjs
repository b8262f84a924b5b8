// SPDX-License-Identifier: MIT
// Memory that collections leave alive: lines, ages, and whether they grow.

import { close, is, like, open, settle, shot, text } from "./harness.mjs";

const rows = async (page) =>
  (await page.locator("#alive tbody tr").allInnerTexts()).map((row) =>
    row.replace(/\s+/g, " ").trim()
  );

async function table(page) {
  const [grows, ...others] = await rows(page);
  like(
    grows,
    /^[\d.]+ kB grows server\.lua:29 2\.10 s cache\[\*\] [\d.]+ k$/,
    "leaks: what grows comes first, with its age, line and holder"
  );
  is(
    others.length > 1 && others.every((row) => /^\S+ \S+ flat /.test(row)),
    true,
    "leaks: the rest stays as it is"
  );
  const words = await page
    .locator("#alive tr .course")
    .evaluateAll((all) => all.map((e) => e.getAttribute("aria-label")));
  like(
    words[0],
    /^(\S+ k?B → ){4}\S+ kB$/,
    "leaks: the course of a line, in words"
  );
  const bytes = words[0].split(" → ").map(parseFloat);
  is(bytes[0] < bytes[2] && bytes[2] < bytes[4], true, "leaks: which rises");
  like(
    await text(page, "#leaks-note"),
    /^\S+ MB held by the last of 40 collections, a full one, \S+ kB of it in/,
    "leaks: sums"
  );
}

export async function leaks() {
  for (const look of [
    { colorScheme: "light" },
    { viewport: { width: 390, height: 844 }, colorScheme: "dark" }
  ]) {
    const page = await open("leaking", look);
    await table(page);
    await page.locator("#alive tbody tr:first-child button").click();
    await settle(page);
    is(
      await page.locator("#lines tr.on .n").innerText(),
      "29",
      "leaks: a place leads to its line"
    );
    await shot(page, "leaking-" + look.colorScheme);
    await close(page, "leaks");
  }
  const page = await open("normal");
  is(await page.locator("#leaks").isVisible(), false, "no option L, no leaks");
  await close(page, "no leaks");
}
