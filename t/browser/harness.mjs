// SPDX-License-Identifier: MIT
// Shared by the tests of the page: TAP, the browser, and words for what is on
// the page.
//
// LUAJIT makes the pages (default: luajit), CHROMIUM shows them (default:
// /usr/bin/chromium). SCREENSHOTS is a directory for pictures, if wanted.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const shots = process.env.SCREENSHOTS;
export const pages = mkdtempSync(join(tmpdir(), "mp-browser-"));
if (shots) mkdirSync(shots, { recursive: true });

// -- TAP ----------------------------------------------------------------------

let tests = 0,
  failed = 0;
export function ok(cond, name, why) {
  tests++;
  if (!cond) failed++;
  console.log(`${cond ? "ok" : "not ok"} ${tests} - ${name}`);
  if (!cond && why !== undefined) {
    console.log(String(why).replace(/^/gm, "# "));
  }
}
export const is = (got, want, name) =>
  ok(got === want, name, `got:  ${got}\nwant: ${want}`);
export const like = (got, want, name) =>
  ok(want.test(got), name, `no ${want} in: ${got}`);

// -- The browser --------------------------------------------------------------

const [luajit, ...words] = (process.env.LUAJIT || "luajit").split(" ");
execFileSync(luajit, [...words, join(here, "pages.lua"), pages], {
  stdio: "inherit"
});
let browser = null;
const launch = () =>
  chromium.launch({
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

// Opens a page, and takes note of all that should not happen. away: the page
// is loaded by its start().
export async function open(name, options = {}, hash = "", { away } = {}) {
  browser ||= await launch();
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
    const [address] = r.url().split("#");
    if (address !== url && !/^(data|blob):/.test(address))
      page.trouble.push(r.url());
  });
  page.start = () => page.goto(url + hash);
  if (!away) await page.start();
  return page;
}

// Of the page's main thread while something is done: milliseconds that each
// task took of the processor, so that other programs do not count.
export async function tasks(page, act) {
  await browser.startTracing(page, { categories: ["toplevel"] });
  await act();
  await settle(page);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const at = (e) => `${e.pid} ${e.tid}`,
    main = traceEvents
      .filter(
        (e) =>
          e.name === "thread_name" && e.args.name === "CrRendererMain"
      )
      .map(at);
  return traceEvents
    .filter((e) => /RunTask$/.test(e.name) && main.includes(at(e)) && e.tdur)
    .map((e) => Math.round(e.tdur / 1000))
    .filter((ms) => ms > 0);
}
export async function shot(page, name, fullPage = true) {
  if (shots)
    await page.screenshot({ path: join(shots, name + ".png"), fullPage });
}
export async function close(page, name) {
  is(page.trouble.join("\n"), "", `${name}: no error, no request`);
  is(
    await page.evaluate(
      () => document.documentElement.scrollWidth <= innerWidth
    ),
    true,
    `${name}: nothing sticks out at the side`
  );
  await page.context().close();
}

export const text = (page, sel) => page.locator(sel).first().innerText();
export const first = (page) => text(page, "#table tbody tr:first-child .fn");
export const names = (page) => page.locator("#table tbody .fn").allInnerTexts();
export const status = async (page) =>
  (await text(page, "#status")).replace(/\s+/g, " ");
// The frame of that name on the page; they are drawn a moment later.
export async function frame(page, name, box = ".flame") {
  const item = page
    .locator(`${box} [role=treeitem][aria-label^="${name},"]`)
    .first();
  await item.waitFor({ state: "attached" });
  return item;
}
export async function place(page, sel) {
  const item = typeof sel === "string" ? page.locator(sel).first() : sel;
  await item.scrollIntoViewIfNeeded();
  return item.boundingBox();
}
export async function clickFrame(page, name) {
  const r = await place(page, await frame(page, name));
  await page.mouse.click(r.x + r.width / 2, r.y + r.height / 2);
}
export const press = async (page, ...keys) => {
  for (const k of keys) await page.keyboard.press(k);
};
export const segment = (page, v) =>
  page.locator(`.seg [data-v="${v}"]`).first();
export const view = (page, v) => page.locator(`#views [data-v="${v}"]`);
// Until the page is at rest: what rests for a while begins within 200 ms, and
// what is made step by step says that it is under way.
export const settle = (page) =>
  page
    .waitForFunction(
      () => new Promise((done) => setTimeout(() => done(true), 200))
    )
    .then(() => page.locator("main:not([aria-busy=true])").waitFor());
export async function width(page, name) {
  await settle(page);
  return (await (await frame(page, name)).boundingBox()).width;
}

// Chooses a part of the time.
export async function choosePart(page) {
  const box = await place(page, "#chart svg"),
    y = box.y + 90;
  await page.mouse.move(box.x + 200, y);
  await page.mouse.down();
  await page.mouse.move(box.x + 420, y, { steps: 20 });
  await page.mouse.up();
  await settle(page);
}

// Runs parts one after the other, and ends the process.
export async function run(parts) {
  try {
    for (const part of parts) {
      try {
        await part();
      } catch (e) {
        ok(false, part.name, e.stack);
      }
    }
  } finally {
    await browser?.close();
    rmSync(pages, { recursive: true });
  }
  console.log(`1..${tests}`);
  process.exit(failed ? 1 : 0);
}
