// A usual profile, by mouse.

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
  status,
  frame,
  place,
  clickFrame,
  segment,
  view,
  settle,
  width
} from "./harness.mjs";

// -- A usual profile -----------------------------------------------------------

async function header(page) {
  is(await text(page, "h1"), "server.lua", "the script's name");
  like(
    await text(page, "#about"),
    /luajit -jm=W,server.html server.lua --port 8080 · LuaJIT/,
    "the command"
  );
  like(
    await text(page, "#facts"),
    /CPU\s+\d\.\d\d s\s+\d+ samples \(\d+\/s\)\s+Allocated\s+[\d.]+ MB/,
    "the header's facts"
  );
  is(
    (await page.locator("#chart .name").allTextContents()).join(),
    "CPU,Allocated,Memory,Collections",
    "the timeline's strips"
  );
  ok((await page.locator("#chart .gc").count()) > 10, "collections are marked");
  like(
    await page.locator("#chart svg").getAttribute("aria-label"),
    /^Over 4\.20 s: in use up to .*51 cycles/,
    "the timeline in words"
  );
  await shot(page, "normal-light");
}

async function frameWords(page) {
  // Frames have words, and they are right.
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
    items.some((x) => /^2server.lua:0,/.test(x)) && items.some((x) => /^6encode_string,/.test(x)),
    "frames have levels",
    items.join("\n")
  );
  is(await page.locator(".flame").getAttribute("role"), "tree", "the graph is a tree");
}

async function zooming(page) {
  // Zoom by mouse, and back.
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
  // Search.
  await page.locator("#search").fill("^encode");
  like(
    await text(page, "#found"),
    /^matches 40% of CPU time, 1\.61 s$/,
    "share of what is found; what is in another once"
  );
  is((await names(page)).join(), "encode_string,encode", "the table shows what is found");
  await shot(page, "normal-search");
  await page.locator("#search").fill("dec(");
  like(await text(page, "#found"), /unterminated group/i, "a bad expression says so");
  is(await page.locator("#search").getAttribute("aria-invalid"), "true", "and is marked");
  await page.locator("#search").fill("SERVE");
  is(
    await text(page, "#found"),
    "matches 0% of CPU time, 0 ms",
    "capital letters count, if there are any"
  );
  await page.locator("#search").fill("");
  is(await page.locator("#found").textContent(), "", "no search");
}

async function sorting(page) {
  // The table.
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
  is((await names(page)).slice(0, 2).join(), "serve,server.lua:0", "sorted by total");
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
  await page.locator('#table [data-sort="name"]').click();
  is(
    (await names(page)).slice(0, 3).join(),
    "(JIT compiler),(garbage collector),decode_value",
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

async function viewing(page) {
  // Views.
  await view(page, "alloc").click();
  await settle(page);
  like(
    await (await frame(page, "encode")).getAttribute("aria-label"),
    /^encode, 54% of allocations, 18\.9 MB$/,
    "the view allocated"
  );
  is(await view(page, "alloc").getAttribute("aria-checked"), "true", "is marked");
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
    /^all, 100% of memory in use, 157 kB$/,
    "the view in use"
  );
  await view(page, "peak").click();
  await settle(page);
  like(
    await (await frame(page, "all")).getAttribute("aria-label"),
    /^all, 100% of the peak, 497 kB$/,
    "the view peak"
  );
  await shot(page, "normal-peak");
  await view(page, "cpu").click();
}

async function inverting(page) {
  // Inverted: what runs stands first.
  await segment(page, "bottom").click();
  await settle(page);
  is(await (await frame(page, "encode_string")).getAttribute("aria-level"), "2", "leaves first");
  like(
    await (await frame(page, "encode_string")).getAttribute("aria-label"),
    /^encode_string, 30% of CPU time/,
    "with what is their own"
  );
  await shot(page, "normal-inverted");
  await segment(page, "top").click();
}

async function sandwiching(page) {
  // One function.
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
  const up = await (await frame(page, "handle", '.flame[aria-label="Callers"]')).boundingBox();
  const at = await (await frame(page, "encode", '.flame[aria-label="Callers"]')).boundingBox();
  ok(up.y < at.y, "callers stand above");
  like(
    await (
      await frame(page, "encode_string", '.flame[aria-label="Callees"]')
    ).getAttribute("aria-label"),
    /39% of CPU time/,
    "callees"
  );
  await shot(page, "normal-sandwich");
  await segment(page, "top").click();
}

async function grouping(page) {
  // Levels and filters.
  await page.locator("#filters select").nth(0).selectOption("zone");
  await settle(page);
  is(await (await frame(page, "read")).getAttribute("aria-level"), "3", "a zone within a zone");
  await shot(page, "normal-zones");
  await page.locator("#filters select").nth(0).selectOption("state");
  await settle(page);
  is(await (await frame(page, "Garbage Collector")).getAttribute("aria-level"), "2", "VM states");
  await view(page, "alloc").click();
  await page.locator("#filters select").nth(0).selectOption("type");
  await settle(page);
  is(await (await frame(page, "table")).getAttribute("aria-level"), "2", "object types");
  await page.locator("#filters select").nth(0).selectOption("");
  await page.locator("#filters select").nth(3).selectOption("userdata");
  await settle(page);
  is(
    (await names(page)).filter((n) => !/garbage/.test(n)).includes("socket.so:send"),
    true,
    "a filter by type"
  );
  is(await text(page, "#views [data-v=alloc] b"), "191 kB", "which counts that type only");
  await page.locator("#filters select").nth(3).selectOption("");
  await page.locator("#filters select").nth(1).selectOption("request › read");
  await settle(page);
  ok(!(await names(page)).includes("encode_string"), "a filter by zone");
  await page.locator("#filters select").nth(1).selectOption("");
  await view(page, "cpu").click();
}

async function lines(page) {
  // Lines, and source.
  await segment(page, "lines").click();
  is(await first(page), "server.lua:16", "lines: builtins count for the line that called them");
  like(await text(page, "#table tbody tr:first-child"), /39%\s*1\.58 s/, "all of it");
  await segment(page, "func").click();
  await page.locator("#table .at", { hasText: "server.lua:15" }).click();
  is(await page.locator("#lines tr.on .n").innerText(), "15", "the source of a function");
  like(
    await page.locator("#lines tr", { hasText: "gsub" }).first().innerText(),
    /^39%\s+22%\s+14%\s+16\s+return '"'/,
    "shares beside a line"
  );
  is(await page.locator("#lines tr.gap").count(), 1, "what does not count is left out");
  await page.locator('#files [data-v="true"]').click();
  is(await page.locator("#lines tr.gap").count(), 0, "or not");
}

export async function usual() {
  const page = await open("normal");
  await header(page);
  await frameWords(page);
  await zooming(page);
  await searching(page);
  await sorting(page);
  await viewing(page);
  await inverting(page);
  await sandwiching(page);
  await grouping(page);
  await lines(page);
  await close(page, "normal");
}
