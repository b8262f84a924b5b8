// SPDX-License-Identifier: MIT
/*
** The source, with the share of each view beside its lines.
*/
const { $, el, quiet, color, scrollTo } = mp.dom;
const { LUA, STR, NF, item, lineOf, linesOf } = mp.items;
const { VIEWS, TITLE } = mp.profile;
const { percent } = mp.numbers;
const { state } = mp;
const { stats, empty } = mp.sums;
const { segment, check } = mp.widgets;
const { amount } = mp.words;

/* Parts that come later add these to lines: from source and number. */
const markers = [];
const marker = (from, n) => markers.map((make) => make(from, n));

const FILES = mp.data.files, AROUND = 3, HOT = 0.03;
const CROWDED = 5;	/* More columns of shares are narrow. */
const fileOf = new Map(FILES.map((f, i) => [f.source, i]));

const has = (k) => item.kind[k] === LUA && fileOf.has(item.source[k]) &&
  item.line[k] >= 0;

/* Lines scroll in a box of their own: the page stays as short as it is. */
const scroller = $("lines").parentNode;

/* A row to the middle of the box. */
function center(row) {
  const at = row.getBoundingClientRect(), of = scroller.getBoundingClientRect();
  scroller.scrollTop += at.top - of.top - (of.height - at.height) / 2;
}
function showMark(block) {
  const row = $("lines").querySelector("tr.on");
  if (row) center(row);
  scrollTo($("source"), block);
}

/* A line of a file, by the number of its source. */
function goTo(from, line) {
  state.set({ file: fileOf.get(from), mark: line });
  showMark("start");
  scroller.focus({ preventScroll: true });
}
const go = (k) => goTo(item.source[k], Math.max(1, item.line[k]));
const hasFile = (from) => fileOf.has(from);

/* The line of a file with the most of the chosen view, or if one of these lines
** is marked, the one so many steps from it, by their parts of the view;
** undefined: none has any of it. */
function hotter(file, step) {
  const { self } = stats(0, state.now.view, "lines");
  const hot = linesOf(file.source).filter((k) => self[k] > 0)
    .sort((a, b) => self[b] - self[a] || item.line[a] - item.line[b])
    .map((k) => item.line[k]);
  const at = hot.indexOf(state.now.mark);
  return at < 0 ? hot[0] : hot[(at + step + hot.length) % hot.length];
}
function goHot(at, step) {
  state.set({ file: at, mark: hotter(FILES[at], step) ?? -1 });
  showMark("nearest");
}
const hotButton = (text, at, step, title) => quiet(text,
  () => goHot(at, step), { title, "data-step": step });

/* Files by their part of the chosen view, the largest first. */
function sortedFiles() {
  const { view } = state.now, { self, sum } = stats(0, view, "lines");
  const weight = FILES.map(() => 0);
  for (let k = NF; k < self.length; k++) {
    const f = fileOf.get(item.source[k]);
    if (f !== undefined) weight[f] += self[k];
  }
  return FILES.map((f, i) => ({ i, name: f.name, path: STR[f.source],
    share: sum > 0 ? weight[i] / sum : 0 }))
    .sort((a, b) => b.share - a.share || a.i - b.i);
}

function showFiles(order, at) {
  const box = $("files"), on = document.activeElement;
  const held = box.contains(on) && (on.tagName === "SELECT" ? "select" :
    on.dataset.step ? `[data-step="${on.dataset.step}"]` :
    "[aria-checked=true]");
  const pick = el("select", { "aria-label": "File", onchange: (e) => {
    state.set({ file: Number(e.target.value), mark: -1 });
    goHot(state.now.file, 1);
  } },
    order.map(({ i, name, path, share }) => el("option",
      { value: i, title: path }, name + (share ? `  ${percent(share)}` : ""))));
  pick.value = at;
  const path = STR[FILES[at].source];
  const hot = hotter(FILES[at], 1) === undefined ? [] : [
    hotButton("Next hot line", at, 1,
      "The line with the most of the chosen view, then the next one"),
    hotButton("Previous", at, -1, "The hotter line before it")];
  box.replaceChildren(path === FILES[at].name ? "" :
    el("span", { class: "mute" }, path), pick, segment("Lines shown", "whole",
    [[false, "Lines with samples"], [true, "Whole file"]]), ...hot);
  check(box);
  if (held) box.querySelector(held)?.focus();
}

/* Shares of a line by view, { view, self, total, ... }, without those of 0. */
function sharesOf(file, views) {
  const data = views.map((v) => stats(0, v, "lines"));
  return (n) => {
    const k = lineOf(file.source, n);
    return views.map((view, i) => {
      const { self, total, sum } = data[i];
      return k === undefined || !sum ? { view, self: 0, total: 0, sum } :
        { view, self: self[k] / sum, total: total[k] / sum, sum };
    });
  };
}
const counts = (shares) => shares.some((s) => s.self > 0 || s.total > 0);

/* Lines that are shown: those that count, and a few around them. */
function chosenLines(n, shares) {
  const show = new Uint8Array(n + 2), { whole, mark } = state.now;
  if (whole) return show.fill(1);
  for (let i = 1; i <= n; i++) {
    if (i !== mark && !counts(shares(i))) continue;
    show.fill(1, Math.max(1, i - AROUND), Math.min(n, i + AROUND) + 1);
  }
  return show;
}

function shareCell({ view, self, total, sum }) {
  const c = view === state.now.view ? "w" : "w other";
  if (!self && !total) return el("td", { class: c });
  return el("td", { class: c, "--c": color(view),
    "--c2": `color-mix(in oklch, ${color(view)} 28%, transparent)`,
    "--w": self.toFixed(4), "--v": total.toFixed(4),
    title: `${TITLE[view]}: self ${percent(self)}, ` +
      `${amount(view, self * sum)}; with callees ${percent(total)}, ` +
      amount(view, total * sum) }, self ? percent(self) : "");
}
/* The more a line has of the chosen view, the stronger its colour. */
function heatOf(shares) {
  const { view, self = 0 } = shares.find((s) => s.view === state.now.view) ||
    {};
  const part = Math.round(8 + 24 * Math.sqrt(self));
  return self > HOT ?
    `color-mix(in oklch, ${color(view)} ${part}%, transparent)` : null;
}
function lineRow(file, n, text, shares) {
  const hot = shares.some((s) => s.self > HOT);
  const mark = n === state.now.mark;
  return el("tr", { class: `${hot ? "hot" : ""} ${mark ? "on" : ""}`,
    "data-line": n, "--heat": heatOf(shares) },
    shares.map(shareCell), el("td", { class: "n" }, String(n)),
    el("td", {}, el("code", {}, text), " ", marker(file.source, n)));
}
function gapRow(n, span) {
  return el("tr", { class: "gap" }, el("td", { colspan: span },
    `⋯ ${n} ${n === 1 ? "line" : "lines"}`));
}

/* Rows of the table: [line], or [line, lines of a gap before it]. */
function plannedRows(length, shares) {
  const rows = [], show = chosenLines(length, shares);
  let last = 0;
  for (let n = 1; n <= length + 1; n++) {
    const end = n > length;
    if (!end && !show[n]) continue;
    if (n > last + 1) rows.push([0, n - last - 1]);
    last = n;
    if (!end) rows.push([n]);
  }
  return rows;
}

/* -- Parts of a table that are drawn when they are near ------------------- */

const PART = 150, NEAR = "1500px";	/* Rows. */
let near = null;	/* Watches the parts that are not drawn. */

/* A part of the table; until make() is called, a row as high as its rows. */
function partOf(rows, height, make) {
  const part = el("tbody", {}, el("tr", {}, el("td", { "--h":
    `${rows.length * height}px`, class: "later" })));
  part.lines = new Set(rows.map(([n]) => n));
  part.make = () => {
    part.make = null;
    near.unobserve(part);
    part.replaceChildren(...rows.map(make));
  };
  near.observe(part);
  return part;
}
function watchParts() {
  near?.disconnect();
  near = new IntersectionObserver((list) => {
    for (const { target, isIntersecting } of list)
      if (isIntersecting) target.make?.();
  }, { root: scroller, rootMargin: NEAR });
}
const parts = () => [...$("lines").querySelectorAll("tbody")];
const makeAll = () => parts().forEach((part) => part.make?.());
addEventListener("beforeprint", makeAll);

/* The height of a row, of those that are drawn. */
function heightOf(table) {
  const rows = table.tBodies[0].rows;
  return rows.length ? table.tBodies[0].offsetHeight / rows.length : 0;
}

/* Draws the first part, and that of a line; the others come as one scrolls to
** them. */
function fillTable(table, rows, make, line) {
  watchParts();
  table.append(el("tbody", {}, rows.slice(0, PART).map(make)));
  const height = rows.length > PART ? heightOf(table) : 0;
  for (let i = PART; i < rows.length; i += PART)
    table.append(partOf(rows.slice(i, i + PART), height, make));
  parts().find((part) => part.lines?.has(line))?.make();
}

/* ------------------------------------------------------------------------- */

/* The file and view in the box, which stays where it is while they are the
** same, and else opens at the marked line, or the hottest one. */
let opened = "";

function openAt(file, line, top) {
  const now = JSON.stringify([file.source, state.now.whole, state.now.view]);
  const row = $("lines").querySelector(`tr[data-line="${line}"]`);
  if (now === opened) scroller.scrollTop = top;
  else if (row) center(row);
  else scroller.scrollTop = 0;
  opened = now;
}

function showLines(file) {
  const views = VIEWS.filter((v) => !empty(v));
  const text = file.text.split(/\r?\n/), head = [
    ...views.map((v) => el("th", { scope: "col",
      class: v !== state.now.view && "other" }, TITLE[v])),
    el("th", { scope: "col" }, "Line"), el("th", { scope: "col" }, "Source")];
  if (text[text.length - 1] === "") text.pop();
  const beyond = linesOf(file.source).some((k) => item.line[k] > text.length &&
    views.some((v) => stats(0, v, "lines").total[k]));
  const table = el("table", { class: views.length > CROWDED && "crowded" },
    el("thead", {}, el("tr", {}, head)));
  const top = scroller.scrollTop, line = state.now.mark > 0 ? state.now.mark :
    hotter(file, 1);
  $("lines").replaceChildren(beyond ? el("p", { class: "mute" },
    "This file has changed since: the profile has lines beyond its end.") : "",
    table);
  const shares = sharesOf(file, views);
  fillTable(table, plannedRows(text.length, shares), ([n, gap]) => gap ?
    gapRow(gap, views.length + 2) : lineRow(file, n, text[n - 1], shares(n)),
  line);
  openAt(file, line, top);
}

function showSource() {
  const empty = (text) =>
    $("lines").replaceChildren(el("p", { class: "empty" }, text));
  if (!FILES.length) {
    empty("No sample has a line of a source file.");
    return;
  }
  const order = sortedFiles();
  const at = state.now.file < 0 ? order[0].i : state.now.file;
  const file = FILES[at];
  showFiles(order, at);
  if (file.text === undefined) {
    empty(`The source cannot be shown: ${file.error}`);
  } else showLines(file);
}

mp.source = { has, hasFile, go, goTo, markers, showSource };
