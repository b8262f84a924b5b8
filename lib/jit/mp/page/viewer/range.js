// SPDX-License-Identifier: MIT
/*
** The chosen part of the time: a drag over the timeline or over its heat map,
** or two sliders.
*/
const { $, el, svg } = mp.dom;
const { A, NP, TIMES, DIFF } = mp.profile;
const { seconds } = mp.numbers;
const { state } = mp;
const { readout } = mp.timeline;
const { segment, check } = mp.widgets;

let chart = null;	/* The drawing, and the layer over it. */
let drawn = "";		/* What it shows. */
const handles = TIMES ? [0, 1].map(handle) : [];
const range = () => state.now.range || [0, NP];

/* The next point up or down at which amounts are known. */
const snap = (k, up) => up ? A.marks.find((m) => m >= k) :
  A.marks.filter((m) => m <= k).pop();

function setRange(from, to) {
  from = snap(from, false);
  to = snap(to, true);
  const all = from === 0 && to === NP;
  state.set({ range: all ? null : [from, to] });
}

/* One end of the chosen time: a slider over the points. */
function handle(which) {
  const h = el("div", { class: "handle", role: "slider", tabindex: "0",
    "aria-label": which ? "End of the time shown" : "Start of the time shown",
    "aria-orientation": "horizontal" });
  h.addEventListener("keydown", (e) => {
    const page = Math.max(2, Math.round(NP / 10)), r = range().slice();
    const at = A.time[r[which]], beside = chart.across ?
      [nearest(at - chart.across), nearest(at + chart.across)]
        .map((k) => k - r[which]) : [-1, 1];
    const by = { ArrowLeft: beside[0], ArrowDown: -1, ArrowRight: beside[1],
      ArrowUp: 1, PageDown: -page, PageUp: page, Home: -NP, End: NP }[e.key];
    if (!by || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    const to = snap(which ? Math.max(r[0] + 1, Math.min(NP, r[1] + by)) :
      Math.max(0, Math.min(r[1] - 1, r[0] + by)), by > 0);
    if (which ? to > r[0] : to < r[1]) r[which] = to;
    setRange(...r);
  });
  return h;
}

function placeHandles(r) {
  handles.forEach((h, i) => {
    const [x, y, height] = chart.spot(A.time[r[i]], i === 1);
    h.style.left = x + "px";
    h.style.top = y + "px";
    h.style.height = height ? height + "px" : "";
    h.classList.toggle("dot", !height);
    h.classList.toggle("set", state.now.range !== null);
    h.setAttribute("aria-valuemin", 0);
    h.setAttribute("aria-valuemax", NP);
    h.setAttribute("aria-valuenow", r[i]);
    h.setAttribute("aria-valuetext", seconds(A.time[r[i]]));
  });
}
function note(r) {
  const which = DIFF ? " Shows the 'after' run." : "";
  if (state.now.range) {
    return `${seconds(A.time[r[0]])} to ${seconds(A.time[r[1]])} chosen.` +
      which;
  }
  const how = heat() ? `${mp.heat.words()} Click or drag to select.` :
    "Drag to select a time range.";
  return (TIMES ? how : "This profile has no samples by time.") + which;
}
const heat = () => state.now.chart === "heat";
const wanted = () => heat() ? "heat " + state.now.view : "curves";
function showRange() {
  check($("timeline"));
  if (chart && drawn !== wanted()) drawTimeline();
  else if (chart) showChosen();
}
function showChosen() {
  const r = range(), [from, to] = r.map((k) => A.time[k]);
  chart.off[0].setAttribute("d", chart.area(0, from));
  chart.off[1].setAttribute("d", chart.area(to, A.time[NP]));
  placeHandles(r);
  $("whole").hidden = !state.now.range;
  $("timeline-note").textContent = note(r);
}

function drawTimeline() {
  const box = $("chart"), held = handles.indexOf(document.activeElement);
  const s = heat() ? mp.heat.draw() : mp.timeline.draw();
  if (!s) return;
  s.off = [0, 1].map(() => svg("path", { class: "off" }));
  s.cross = svg("path", { class: "cross", visibility: "hidden" });
  s.root.append(...s.off, s.cross);
  box.replaceChildren(s.root, ...handles);
  if (held >= 0) handles[held].focus();
  chart = s;
  drawn = wanted();
  showChosen();
}

/* -- By pointer ----------------------------------------------------------- */

function timeAt(e) {
  const { left, top } = $("chart").getBoundingClientRect();
  const t = chart.timeAt(e.clientX - left, e.clientY - top);
  return Math.max(0, Math.min(A.time[NP], t));
}
/* The point that ends the interval in which a time lies. */
function pointAt(t) {
  const i = A.time.findIndex((x) => x >= t);
  return i < 0 ? NP : Math.max(1, i);
}
function nearest(t) {
  const k = pointAt(t);
  return t - A.time[k - 1] < A.time[k] - t ? k - 1 : k;
}
/* The points around what is drawn for a time: an interval, or a cell. */
function pointsAround(t) {
  const [from, to] = chart.cell(t).map(pointAt);
  return [from - 1, to];
}

/* fix: the points that stay; at: where it began, until it moves. */
let drag = null;

function down(e) {
  if (!TIMES || e.button) return;
  const which = handles.indexOf(e.target), k = range()[1 - which];
  drag = which < 0 ? { fix: pointsAround(timeAt(e)), at: [e.clientX,
    e.clientY] } : { fix: [k, k] };
  $("chart").setPointerCapture(e.pointerId);
  if (which < 0) e.preventDefault();
}
function move(e) {
  const t = timeAt(e), way = chart.outline(t);
  $("readout").textContent = readout(pointAt(t));
  chart.cross.setAttribute("visibility", "visible");
  chart.cross.setAttribute("d", way);
  if (!drag || drag.at && Math.abs(e.clientX - drag.at[0]) < 4 &&
      Math.abs(e.clientY - drag.at[1]) < 4) return;
  drag.at = null;
  const [from, to] = pointsAround(t);
  setRange(Math.min(from, drag.fix[0]), Math.max(to, drag.fix[1]));
}
/* Without a drag a cell is chosen, or the whole. */
function up() {
  if (drag?.at) setRange(...heat() ? drag.fix : [0, NP]);
  drag = null;
}
function leave() {
  chart.cross.setAttribute("visibility", "hidden");
  $("readout").textContent = "";
}

function listen() {
  const box = $("chart");
  if (!NP) {
    box.replaceChildren(el("p", { class: "empty" }, A.info.empty.timeline));
    $("readout").hidden = true;
    return;
  }
  $("charts").append(segment("Timeline as", "chart",
    [["curves", "Curves"], ["heat", "Heat map"]]));
  box.addEventListener("pointerdown", down);
  box.addEventListener("pointermove", move);
  box.addEventListener("pointerup", up);
  box.addEventListener("pointercancel", () => { drag = null; });
  box.addEventListener("pointerleave", leave);
  $("whole").addEventListener("click", () => {
    setRange(0, NP);
    handles[0]?.focus();
  });
}

mp.range = { listen, drawTimeline, showRange };
