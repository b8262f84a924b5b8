// SPDX-License-Identifier: MIT
// The numbers of the page are those of the text report.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { is, open, close, segment, pages } from "./harness.mjs";

// -- The same numbers as the text report has ---------------------------------

// The same cell, or another last digit: the page has whole bytes of each row.
function alike(a, b) {
  const [x, unitX] = a.split(" "),
    [y, unitY] = b.split(" ");
  return a === b || (unitX === unitY && Math.abs(x - y) <= 0.011);
}
const alikeRows = (a, b) =>
  a.length === b.length && a.every((x, i) => alike(x, b[i]));

// Rows of the table: the name and each view's own amount.
function readTable(rows) {
  return rows.map((row) => {
    const cell = (i) => row.cells[i].lastChild?.textContent || "";
    const name = row.querySelector(".fn").textContent;
    return [name, cell(1), cell(3), cell(5), cell(7)];
  });
}

function expected(file) {
  const lines = readFileSync(join(pages, file), "utf8").trimEnd().split("\n");
  return lines.map((line) => line.split("\t")).sort();
}

export async function report() {
  const page = await open("normal");
  for (const unit of ["func", "lines"]) {
    await segment(page, unit).click();
    const shown = await page.locator("#table tbody tr").evaluateAll(readTable);
    const own = shown.filter((row) => row.slice(1).some((x) => x)).sort();
    const want = expected("normal." + unit);
    const other = own.filter((row, i) => !alikeRows(row, want[i] || []));
    is(other.join("\n"), "", "as in the text report: " + unit);
    is(own.length, want.length, "all of it");
  }
  await close(page, "report");
}
