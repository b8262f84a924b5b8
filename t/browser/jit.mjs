// SPDX-License-Identifier: MIT
// The JIT compiler's decisions: places given up, traces, and their listings.

import { close, is, like, ok, open, press, shot } from "./harness.mjs";

const listings = (page) => page.locator("#jit tr.listing");

const words = async (page, id) =>
  (await page.locator(`#${id}`).innerText()).replace(/\s+/g, " ").trim();

async function tables(page) {
  like(
    await words(page, "interpreted-0"),
    /interpreted .*NYI: bytecode FNEW.* try: a function is created here/,
    "jit: what runs interpreted, why, and what may help"
  );
  like(
    await words(page, "giveup-0"),
    /^3 .*server\.lua:7 .*server\.lua:6 NYI: bytecode FNEW/,
    "jit: a place where traces were given up"
  );
  like(
    await words(page, "trace-0"),
    /1 server\.lua:16 loop 300 B 40$/,
    "jit: a trace"
  );
  like(
    await words(page, "trace-1"),
    /2 from exit 3 server\.lua:21 to trace 1 90 B 0$/,
    "jit: a side trace below it"
  );
}

async function listing(page) {
  const button = page.locator("#trace-0 button.link", { hasText: /^1$/ });
  is(await listings(page).count(), 0, "jit: listings are closed at first");
  is(await button.getAttribute("aria-expanded"), "false", "jit: and say so");
  await button.click();
  is(await listings(page).count(), 1, "jit: a click opens one");
  is(await button.getAttribute("aria-expanded"), "true", "jit: that is said");
  const text = await listings(page).locator("pre").innerText();
  like(
    text,
    /^-- server\.lua:15\n0001 16 KSTR 1 0 {2}; "<\/script><img src=x/,
    "jit: bytecode with its line, and a constant as it is"
  );
  like(
    text,
    /\n-- instructions\n0001 {4}int SLOAD {2}#1/,
    "jit: the compiler's instructions"
  );
  ok(
    await page.locator("#trace-0 + tr.listing").isVisible(),
    "jit: it stands below its trace"
  );
  await shot(page, "compiled-listing");
  await button.focus();
  await press(page, "Enter");
  is(await listings(page).count(), 0, "jit: a key closes it");
  is(
    await page.locator("#trace-1 button", { hasText: /^2/ }).count(),
    0,
    "jit: a trace without a listing has no button"
  );
}

export async function jit() {
  const page = await open("compiled");
  await tables(page);
  await listing(page);
  await close(page, "compiled");
  const other = await open("plain");
  ok(await other.locator("#jit").isHidden(), "jit: nothing without option J");
  await close(other, "plain");
}
