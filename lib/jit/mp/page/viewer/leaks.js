// SPDX-License-Identifier: MIT
/*
** Memory that collections leave alive: lines with their bytes over the run, the
** mean age of their objects, and whether they grow.
*/
const { $, el, svg } = mp.dom;
const { DIFF } = mp.profile;
const { STR } = mp.items;
const { bytes, count, percent, seconds } = mp.numbers;
const { source } = mp;

const L = mp.data.leaks;
const WIDE = 52, HIGH = 18;	/* A course as bars. */
const HEADS = [["Held", "n"], ["Verdict"], ["Course"], ["Allocated at"],
  ["Mean age", "n"], ["Held by"], ["Objects", "n"], ["New", "n"]];

/* Bytes after collections by fifths of the run, as bars and in words. */
function courseCell(course) {
  const most = Math.max(...course, 1), step = WIDE / course.length;
  const text = course.map((b) => b < 0 ? "–" : bytes(b)).join(" → ");
  return el("td", { title: text }, svg("svg", { width: WIDE, height: HIGH,
    role: "img", "aria-label": text, class: "course" },
  course.map((b, i) => {
    const high = b < 0 ? 0 : Math.max(1, b / most * HIGH);
    return svg("rect", { x: i * step, y: HIGH - high, width: step - 2,
      height: high });
  })));
}

function placeCell(G, i) {
  const text = STR[G.label[i]];
  return el("td", {}, G.line[i] > 0 && source.hasFile(G.source[i]) ?
    el("button", { type: "button", class: "link at", title: "Show this line",
      onclick: () => source.goTo(G.source[i], G.line[i]) }, text) : text);
}

function holderCell(G, i) {
  const part = G.part[i] < 0.995 ? `, ${percent(G.part[i])} of it` : "";
  return el("td", { class: "mute" }, G.holder[i] < 0 ? "" :
    STR[G.holder[i]] + part);
}

function row(G, i) {
  const number = (text) => el("td", { class: "n" }, text);
  const verdict = STR[G.verdict[i]];
  return el("tr", {}, number(bytes(G.held[i])),
    el("td", { class: verdict === "grows" ? "up" : "mute" }, verdict),
    courseCell(G.course[i]), placeCell(G, i),
    number(G.age[i] < 0 ? "" : seconds(G.age[i])), holderCell(G, i),
    number(count(G.objects[i])), number(G.new[i] ? bytes(G.new[i]) : ""));
}

function table(G, title) {
  const rows = G.label.map((_, i) => row(G, i));
  return [...rows.length ? [el("h3", {}, title), el("div", { class: "scroll",
    tabindex: "0", role: "region", "aria-label": title }, el("table", {},
    el("thead", {}, el("tr", {}, HEADS.map(([h, kind]) =>
      el("th", { scope: "col", class: kind }, h)))),
    el("tbody", {}, rows)))] : [],
  ...G.doubts.map((s) => el("p", { class: "mute" }, STR[s]))];
}

const total = (G, verdict) => G.held.reduce((sum, b, i) =>
  sum + (!verdict || STR[G.verdict[i]] === verdict ? b : 0), 0);

function note(G) {
  return `${bytes(total(G))} held by the last of ${G.collections} ` +
    `collections${G.full ? ", a full one" : ""}, ` +
    `${bytes(total(G, "grows"))} of it in lines that grow` +
    (DIFF ? ", in the run after" : "") +
    ". New: allocated since. Course: held after collections, by fifths of " +
    "the run.";
}

function create() {
  $("leaks").hidden = !L;
  if (!L) return;
  $("leaks-note").textContent = note(L.heap);
  $("alive").replaceChildren(...table(L.heap, "Lua heap"),
    ...L.native ? table(L.native, "C memory") : []);
}

mp.leaks = { create };
