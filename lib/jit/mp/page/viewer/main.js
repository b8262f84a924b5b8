// SPDX-License-Identifier: MIT
/*
** The whole page: draws the parts that a change of the state concerns.
*/
const { $ } = mp.dom;
const { DIFF, PROFILES, VIEWS } = mp.profile;
const { stats, chance } = mp.sums;
const { state, graph } = mp;

const PARTS = {
  range: mp.range.showRange, controls: mp.controls.show,
  graph: graph.showGraph, calls: mp.calls.showCalls, zoom: graph.followZoom,
  found: mp.search.showFound, table: mp.table.showTable,
  source: mp.source.showSource
};
/* Parts that show a field; any other field is shown by all of them. */
const SHOWN_BY = {
  zoom: ["zoom"], sort: ["table"], sortView: ["table"], dir: ["table"],
  shown: ["table"], file: ["source"], mark: ["source"], whole: ["source"],
  search: ["graph", "calls", "found", "table"], sel: ["graph", "table"],
  width: ["controls", "graph"], group: ["controls", "graph", "found"],
  mode: ["controls", "graph", "calls", "found", "table"],
  share: DIFF ? ["controls", "graph", "calls", "table"] : []
};

/* Parts that may come later: while the time is being chosen they wait until
** it rests. Those of a large profile, and the sums that they need, are made
** step by step, so that the page answers in between. */
const LATER = ["table", "source"], REST = 120;	/* Milliseconds. */
const LARGE = PROFILES.some((P) => P.rows > 20000);

let wanted = new Set(), frame = 0, timer = 0;
function draw(names) {
  for (const name of names) if (wanted.delete(name)) PARTS[name]();
}
const drawFirst = () => draw(Object.keys(PARTS).filter((name) =>
  !LATER.includes(name)));

const sumSteps = (unit) => VIEWS.flatMap((view) => PROFILES.flatMap((P, i) =>
  [() => stats(i, view, unit), () => chance(i, view, unit)]));
const restSteps = () => [...sumSteps(state.now.unit), () => draw(["table"]),
  ...VIEWS.map((view) => () => stats(0, view, "lines")),
  () => draw(["source"])];

function drawRest(steps) {
  clearTimeout(timer);
  timer = 0;
  if (!LARGE) { draw(LATER); return; }
  const step = steps.shift();
  if (!step) return;
  step();
  timer = setTimeout(drawRest, 0, steps);
}

function drawNow() {
  const alone = wanted.size === 1;
  drawFirst();
  if (alone) draw(LATER);
  else if (!LARGE) drawRest();
  else restart(0);
}
function restart(ms) {
  clearTimeout(timer);
  timer = setTimeout(() => drawRest(restSteps()), ms);
}
function drawWhenResting() {
  PARTS.range();
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(drawFirst);
  restart(REST);
}

function changed(fields) {
  for (const k of fields) {
    for (const part of SHOWN_BY[k] || Object.keys(PARTS)) wanted.add(part);
  }
  if (state.now.mode === "sandwich") {
    const sel = graph.chosenItem();
    if (sel !== state.now.sel) { state.set({ sel }); return; }
  }
  if (fields.size === 1 && fields.has("range")) drawWhenResting();
  else drawNow();
  mp.address.changed();
}

/* The drawings are as wide as the page. */
function watchWidth() {
  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (width === document.body.clientWidth) return;
    width = document.body.clientWidth;
    mp.range.drawTimeline();
    for (const f of graph.shownFlames()) f.render();
  }).observe(document.body);
}

mp.controls.create();
mp.address.follow();
mp.help.showHeader();
mp.save.listen();
mp.help.listen();
mp.range.listen();
mp.search.listen();
mp.table.listen();
mp.range.drawTimeline();
wanted = new Set(Object.keys(PARTS));
state.listen(changed);
changed(new Set());
watchWidth();
addEventListener("hashchange", mp.address.follow);
addEventListener("pagehide", mp.address.flush);
