// SPDX-License-Identifier: MIT
/*
** Stacks as they are shown, and sums by item.
*/
const { item } = mp.items;
const { PROFILES } = mp.profile;
const { state } = mp;
const { finish } = state;
const { weights, variances } = mp.counts;

/* The stacks that are shown: at[s] is the stack whose frame s counts for, 0 for
** the root, and -1 if it counts for nothing. A hidden frame counts for its
** caller, a frame that repeats its caller for that one; with a focus, stacks
** without it are gone, and so are the callers of the others. */
function visible(P, key) {
  const S = state.now, hidden = new Set(S.hidden), at = new Int32Array(P.n + 1);
  const focused = new Uint8Array(P.n + 1), { parent, func, lines } = P;
  focused[0] = S.focus < 0 ? 1 : 0;
  at[0] = focused[0] - 1;
  for (let s = 1; s <= P.n; s++) {
    const up = parent[s], above = at[up];
    focused[s] = focused[up] || func[s] === S.focus || lines[s] === S.focus;
    if (!focused[s]) at[s] = -1;
    else if (hidden.has(func[s]) || hidden.has(lines[s])) {
      at[s] = Math.max(0, above);
    } else if (S.collapse && above > 0 && key[above] === key[s]) at[s] = above;
    else at[s] = s;
  }
  return at;
}

/* Children of each stack, one after the other: those of s are kids[first[s]]
** to kids[first[s + 1] - 1]. */
function children(up, at, n) {
  const first = new Int32Array(n + 2), kids = new Int32Array(n + 1);
  for (let s = 1; s <= n; s++) if (at[s] === s) first[up[s] + 1]++;
  for (let i = 1; i < first.length; i++) first[i] += first[i - 1];
  const next = first.slice();
  for (let s = 1; s <= n; s++) if (at[s] === s) kids[next[up[s]]++] = s;
  return { first, kids };
}

/* A stack is outermost if no caller has its item: recursion counts once. */
function outermost({ key, first, kids, n }) {
  const outer = new Uint8Array(n + 1), on = new Int32Array(item.name.length);
  const todo = Array.from(kids.subarray(first[0], first[1]));
  while (todo.length) {
    const s = todo.pop();
    if (s < 0) { on[key[-s]]--; continue; }
    if (!on[key[s]]++) outer[s] = 1;
    todo.push(-s);
    for (let i = first[s]; i < first[s + 1]; i++) todo.push(kids[i]);
  }
  return outer;
}

/* The stacks of a profile by a unit: functions or lines. leaf[s] is what a
** row with stack s counts for. */
function* shapeOf(P, unit) {
  const key = P[unit], at = visible(P, key), n = P.n;
  yield;
  const up = new Int32Array(n + 1);
  for (let s = 1; s <= n; s++) up[s] = Math.max(0, at[P.parent[s]]);
  const leaf = unit === "lines" ? P.owner.map((s) => at[s]) : at;
  const shape = { n, key, at, up, leaf, ...children(up, at, n) };
  yield;
  shape.outer = outermost(shape);
  return shape;
}
const growShape = (i, unit) => state.grown("counts", `shape ${i} ${unit}`,
  () => shapeOf(PROFILES[i], unit));
const shape = (i, unit = state.now.unit) => state.kept("counts",
  `shape ${i} ${unit}`, () => finish(shapeOf(PROFILES[i], unit)));

/* By stack: its own amount, and that with its callees'; the whole is sub[0].
** rows: those that count; all, if not given. */
function fold({ n, at, up, leaf }, stacks, w, rows) {
  const own = new Float64Array(n + 1), sub = new Float64Array(n + 1);
  const last = rows ? rows.length : w.length;
  for (let i = 0; i < last; i++) {
    const r = rows ? rows[i] : i, s = leaf[stacks[r]];
    if (w[r] && s >= 0) own[s] += w[r];
  }
  for (let s = n; s > 0; s--) {
    if (at[s] !== s) continue;
    sub[s] += own[s];
    sub[up[s]] += sub[s];
  }
  sub[0] += own[0];
  return { own, sub };
}

function* sumsOf(i, of, view, unit) {
  const form = yield* growShape(i, unit), { key, outer, n } = form;
  yield;
  const w = of(i, view);
  yield;
  const { own, sub } = fold(form, PROFILES[i].stack, w);
  yield;
  const self = new Float64Array(item.name.length), total = self.slice();
  for (let s = 1; s <= n; s++) {
    self[key[s]] += own[s];
    if (outer[s]) total[key[s]] += sub[s];
  }
  return { self, total, own, sub, sum: sub[0] };
}
const growStats = (i, view, unit) => state.grown("counts",
  `sums ${i} ${view} ${unit}`, () => sumsOf(i, weights, view, unit));
const stats = (i, view, unit = state.now.unit) => state.kept("counts",
  `sums ${i} ${view} ${unit}`, () => finish(sumsOf(i, weights, view, unit)));
/* The same sums of variances. */
const growChance = (i, view, unit) => state.grown("counts",
  `chance ${i} ${view} ${unit}`, () => sumsOf(i, variances, view, unit));
const chance = (i, view, unit = state.now.unit) => state.kept("counts",
  `chance ${i} ${view} ${unit}`,
  () => finish(sumsOf(i, variances, view, unit)));

/* Makes all of them, of each profile, in steps. */
function* grow(unit, views) {
  for (const i of PROFILES.keys()) {
    yield* growShape(i, unit);
    for (const view of views) {
      yield* growStats(i, view, unit);
      yield;
      yield* growChance(i, view, unit);
      yield;
    }
  }
}

/* The sum of a view alone is had without those of all items. */
function sumOf(i, view) {
  const w = weights(i, view), { leaf } = shape(i), { stack } = PROFILES[i];
  let sum = 0;
  for (let r = 0; r < w.length; r++) if (leaf[stack[r]] >= 0) sum += w[r];
  return sum;
}
const whole = (i, view) => state.kept("counts",
  `whole ${i} ${view} ${state.now.unit}`, () => sumOf(i, view));
const empty = (view) => !PROFILES.some((P, i) => whole(i, view) > 0);

/* The item that has most of a view by itself. */
function largest(view) {
  const { self } = stats(whole(0, view) ? 0 : PROFILES.length - 1, view);
  let best = 0;
  for (let k = 1; k < self.length; k++) if (self[k] > self[best]) best = k;
  return best;
}

mp.sums = { shape, fold, stats, chance, grow, whole, empty, largest };
