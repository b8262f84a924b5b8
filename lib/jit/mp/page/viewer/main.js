/*
** All together: what is drawn again when the state changes.
*/
const { $ } = mp.dom;
const { DIFF } = mp.profile;
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
const LATER = ["table", "source"], REST = 120;	/* Milliseconds. */

let wanted = new Set();
function draw(parts) {
  for (const name of Object.keys(PARTS)) {
    if (parts(name) && wanted.delete(name)) PARTS[name]();
  }
}

/* While the time is being chosen: the graph at once, the rest when it
** rests. */
let frame = 0, timer = 0;
function drawLater() {
  PARTS.range();
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() =>
    draw((name) => !LATER.includes(name)));
  clearTimeout(timer);
  timer = setTimeout(() => draw(() => true), REST);
}

function changed(fields) {
  for (const k of fields) {
    for (const part of SHOWN_BY[k] || Object.keys(PARTS)) wanted.add(part);
  }
  if (state.now.mode === "sandwich") {
    const sel = graph.chosenItem();
    if (sel !== state.now.sel) { state.set({ sel }); return; }
  }
  if (fields.size === 1 && fields.has("range")) drawLater();
  else draw(() => true);
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
