// SPDX-License-Identifier: MIT
// The picture of the page in the README: make picture.
//
//   node picture.mjs FILE.html FILE.png

import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [from, to] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"]
});
const page = await browser.newPage({
  viewport: { width: 1180, height: 790 },
  reducedMotion: "reduce"
});
await page.goto(pathToFileURL(from).href);
await page.locator(".flame [role=treeitem]").first().waitFor();
await page.screenshot({ path: to });
await browser.close();
