// The numbers of the page are those of the text report.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { is, open, close, segment, pages } from "./harness.mjs";

// -- The same numbers as the text report has ---------------------------------

export async function report() {
  const page = await open("normal");
  for (const unit of ["func", "lines"]) {
    await segment(page, unit).click();
    const shown = await page.locator("#table tbody tr").evaluateAll((rows) =>
      rows.map((row) => {
        const cell = (i) => row.cells[i].lastChild?.textContent || "";
        return [
          row.querySelector(".fn").textContent,
          cell(1),
          cell(3),
          cell(5),
          cell(7)
        ];
      })
    );
    const own = shown
      .filter((row) => row.slice(1).some((x) => x))
      .map((row) => row.join("\t"))
      .sort();
    const want = readFileSync(join(pages, "normal." + unit), "utf8")
      .trim()
      .split("\n")
      .map((x) => x.trimEnd())
      .sort();
    is(
      own.map((x) => x.trimEnd()).join("\n"),
      want.join("\n"),
      "as in the text report: " + unit
    );
  }
  await close(page, "report");
}
