// SPDX-License-Identifier: MIT
/*
** The heap walk: a flame graph by retained size, from holders to the objects
** that they hold, with links to the stacks that allocated these, and back.
*/
const { $, el, quiet, say, scrollTo } = mp.dom;
const { A, DIFF } = mp.profile;
const { item, STR } = mp.items;
const { bytes, percent, seconds, signed, count: counted } = mp.numbers;
const { state, graph, source } = mp;
const { typeShade, inks } = mp.colors;
const { Flame } = mp.flame;
const { W, tree, byKey, label, path, kind, type, self, was, grown, sites,
  joined, holder } = mp.heaptree;

const SITES = 4;	/* Stacks that are offered, */
const ROWS = 12;	/* and rows of the tables. */
let flame = null;

const change = (n) => signed(n.size - was(n), bytes(Math.abs(n.size -
  was(n))));
const share = (n) => percent(n.size / (W.total || 1));
const words = (n) => `${path(n)}, ${share(n)} of the heap, ${bytes(n.size)}` +
  (kind(n) ? `, ${kind(n)}` : "") + (was(n) === null ? "" :
    `, before ${bytes(was(n))}, ${change(n)}`);

/* -- From a holder to the stacks ------------------------------------------ */

/* Items on the way to a stack, as the flame graph shows it. */
function itemsTo(s) {
  const { key, up, at } = mp.sums.shape(0), out = [];
  for (let t = at[s]; t > 0; t = up[t]) out.unshift(key[t]);
  return out;
}
function toStack(s) {
  const all = { group: "", range: null, zone: "", label: "", state: "",
    type: "", focus: -1, hidden: [] };
  state.set(all);
  graph.zoomTo({ mode: "top", view: "inuse", zoom: itemsTo(s).join(".") });
}
function siteButton({ stack, bytes: v }) {
  const k = A.lines[stack], caller = A.lines[A.parent[stack]];
  const text = item.label[k] + (A.parent[stack] ?
    ` ← ${item.label[caller]}` : "");
  return quiet(`${text}: ${bytes(v)}`, () => toStack(stack),
    { title: "Show this stack, in use: " + text });
}

function showStatus(n) {
  const from = sites(n).slice(0, SITES);
  $("holder").replaceChildren(el("b", {}, path(n)),
    el("span", { class: "mute" }, kind(n)),
    el("span", {}, `holds ${share(n)} of the heap, ${bytes(n.size)}`),
    el("span", { class: "mute" }, n.up ? `self ${bytes(self(n))}` : ""),
    was(n) === null ? "" : el("span", {}, `before ${bytes(was(n))}, ` +
      change(n)),
    el("span", { class: "go" }, from.length ?
      [el("span", { class: "mute" }, "allocated at"),
        ...from.map(siteButton)] : []));
}

/* -- From stacks to their holder ------------------------------------------ */

/* The stacks of a frame and those above it. */
function stacksOf(node) {
  const on = new Uint8Array(A.n + 1);
  for (const [s] of node.parts[0]) on[s] = 1;
  for (let s = 1; s <= A.n; s++) on[s] ||= on[A.parent[s]];
  return on;
}
const applies = (node) => W && node.up && node.parts[0].length > 0 &&
  /^(top|callees)$/.test(graph.flame.id) &&
  stacksOf(node).some((on, s) => on && joined[s]);

function toHolder(node) {
  const n = holder(stacksOf(node));
  if (!n) return;
  goTo(n);
  say("Holder: " + words(n));
}

/* A node that is wide enough to be read. */
function show(n) {
  const wide = n.size / tree.root.size * flame.width > 60;
  flame.moveTo(wide ? tree.root : n.up);
  flame.activate(n);
}

/* ------------------------------------------------------------------------- */

function hover(f, n, x, y) {
  graph.tip(n && [el("b", {}, path(n)), el("div", { class: "mute" }, kind(n)),
    el("div", {}, `${share(n)} of the heap, ${bytes(n.size)}; self ` +
      bytes(self(n)))], n, x, y);
}
const ON = { hover, words, label, place: kind, active: (f) =>
  showStatus(f.active), color: (n) => typeShade(type(n)),
  ink: () => inks().ink, rootName: () => `all: ${bytes(tree.root.size)}`,
  zoom(f, n) {
    $("tip").hidden = true;
    state.set({ heap: n.key });
    say((n.up ? "Zoomed: " : "Whole heap: ") + words(n));
    showStatus(n);
  } };

/* -- Tables ---------------------------------------------------------------- */

const cells = (texts) => texts.map((t) => el("td", {}, t));
function table(title, heads, rows) {
  if (!rows.length) return [];
  return [el("h3", {}, title), el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {},
      heads.map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, rows.map((r) => el("tr", {}, cells(r))))))];
}
function goTo(n) {
  show(n);
  scrollTo($("heap"), "start");
  flame.box.focus({ preventScroll: true });
}
/* Lines where array and hash parts of tables were allocated again and again. */
function resized() {
  const { place, source: file, line, bytes: size, count } = W.resized;
  return place.map((s, i) => [bytes(size[i]), counted(count[i]),
    source.hasFile(file[i]) ? quiet(STR[s], () => source.goTo(file[i], line[i]),
      { title: "Show this line" }) : STR[s]]);
}
function tables() {
  const { text, bytes: size, count } = W.kinds, rows = [];
  for (let i = 0; i < text.length && rows.length < ROWS; i++)
    if (size[i] >= W.total / 100)
      rows.push([bytes(size[i]), count[i], STR[text[i]]]);
  return [...table("Growth", ["Change", "Before", "After", "Path"],
    grown().slice(0, ROWS).map((n) => [change(n), bytes(was(n)), bytes(n.size),
      quiet(path(n), () => goTo(n), { title: "Show this holder" })])),
    ...table("Objects", ["Bytes", "Number", "Kind"], rows),
    ...table("Tables resized most", ["Bytes", "Array and hash parts", "Line"],
      resized())];
}

function note() {
  const when = W.closing ? "while the state was closed" :
    `after ${seconds(W.at)}`;
  return `${bytes(W.held)} held of ${bytes(W.total)}, ${when}` +
    (DIFF ? ", in the run after" : "") +
    (W.garbage > 0 ? `; garbage, ${bytes(W.garbage)}, is left out` : "") +
    ". Width: the memory that would be freed with a frame (retained size).";
}

/* Shows the zoom of the state. */
function showHeap() {
  $("heap").hidden = !W;
  if (!W) return;
  if (!flame) {
    flame = new Flame("heap", "Heap, by retained size", false, ON);
    $("holders").append(flame.box);
    $("heap-note").textContent = note();
    $("kinds").replaceChildren(...tables());
  }
  if (flame.tree && flame.zoom.key === state.now.heap) return;
  const keys = [];
  for (let n = byKey[state.now.heap]; n?.up; n = n.up) keys.unshift(n.key);
  flame.set(tree, keys);
  showStatus(flame.active);
}

function go() {
  if (!flame) return;
  scrollTo(flame.box, "nearest");
  flame.box.focus({ preventScroll: true });
}
const redraw = (how) => { if (flame) flame[how](); };

function listen() {
  graph.ACTIONS.push(["Holder", applies, toHolder,
    "The holder of most of it, in the heap walk"]);
}

mp.heap = { listen, showHeap, go, redraw };
