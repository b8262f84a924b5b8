// SPDX-License-Identifier: MIT
// 200,000 stacks: the page opens, does all that it does with few, and works in
// steps, between which it answers. (bench/page.mjs measures these.)

import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  ok,
  is,
  like,
  open,
  shot,
  choosePart,
  close,
  text,
  status,
  pages,
  press,
  segment,
  view,
  settle
} from "./harness.mjs";

const STACKS = 200000;

// Counts the turns of the page's work, each of which has one step: to the page,
// a clock of which most of a turn's time has gone whenever it is read.
const count = () => {
  const later = window.setTimeout;
  let now = 0;
  window.turns = 0;
  performance.now = () => (now += 20);
  window.setTimeout = (f, ...rest) => {
    if (f.name === "go") window.turns++;
    return later(f, ...rest);
  };
};

// Does something, which takes so many turns.
async function divided(page, name, least, act) {
  const before = await page.evaluate("turns");
  await act();
  await settle(page);
  const n = (await page.evaluate("turns")) - before;
  ok(n >= least, `many: in steps: ${name}`, `${n} of ${least}`);
}

async function rows(page) {
  const made = readFileSync(join(pages, "many.html"), "utf8");
  const data = JSON.parse(/id="profile">(.*?)<\/script>/s.exec(made)[1]);
  is(data.profiles[0].stacks.parent.length, STACKS, "all of them");
  const count = () => page.locator("#table tbody tr").count();
  is(await count(), 60, "the table begins with a few rows");
  await page.locator("#more").click();
  await settle(page);
  ok((await count()) > 100, "and has more");
}

async function modes(page) {
  for (const v of ["bottom", "sandwich", "lines", "func", "top"]) {
    await divided(page, v, 15, () => segment(page, v).click());
    await press(page, "g", "ArrowDown");
    like(await status(page), /^[^ ]+:?\S* .*% of CPU time/, "many: " + v);
    ok(!/^all /.test(await status(page)), "many: a frame below, " + v);
  }
  for (const v of ["alloc", "inuse", "peak", "cpu"])
    await divided(page, v, 50, () => view(page, v).click());
}

export async function many() {
  const page = await open("many", {}, "", { away: true });
  await page.addInitScript(count);
  await page.goto("about:blank");
  await divided(page, "open", 80, () => page.start());
  await rows(page);
  await modes(page);
  await page.locator("#search").fill("fn_12");
  await settle(page);
  like(await text(page, "#found"), /^matches \d+% of CPU time/, "many: search");
  await page.locator("#search").fill("");
  await divided(page, "a part of the time", 50, () => choosePart(page));
  like(
    await text(page, "#timeline-note"),
    /^\d.* s to \d.* chosen\.$/,
    "many: a part of the time"
  );
  await divided(page, "folded stacks", 15, async () => {
    const saved = page.waitForEvent("download");
    await page.locator("#folded").click();
    const folded = readFileSync(await (await saved).path(), "utf8");
    ok(folded.split("\n").length > 9999, "many: folded stacks");
  });
  await page.locator("#search").press("Escape");
  await page.evaluate(() => scrollTo(0, 420));
  await shot(page, "many", false);
  await close(page, "many");
}
