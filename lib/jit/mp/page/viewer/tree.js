// SPDX-License-Identifier: MIT
/*
** Trees of frames, by the chosen view. A node joins the stacks that have the
** same items on the way to it. Its children are made when they are asked for:
** few of a large profile's nodes are wide enough to be seen.
**
** A node: id, key (its item), up (its parent), depth; total and self, and for
** a comparison before and selfBefore; size, by which it is drawn; step,
** which tells it from the other children. Where chains are folded, the last
** frame of a chain stands for all: chain has the items of the others, the
** outermost first, and level the depth that the frame would have.
*/
const { ALL, GROUP, item } = mp.items;
const { PROFILES, groupPath } = mp.profile;
const { state } = mp;
const { weights } = mp.counts;
const { shape, fold, stats } = mp.sums;

class Tree {
  constructor(key, grow) {
    this.nodes = [];
    this.root = this.add(null, key, grow);
  }

  /* grow(tree, node) makes the node's children. */
  add(up, key, grow) {
    const depth = up ? up.depth + 1 : 0, level = up ? up.level + 1 : 0;
    const node = { id: this.nodes.length, key, step: key, up, depth, level,
      total: 0, self: 0, before: 0, selfBefore: 0, size: 0, own: null,
      list: null, chain: [],
      parts: PROFILES.map(() => []), grow };
    this.nodes.push(node);
    return node;
  }

  /* The frames that follow, the largest first; those with nothing are left
  ** out. */
  next(node) {
    if (!node.own) {
      const kids = node.grow(this, node);
      for (const kid of kids) this.measure(kid);
      node.own = kids.filter((kid) => kid.total > 0 || kid.before > 0);
      this.sort(node.own);
    }
    return node.own;
  }
  sort(kids) {
    kids.sort((a, b) => b.size - a.size ||
      (item.name[a.key] < item.name[b.key] ? -1 : 1));
  }

  /* Children: frames that follow, or ends of the chains that begin there. */
  kids(node) {
    node.list ||= this.next(node).map((kid) => {
      const end = state.now.chains ? this.endOf(kid) : kid;
      end.up = node;
      end.depth = node.depth + 1;
      return end;
    });
    return node.list;
  }

  /* The last frame of the chain that begins with one: each has one callee,
  ** and nothing of its own. */
  endOf(node) {
    const chain = [];
    for (let end = node; ; end = end.own[0]) {
      const [only, ...others] = this.next(end);
      if (!only || others.length || item.kind[end.key] === GROUP ||
          end.self > 0 || end.selfBefore > 0) {
        end.chain = chain;
        return end;
      }
      chain.push(end.key);
    }
  }

  /* Sums over the parts: [stack, amount, amount of the stack alone]. */
  measure(node) {
    node.parts.forEach((part, i) => {
      let total = 0, self = 0;
      for (const [, amount, own] of part) { total += amount; self += own; }
      if (i) { node.before = total; node.selfBefore = self; }
      else { node.total = total; node.self = self; }
    });
    node.size = state.now.width === "before" ? node.before : node.total;
  }

  /* The node at the end of a path from the root, or the last one that is
  ** there. */
  find(steps) {
    let node = this.root;
    for (const step of steps) {
      const kid = this.kids(node).find((x) => x.step === step);
      if (!kid) break;
      node = kid;
    }
    return node;
  }
}

/* The steps on the way to a node. */
function path(node) {
  const out = [];
  for (let n = node; n.up; n = n.up) out.push(n.step);
  return out.reverse();
}

/* Sorts the stacks that lead on from a node into children by item. each(i,
** put) calls put(stack, amount, own) for profile i. */
function sortInto(tree, node, grow, each) {
  const kids = new Map();
  PROFILES.forEach((P, i) => {
    const { key } = shape(i);
    each(i, (s, amount, own) => {
      let kid = kids.get(key[s]);
      if (!kid) kids.set(key[s], kid = tree.add(node, key[s], grow));
      kid.parts[i].push([s, amount, own]);
    });
  });
  return [...kids.values()];
}

/* Towards callees. sums: { own, sub } of each profile. */
function downward(sums) {
  return function grow(tree, node, parts = node.parts) {
    return sortInto(tree, node, grow, (i, put) => {
      const { first, kids } = shape(i), { own, sub } = sums[i];
      for (const [s] of parts[i]) {
        for (let j = first[s]; j < first[s + 1]; j++) {
          const c = kids[j];
          if (sub[c] > 0) put(c, sub[c], own[c]);
        }
      }
    });
  };
}

/* Towards callers: the callees' amounts are handed on; stacks that meet in one
** caller are joined there. */
function upward(tree, node) {
  return sortInto(tree, node, upward, (i, put) => {
    const { up } = shape(i), joined = new Map();
    for (const [s, amount] of node.parts[i]) {
      if (up[s]) joined.set(up[s], (joined.get(up[s]) || 0) + amount);
    }
    for (const [s, amount] of joined) put(s, amount, 0);
  });
}

/* The stacks that an inverted tree begins with. */
const leaves = (sums) => (tree, node) =>
  sortInto(tree, node, upward, (i, put) => {
    const { own } = sums[i];
    for (let s = 1; s < own.length; s++) if (own[s] > 0) put(s, own[s], own[s]);
  });

/* Rows of a node by the group that they belong to on the next level; those
** that have none there by -1. */
function rowsByGroup(node) {
  const { group, view } = state.now, kids = new Map();
  PROFILES.forEach((P, i) => {
    const w = weights(i, view), { leaf } = shape(i);
    for (const r of node.rows ? node.rows[i] : w.keys()) {
      if (!w[r] || leaf[P.stack[r]] < 0) continue;
      const k = groupPath(P, r, group)[node.depth] ?? -1;
      if (!kids.has(k)) kids.set(k, PROFILES.map(() => []));
      kids.get(k)[i].push(r);
    }
  });
  return kids;
}

/* Levels above the stacks, by zone, labels, VM state or type. Rows are folded
** into stacks where their groups end. */
function grouped(kind) {
  return function grow(tree, node) {
    const out = [], { view } = state.now;
    for (const [k, rows] of rowsByGroup(node)) {
      if (k < 0) {
        const sums = PROFILES.map((P, i) =>
          fold(shape(i), P.stack, weights(i, view), rows[i]));
        out.push(...kind(sums)(tree, node, PROFILES.map(() => [[0]])));
        continue;
      }
      const kid = tree.add(node, k, grow);
      kid.rows = rows;
      rows.forEach((list, i) => {
        const w = weights(i, view);
        kid.parts[i].push([0, list.reduce((a, r) => a + w[r], 0), 0]);
      });
      out.push(kid);
    }
    return out;
  };
}

/* The whole graph. kind: downward, or leaves. */
function whole(kind, group) {
  const sums = PROFILES.map((P, i) => stats(i, state.now.view));
  const tree = new Tree(ALL, group ? grouped(kind) : kind(sums));
  sums.forEach(({ own, sub }, i) => {
    tree.root.parts[i].push([0, sub[0], own[0]]);
  });
  tree.measure(tree.root);
  return tree;
}

/* Callers or callees of the chosen item, from its outermost place in each
** stack: a recursion counts there. */
function around(callers) {
  const S = state.now, sums = PROFILES.map((P, i) => stats(i, S.view));
  const tree = new Tree(S.sel, callers ? upward : downward(sums));
  sums.forEach(({ own, sub }, i) => {
    const { n, key, outer } = shape(i);
    for (let s = 1; s <= n; s++) {
      if (key[s] === S.sel && outer[s] && sub[s] > 0) {
        tree.root.parts[i].push([s, sub[s], own[s]]);
      }
    }
  });
  tree.measure(tree.root);
  return tree;
}

const MAKERS = {
  top: () => whole(downward, state.now.group),
  bottom: () => whole(leaves, state.now.group),
  calls: () => whole(downward, ""),
  callers: () => around(true), callees: () => around(false),
  time: () => mp.course.make()
};
const tree = (which) => state.kept("trees", which, MAKERS[which]);

/* The names of a node's frames, the outermost first. */
const labels = (node) => [...node.chain, node.key].map((k) => item.label[k]);

mp.tree = { Tree, tree, path, labels };
