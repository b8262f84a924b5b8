// SPDX-License-Identifier: MIT
/*
** The JIT compiler: places where traces were given up, and the traces that were
** made, with links to lines of source and back.
*/
const { $, el, quiet, say, scrollTo } = mp.dom;
const { STR } = mp.items;
const { bytes, percent } = mp.numbers;
const { state, source } = mp;

const J = mp.data.jit, MANY = 100;
const row = (kind, i) => $(`${kind}-${i}`);

/* -- From places to lines, and back --------------------------------------- */

function toLine(p) {
  const { places } = J;
  source.goTo(places.source[p], places.line[p]);
}
function placeCell(p) {
  const text = STR[J.places.label[p]];
  return J.places.line[p] > 0 && source.hasFile(J.places.source[p]) ?
    el("button", { type: "button", class: "link at", title: "Show this line",
      onclick: () => toLine(p) }, text) : text;
}

/* Rows of the tables that concern a line, the given up ones first. */
function rowsOf(file, line) {
  const at = (p) => J.places.source[p] === file && J.places.line[p] === line;
  const out = [];
  J.giveups.at.forEach((p, i) => {
    if (at(p) || at(J.giveups.start[i])) out.push(["giveup", i]);
  });
  J.traces.start.forEach((p, i) => { if (at(p)) out.push(["trace", i]); });
  return out.filter(([kind, i]) => row(kind, i));
}

function toRow(kind, i) {
  const tr = row(kind, i);
  for (const on of $("jit").querySelectorAll("tr.on"))
    on.classList.remove("on");
  tr.classList.add("on");
  scrollTo(tr, "center");
  tr.focus({ preventScroll: true });
  say(tr.textContent);
}

/* A button beside a line of source; nothing where the compiler did nothing. */
function marker(file, line) {
  const rows = rowsOf(file, line);
  if (!rows.length) return "";
  const given = rows.some(([kind]) => kind === "giveup");
  return quiet(given ? "⚠ JIT" : "JIT", () => toRow(...rows[0]), { title:
    given ? "Traces were given up here" : "A trace begins here" });
}

/* -- The tables ------------------------------------------------------------ */

const head = (names) => el("thead", {}, el("tr", {},
  names.map((n) => el("th", { scope: "col" }, n))));
const number = (text) => el("td", { class: "n" }, text);

function giveupRow(i) {
  const { start, at, reason, advice, count } = J.giveups;
  const from = start[i] !== at[i] && STR[J.places.label[start[i]]];
  return el("tr", { id: `giveup-${i}`, tabindex: "-1" },
    number(count[i] ? String(count[i]) : ""), el("td", {}, placeCell(at[i])),
    el("td", {}, from ? placeCell(start[i]) : ""),
    el("td", {}, STR[reason[i]] + (J.blacklisted.includes(start[i]) ?
      "; never compiled again" : "")),
    el("td", { class: "mute" }, advice[i] < 0 ? "" : STR[advice[i]]));
}

/* The listing of a trace, in a row below its own. */
function showListing(button, i) {
  const tr = row("trace", i), below = tr.nextElementSibling;
  const shown = below?.className === "listing";
  if (shown) below.remove();
  else
    tr.after(el("tr", { class: "listing" }, el("td",
      { colspan: String(tr.cells.length) },
      el("pre", { tabindex: "0" }, STR[J.traces.listing[i]]))));
  button.setAttribute("aria-expanded", String(!shown));
}
function traceName(i) {
  const T = J.traces, from = T.parent[i] ? ` from exit ${T.exit[i]}` : "";
  const name = `${T.number[i]}${from}`;
  return T.listing[i] < 0 ? name : el("button", { type: "button",
    class: "link at", title: "Bytecode and instructions",
    "aria-expanded": "false", onclick: (e) => showListing(e.currentTarget, i) },
    name);
}
function traceRow(i) {
  const T = J.traces;
  return el("tr", { id: `trace-${i}`, tabindex: "-1" },
    number(J.ticks ? percent(T.ticks[i] / J.ticks) : ""),
    number(T.allocated[i] ? bytes(T.allocated[i]) : ""),
    el("td", { class: "tree", "--level": String(T.level[i]) }, traceName(i)),
    el("td", {}, placeCell(T.start[i])), el("td", {}, STR[T.ends[i]]),
    number(bytes(T.bytes[i])), number(String(T.taken[i])));
}

/* Interpreted code, and why it is. */
function interpretedRow(i) {
  const I = J.interpreted;
  return el("tr", { id: `interpreted-${i}` },
    number(J.ticks ? percent(I.cpu[i] / J.ticks) : ""),
    number(I.bytes[i] ? bytes(I.bytes[i]) : ""),
    el("td", {}, el("div", {}, STR[I.name[i]]), I.lines[i].map((line) =>
      el("div", { class: "mute" }, STR[line]))));
}

function memoryRow(i) {
  const M = J.memory, cell = (n) => number(n ? bytes(n) : "");
  return el("tr", {}, cell(M.bytes[i]), el("td", {}, placeCell(M.at[i])),
    cell(M.compiled[i]), cell(M.interpreted[i]), cell(M.c[i]),
    el("td", {}, M.why[i] < 0 ? "" : STR[M.why[i]]));
}

function table(title, names, n, make) {
  const rows = Array.from({ length: Math.min(n, MANY) }, (_, i) => make(i));
  const body = el("tbody", {}, rows);
  const more = n > MANY && quiet(`Show all ${n}`, (e) => {
    for (let i = MANY; i < n; i++) body.append(make(i));
    e.target.remove();
  });
  return [el("div", { class: "scroll", tabindex: "0", role: "region",
    "aria-label": title }, el("table", {}, head(names), body)),
    more || ""];
}

function create() {
  $("jit").hidden = !J;
  if (!J) return;
  source.markers.push(marker);
  $("jit-note").textContent = J.words;
  $("decisions").replaceChildren(
    ...J.interpreted.name.length ? [el("h3", {}, "What runs interpreted"),
      ...table("What runs interpreted", ["CPU", "Allocated", "Why"],
        J.interpreted.name.length, interpretedRow)] : [],
    ...J.giveups.at.length ? [el("h3", {}, "Traces given up"),
      ...table("Traces given up", ["Times", "At", "From", "Reason",
        "What may help"], J.giveups.at.length, giveupRow)] : [],
    ...J.memory.at.length ? [el("h3", {}, "Memory by the state of the VM"),
      ...table("Memory by the state of the VM", ["Allocated", "At",
        "Compiled", "Interpreted", "In C", "Why"], J.memory.at.length,
        memoryRow)] : [],
    ...J.traces.start.length ? [el("h3", {}, "Traces made"),
      ...table("Traces made", ["CPU", "Allocated", "Trace", "From", "Ends",
        "Code", "Exits"], J.traces.start.length, traceRow)] : []);
}

mp.jit = { create };
