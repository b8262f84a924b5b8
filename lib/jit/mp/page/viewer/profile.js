// SPDX-License-Identifier: MIT
/*
** The profiles of the page: one, or two to compare (after, before).
**
** A stack is a number from 1 on, and its caller's is smaller: one pass
** forward goes from callers to callees, one backward from callees to callers.
** Rows without a stack get one more, the last.
*/
const { F, LUA, lineItem, groupItem } = mp.items;
const ABSENT = mp.data.absent;

/* Items of each stack's top frame: func and lines. */
function readStacks(P, raw) {
  const { parent, frame, lines_from, lines_to } = raw.stacks;
  const n = parent.length, size = n + 2, { func, line } = raw.frames;
  P.n = n + 1;
  P.parent = new Int32Array(size);
  P.func = new Int32Array(size);
  P.lines = new Int32Array(size);
  const lines = func.map((k, f) =>
    F.kind[k] === LUA ? lineItem(k, line[f]) : k);
  for (let s = 1; s <= n; s++) {
    const f = frame[s - 1] - 1;
    P.parent[s] = parent[s - 1];
    P.func[s] = func[f];
    P.lines[s] = lines[f];
  }
  P.func[P.n] = P.lines[P.n] = groupItem(ABSENT.stack);
  /* The stack that a line counts for, where it is another one. */
  P.owner = new Int32Array(size).map((_, s) => s);
  lines_from.forEach((s, i) => { P.owner[s] = lines_to[i]; });
}

/* Changes are in order of time. Those of the interval that ends at point k
** are from[k] to from[k + 1]. Point 0 is the start. */
function readTime(P, raw) {
  P.time = Float64Array.from([0, ...raw.timeline.wall]);
  P.from = new Int32Array(P.time.length + 1);
  for (const k of raw.changes.point) P.from[k + 1]++;
  for (let i = 1; i < P.from.length; i++) P.from[i] += P.from[i - 1];
}

/* The points up to which the amounts of rows are known. Where many rows change
** several points have their changes together: at the last of them. */
function marksOf(P) {
  const { allocated } = P.raw.timeline, end = P.time.length - 1, marks = [0];
  for (let k = 1; k <= end; k++) {
    const silent = P.from[k + 1] === P.from[k] &&
      allocated[k - 1] > (k > 1 ? allocated[k - 2] : 0);
    if (!silent || k === end) marks.push(k);
  }
  return marks;
}

/* Labels and zones are one tree: what has a key is a label. */
function readZones(P, { parent, name, key }) {
  P.zone = [[]];
  P.label = [[]];
  name.forEach((text, i) => {
    const up = parent[i];
    P.zone.push(key[i] ? [] : [...P.zone[up], text]);
    P.label.push(key[i] ? [...P.label[up], [key[i], text]] : P.label[up]);
  });
}

function prepare(raw) {
  const R = raw.rows, P = { raw, rows: R.stack.length, info: raw.info };
  readStacks(P, raw);
  readTime(P, raw);
  P.marks = marksOf(P);
  P.stack = new Int32Array(R.stack).map((s) => s || P.n);
  const samples = R.cpu.reduce((a, b) => a + b, 0);
  P.tick = samples > 0 ? P.info.cpu / samples : 0;
  readZones(P, raw.zones);
  return P;
}

const PROFILES = mp.data.profiles.map(prepare), [A, B] = PROFILES;
const VIEWS = mp.data.views.map((v) => v.name);
const TITLE = {}, WORDS = {};
for (const v of mp.data.views) {
  TITLE[v.name] = v.title;
  WORDS[v.name] = v.words;
}

const zoneName = (P, z) => P.zone[z].join(" › ") || ABSENT.zone;
/* The names of all labels, and those of a row with their values. */
const LABELS = [...new Set(PROFILES.flatMap((P) => P.raw.zones.key))].filter(
  (key) => key && key !== ABSENT.other).sort();
function labelNames(P, z) {
  const list = P.label[z].map((label) => label.join("="));
  return list.length ? list : [ABSENT.label];
}
const stateName = (P, r) => P.raw.rows.states[P.raw.rows.state[r]];
function typeName(P, r) {
  const t = P.raw.rows.type[r];
  return t < 0 ? ABSENT.type : P.raw.rows.types[t];
}

/* The items of the groups that a row belongs to, the outermost first. */
function groupPath(P, r, group) {
  if (group === "state") return [groupItem(stateName(P, r))];
  if (group === "type") return [groupItem(typeName(P, r))];
  const z = P.zone[P.raw.rows.zone[r]];
  if (group === "label") {
    return labelNames(P, P.raw.rows.zone[r]).map(groupItem);
  }
  if (group.startsWith("label:")) {
    const label = P.label[P.raw.rows.zone[r]].find(([key]) =>
      `label:${key}` === group || key === ABSENT.other);
    return [groupItem(label ? label[1] : ABSENT.label)];
  }
  return z.length ? z.map(groupItem) : [groupItem(ABSENT.zone)];
}

mp.profile = { A, B, PROFILES, DIFF: B !== undefined, VIEWS, TITLE, WORDS,
  TIMES: A.raw.changes.point.length > 0, NP: A.raw.timeline.wall.length,
  LABELS, zoneName, labelNames, stateName, typeName, groupPath };
