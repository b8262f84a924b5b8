// SPDX-License-Identifier: MIT
// No finding of axe-core, whatever is shown.

import { createRequire } from "node:module";
import { is, open, press, segment, settle } from "./harness.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core");
const tags = [
  "wcag2a",
  "wcag2aa",
  "wcag21a",
  "wcag21aa",
  "wcag22aa",
  "best-practice"
];

async function findings(page, name) {
  await settle(page);
  const list = await page.evaluate(async (runOnly) => {
    const { violations } = await window.axe.run(document, { runOnly });
    return violations.flatMap((v) =>
      v.nodes.map((n) => `${v.id}: ${n.target} ${n.html}`)
    );
  }, tags);
  is(list.slice(0, 8).join("\n"), "", `axe: ${name}`);
}

const states = {
  "as it opens": async () => {},
  inverted: (page) => segment(page, "bottom").click(),
  sandwich: (page) => segment(page, "sandwich").click(),
  "call tree": (page) => segment(page, "calls").click(),
  "heat map": async (page) => {
    if (await segment(page, "heat").count())
      await segment(page, "heat").click();
  },
  "in order": async (page) => {
    if (await segment(page, "time").count())
      await segment(page, "time").click();
  },
  search: async (page) => {
    await segment(page, "top").click();
    await page.locator("#search").fill("e");
  },
  "a bad search": (page) => page.locator("#search").fill("("),
  "focus and hidden frames": async (page) => {
    await page.locator("#search").fill("");
    await page.locator("#search").blur();
    await press(page, "g", "ArrowDown", "ArrowDown", "f", "ArrowDown", "h");
  },
  "the heap": (page) => press(page, "w", "ArrowDown", "ArrowDown", "Enter"),
  keys: (page) => press(page, "?")
};

export async function access() {
  const looks = [
    ["normal", { colorScheme: "light" }],
    ["normal", { colorScheme: "dark" }],
    ["normal", { viewport: { width: 390, height: 844 }, isMobile: true }],
    ["diff", { colorScheme: "light" }],
    ["diff", { colorScheme: "dark" }],
    ["walked", { colorScheme: "light" }],
    ["walked", { colorScheme: "dark" }],
    ["leaking", { colorScheme: "light" }],
    ["leaking", { colorScheme: "dark" }],
    ["exact", { colorScheme: "light" }],
    ["exact", { colorScheme: "dark" }],
    ["hostile", {}],
    ["empty", {}]
  ];
  for (const [name, look] of looks) {
    const page = await open(name, look);
    await page.addScriptTag({ path: axe });
    const how = [name, look.colorScheme, look.isMobile && "phone"]
      .filter(Boolean)
      .join(" ");
    for (const [state, act] of Object.entries(states)) {
      await act(page);
      await findings(page, `${how}, ${state}`);
    }
    await page.context().close();
  }
}
