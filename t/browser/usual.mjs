// SPDX-License-Identifier: MIT
// A usual profile, by mouse.

import {
  ok,
  is,
  like,
  open,
  shot,
  close,
  text,
  names,
  status,
  frame,
  place,
  clickFrame,
  segment,
  view,
  settle,
  width
} from "./harness.mjs";

async function header(page) {
  is(await text(page, "h1"), "server.lua", "the script's name");
  like(
    await text(page, "#about"),
    /luajit -jm=W,server.html server.lua --port 8080 · ran 4\.20 s · LuaJIT/,
    "the command"
  );
  like(
    await text(page, "#facts"),
    /CPU\s+\d\.\d\d s\s+\d+ samples \(\d+\/s\)\s+Allocated\s+[\d.]+ MB/,
    "the header's facts"
  );
  is(
    (await page.locator("#chart .name").allTextContents()).join(),
    "CPU,Allocated,Memory,51 collections",
    "the timeline's strips"
  );
  ok((await page.locator("#chart .gc").count()) > 10, "collections are marked");
  like(
    await page.locator("#chart svg").getAttribute("aria-label"),
    /^Over 4\.20 s: in use up to .*51 collections/,
    "the timeline in words"
  );
  await shot(page, "normal-light");
}

async function frameWords(page) {
  const root = await (await frame(page, "all")).getAttribute("aria-label");
  like(root, /^all, 100% of CPU time, 4\.04 s$/, "the whole");
  like(
    await (await frame(page, "encode")).getAttribute("aria-label"),
    /^encode, 40% of CPU time, 1\.61 s$/,
    "a frame"
  );
  const items = await page
    .locator(".flame [role=treeitem]")
    .evaluateAll((all) => all.map((e) => e.ariaLevel + e.ariaLabel));
  ok(
    items.some((x) => /^2main chunk,/.test(x)) &&
      items.some((x) => /^6encode_string,/.test(x)),
    "frames have levels",
    items.join("\n")
  );
  is(
    await page.locator(".flame").getAttribute("role"),
    "tree",
    "the graph is a tree"
  );
}

async function zooming(page) {
  const before = await width(page, "encode_string");
  await clickFrame(page, "encode");
  ok((await width(page, "encode_string")) > before * 1.5, "a click zooms");
  like(
    await status(page),
    /^encode server.lua:19 40% of CPU time, 1\.61 s/,
    "the frame's numbers are shown"
  );
  await page.locator("#reset").click();
  is(await width(page, "encode_string"), before, "reset");
  await page.mouse.move(0, 0);
  const r = await place(page, await frame(page, "encode"));
  await page.mouse.move(r.x + 9, r.y + 9);
  like(
    (await text(page, "#tip")).replace(/\s+/g, " "),
    /^encode server\.lua:19 CPU 40% 1\.61 s/,
    "pointing shows what it is"
  );
}

async function searching(page) {
  await page.locator("#search").fill("^encode");
  like(
    await text(page, "#found"),
    /^matches 40% of CPU time, 1\.61 s$/,
    "share of what is found; what is in another once"
  );
  is(
    (await names(page)).join(),
    "encode_string,encode",
    "the table shows what is found"
  );
  await shot(page, "normal-search");
  await page.locator("#search").fill("dec(");
  like(
    await text(page, "#found"),
    /unterminated group/i,
    "a bad expression says so"
  );
  is(
    await page.locator("#search").getAttribute("aria-invalid"),
    "true",
    "and is marked"
  );
  await page.locator("#search").fill("SERVE");
  is(
    await text(page, "#found"),
    "matches 0% of CPU time, 0 ms",
    "capital letters count, if there are any"
  );
  await page.locator("#search").fill("");
  is(await page.locator("#found").textContent(), "", "no search");
}

async function viewing(page) {
  await view(page, "alloc").click();
  await settle(page);
  like(
    await (await frame(page, "encode")).getAttribute("aria-label"),
    /^encode, 54% of allocations, 18\.9 MB$/,
    "the view allocated"
  );
  is(
    await view(page, "alloc").getAttribute("aria-checked"),
    "true",
    "is marked"
  );
  await segment(page, "true").click();
  await settle(page);
  like(
    await (await frame(page, "encode")).getAttribute("aria-label"),
    /^encode, 62% of allocations, 448 k$/,
    "objects"
  );
  await segment(page, "false").click();
  await view(page, "inuse").click();
  await settle(page);
  like(
    await (await frame(page, "all")).getAttribute("aria-label"),
    /^all, 100% of memory in use, 818 kB$/,
    "the view in use"
  );
  await view(page, "peak").click();
  await settle(page);
  like(
    await (await frame(page, "all")).getAttribute("aria-label"),
    /^all, 100% of the peak, 1\.64 MB$/,
    "the view peak"
  );
  await shot(page, "normal-peak");
  await view(page, "cpu").click();
}

async function inverting(page) {
  await segment(page, "bottom").click();
  await settle(page);
  is(
    await (await frame(page, "encode_string")).getAttribute("aria-level"),
    "2",
    "leaves first"
  );
  like(
    await (await frame(page, "encode_string")).getAttribute("aria-label"),
    /^encode_string, 30% of CPU time/,
    "with what is their own"
  );
  await shot(page, "normal-inverted");
  await segment(page, "top").click();
}

// at: the place of the function.
async function middle(page, at) {
  const callees = '.flame[aria-label="Callees"]';
  const below = await (
    await frame(page, "encode_string", callees)
  ).boundingBox();
  const gap = below.y - (at.y + at.height);
  ok(gap >= 0 && gap < 4, "callees right below the function", gap);
  is(
    await page.locator(`${callees} [aria-label^="encode,"]`).count(),
    0,
    "which is there once"
  );
}

async function sandwiching(page) {
  await page.locator("#table .fn", { hasText: /^encode$/ }).click();
  await settle(page);
  is(await page.locator(".flame").count(), 2, "callers and callees");
  is(
    await page
      .locator(".part b")
      .allInnerTexts()
      .then((t) => t.join()),
    "encode,encode",
    "of the function"
  );
  const up = await (
    await frame(page, "handle", '.flame[aria-label="Callers"]')
  ).boundingBox();
  const at = await (
    await frame(page, "encode", '.flame[aria-label="Callers"]')
  ).boundingBox();
  ok(up.y < at.y, "callers stand above");
  like(
    await (
      await frame(page, "encode_string", '.flame[aria-label="Callees"]')
    ).getAttribute("aria-label"),
    /39% of CPU time/,
    "callees"
  );
  await middle(page, at);
  await shot(page, "normal-sandwich");
  await segment(page, "top").click();
}

async function folding(page) {
  const levels = () =>
    page.locator(".flame [role=treeitem]").evaluateAll((all) =>
      all.reduce((most, e) => Math.max(most, e.ariaLevel), 0)
    );
  await settle(page);
  const before = await levels();
  await page.locator("[data-of=chains]").click();
  await settle(page);
  ok((await levels()) < before, "frames with one callee are one with it");
  like(
    await (await frame(page, "serve")).getAttribute("aria-label"),
    /^serve, \d+% of CPU time/,
    "the last of them stands for all"
  );
  await shot(page, "normal-chains");
  await page.locator("[data-of=chains]").click();
  await settle(page);
  is(await levels(), before, "and apart again");
}

export async function usual() {
  const page = await open("normal");
  await header(page);
  await frameWords(page);
  await zooming(page);
  await searching(page);
  await viewing(page);
  await inverting(page);
  await sandwiching(page);
  await folding(page);
  await close(page, "normal");
}
