// SPDX-License-Identifier: MIT
/*
** The state of the page: the data that are shown, and how. set() is its only
** writer; all other parts read state.now, which is frozen.
**
** Results are kept until a field changes that they depend on. The caches are
** here too, so that nobody else has to know when to forget.
*/
const { A, B, DIFF } = mp.profile;
const START = mp.data.start;
/* A profile of functions alone has no lines. */
const UNITS = START.functions ? ["func"] : ["func", "lines"];

const first = Object.freeze({
  view: START.view, objects: START.objects,
  unit: START.lines ? "lines" : "func",
  mode: "top",		/* top, bottom, sandwich, calls or time. */
  group: START.group,	/* "", zone, label, label:NAME, state or type. */
  zone: "", label: "",	/* Rows that are counted; "": all. */
  state: "", type: "",
  chart: "curves",	/* The timeline: curves or heat. */
  range: null,		/* [from, to]: points of the timeline. */
  held: "end",		/* In use at the end of the range, or "new" in it. */
  hidden: [], focus: -1,	/* Items. */
  collapse: false,	/* Direct recursion is one frame. */
  chains: false,	/* Frames with a single callee are one with it. */
  search: "", sel: -1,	/* The item of the sandwich. */
  zoom: "",		/* Items from the root on, joined by dots. */
  sort: DIFF ? "self change" : "self", sortView: "", dir: -1, shown: 60,
  width: "after", share: false,
  heap: 0,		/* The line of the heap walk that is zoomed to. */
  file: -1, mark: -1, whole: false
});

/* Fields that numbers depend on, and those that trees do besides. */
const COUNTED = ["objects", "zone", "label", "state", "type", "range",
  "held", "hidden", "focus", "collapse"];
const TREE = [...COUNTED, "view", "unit", "group", "sel", "width", "chains"];

let now = first;
const listeners = [], caches = { counts: new Map(), trees: new Map(),
  search: new Map() };
const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

function forget(changed) {
  if (COUNTED.some((k) => changed.has(k))) caches.counts.clear();
  if (TREE.some((k) => changed.has(k))) caches.trees.clear();
  if (changed.has("search") || changed.has("unit")) caches.search.clear();
}

/* Changes fields, and tells the listeners which ones are different now. */
function set(change) {
  const changed = new Set(Object.keys(change).filter((k) =>
    !same(now[k], change[k])));
  if (!changed.size) return;
  now = Object.freeze({ ...now, ...change });
  forget(changed);
  for (const f of listeners) f(changed);
}

/* A value that is kept in one of the caches; made where it is not there. */
function kept(cache, name, make) {
  const map = caches[cache];
  if (!map.has(name)) map.set(name, make());
  return map.get(name);
}

/* The same where it is made in steps: make() is a generator. */
function* grown(cache, name, make) {
  const map = caches[cache];
  if (!map.has(name)) map.set(name, yield* make());
  return map.get(name);
}
/* The result of a generator, in one step. */
function finish(work) {
  let step;
  do step = work.next(); while (!step.done);
  return step.value;
}

mp.state = { UNITS, get now() { return now; }, first, set, kept, grown, finish,
  listen: (f) => listeners.push(f),
  filtered: () => Boolean(now.range || now.zone || now.label || now.state ||
    now.type || now.focus >= 0) };
