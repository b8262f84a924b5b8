// SPDX-License-Identifier: MIT
// The table, groups and filters, lines and their source.

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
  segment,
  view,
  settle
} from "./harness.mjs";

async function sorting(page) {
  is(await first(page), "decode_value", "the largest first");
  is(
    await page
      .locator("#table thead .group")
      .allInnerTexts()
      .then((t) => t.join()),
    "CPU,Allocated,In use,At the peak",
    "all views side by side"
  );
  const total = page.locator('#table [data-sort="total cpu"]');
  await total.click();
  is(
    (await names(page)).slice(0, 2).join(),
    "main chunk,serve",
    "sorted by total"
  );
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
}

async function sortingOtherwise(page) {
  await page.locator('#table [data-sort="name"]').click();
  is(
    (await names(page)).slice(0, 3).join(),
    "(JIT compiler),(before the profile),(garbage collector)",
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
  like(recursion, /^57%/, "recursion counts once");
}

async function doubting(page) {
  const cell = (name, i) =>
    page.locator("#table tbody tr", { hasText: name }).locator("td").nth(i);
  like(
    await cell("encode_string", 1).getAttribute("title"),
    /^1\.22 s ± 181 ms$/,
    "an estimate has its interval"
  );
  is(
    await cell("encode_string", 1).locator(".rough").count(),
    0,
    "most are near enough"
  );
  is(
    await cell("table.concat", 1).locator(".rough").count(),
    1,
    "few samples are marked"
  );
  like(await text(page, "#functions-note"), /≈ few samples$/, "and told");
}

async function grouping(page) {
  await page.locator("#filters select").nth(0).selectOption("zone");
  await settle(page);
  is(
    await (await frame(page, "read")).getAttribute("aria-level"),
    "3",
    "a zone within a zone"
  );
  await shot(page, "normal-zones");
  await page.locator("#filters select").nth(0).selectOption("state");
  await settle(page);
  is(
    await (await frame(page, "Garbage Collector")).getAttribute("aria-level"),
    "2",
    "VM states"
  );
  await view(page, "alloc").click();
  await page.locator("#filters select").nth(0).selectOption("type");
  await settle(page);
  is(
    await (await frame(page, "table")).getAttribute("aria-level"),
    "2",
    "object types"
  );
  await page.locator("#filters select").nth(0).selectOption("");
}

async function filtering(page) {
  await page.locator("#filters select").nth(3).selectOption("userdata");
  await settle(page);
  is(
    (await names(page))
      .filter((n) => !/garbage/.test(n))
      .includes("socket.so:send"),
    true,
    "a filter by type"
  );
  is(
    await text(page, "#views [data-v=alloc] b"),
    "191 kB",
    "which counts that type only"
  );
  await page.locator("#filters select").nth(3).selectOption("");
  await page.locator("#filters select").nth(1).selectOption("request › read");
  await settle(page);
  ok(!(await names(page)).includes("encode_string"), "a filter by zone");
  await page.locator("#filters select").nth(1).selectOption("");
  await view(page, "cpu").click();
}

async function lines(page) {
  await segment(page, "lines").click();
  is(
    await first(page),
    "server.lua:16",
    "lines: builtins count for the line that called them"
  );
  like(
    await text(page, "#table tbody tr:first-child"),
    /39%\s*1\.58 s/,
    "all of it"
  );
  await segment(page, "func").click();
}

async function source(page) {
  await page.locator("#table .at", { hasText: "server.lua:15" }).click();
  is(
    await page.locator("#lines tr.on .n").innerText(),
    "15",
    "the source of a function"
  );
  like(
    await page.locator("#lines tr", { hasText: "gsub" }).first().innerText(),
    /^39%\s+22%\s+10%\s+16\s+return '"'/,
    "shares beside a line"
  );
  is(
    await page.locator("#lines tr.gap").count(),
    1,
    "what does not count is left out"
  );
  const next = page.locator('#files [data-step="1"]');
  const marked = page.locator("#lines tr.on");
  await next.click();
  const first = await marked.innerText();
  await next.click();
  const second = await marked.innerText();
  is(first === second, false, "the next hot line is another one");
  const share = (row) => Number(/^(\d+)%/.exec(row)[1]);
  is(share(first) >= share(second), true, "and not as hot as the first");
  await page.locator('#files [data-step="-1"]').click();
  is(await marked.innerText(), first, "and back to the first");
  await next.click();
  await next.focus();
  is(
    await page.evaluate(() => document.activeElement.textContent),
    "Next hot line",
    "the focus stays"
  );
  await page.locator('#files [data-v="true"]').click();
  is(await page.locator("#lines tr.gap").count(), 0, "or not");
}

// The source scrolls in a box of its own.
async function scroller(page) {
  const box = page.locator(".lines");
  const hottest = page.locator('#lines tr[data-line="5555"]');
  ok(
    await hottest.evaluate((e) => {
      const { top, bottom } = e.getBoundingClientRect();
      const of = e.closest(".lines").getBoundingClientRect();
      return top >= of.top && bottom <= of.bottom;
    }),
    "its box opens at the hottest line"
  );
  const heat = (e) => getComputedStyle(e.cells[0]).backgroundColor;
  ok(
    (await hottest.evaluate(heat)) !==
      (await page.locator('#lines tr[data-line="5554"]').evaluate(heat)),
    "which has a colour"
  );
  ok(
    (await page.evaluate(() => document.documentElement.scrollHeight)) < 6000,
    "the page is short"
  );
  await box.evaluate((e) => {
    e.scrollTop = 0;
  });
  await page.locator('#table [data-sort="name"]').click();
  is(
    await box.evaluate((e) => e.scrollTop),
    0,
    "it stays where one has scrolled to"
  );
}

// Of a large source only what is near is drawn.
export async function large() {
  const page = await open("large");
  const rows = page.locator("#lines tbody tr");
  await page.locator("#lines table").waitFor({ state: "attached" });
  is((await rows.count()) < 1500, true, "a part of 6,000 lines is drawn");
  await scroller(page);
  const marked = page.locator("#lines tr.on");
  await page.locator('#files [data-step="1"]').click();
  like(
    await marked.innerText(),
    /^\d+%\s+(\S+\s+)*5555\s+local x5555 = f\(5555\)/,
    "the hottest line, far below"
  );
  is(
    await marked.evaluate((e) => {
      const { top, bottom } = e.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    }),
    true,
    "is on the screen"
  );
  const last = page.locator("#lines tr", { hasText: "local x6000" });
  is(await last.count(), 0, "the last line is not drawn");
  await page
    .locator("#lines tbody")
    .last()
    .evaluate((e) => e.scrollIntoView({ block: "end" }));
  await last.waitFor();
  ok(true, "it is when one scrolls to it");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  is(await page.locator("#lines .later").count(), 0, "on paper all lines are");
  is(await rows.count(), 6000, "each of them once");
  await close(page, "large");
}

export async function tables() {
  const page = await open("normal");
  await sorting(page);
  await sortingOtherwise(page);
  await doubting(page);
  await grouping(page);
  await filtering(page);
  await lines(page);
  await source(page);
  await close(page, "tables");
}
