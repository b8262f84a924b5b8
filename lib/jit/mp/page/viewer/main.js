// SPDX-License-Identifier: MIT
/*
** The whole page: draws the parts that a change of the state concerns.
*/
const { $ } = mp.dom;
const { DIFF, PROFILES, VIEWS } = mp.profile;
const { state, graph } = mp;

const PARTS = {
  range: mp.range.showRange, controls: mp.controls.show,
  graph: graph.showGraph, calls: mp.calls.showCalls, zoom: graph.followZoom,
  found: mp.search.showFound, table: mp.table.showTable,
  rows: mp.table.addRows, source: mp.source.showSource,
  heap: mp.heap.showHeap
};
/* Parts that show a field; any other field is shown by all of them. */
const SHOWN_BY = {
  zoom: ["zoom"], sort: ["table"], sortView: ["table"], dir: ["table"],
  shown: ["rows"], heap: ["heap"],
  file: ["source"], mark: ["source"], whole: ["source"],
  chart: ["range"],
  search: ["graph", "calls", "found", "table"], sel: ["graph", "table"],
  width: ["controls", "graph"], group: ["controls", "graph", "found"],
  mode: ["controls", "graph", "calls", "found", "table"],
  chains: ["controls", "graph", "calls", "found"],
  share: DIFF ? ["controls", "graph", "calls", "table"] : []
};

/* Parts that may come later: while the time is being chosen they wait until
** it rests. */
const LATER = ["table", "rows", "source", "heap"];
const REST = 120;	/* Milliseconds. */
const FIRST = Object.keys(PARTS).filter((name) => !LATER.includes(name));

let wanted = new Set(), frame = 0, timer = 0;
function draw(names) {
  for (const name of names) if (wanted.delete(name)) PARTS[name]();
}

/* -- A profile of usual size ---------------------------------------------- */

function drawAll() {
  clearTimeout(timer);
  draw(FIRST);
  draw(LATER);
}
function drawWhenResting() {
  PARTS.range();
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => draw(FIRST));
  clearTimeout(timer);
  timer = setTimeout(drawAll, REST);
}

/* -- A large one: sums, trees and drawings are made step by step ---------- */

const LARGE = PROFILES.reduce((a, P) => a + P.rows + P.n, 0) > 40000;

function* graphSteps() {
  const { unit, view, mode } = state.now;
  yield* mp.sums.grow(unit, [view]);
  if (mode === "sandwich" && choose()) return;
  if (wanted.has("graph")) yield* graph.growSteps();
}
function* drawSteps() {
  yield* graphSteps();
  for (const name of FIRST) {
    draw([name]);
    yield;
  }
  stale();
  yield* mp.sums.grow(state.now.unit, VIEWS);
  if (wanted.has("table")) yield* mp.table.growOrder();
  draw(["table", "rows"]);
  yield;
  yield* mp.sums.grow("lines", wanted.has("source") ? VIEWS : []);
  draw(["source", "heap"]);
}

/* A graph that is no longer that of the state cannot be used. */
const stale = () => $("flame").classList.toggle("stale", wanted.has("graph"));

function drawInSteps(ms) {
  draw(["range"]);
  stale();
  mp.steps.run("page", drawSteps(), ms);
}

/* ------------------------------------------------------------------------- */

/* The item of the sandwich; true: it is another one now. */
function choose() {
  const sel = graph.chosenItem();
  if (sel === state.now.sel) return false;
  state.set({ sel });
  return true;
}

function changed(fields) {
  const timeOnly = fields.size === 1 && fields.has("range");
  for (const k of fields) {
    for (const part of SHOWN_BY[k] || Object.keys(PARTS)) wanted.add(part);
  }
  if (LARGE && wanted.size > 1) drawInSteps(timeOnly ? REST : 0);
  else if (state.now.mode === "sandwich" && choose()) return;
  else if (timeOnly) drawWhenResting();
  else drawAll();
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
    mp.heap.redraw("render");
  }).observe(document.body);
}

mp.controls.create();
mp.leaks.create();
mp.jit.create();
mp.address.follow();
mp.help.showHeader();
mp.save.listen();
mp.help.listen();
mp.range.listen();
mp.search.listen();
mp.heap.listen();
mp.table.listen();
mp.range.drawTimeline();
wanted = new Set(Object.keys(PARTS));
state.listen(changed);
changed(new Set());
watchWidth();
addEventListener("hashchange", mp.address.follow);
addEventListener("pagehide", mp.address.flush);
