// SPDX-License-Identifier: MIT
/*
** The place of the flame graph: one of them, or two around one function; the
** hints above and the status below.
*/
const { $, el, quiet, say } = mp.dom;
const { GROUP, item } = mp.items;
const { A, DIFF, TITLE, PROFILES, WORDS } = mp.profile;
const { percent, isTime } = mp.numbers;
const { state } = mp;
const { timed } = mp.counts;
const { stats, whole, largest } = mp.sums;
const { tree, path, labels } = mp.tree;
const { ordered } = mp.course;
const { shade, changeShade, inks } = mp.colors;
const { search, within } = mp.matches;
const { levels, place } = mp.layout;
const { Flame } = mp.flame;
const { amount, nodeDoubt, change, words, details, shareOf, wholeOf } =
  mp.words;

const flames = {}, around = { callers: [], callees: [] };
let flame = null;	/* The one that has, or would have, the focus. */

/* -- Functions that a flame graph calls ----------------------------------- */

function colorOf(node) {
  if (search().active) return within(node) ? inks().found : inks().quiet;
  if (!DIFF) return shade(node.key);
  return state.now.share ?
    changeShade(node.total / wholeOf(0), node.before / wholeOf(1)) :
    changeShade(node.total, node.before);
}
function inkOf(node) {
  return search().active && !within(node) ? inks().faint : inks().ink;
}
const rootName = ({ root }) =>
  `${item.label[root.key]}: ${amount(state.now.view, root.total)}`;

/* A tip at a place: elements about something; null: none. */
function showTip(kids, of, x, y) {
  const tip = $("tip");
  if (!kids) { tip.hidden = true; return; }
  if (tip.of !== of || tip.hidden) {
    tip.of = of;
    tip.replaceChildren(...kids);
    tip.hidden = false;
  }
  const w = tip.offsetWidth, h = tip.offsetHeight;
  const left = Math.max(6, Math.min(x + 16, innerWidth - w - 8));
  const top = y + 22 + h > innerHeight ? Math.max(6, y - h - 14) : y + 22;
  tip.style.left = left + "px";
  tip.style.top = top + "px";
}

const hover = (f, node, x, y) =>
  showTip(node && details(node), node, x, y);
/* The place of a node, where its label says another thing. */
const placeOf = ({ key, chain }) => chain.length ? "" :
  item.name[key] === item.label[key] ? item.at[key] :
    item.name[key].replace(/:[^:]*$/, "");

function zoomed(f, node) {
  $("tip").hidden = true;
  say((node.up ? "Zoomed: " : "Whole graph: ") + words(node));
  if (f.id in around) around[f.id] = path(node);
  else state.set({ zoom: path(node).join(".") });
  activated(f);
}
function activated(f) {
  flame = f;
  showStatus();
}

const ON = { active: activated, zoom: zoomed, hover, color: colorOf,
  ink: inkOf, words, rootName, label: (node) => labels(node).join(" › "),
  place: placeOf };
const getFlame = (id, label, flip, open) =>
  flames[id] ||= new Flame(id, label, flip, ON, open);
const shownFlames = () =>
  Object.values(flames).filter((f) => f.box.isConnected);

/* -- The graph ------------------------------------------------------------ */

const NAMES = { top: "Flame graph", bottom: "Flame graph, inverted",
  time: "Frames in order of time" };
const zoomPath = () => state.now.zoom ?
  state.now.zoom.split(".").map(Number) : [];

function showOne(box) {
  const { mode } = state.now;
  flame = getFlame(mode, NAMES[mode]);
  if (box.firstChild !== flame.box) box.replaceChildren(flame.box);
  flame.set(tree(flame.id), zoomPath());
}

/* The function whose callers and callees are shown, if it has any part. */
function chosenItem() {
  const { sel, view } = state.now;
  const has = PROFILES.some((P, i) => stats(i, view).total[sel] > 0);
  return sel >= 0 && has ? sel : largest(view);
}

function showTwo(box) {
  const name = () => el("b", {}, item.label[state.now.sel]);
  const up = getFlame("callers", "Callers", true);
  const down = getFlame("callees", "Callees", false, true);
  if (box.children[1] !== up.box) {
    const part = () => el("p", { class: "part" });
    box.replaceChildren(part(), up.box, down.box, part());
  }
  up.set(tree("callers"), around.callers);
  down.set(tree("callees"), around.callees);
  box.children[0].replaceChildren("Callers of ", name());
  box.children[3].replaceChildren(...down.box.hidden ?
    ["No callees of ", name(), " in this view"] : ["Callees of ", name()]);
  up.box.scrollTop = up.box.scrollHeight;
  if (flame !== up) flame = down;
}

function hints() {
  const S = state.now, out = [];
  if (S.range && !timed(S.view)) {
    out.push(S.view === "inuse" ? "Objects in use are not known over time: " +
      "the end of the run is shown." : S.view === "peak" ?
      "The peak is one moment of the run: the chosen time does not apply." :
      "The chosen time does not apply: only the whole run is known.");
  }
  if (S.range && S.view === "inuse" && timed(S.view) && S.held === "new") {
    out.push("Allocated in the chosen time and still held at its end: a " +
      "lower limit.");
  }
  if (S.range && DIFF) {
    out.push("The chosen time applies only to the run \"after\".");
  }
  if (S.type && isTime(S.view)) {
    out.push("Times have no object type: that filter does not apply.");
  }
  return out.join(" ");
}

const NO_ORDER = "This view has no order of time: choose CPU or allocated.";

function showGraph() {
  const { view, mode } = state.now, box = $("flame"), why = $("why");
  const sum = PROFILES.reduce((a, P, i) => a + whole(i, view), 0);
  const shown = sum > 0 && (mode !== "time" || ordered(view));
  $("hint").textContent = hints();
  why.hidden = shown;
  why.textContent = shown ? "" : sum > 0 ? NO_ORDER : state.filtered() ?
    "Nothing here: the chosen time or the filters leave nothing of this " +
    "view." : A.info.empty[view];
  $("status").hidden = !shown || mode === "calls";
  $("tip").hidden = true;
  box.hidden = !shown || mode === "calls";
  $("reset").hidden = true;
  if (box.hidden) { box.replaceChildren(); flame = null; return; }
  if (mode === "sandwich") showTwo(box);
  else showOne(box);
  showStatus();
  giveFocus();
  giveZoom();
}

/* The parts of a tree that showGraph needs, made step by step. */
function* growSteps() {
  const { mode, view } = state.now, width = $("graph").clientWidth;
  if (mode === "calls" || mode === "time" && !ordered(view)) return;
  for (const which of mode === "sandwich" ? ["callers", "callees"] : [mode]) {
    const shown = tree(which), path = which in around ? around[which] :
      zoomPath();
    yield;
    yield* levels(shown, place(shown, shown.find(path)), width);
  }
}

/* -- The status: the active frame, and where to go from it ---------------- */

const ACTIONS = [];	/* [text, whether it applies, what it does, title] */

function showStatus() {
  const out = $("status"), node = flame?.active, { view, mode } = state.now;
  if (!node || !flame.tree.root.size) { out.replaceChildren(); return; }
  const k = node.key, kids = [el("b", {}, item.label[k]),
    el("span", { class: "mute" }, item.at[k]),
    el("span", {}, `${percent(shareOf(node))} of ${WORDS[view]}, ` +
      nodeDoubt(node, 0))];
  if (DIFF) {
    kids.push(el("span", {}, `before ${nodeDoubt(node, 1)}, ` +
      change(node)), el("span", { class: "scale" }, "less", el("i"), "more"));
  } else if (/^(top|time)$/.test(mode) && node.up) {
    kids.push(el("span", { class: "mute" },
      `self ${amount(view, node.self)}`));
  }
  const go = ACTIONS.filter(([, applies]) => applies(node)).map(
    ([text, , act, title]) => quiet(text, () => act(node), { title }));
  out.replaceChildren(...kids, el("span", { class: "go" }, go));
  $("reset").hidden = !shownFlames().some((f) => f.zoom.up);
}

/* -- Functions for other parts -------------------------------------------- */

/* The graphs around a function get the focus, once they are there. */
let focusWanted = false;
function giveFocus() {
  if (!focusWanted || !flame || !(flame.id in around)) return;
  focusWanted = false;
  flame.box.focus({ preventScroll: true });
}
function sandwich(k) {
  around.callers = around.callees = [];
  focusWanted = true;
  state.set({ sel: k, mode: "sandwich" });
  mp.dom.scrollTo($("graph"), "start");
  giveFocus();
}

function reset() {
  for (const f of shownFlames()) {
    if (f.zoom.up && f.tree.root.size) f.zoomTo(f.tree.root);
  }
  if (document.activeElement === $("reset")) flame?.box.focus();
  showStatus();
}

/* A frame, wide enough to be read: the graph zooms to a caller if it must. */
function show(node) {
  let at = node;
  if (node.size / flame.zoom.size * flame.width < 40 ||
      !inside(node, flame.zoom)) {
    const room = flame.tree.root.size / flame.width * 40;
    at = flame.tree.root;
    if (node.size < room) at = node;
    flame.moveTo(at);
  }
  flame.activate(node);
}
function inside(node, above) {
  for (let n = node; n; n = n.up) if (n === above) return true;
  return false;
}

const isItem = (node) => item.kind[node.key] < GROUP;
ACTIONS.push(["Callers and callees",
  (node) => isItem(node) && state.now.mode !== "sandwich",
  (node) => sandwich(node.key)]);

/* Zooms to a frame with a change of the state; the frame gets the focus once
** it is there. */
let zoomWanted = false;
function giveZoom() {
  if (!zoomWanted || !flame || flame.id in around ||
    path(flame.zoom).join(".") !== state.now.zoom) return;
  zoomWanted = false;
  flame.box.focus({ preventScroll: true });
  flame.activate(flame.zoom);
}
function zoomTo(change) {
  zoomWanted = true;
  state.set(change);
  mp.dom.scrollTo($("graph"), "start");
  giveZoom();
}

/* The zoom of the state, where it is not the graph's own doing. */
function followZoom() {
  const { zoom } = state.now;
  if (!flame || flame.id in around || path(flame.zoom).join(".") === zoom) {
    return;
  }
  flame.set(flame.tree, zoomPath());
  showStatus();
  giveZoom();
}

mp.graph = { showGraph, growSteps, followZoom, zoomTo, chosenItem, sandwich,
  reset, show, tip: showTip, isItem, shownFlames, ACTIONS,
  get flame() { return flame; } };
