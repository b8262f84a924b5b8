// SPDX-License-Identifier: MIT
/*
** The heap walk as a tree of holders, joined with the stacks: those that
** allocated the memory of a line, and the lines that hold the memory of a
** stack.
**
** A node is like those of other trees (tree.js); its key is the number of a
** line, from 1 on. Key 0 is all but the objects that nothing holds, and the one
** after the last line is the VM's own memory.
*/
const { STR } = mp.items;
const { A } = mp.profile;

const W = mp.data.heap, L = W?.lines;
const N = W ? L.parent.length : 0, OWN = N + 1;

const nodes = [];
function node(key, size, up) {
  const made = { id: nodes.length, key, step: key, up, size, total: size,
    list: [], depth: up ? up.depth + 1 : 0 };
  nodes.push(made);
  up?.list.push(made);
  return made;
}

/* Lines stand behind their holders. A trace that another one leads to is one
** with it. */
function grow() {
  const root = node(0, W.total - W.garbage, null), at = [root];
  L.parent.forEach((up, i) => {
    at[i + 1] = L.first[i] ? at[L.first[i]] : node(i + 1, L.bytes[i], at[up]);
  });
  at[OWN] = node(OWN, W.own, root);
  for (const n of nodes) {
    n.list = n.list.filter((kid) => kid.size > 0);
    n.list.sort((a, b) => b.size - a.size || a.key - b.key);
  }
  return at;
}
const byKey = W ? grow() : [];

const tree = { nodes, root: nodes[0], kids: (n) => n.list, find(keys) {
  let n = nodes[0];
  for (const k of keys) n = n.list.find((kid) => kid.key === k) || n;
  return n;
} };

/* -- In words ------------------------------------------------------------- */

const names = { 0: "all", [OWN]: "(the VM itself)" };
const label = ({ key }) => names[key] || STR[L.label[key - 1]] || "value";
const path = ({ key }) => names[key] || STR[L.path[key - 1]];
const type = ({ key }) => names[key] ? "" : STR[L.type[key - 1]];
function kind(n) {
  const count = names[n.key] ? 1 : L.count[n.key - 1];
  return count > 1 ? `${count} × ${type(n)}` : type(n);
}
const self = (n) => names[n.key] ? n.size : L.self[n.key - 1];

/* -- Growth --------------------------------------------------------------- */

/* The bytes that a node held in the walk before; null: not known. */
function was(n) {
  const v = L.was && !names[n.key] ? L.was[n.key - 1] : -1;
  return v < 0 ? null : v;
}

/* The nodes that grew most by a hundredth or more, the largest first. A node
** tells no more than one below it that has as good as all of its growth. */
function grown() {
  const by = (n) => was(n) === null ? 0 : n.size - was(n);
  const least = Math.max(W.held / 100, 1);
  return nodes.filter((n) => by(n) >= least &&
    !n.list.some((kid) => by(kid) >= by(n) * 0.9))
    .sort((a, b) => by(b) - by(a) || a.key - b.key);
}

/* -- With the stacks ------------------------------------------------------ */

/* Whether a line is another one, or held by it. */
function within(key, above) {
  for (let n = byKey[key]; n; n = n.up) if (n === above) return true;
  return false;
}

/* Stacks that allocated what a node holds: { stack, bytes }, the largest
** first. */
function sites(of) {
  const by = new Map(), { row, line, bytes } = W.joins;
  line.forEach((key, i) => {
    if (!within(key, of)) return;
    const s = A.stack[row[i] - 1];
    by.set(s, (by.get(s) || 0) + bytes[i]);
  });
  return [...by].map(([stack, v]) => ({ stack, bytes: v }))
    .sort((a, b) => b.bytes - a.bytes || a.stack - b.stack);
}

/* Stacks by their rows' lines: has[s] is 1 where a sample of that stack is. */
const joined = new Uint8Array(A.n + 2);
if (W) for (const r of W.joins.row) joined[A.stack[r - 1]] = 1;

/* The line that a reader looks for: one of many objects tells enough about
** those below it, and the first line of a chain about the others. */
function telling(key) {
  let best = byKey[key];
  for (let n = best; n.up; n = n.up) if (L.count[n.key - 1] > 1) best = n;
  return best;
}

/* The node that holds most of what these stacks allocated, or null. on[s]: 1
** if stack s is one of them. */
function holder(on) {
  const by = new Map(), { row, line, bytes } = W.joins;
  let best = null;
  row.forEach((r, i) => {
    if (!on[A.stack[r - 1]]) return;
    const n = telling(line[i]), v = (by.get(n) || 0) + bytes[i];
    by.set(n, v);
  });
  for (const [n, v] of by) if (!best || v > by.get(best)) best = n;
  return best;
}

mp.heaptree = { W, N, tree, byKey, label, path, type, kind, self, was, grown,
  sites, joined, holder };
