// SPDX-License-Identifier: MIT
// Small windows, and deep recursion.

import {
  ok,
  is,
  like,
  open,
  shot,
  close,
  status,
  frame,
  place,
  press,
  segment,
  view,
  settle,
  width
} from "./harness.mjs";

// -- A phone ------------------------------------------------------------------

export async function phone() {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("normal", {
      viewport: { width: 390, height: 844 },
      deviceScaleFactor: 2,
      isMobile: true,
      hasTouch: true,
      colorScheme,
      reducedMotion: "no-preference"
    });
    const narrow = await width(page, "encode_string");
    await shot(page, "phone-" + colorScheme);
    const cells = await page
      .locator("#table tbody tr:first-child td:visible")
      .count();
    is(cells, 3, "the chosen view only");
    const r = await place(page, await frame(page, "encode"));
    await page.touchscreen.tap(r.x + r.width / 2, r.y + 8);
    await settle(page);
    like(await status(page), /^encode /, "a tap zooms");
    ok((await width(page, "encode_string")) > narrow * 1.5, "in motion");
    const size = await page.evaluate(() =>
      [...document.querySelectorAll("button, select, input")]
        .filter((e) => e.offsetParent && !e.closest("table"))
        .map((e) => e.getBoundingClientRect().height)
        .reduce((a, b) => Math.min(a, b))
    );
    ok(size >= 30, "what is to be touched is large enough", size);
    await view(page, "alloc").tap();
    await segment(page, "sandwich").tap();
    await settle(page);
    await shot(page, "phone-sandwich-" + colorScheme);
    await close(page, "phone " + colorScheme);
  }
  await comparison();
}

// A comparison on a phone: all of its columns are seen, with room between them.
async function comparison() {
  const page = await open("diff", {
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true
  });
  const [room, gaps] = await page.evaluate(() => {
    const box = document.querySelector("#table").closest(".scroll");
    const ends = (cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getBoundingClientRect();
    };
    const [row] = document.querySelector("#table tbody").rows;
    const seen = [...row.cells].filter((c) => c.offsetWidth > 0).map(ends);
    return [
      box.clientWidth - box.scrollWidth,
      seen.slice(2).map((r, i) => r.left - seen[i + 1].right)
    ];
  });
  ok(room >= 0, "phone: a comparison fits", room);
  is(gaps.length, 2, "phone: before, change, and that of the total");
  ok(Math.min(...gaps) >= 8, "phone: its numbers stand apart", gaps);
  await shot(page, "phone-diff");
  await close(page, "phone, a comparison");
}

// -- A tablet -----------------------------------------------------------------

export async function tablet() {
  for (const name of ["normal", "diff", "hostile"]) {
    const page = await open(name, { viewport: { width: 800, height: 1100 } });
    const wide = await width(page, "all");
    await shot(page, "tablet-" + name);
    await page.setViewportSize({ width: 1100, height: 800 });
    ok((await width(page, "all")) > wide + 200, `tablet ${name}: turned`);
    await page.setViewportSize({ width: 800, height: 1100 });
    is(await width(page, "all"), wide, `tablet ${name}: and back`);
    await close(page, "tablet " + name);
  }
}

// -- Columns and names --------------------------------------------------------

// Parts of the table that cannot be seen: columns that do not fit, numbers that
// are broken into lines, names without room.
const unseen = (page) =>
  page.evaluate(() => {
    const table = document.querySelector("#table"),
      box = table.closest(".scroll"),
      out = [];
    if (box.scrollWidth > box.clientWidth) {
      out.push(`${box.scrollWidth} of ${box.clientWidth}`);
    }
    for (const row of table.tBodies[0].rows) {
      if (row.cells[0].offsetWidth < 220) out.push("a name without room");
      if (row.offsetHeight > 34) out.push(`a row ${row.offsetHeight} high`);
    }
    return out.join("; ");
  });

export async function columns() {
  for (const [name, width, colorScheme] of [
    ["long", 1440, "light"],
    ["long-diff", 1440, "light"],
    ["normal", 1440, "dark"],
    ["exact", 1440, "light"],
    ["normal", 1024, "light"],
    ["exact", 1024, "dark"],
    ["long", 1024, "light"],
    ["diff", 1024, "dark"],
    ["diff", 800, "light"],
    ["exact-diff", 1024, "light"],
    ["exact-diff", 1280, "dark"],
    ["exact-diff", 1440, "light"],
    ["long-diff", 1240, "light"]
  ]) {
    const page = await open(name, {
      viewport: { width, height: 900 },
      colorScheme
    });
    for (const unit of ["func", "lines"]) {
      await segment(page, unit).click();
      await settle(page);
      is(await unseen(page), "", `${name}, ${width} wide, ${unit}: seen`);
    }
    for (const v of ["alloc", "inuse", "peak"]) {
      await view(page, v).click();
      await settle(page);
      is(await unseen(page), "", `${name}, ${width} wide, ${v}: seen`);
    }
    await shot(page, `${name}-${width}`);
    await close(page, `${name}, ${width} wide`);
  }
}

// -- Deep recursion -----------------------------------------------------------

export async function deep() {
  const page = await open("deep");
  await press(page, "g", "End", "ArrowDown", "ArrowDown", "Enter");
  await settle(page);
  like(await status(page), /^walk .*100% of CPU time/, "5000 calls deep");
  await segment(page, "calls").click();
  ok((await page.locator("#calls tr").count()) > 50, "as a call tree");
  await segment(page, "bottom").click();
  await settle(page);
  await press(page, "g", "ArrowDown");
  like(await status(page), /^leaf /, "inverted");
  await segment(page, "top").click();
  await press(page, "r");
  await settle(page);
  is(
    await page.locator(".flame [role=treeitem]").count(),
    4,
    "joined: all, main chunk, walk, leaf"
  );
  await close(page, "deep");
}
