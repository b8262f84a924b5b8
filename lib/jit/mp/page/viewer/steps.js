// SPDX-License-Identifier: MIT
/*
** Work in steps, so that the page answers in between: a generator goes on
** while there is time for it, and then again in the next turn.
*/
const BUDGET = 25;	/* Milliseconds; a step may begin within them. */

/* Each line of work is in one of several; new work takes the place of the work
** before in its line. */
const lines = new Map();

function showBusy() {
  document.querySelector("main").setAttribute("aria-busy",
    lines.size > 0 ? "true" : "false");
}

/* A step may begin other work in the line, which takes its place. */
function go(line) {
  const { work } = lines.get(line), until = performance.now() + BUDGET;
  while (performance.now() < until) {
    const { done } = work.next();
    if (lines.get(line).work !== work) return;
    if (done) {
      lines.delete(line);
      showBusy();
      return;
    }
  }
  later(line, work, 0);
}
function later(line, work, ms) {
  clearTimeout(lines.get(line)?.timer);
  lines.set(line, { work, timer: setTimeout(go, ms, line) });
  showBusy();
}

/* In a line of work, after that many milliseconds. */
const run = (line, work, ms = 0) => later(line, work, ms);

mp.steps = { run };
