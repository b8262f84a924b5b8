// SPDX-License-Identifier: MIT
// The page of 200,000 stacks: the processor time of its longest step in each
// thing that it does, as a multiple of the longest that the browser takes to
// read the file, which no step of the page can be shorter than. make bench-page
// prints it. Others use the machine, too: of several times the best counts.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  choosePart,
  open,
  pages,
  segment,
  tasks,
  view,
  settle
} from "./harness.mjs";

const TRIES = 5;

const file = (name) => join(pages, name + ".html"),
  total = (all) => all.reduce((a, b) => a + b, 0),
  longest = (all) => Math.max(...all);

// The time of some work now: five times the same, of which the best counts.
const work = (page) =>
  page.evaluate(() => {
    const list = new Float64Array(1 << 20);
    let least = Infinity;
    for (let run = 0; run < 5; run++) {
      const begun = performance.now();
      for (let i = 0, at = 1; i < 1 << 20; i++) {
        at = (at * 48271) % 2147483647;
        list[at & (list.length - 1)] += at;
      }
      least = Math.min(least, performance.now() - begun);
    }
    return least;
  });

// The times of the tasks of what is done, as multiples of that of some work:
// how fast the machine is changes from one minute to the next.
async function times(page, act) {
  const before = await work(page),
    all = await tasks(page, act),
    unit = Math.max(before, await work(page));
  return all.map((ms) => ms / unit);
}

// Opens a page, and returns the times of its tasks when ready() has come.
async function opening(name, ready) {
  const page = await open(name, {}, "", { away: true });
  const all = await times(page, async () => {
    await page.start();
    await ready(page);
  });
  await page.context().close();
  return all;
}

// The times of the tasks in which the browser reads the page alone.
async function reading() {
  const made = readFileSync(file("many"), "utf8");
  writeFileSync(file("still"), made.replace(/<script>\n.*<\/script>/s, ""));
  let best;
  for (let i = 0; i < TRIES; i++) {
    const all = await opening("still", () => {});
    if (!best || longest(all) < longest(best)) best = all;
  }
  return best;
}

let read; // The times of reading.

function show(name, all) {
  const step = (longest(all) / longest(read)).toFixed(2),
    sum = (total(all) / total(read)).toFixed(2);
  console.log(`${name.padEnd(20)} longest step ${step}   all ${sum}`);
}

// The best of several times: act(i) does the same each time.
async function best(name, act) {
  let least;
  for (let i = 0; i < TRIES; i++) {
    const all = await act(i);
    if (!least || longest(all) < longest(least)) least = all;
  }
  show(name, least);
}

const opened = () =>
  opening("many", async (page) => {
    await page.locator(".flame [role=treeitem]").first().waitFor({
      state: "attached"
    });
    await page.locator("#table .fn").first().waitFor();
    await settle(page);
  });

// Chooses a segment or a view, after another one.
const choose = (page, find, name, other) =>
  best(name, async (i) => {
    if (i) {
      await find(page, other).click();
      await settle(page);
    }
    return times(page, () => find(page, name).click());
  });

export async function page() {
  read = await reading();
  await best("open", opened);
  const page = await open("many");
  await settle(page);
  for (const [name, other] of [
    ["bottom", "top"],
    ["sandwich", "bottom"],
    ["lines", "func"],
    ["func", "lines"],
    ["top", "sandwich"]
  ])
    await choose(page, segment, name, other);
  for (const [i, name] of ["alloc", "inuse", "peak", "cpu"].entries())
    await choose(page, view, name, ["cpu", "alloc"][i % 2]);
  await best("search", (i) =>
    times(page, () => page.locator("#search").fill("fn_12" + (i || "")))
  );
  await page.locator("#search").fill("");
  await best("a part of the time", () => times(page, () => choosePart(page)));
  await best("folded stacks", () =>
    times(page, async () => {
      const saved = page.waitForEvent("download");
      await page.locator("#folded").click();
      await saved;
    })
  );
  await page.context().close();
}
