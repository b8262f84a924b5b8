// SPDX-License-Identifier: MIT
/*
** The timeline: CPU time, allocation, memory and collections over the run.
**
** A point has the values of one moment, and the counts since the point before:
** intervals are drawn as steps, moments as lines.
*/
const { $, el, svg, color, narrow } = mp.dom;
const { A, NP } = mp.profile;
const { fixed, bytes, seconds } = mp.numbers;

const T = A.raw.timeline, MANY_CYCLES = 60;

/* The points around interval i between which its rate is looked at: an interval
** much shorter than others, such as that before the first point, has one with
** its neighbours only. */
function around(i) {
  const least = A.time[NP] / NP / 10;
  let from = i, to = i + 1;
  while (to < NP && A.time[to] - A.time[from] < least) to++;
  while (from > 0 && A.time[to] - A.time[from] < least) from--;
  return [from, to];
}

/* Counts of each interval: per second, but cycles as they are. */
function perInterval() {
  const cpu = [], alloc = [], cycles = [], length = [];
  const since = (column, from, to) =>
    Math.max(0, column[to - 1] - (from ? column[from - 1] : 0));
  for (let i = 0; i < NP; i++) {
    const [from, to] = around(i);
    const dt = Math.max(1e-9, A.time[to] - A.time[from]);
    length.push(Math.max(1e-9, A.time[i + 1] - A.time[i]));
    cpu.push(since(T.cpu, from, to) / dt);
    alloc.push(since(T.allocated, from, to) / dt);
    cycles.push(since(T.cycles, i, i + 1));
  }
  return { cpu, alloc, cycles, length };
}
const RATE = perInterval();
const cycles = A.info.gc_cycles ?? (NP ? T.cycles[NP - 1] : 0);
/* A line for each cycle, where an interval has no more than one. */
const EACH = cycles <= MANY_CYCLES && RATE.cycles.every((n) => n <= 1);

const cores = (v) => fixed(v * 100, 0) + "% of a core";
const max = (list) => list.reduce((a, b) => Math.max(a, b), 0);
const LOW = narrow.matches;
const STRIPS = [
  { name: "CPU", height: LOW ? 20 : 30, color: "cpu", steps: RATE.cpu,
    text: cores },
  { name: "Allocated", height: LOW ? 20 : 30, color: "alloc",
    steps: RATE.alloc, text: (v) => bytes(v) + "/s" },
  { name: "Memory", height: LOW ? 34 : 50, color: "inuse", line: T.inuse,
    rss: T.rss, text: bytes }
];
const GC_HEIGHT = 14, AXIS = 20;

/* The drawing under way: its parts, its measures, and how far down it is. */
function sheet(width, words) {
  const side = narrow.matches ? 0 : 132;
  const s = { root: svg("svg", { role: "img", "aria-label": words }), width,
    side, end: A.time[NP] || 1, gap: side ? 7 : 16, y: 0 };
  s.x = (t) => side + t / s.end * (s.width - side);
  return s;
}
const f1 = (x) => x.toFixed(1);

/* The name of a strip and its largest value: beside it, or above it. */
function label(s, name, more, y, height) {
  const middle = y + height / 2;
  if (s.side) {
    s.root.append(svg("text", { class: "name", x: 0, y: middle - 2 }, name),
      svg("text", { x: 0, y: middle + 12 }, more));
  } else {
    s.root.append(svg("text", { class: "name", x: 0, y: y - 4 }, name),
      svg("text", { x: s.width, y: y - 4, "text-anchor": "end" }, more));
  }
}

function drawSteps(s, strip, y0, Y) {
  let path = `M${f1(s.x(0))},${y0 + strip.height}`;
  strip.steps.forEach((v, i) => {
    path += `V${f1(Y(v))}H${f1(s.x(A.time[i + 1]))}`;
  });
  s.root.append(svg("path", { class: "steps",
    d: path + `V${y0 + strip.height}Z`, fill: color(strip.color) }));
}
/* Before the first point nothing is known. */
function drawLine(s, values, Y, stroke, dash) {
  const points = values.map((v, i) =>
    `${f1(s.x(A.time[i + 1]))},${f1(Y(v))}`).join(" ");
  s.root.append(svg("polyline", { points, fill: "none", stroke,
    "stroke-width": 1.6, "stroke-dasharray": dash }));
  return points;
}
function drawMemory(s, strip, y0, Y) {
  const points = drawLine(s, strip.line, Y, color(strip.color));
  const foot = y0 + strip.height, from = f1(s.x(A.time[1]));
  s.root.append(svg("polygon", { fill: color(strip.color),
    "fill-opacity": 0.25,
    points: `${from},${foot} ${points} ${f1(s.x(s.end))},${foot}` }));
  if (max(strip.rss) > 0) drawLine(s, strip.rss, Y, "var(--mute)", "5 3");
}

function drawStrip(s, strip) {
  const values = strip.steps || [...strip.line, ...strip.rss];
  const y0 = s.y + s.gap, top = Math.max(1e-9, max(values));
  const Y = (v) => y0 + strip.height - v / top * strip.height;
  for (const y of [y0, y0 + strip.height]) {
    s.root.append(svg("line", { class: "grid", x1: s.side, x2: s.width,
      y1: y, y2: y }));
  }
  if (strip.steps) drawSteps(s, strip, y0, Y);
  else drawMemory(s, strip, y0, Y);
  label(s, strip.name, "up to " + strip.text(top), y0, strip.height);
  s.y = y0 + strip.height;
}

/* Collections: a line through all strips at the end of each, or where there are
** too many, their number. */
function drawCycles(s) {
  const y0 = s.y + s.gap, most = Math.max(1e-9,
    max(RATE.cycles.map((n, i) => n / RATE.length[i])));
  RATE.cycles.forEach((n, i) => {
    const x = s.x(A.time[i + 1]), height = EACH ? GC_HEIGHT :
      n / RATE.length[i] / most * GC_HEIGHT;
    if (!n) return;
    if (EACH) {
      s.root.append(svg("line", { class: "gc", x1: x, x2: x, y1: s.gap,
        y2: y0 + GC_HEIGHT }));
    } else {
      const from = s.x(A.time[i]);
      s.root.append(svg("rect", { class: "gcs", x: from, width: x - from,
        y: y0 + GC_HEIGHT - height, height }));
    }
  });
  label(s, cycleWords(cycles), EACH || most < 1 ? "" :
    `up to ${fixed(most, 0)} a second`, y0, GC_HEIGHT);
  s.y = y0 + GC_HEIGHT;
}
const cycleWords = (n) => `${n} ${n === 1 ? "collection" : "collections"}`;

/* Moments when the compiler threw all traces away. */
const FLUSHES = mp.data.jit?.flushes || [];
function drawFlushes(s) {
  for (const { wall, why } of FLUSHES) {
    const x = s.x(Math.min(wall, s.end));
    s.root.append(svg("line", { class: "flush", x1: x, x2: x, y1: s.gap,
      y2: s.y }, svg("title", {}, `all traces thrown away: ${why}`)));
  }
}

/* Moments when a trace was given up first, those of the most frequent ones. */
const GIVEUPS_SHOWN = 20;
const GIVEN = (mp.data.jit?.giveups.wall || [])
  .map((wall, i) => ({ wall, i })).filter(({ wall }) => wall >= 0)
  .slice(0, GIVEUPS_SHOWN);
function drawGiveups(s) {
  const { giveups, places } = mp.data.jit || {}, { STR } = mp.items;
  for (const { wall, i } of GIVEN) {
    const x = s.x(Math.min(wall, s.end));
    const where = places.label[giveups.at[i]];
    s.root.append(svg("line", { class: "giveup", x1: x, x2: x, y1: s.y - 4,
      y2: s.y + 5 }, svg("title", {}, `a trace given up at ${STR[where]}: ` +
      `${STR[giveups.reason[i]]}`)));
  }
}

function drawAxis(s) {
  const raw = s.end / Math.max(2, (s.width - s.side) / 130);
  const mag = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * mag).find((m) => m >= raw);
  for (let t = 0; t <= s.end * 1.0001; t += step) {
    const anchor = t === 0 ? "start" :
      s.x(t) > s.width - 30 ? "end" : "middle";
    const text = t === 0 ? "0" :
      step < 0.001 ? fixed(t * 1000, 2) + " ms" : seconds(t);
    s.root.append(svg("text", { x: s.x(t), y: s.y + 16,
      "text-anchor": anchor }, text));
  }
}

function legend() {
  const more = max(T.rss) > 0 ? el("span", {}, el("i", { class: "dash" }),
    "resident (RSS)") : "";
  return el("p", { class: "legend mute" },
    el("span", {}, el("i"), "in use in the Lua heap"), more,
    EACH && cycles ? " · a line at each collection" : "",
    FLUSHES.length ? " · dotted: all traces thrown away" : "",
    GIVEN.length ? " · marks at the foot: traces given up" : "");
}

/* In words, for those who do not see it. */
function summary() {
  return `Over ${seconds(A.time[NP])}: in use up to ${bytes(max(T.inuse))}, ` +
    `at the end ${bytes(T.inuse[NP - 1])}; allocated ` +
    `${bytes(T.allocated[NP - 1])}; ${cycleWords(cycles)}`;
}

/* The interval that ends at a point, in words. */
function readout(point) {
  const i = point - 1, phase = T.phases[T.phase[i]], n = RATE.cycles[i];
  return `${seconds(A.time[point])}: CPU ${cores(RATE.cpu[i])}, allocating ` +
    `${bytes(RATE.alloc[i])}/s, in use ${bytes(T.inuse[i])}` +
    (T.rss[i] ? `, RSS ${bytes(T.rss[i])}` : "") +
    (n ? `, ${cycleWords(n)}` : "") +
    (phase ? `, collector: ${phase}` : "");
}

/* Where a time is, and what time is at a place. */
function places(s) {
  const height = s.bottom - s.top;
  return { cell: (t) => [t, t],
    area: (a, b) => `M${f1(s.x(a))},${s.top}H${f1(s.x(b))}v${height}` +
      `H${f1(s.x(a))}Z`,
    timeAt: (x) => (x - s.side) / (s.width - s.side) * s.end,
    outline: (t) => `M${f1(s.x(t))},${s.top - 2}V${s.bottom}`,
    spot: (t) => [s.x(t), s.top, height] };
}

/* Draws the timeline, and returns its measures; nothing: it cannot be drawn. */
function draw() {
  const box = $("chart"), width = box.clientWidth;
  if (!NP || !width) return null;
  const s = sheet(width, summary());
  for (const strip of STRIPS) drawStrip(s, strip);
  drawCycles(s);
  drawFlushes(s);
  drawGiveups(s);
  s.top = s.gap - 3;
  s.bottom = s.y;
  drawAxis(s);
  s.root.setAttribute("viewBox", `0 0 ${width} ${s.bottom + AXIS}`);
  s.root.setAttribute("height", s.bottom + AXIS);
  $("legend").replaceChildren(legend());
  return { ...s, ...places(s) };
}

mp.timeline = { T, RATE, cores, max, f1, sheet, label, drawAxis, draw,
  readout };
