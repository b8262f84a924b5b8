// SPDX-License-Identifier: MIT
/*
** The header, the theme, the keys and their list.
*/
const { $, el, dark, scrollTo, quiet } = mp.dom;
const { A, B, DIFF, TIMES, VIEWS } = mp.profile;
const { state } = mp, { UNITS } = state;
const { ANEW } = mp.controls;
const graph = mp.graph, source = mp.source;

function showHeader() {
  const i = A.info, list = [i.command && el("code", {}, i.command),
    ...i.about].filter(Boolean);
  /* A value that was another one before. */
  const was = (n) => {
    const f = DIFF && B.info.facts[n];
    return f && f[1] !== i.facts[n][1] ? ` (before: ${f[1]})` : "";
  };
  $("script").textContent = DIFF ? `${i.script}, before and after` : i.script;
  $("about").append(...list.flatMap((x, n) => n ? [" · ", x] : [x]));
  $("about").title = [i.command, ...i.about].join(" · ");
  $("facts").append(...i.facts.map(([name, value, more], n) => el("div", {},
    el("dt", {}, name), el("dd", {}, value, was(n)),
    more && el("dd", {}, more))));
  const old = DIFF ? B.info.notes.filter((x) => !i.notes.includes(x)) : [];
  const notes = [...i.notes, ...old.map((x) => "before: " + x)];
  $("notes").append(...notes.map((x) => el("li", {}, x)));
  $("notes").hidden = !notes.length;
}

/* -- The theme ------------------------------------------------------------ */

const KEPT = "luajit-mp-theme";
const scheme = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;

function showTheme() {
  document.documentElement.dataset.theme = chosen ||
    (scheme.matches ? "dark" : "light");
  $("theme").textContent = dark() ? "Light" : "Dark";
  $("theme").setAttribute("aria-label",
    dark() ? "Use light colours" : "Use dark colours");
  for (const f of graph.shownFlames()) f.draw();
  mp.heap.redraw("draw");
}
function switchTheme() {
  chosen = dark() ? "light" : "dark";
  try {
    localStorage.setItem(KEPT, chosen);
  } catch (e) { /* Then the choice is not kept. */ }
  showTheme();
}

/* -- Keys ----------------------------------------------------------------- */

const KEYS = [
  ["/", "search; Enter and Shift+Enter go from match to match"],
  ["n N", "next and previous match"],
  ["1 2 3 4", "CPU, allocated, in use, peak; from 5 on: what else there is"],
  ["← → ↑ ↓", "to the next frame, its caller, its callee"],
  ["Enter", "zoom to the frame"],
  ["Esc", "reset: the zoom, then the search, then the time"],
  ["c", "callers and callees of the frame"], ["s", "source of the frame"],
  ["f", "focus: only stacks with the frame"],
  ["h", "hide the frame: its part goes to its caller"],
  ["u", "show all frames again"], ["r", "collapse recursion"],
  ["k", "fold chains of frames that only call the next one"],
  ["i", "flame graph or inverted"], ["a", "call tree"],
  ["d", "frames in order of time"],
  ["l", "functions or lines"], ["o", "bytes or objects"],
  ["g", "go to the graph"], ["w", "go to the heap walk, if there is one"],
  ["m", "timeline as curves or as a heat map"],
  ["t", "light or dark"], ["?", "these keys"]
];

function showHelp() {
  const d = $("help");
  d.replaceChildren(el("h2", { id: "help-title" }, "Keys"),
    el("dl", {}, KEYS.flatMap(([keys, text]) => [
      el("dt", {}, keys.split(" ").flatMap((x) => [el("kbd", {}, x), " "])),
      el("dd", {}, text)])),
    el("p", { class: "mute" }, "In the timeline, Tab to an end of the chosen " +
      "time and move it with the arrow keys: in the heat map ← and → move it " +
      "by a column, ↑ and ↓ within one. A search ignores case unless it " +
      "has a capital letter. ± is the interval in which an estimate lies in " +
      "95 of 100 runs, by its number of samples; ≈ stands before an amount " +
      "of which half may be chance."),
    el("p", {}, quiet("Close", () => d.close())));
  d.showModal();
  d.scrollTop = 0;	/* The focus is on the last button. */
}

const flip = (name, a, b, more) =>
  state.set({ [name]: state.now[name] === a ? b : a, ...more });
const onFrame = (act) => {
  const node = graph.flame?.active;
  if (node && graph.isItem(node)) act(node.key);
};

const focus = (k) => state.set({ focus: k, zoom: "" });
const hide = (k) => state.set({ hidden: [...state.now.hidden, k], zoom: "" });

const ACTS = {
  "/": () => $("search").focus(), "?": showHelp, t: switchTheme,
  n: () => mp.search.go(1), N: () => mp.search.go(-1),
  i: () => flip("mode", "top", "bottom", { zoom: "" }),
  a: () => flip("mode", "calls", "top", { zoom: "" }),
  d: () => TIMES && !DIFF && flip("mode", "time", "top", { zoom: "" }),
  o: () => flip("objects", true, false), l: () =>
    UNITS.length > 1 && flip("unit", "func", "lines", ANEW), r: () =>
    flip("collapse", true, false), k: () =>
    flip("chains", true, false, { zoom: "" }),
  u: () => state.set({ hidden: [], focus: -1 }),
  f: () => onFrame(focus), h: () => onFrame(hide),
  c: () => onFrame(graph.sandwich),
  s: () => onFrame((k) => { if (source.has(k)) source.go(k); }),
  m: () => flip("chart", "curves", "heat"), w: mp.heap.go, g: () => {
    const e = graph.flame?.box || $("calls").querySelector("[tabindex='0']");
    if (e) { scrollTo(e, "nearest"); e.focus(); }
  }
};
VIEWS.forEach((view, i) => { ACTS[i + 1] = () => state.set({ view }); });

function escape(typing, e) {
  if (graph.shownFlames().some((f) => f.zoom.up)) graph.reset();
  else if (state.now.search) state.set({ search: "" });
  else if (state.now.range) state.set({ range: null });
  if (typing) e.target.blur();
  $("tip").hidden = true;
}
function keydown(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || $("help").open) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
  if (e.key === "Escape") { escape(typing, e); return; }
  const act = !typing && ACTS[e.key];
  if (act) { e.preventDefault(); act(); }
}

function listen() {
  try {
    chosen = localStorage.getItem(KEPT);
  } catch (e) { /* Then none is kept. */ }
  showTheme();
  graph.ACTIONS.push(
    ["Source", (node) => source.has(node.key), (node) => source.go(node.key)],
    ["Focus", (node) => graph.isItem(node) && node.up &&
      state.now.focus !== node.key, (node) => focus(node.key),
      "Only stacks with this frame, from it on"],
    ["Hide", (node) => graph.isItem(node) && node.up,
      (node) => hide(node.key), "Its part goes to its caller"]);
  $("theme").addEventListener("click", switchTheme);
  scheme.addEventListener("change", showTheme);
  $("keys").addEventListener("click", showHelp);
  $("reset").addEventListener("click", graph.reset);
  document.addEventListener("keydown", mp.widgets.radioKey);
  document.addEventListener("keydown", keydown);
}

mp.help = { showHeader, listen };
