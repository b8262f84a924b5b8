// SPDX-License-Identifier: MIT
// A part of the time, by mouse and by keyboard.

import {
  close,
  frame,
  is,
  like,
  ok,
  open,
  place,
  press,
  segment,
  settle,
  shot,
  text,
  view
} from "./harness.mjs";

// -- A part of the time -------------------------------------------------------

// In use is known over time: at its end, and what has come since its start.
async function inUseOverTime(page) {
  await view(page, "inuse").click();
  like(
    await text(page, "#views [data-v=inuse] span"),
    /^In use at 1\.86 s$/,
    "in use at its end"
  );
  const end = await text(page, "#views [data-v=inuse] b");
  await page.locator("#held [data-v=new]").click();
  await settle(page);
  like(
    await text(page, "#hint"),
    /still held at its end: a lower limit/,
    "what was allocated in it"
  );
  ok(
    (await text(page, "#views [data-v=inuse] b")) !== end,
    "is another amount",
    end
  );
  await segment(page, "true").click();
  like(
    await text(page, "#hint"),
    /^Objects in use are not known over time/,
    "objects are not known"
  );
  await segment(page, "false").click();
  await page.locator("#held [data-v=end]").click();
}

async function byPointer(page) {
  const box = await place(page, "#chart svg");
  const all = await text(page, "#views [data-v=cpu] b");
  await page.mouse.move(box.x + box.width * 0.4, box.y + 90);
  like(
    await text(page, "#readout"),
    /^1\.40 s: CPU 93% of a core, allocating .* RSS [\d.]+ MB, collector: /,
    "what was at a time"
  );
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 90, { steps: 4 });
  await page.mouse.up();
  await settle(page);
  like(
    await text(page, "#timeline-note"),
    /^1\.38 s to 1\.86 s chosen\.$/,
    "a time is chosen"
  );
  const part = await text(page, "#views [data-v=cpu] b");
  like(part, /^7\d\d ms$/, "the views are of that time");
  like(
    await (await frame(page, "all")).getAttribute("aria-label"),
    new RegExp(`100% of CPU time, ${part}$`),
    "the graph too"
  );
  like(
    await text(page, "#functions-note"),
    /whole run/,
    "the table says what is not"
  );
  await shot(page, "normal-brushed");
  await inUseOverTime(page);
  await view(page, "cpu").click();
  await page.locator("#whole").click();
  await settle(page);
  is(await text(page, "#views [data-v=cpu] b"), all, "the whole run again");
}

// All parts together are the whole: points 0 to 120 and 120 to 240.
async function byKeyboard(page) {
  const slider = (i) => page.locator(".handle").nth(i);
  const sum = async () => {
    const label = await (
      await frame(page, "encode_string")
    ).getAttribute("aria-label");
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
  ok(
    Math.abs(left + right - whole) <= 10 && left > 0 && right > 0,
    "parts add up to the whole",
    [left, right, whole]
  );
  await press(page, "ArrowRight");
  is(
    await slider(0).getAttribute("aria-valuenow"),
    "121",
    "arrows move by one"
  );
  await press(page, "Escape");
  await settle(page);
  is(await sum(), whole, "Escape chooses all of it");
}

// Frames in order of time: several spans of one function, which add up.
async function inOrder(page) {
  await segment(page, "time").click();
  await settle(page);
  const root = await (await frame(page, "all")).getAttribute("aria-label");
  like(root, /^all, 100% of CPU time, 4\.04 s$/, "all of it, in order");
  const spans = page.locator(
    ".flame [role=treeitem][aria-label^='decode_value,']"
  );
  ok((await spans.count()) > 3, "a function has several spans");
  const lefts = await spans.evaluateAll((all) =>
    all.filter((e) => e.ariaLevel === "5").map((e) => parseFloat(e.style.left))
  );
  ok(
    lefts.every((x, i) => !i || x > lefts[i - 1]),
    "one after the other"
  );
  await shot(page, "normal-in-order");
  await inOrderOtherwise(page, spans);
}

async function inOrderOtherwise(page, spans) {
  const before = (await spans.first().boundingBox()).width;
  const r = await spans.first().boundingBox();
  await page.mouse.click(r.x + r.width / 2, r.y + r.height / 2);
  await settle(page);
  ok((await spans.first().boundingBox()).width > before, "a click zooms");
  await page.locator("#search").fill("decode");
  await settle(page);
  ok(
    (await spans.first().boundingBox()).width > before,
    "a search leaves the zoom alone"
  );
  await page.locator("#search").fill("");
  await page.locator("[data-of=chains]").click();
  await settle(page);
  like(
    await (await frame(page, "serve")).getAttribute("aria-label"),
    /^serve, \d/,
    "chains can be folded"
  );
  await page.locator("[data-of=chains]").click();
  await view(page, "peak").click();
  await settle(page);
  like(
    await text(page, "#why"),
    /^This view has no order of time/,
    "a peak has no order"
  );
  await view(page, "cpu").click();
  await segment(page, "top").click();
}

// The heat map: cells are chosen by a click, by a drag, and by keyboard.
async function inHeat(page) {
  await segment(page, "heat").click();
  like(
    await page.locator("#chart svg").getAttribute("aria-label"),
    /^CPU as a heat map\. A column is 1 s from its foot up, a cell 20 ms\. The/,
    "the heat map in words"
  );
  const box = await place(page, "#chart svg"),
    x = box.x + 132 + 100 * 2.5;
  await page.mouse.click(x, box.y + 7 + 73.5);
  await settle(page);
  const chosen = () => text(page, "#timeline-note");
  like(await chosen(), /^2\.4[89] s to 2\.5[23] s chosen/, "a cell by a click");
  like(await text(page, "#readout"), /^2\.5\d s: CPU/, "and its readout");
  await page.mouse.move(x, box.y + 7 + 73.5);
  await page.mouse.down();
  await page.mouse.move(x + 100, box.y + 7 + 1.5, { steps: 4 });
  await page.mouse.up();
  await settle(page);
  like(await chosen(), /^2\.4[89] s to (3\.9\d|4\.0\d) s chosen/, "a drag");
  await page.locator(".handle").nth(1).focus();
  await press(page, "ArrowLeft");
  like(await chosen(), / to (2\.9\d|3\.0\d) s chosen/, "a column by a key");
  await shot(page, "normal-heat");
  await view(page, "inuse").click();
  is(
    await page.locator("#chart .name").first().textContent(),
    "In use",
    "it is that of the view"
  );
  await view(page, "cpu").click();
  await page.locator("#whole").click();
  await segment(page, "curves").click();
  is(await page.locator("#chart .name").count(), 4, "curves again");
}

// The mean of all cells is the mean of the run, whatever a cell is.
async function heatAddsUp(page) {
  const sums = await page.evaluate(() => {
    const { T, RATE } = mp.timeline,
      { A, NP } = mp.profile;
    const all = RATE.cpu.reduce((sum, v, i) => sum + v * RATE.length[i], 0);
    const cells = mp.heat.cells("cpu");
    return [
      all,
      cells.reduce((sum, [from, to, v]) => sum + v * (to - from), 0),
      cells.length,
      cells[cells.length - 1][1] - A.time[NP],
      T.cpu[NP - 1]
    ];
  });
  ok(Math.abs(sums[0] - sums[1]) < 1e-6 * sums[0], "cells add up", sums);
  ok(Math.abs(sums[0] - sums[4]) < 1e-6 * sums[0], "to the CPU time", sums);
  is(sums[2], 210, "cells of 20 ms in 4.2 s");
  ok(Math.abs(sums[3]) < 1e-9, "up to the end", sums);
}

export async function brush() {
  const page = await open("normal");
  await byPointer(page);
  await inHeat(page);
  await heatAddsUp(page);
  await byKeyboard(page);
  await inOrder(page);
  await close(page, "brush");
}
