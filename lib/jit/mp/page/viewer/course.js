// SPDX-License-Identifier: MIT
/*
** The frames in order of time: a tree whose nodes are spans of time in which
** one frame was on the stack, not sums over the run.
**
** Amounts are known by interval of the timeline. Within one their order is not
** known: it goes by stacks, forward and backward in turn, so that what two
** intervals share stands side by side.
*/
const { ALL } = mp.items;
const { A, NP, PROFILES, TIMES, DIFF } = mp.profile;
const { state } = mp;
const { weights } = mp.counts;
const { shape } = mp.sums;
const { Tree } = mp.tree;

/* Views of which each moment has its own amount. */
const COLUMNS = { cpu: () => "cpu", alloc: () =>
  state.now.objects ? "alloc_objects" : "alloc_bytes" };
const ordered = (view) => TIMES && !DIFF && Object.hasOwn(COLUMNS, view);

/* Amounts of rows in order of time, [row, amount]. What came after the last
** point stands at the end. */
function changes(view) {
  const { row, [COLUMNS[view]()]: column } = A.raw.changes, out = [];
  const rest = Float64Array.from(A.raw.rows[COLUMNS[view]()]);
  const [first, last] = state.now.range || [0, NP];
  for (let k = first; k < last; k++) {
    const list = [];
    for (let i = A.from[k + 1]; i < A.from[k + 2]; i++) {
      list.push([row[i] - 1, column[i]]);
      rest[row[i] - 1] -= column[i];
    }
    list.sort((a, b) => A.stack[a[0]] - A.stack[b[0]]);
    for (const change of k % 2 ? list.reverse() : list) out.push(change);
  }
  if (state.now.range) return out;
  rest.forEach((v, r) => { if (v > 1e-6) out.push([r, v]); });
  return out;
}

/* The stacks on the way to a leaf, the outermost first. */
function wayTo({ up }, leaf, known) {
  if (!known.has(leaf)) {
    const way = [];
    for (let s = leaf; s; s = up[s]) way.push(s);
    known.set(leaf, way.reverse());
  }
  return known.get(leaf);
}

/* The amounts that are shown, as [way, amount]; neighbours with one way are
** one. */
function entries(view) {
  const w = weights(0, view), form = shape(0), known = new Map(), out = [];
  const unit = view === "cpu" ? A.tick : 1;
  for (const [r, v] of changes(view)) {
    const leaf = form.leaf[A.stack[r]];
    if (!(v > 0) || !(w[r] > 0) || leaf < 0) continue;
    const way = wayTo(form, leaf, known), last = out[out.length - 1];
    if (last?.[0] === way) last[1] += v * unit;
    else out.push([way, v * unit]);
  }
  return out;
}

/* A node's entries by the frame that follows, each run of one frame a node. */
function grow(tree, node) {
  const { key } = shape(0), out = [];
  let kid = null, end = -1;
  node.spans.forEach(([way, amount], i) => {
    const s = way[node.level];
    if (s === undefined) return;
    if (!kid || kid.key !== key[s] || end !== i - 1) {
      kid = tree.add(node, key[s], grow);
      kid.step = out.length;
      kid.spans = [];
      out.push(kid);
    }
    end = i;
    kid.spans.push([way, amount]);
    kid.parts[0].push([s, amount, way.length > kid.level ? 0 : amount]);
  });
  return out;
}

class Course extends Tree {
  constructor(view) {
    super(ALL, grow);
    this.root.spans = entries(view);
    this.root.parts[0] = this.root.spans.map(([way, amount]) =>
      [0, amount, way.length ? 0 : amount]);
    this.measure(this.root);
  }
  get inOrder() { return true; }
  sort() { /* They come in order. */ }
}

mp.course = { ordered, make: () => new Course(state.now.view) };
