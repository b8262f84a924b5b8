// SPDX-License-Identifier: MIT
/*
** The timeline as a heat map, in which spikes stand out: a column is a second
** from its foot up, say, and a cell a part of it, the darker the more there
** was in it.
*/
const { $, el, svg, color } = mp.dom;
const { A, NP } = mp.profile;
const { fixed, seconds, bytes } = mp.numbers;
const { T, RATE, cores, max, f1, sheet, label, drawAxis } = mp.timeline;

/* Seconds of a column and of a cell. */
const SCALES = [[0.1, 0.01], [1, 0.02], [1, 0.05], [1, 0.1], [10, 0.2],
  [10, 0.5], [10, 1], [60, 2], [60, 5], [600, 20], [600, 60], [3600, 120],
  [3600, 600], [86400, 3600]];
const HEIGHT = 150, LARGEST = 15, WIDEST = 100, LEVELS = 16;

/* A cell is not shorter than most intervals between points: what happened
** within one is not known. */
function chooseScale() {
  const lengths = RATE.length.slice().sort((a, b) => a - b);
  const usual = lengths[lengths.length >> 1] * 0.95;
  return SCALES.find(([, cell]) => cell >= usual) || SCALES[SCALES.length - 1];
}
const [COLUMN, CELL] = NP ? chooseScale() : SCALES[0];
const ROWS = Math.round(COLUMN / CELL), END = NP ? A.time[NP] : 0;
const COLUMNS = Math.ceil(END / COLUMN - 1e-9);
const cellOf = (t) => Math.max(0, Math.min(COLUMNS * ROWS - 1,
  Math.floor(t / CELL + 1e-9)));
const startOf = (cell) => cell * CELL;
const endOf = (cell) => Math.min(END, (cell + 1) * CELL);
const CELLS = NP ? cellOf(END - 1e-9) + 1 : 0;

/* Rates of intervals as those of cells. */
function spread(rate) {
  const out = new Float64Array(CELLS);
  rate.forEach((v, i) => {
    const from = A.time[i], to = A.time[i + 1];
    for (let c = cellOf(from); c < CELLS && startOf(c) < to; c++) {
      out[c] += v * Math.max(0, Math.min(to, endOf(c)) -
        Math.max(from, startOf(c)));
    }
  });
  return out.map((v, c) => v / Math.max(1e-9, endOf(c) - startOf(c)));
}
/* The most at the moments within a cell, or where there is none, what was at
** the last one before. */
function most(values) {
  const out = new Float64Array(CELLS).fill(-1);
  values.forEach((v, i) => {
    const c = Math.min(CELLS - 1, cellOf(A.time[i + 1]));
    out[c] = Math.max(out[c], v);
  });
  return out.map((v, c) => out[c] = v < 0 ? c ? out[c - 1] : 0 : v);
}

/* Of views that have no rate of their own, what belongs to them. */
const rate = (v) => bytes(v) + "/s";
const CPU = { name: "CPU", color: "cpu", text: cores,
  cells: () => spread(RATE.cpu) };
const ALLOCATED = { name: "Allocated", color: "alloc", text: rate,
  cells: () => spread(RATE.alloc) };
const IN_USE = { name: "In use", color: "inuse", text: bytes,
  cells: () => most(T.inuse) };
const SHOWN = { alloc: ALLOCATED, temp: ALLOCATED, inuse: IN_USE,
  peak: IN_USE };
const shown = (view) => SHOWN[view] || CPU;

/* -- Where a time is ------------------------------------------------------ */

const corner = (s, cell) => [s.side + Math.floor(cell / ROWS) * s.wide,
  s.top + (ROWS - 1 - cell % ROWS) * s.high];
const box = (x, y, width, height) =>
  `M${f1(x)},${f1(y)}h${f1(width)}v${f1(height)}h${f1(-width)}Z`;
const outline = (s, t) => box(...corner(s, cellOf(t)), s.wide, s.high);

/* From a time to another: a part of a column, columns, and a part again. */
function area(s, from, to) {
  let path = "";
  for (let c = Math.floor(from / COLUMN); c * COLUMN < to; c++) {
    const part = (t) => Math.max(0, Math.min(1, t / COLUMN - c));
    const a = part(from), b = part(to);
    path += box(s.side + c * s.wide, s.bottom - b * s.high * ROWS, s.wide,
      (b - a) * s.high * ROWS);
  }
  return path;
}
function timeAt(s, x, y) {
  const column = Math.max(0, Math.min(COLUMNS - 1,
    Math.floor((x - s.side) / s.wide)));
  const row = Math.max(0, Math.min(ROWS - 1,
    Math.floor((s.bottom - y) / s.high)));
  return Math.min(END, (column * ROWS + row + 0.5) * CELL);
}
/* The middle of the cell that begins, or ends, with a time. */
function spot(s, t, ends) {
  const [x, y] = corner(s, ends ? cellOf(t - CELL / 2) : cellOf(t));
  return [x + s.wide / 2, y + s.high / 2];
}

/* -- The drawing ---------------------------------------------------------- */

/* One path for each level of colour. */
function drawCells(s, cells, top, fill) {
  const paths = Array(LEVELS).fill("");
  const gap = Math.min(s.wide, s.high) > 5 ? 1 : 0;
  cells.forEach((v, c) => {
    const level = Math.ceil(v / top * (LEVELS - 1));
    paths[Math.max(0, Math.min(LEVELS - 1, level))] +=
      box(...corner(s, c), s.wide - gap, s.high - gap);
  });
  paths.forEach((d, level) => d && s.root.append(svg("path", { class: "cells",
    d, fill: level ? color(fill) : "var(--line)",
    "fill-opacity": level ? 0.1 + 0.9 * level / (LEVELS - 1) : 0.45 })));
}

function drawSide(s, measure, top) {
  const more = "up to " + measure.text(top);
  if (!s.side) {
    label(s, measure.name, more, s.top, 0);
    return;
  }
  label(s, measure.name, more, s.top, 24);
  const at = { x: s.side - 8, "text-anchor": "end" };
  s.root.append(svg("text", { ...at, y: s.bottom }, "0"),
    svg("text", { ...at, y: s.top + 9 }, span(COLUMN)));
}

const span = (t) => t < 1 ? fixed(t * 1000, 0) + " ms" : t < 60 ? t + " s" :
  t < 3600 ? t / 60 + " min" : t / 3600 + " h";
const words = () => `A column is ${span(COLUMN)} from its foot up, a cell ` +
  `${span(CELL)}.`;
function summary(measure, cells, top) {
  const c = cells.indexOf(top);
  return `${measure.name} as a heat map. ${words()} The most, ` +
    `${measure.text(top)}, is from ${seconds(startOf(c))} to ` +
    seconds(endOf(c));
}

function legend(measure, top) {
  $("legend").replaceChildren(el("p", { class: "legend mute" }, "0",
    el("i", { class: "heat", "--c": color(measure.color) }),
    measure.text(top)));
}

/* Draws the heat map, and returns its measures; nothing: it cannot be drawn. */
function draw() {
  const width = $("chart").clientWidth;
  if (!NP || !width) return null;
  const measure = shown(mp.state.now.view), amounts = measure.cells();
  const top = max(amounts), s = sheet(width, summary(measure, amounts, top));
  s.wide = Math.min(WIDEST, (width - s.side) / COLUMNS);
  s.high = Math.max(3, Math.min(LARGEST, Math.round(HEIGHT / ROWS)));
  s.width = s.side + COLUMNS * s.wide;
  s.end = COLUMNS * COLUMN;
  s.top = s.gap;
  s.bottom = s.y = s.top + ROWS * s.high;
  drawCells(s, amounts, Math.max(1e-9, top), measure.color);
  drawSide(s, measure, top);
  drawAxis(s);
  s.root.setAttribute("viewBox", `0 0 ${width} ${s.bottom + 20}`);
  s.root.setAttribute("height", s.bottom + 20);
  legend(measure, top);
  return { ...s, cell: (t) => [startOf(cellOf(t)), endOf(cellOf(t))],
    area: (a, b) => area(s, a, b), timeAt: (x, y) => timeAt(s, x, y),
    outline: (t) => outline(s, t), spot: (t, ends) => spot(s, t, ends),
    across: COLUMN };
}

/* The cells of a view, as [from, to, amount]. */
const cells = (view) => Array.from(shown(view).cells(), (v, c) =>
  [startOf(c), endOf(c), v]);

mp.heat = { draw, words, cells };
