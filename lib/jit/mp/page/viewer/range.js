// SPDX-License-Identifier: MIT
/*
** The chosen part of the time: a drag over the timeline, or two sliders.
*/
const { $, el, svg } = mp.dom;
const { A, NP, TIMES, DIFF } = mp.profile;
const { seconds } = mp.numbers;
const { state } = mp;
const { draw, readout } = mp.timeline;

let chart = null;	/* The drawing, and the layer over it. */
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
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1,
      PageDown: -page, PageUp: page, Home: -NP, End: NP }[e.key];
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

function placeHandles(r, x) {
  handles.forEach((h, i) => {
    h.style.left = x[i] + "px";
    h.classList.toggle("set", state.now.range !== null);
    h.setAttribute("aria-valuemin", 0);
    h.setAttribute("aria-valuemax", NP);
    h.setAttribute("aria-valuenow", r[i]);
    h.setAttribute("aria-valuetext", seconds(A.time[r[i]]));
  });
}
function note(r) {
  const which = DIFF ? " It is the run after." : "";
  if (state.now.range) {
    return `${seconds(A.time[r[0]])} to ${seconds(A.time[r[1]])} chosen.` +
      which;
  }
  return (TIMES ? "Drag over it to choose a time." :
    "This profile has no samples by time.") + which;
}
function showRange() {
  if (!chart) return;
  const r = range(), x = r.map((k) => chart.x(A.time[k]));
  const cover = (e, a, b) => {
    e.setAttribute("x", a);
    e.setAttribute("width", Math.max(0, b - a));
  };
  cover(chart.off[0], chart.side, x[0]);
  cover(chart.off[1], x[1], chart.width);
  placeHandles(r, x);
  $("whole").hidden = !state.now.range;
  $("timeline-note").textContent = note(r);
}

function drawTimeline() {
  const box = $("chart"), held = handles.indexOf(document.activeElement);
  const s = draw();
  if (!s) return;
  const height = s.bottom - s.top, part = { y: s.top, height, class: "off" };
  s.off = [0, 1].map(() => svg("rect", part));
  s.cross = svg("line", { class: "cross", y1: s.top - 2, y2: s.bottom,
    visibility: "hidden" });
  s.root.append(...s.off, s.cross);
  for (const h of handles) {
    h.style.top = s.top + "px";
    h.style.height = height + "px";
  }
  box.replaceChildren(s.root, ...handles);
  if (held >= 0) handles[held].focus();
  chart = s;
  showRange();
}

/* -- By pointer ----------------------------------------------------------- */

function timeAt(e) {
  const x = e.clientX - $("chart").getBoundingClientRect().left - chart.side;
  const t = x / (chart.width - chart.side) * chart.end;
  return Math.max(0, Math.min(chart.end, t));
}
/* The point that ends the interval in which a time lies. */
function pointAt(t) {
  const i = A.time.findIndex((x) => x >= t);
  return i < 0 ? NP : Math.max(1, i);
}

/* fix: the time of the end that stays; x: where it began, until it moves. */
let drag = null;

function down(e) {
  if (!TIMES || e.button) return;
  const which = handles.indexOf(e.target);
  drag = which < 0 ? { fix: timeAt(e), x: e.clientX } :
    { fix: A.time[range()[1 - which]] };
  $("chart").setPointerCapture(e.pointerId);
  if (which < 0) e.preventDefault();
}
function move(e) {
  const t = timeAt(e);
  $("readout").textContent = readout(pointAt(t));
  chart.cross.setAttribute("visibility", "visible");
  chart.cross.setAttribute("x1", chart.x(t));
  chart.cross.setAttribute("x2", chart.x(t));
  if (!drag || drag.x != null && Math.abs(e.clientX - drag.x) < 4) return;
  drag.x = null;
  const from = Math.min(pointAt(Math.min(t, drag.fix)) - 1, NP - 1);
  setRange(from, Math.max(from + 1, pointAt(Math.max(t, drag.fix))));
}
function up() {
  if (drag && drag.x != null) setRange(0, NP);
  drag = null;
}
function leave() {
  chart.cross.setAttribute("visibility", "hidden");
  $("readout").textContent = "";
}

function listen() {
  const box = $("chart");
  if (!NP) {
    box.replaceChildren(el("p", { class: "empty" },
      "This profile has no timeline."));
    $("readout").hidden = true;
    return;
  }
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
