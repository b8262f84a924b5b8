// SPDX-License-Identifier: MIT
// The rest of what the page does: frames are hidden, joined and looked for,
// the call tree, links, and what is taken along.

import { readFileSync } from "node:fs";
import {
  clickFrame,
  close,
  first,
  frame,
  is,
  like,
  names,
  ok,
  open,
  place,
  press,
  segment,
  settle,
  status,
  text,
  width
} from "./harness.mjs";

const label = async (page, name) =>
  (await frame(page, name)).getAttribute("aria-label");
const action = (page, name) =>
  page.locator("#status button", { hasText: name });

// -- Frames -------------------------------------------------------------------

async function focusing(page) {
  await clickFrame(page, "encode");
  await action(page, "Focus").click();
  await settle(page);
  like(
    await label(page, "all"),
    /^all, 100% of CPU time, 1\.61 s$/,
    "focus: that part alone"
  );
  is(
    await page.locator('[aria-label^="handle,"]').count(),
    0,
    "without its callers"
  );
  is(
    await text(page, "#views [data-v=cpu] b"),
    "1.61 s",
    "the views go with it"
  );
  ok(!(await names(page)).includes("handle"), "and the table");
  await page.locator("#chips button", { hasText: "Focus: encode" }).click();
  await settle(page);
  like(await label(page, "all"), /4\.04 s$/, "and back");
}

async function hiding(page) {
  await clickFrame(page, "encode_string");
  await press(page, "h");
  await settle(page);
  is(
    await page.locator('[aria-label^="encode_string,"]').count(),
    0,
    "a hidden frame is gone"
  );
  like(
    await label(page, "encode"),
    /40% of CPU time, 1\.61 s$/,
    "its caller has what it had"
  );
  like(await label(page, "string.gsub"), /9% of CPU time/, "and its callees");
  await press(page, "u");
  await settle(page);
  ok((await names(page)).includes("encode_string"), "u shows it again");
}

async function collapsing(page) {
  const deep = () =>
    page.locator('.flame [aria-label^="decode_value,"]').count();
  ok((await deep()) > 1, "recursion has a frame for each call");
  await press(page, "r");
  await settle(page);
  is(await deep(), 1, "r joins them");
  like(
    await label(page, "decode_value"),
    /57% of CPU time, 2\.32 s$/,
    "nothing is lost"
  );
  is(
    await page.locator("[data-of=collapse]").getAttribute("aria-pressed"),
    "true",
    "as shown"
  );
  await press(page, "r");
}

export async function frames() {
  const page = await open("normal");
  await focusing(page);
  await hiding(page);
  await collapsing(page);
  await close(page, "frames");
}

// -- Search -------------------------------------------------------------------

export async function search() {
  const page = await open("normal");
  const input = page.locator("#search");
  await input.fill("serve");
  like(await text(page, "#found"), /time, 4\.04 s$/, "a name is found first");
  await input.fill("server.lua:15");
  like(
    await text(page, "#found"),
    /^matches 39% .*by file: no name matches/,
    "then a file"
  );
  await input.fill("code");
  await input.press("Enter");
  like(await text(page, "#found"), /^1 of 2 frames$/, "Enter goes to a match");
  const one = await status(page);
  await input.press("Enter");
  ok((await status(page)) !== one, "and to the next");
  await input.press("Shift+Enter");
  is(await status(page), one, "Shift: to the one before");
  await page.locator("#next").click();
  like(await text(page, "#found"), /^2 of/, "there is a button");
  await close(page, "search");
}

// -- The call tree ------------------------------------------------------------

export async function calls() {
  const page = await open("normal");
  await segment(page, "calls").click();
  const rows = () => page.locator("#calls .fn").allInnerTexts();
  const shown = (await rows()).join();
  like(
    shown,
    /^all,main chunk.*,serve.*,handle.*,decode_value/,
    "the hottest way is open"
  );
  const row = page.locator("#calls tr", { hasText: "server.lua:19" });
  like(
    (await row.innerText()).replace(/\s+/g, " "),
    /^encodeserver.lua:19 40%1\.61 s 54%18\.9 MB/,
    "every view of a call"
  );
  await row.click();
  ok((await rows()).length > shown.split(",").length, "a click opens a row");
  is(
    await page.evaluate(() =>
      document.activeElement.getAttribute("aria-expanded")
    ),
    "true",
    "which has the focus"
  );
  await press(page, "ArrowRight");
  like(
    await page.evaluate(() => document.activeElement.innerText),
    /^\s*encode_string/,
    "keys"
  );
  await press(page, "ArrowLeft", "ArrowLeft");
  is((await rows()).join(), shown, "the left arrow closes it");
  await close(page, "calls");
}

// -- Links --------------------------------------------------------------------

export async function links() {
  let page = await open("normal");
  await segment(page, "lines").click();
  await press(page, "2");
  await page.locator("#search").fill("encode");
  await page.locator("#search").blur();
  await settle(page);
  await clickFrame(page, "encode:23");
  await settle(page);
  await settle(page);
  const url = page.url(),
    zoomed = await width(page, "encode:23");
  like(
    url,
    /#view=alloc&unit=lines&search=encode&zoom=[\d.]+$/,
    "the state is in the address"
  );
  await page.context().close();

  page = await open("normal", {}, new URL(url).hash);
  is(await width(page, "encode:23"), zoomed, "a link shows the same");
  is(await page.inputValue("#search"), "encode", "all of it");
  is(await text(page, "#functions-title"), "Lines", "also below");
  await close(page, "links");

  page = await open(
    "normal",
    {},
    "#view=none&zoom=1.x&range=9-2&hidden=-4&sel=99999&mode=" +
      "__proto__&__proto__=1&file=7&type=%00&group=zone"
  );
  is(await first(page), "decode_value", "what makes no sense is left out");
  is(
    await page.locator("[data-of=group]").inputValue(),
    "zone",
    "what does is not"
  );
  await close(page, "bad links");
}

// -- Taken along --------------------------------------------------------------

async function download(page, id) {
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(id).click()
  ]);
  return [file.suggestedFilename(), readFileSync(await file.path(), "utf8")];
}

async function copying(page) {
  await clickFrame(page, "encode_string");
  await action(page, "Copy stack").click();
  await page.locator("#told", { hasText: "Stack copied" }).waitFor();
  is(
    await page.evaluate(() => navigator.clipboard.readText()),
    "encode_string\nencode\nhandle\nserve\nmain chunk",
    "the innermost frame first"
  );
}

async function foldedStacks(page) {
  const [name, folded] = await download(page, "#folded");
  is(name, "server.lua.cpu.folded", "the file's name says what it is");
  const lines = folded
    .trim()
    .split("\n")
    .map((x) => /^(.*) (\d+)$/.exec(x));
  ok(
    lines.every((m) => m),
    "folded stacks",
    folded
  );
  is(
    lines.reduce((a, m) => a + Number(m[2]), 0),
    4040000,
    "add up"
  );
  ok(
    lines.some((m) => m[1] === "main chunk;serve;handle;encode;encode_string"),
    "have callers",
    folded
  );
}

async function picture(page) {
  const [, image] = await download(page, "#svg");
  const root = await page.evaluate(
    (s) =>
      new DOMParser().parseFromString(s, "image/svg+xml").documentElement
        .tagName,
    image
  );
  is(root, "svg", "the picture is well-formed");
  like(image, /encode_string, 39% of CPU time/, "with words");
}

export async function saving() {
  const page = await open("normal", {
    permissions: ["clipboard-read", "clipboard-write"]
  });
  await copying(page);
  await foldedStacks(page);
  await picture(page);
  await close(page, "saving");
}

// -- Without a script ---------------------------------------------------------

export async function plain() {
  const page = await open("normal", { javaScriptEnabled: false });
  like(
    await text(page, "body"),
    /^\s*This page shows a profile by its script/,
    "it says so"
  );
  is(
    await page.locator("button:visible, section:visible").count(),
    0,
    "and hides the rest"
  );
  await page.context().close();
}
