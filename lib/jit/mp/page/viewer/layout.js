// SPDX-License-Identifier: MIT
/*
** The places of the frames of a tree: plain numbers, without a document.
**
** The whole width is 1; a window [from, to] of it is drawn on so many pixels.
** A level is a list of boxes { node, left, right } in pixels.
*/
const LEAST = 0.5;	/* Pixels: anything narrower is not drawn. */

/* Where a node lies in the whole. */
function place(tree, node) {
  let x = 0;
  for (let n = node; n.up; n = n.up) {
    for (const kid of tree.kids(n.up)) {
      if (kid === n) break;
      x += kid.size;
    }
  }
  const all = tree.root.size || 1;
  return [x / all, (x + node.size) / all];
}

/* The children that are drawn, [kid, left edge]. In order of time narrow ones
** may stand before wide ones: of those, one for a pixel. */
function* kidsAt(tree, node, x, from, scale) {
  const all = tree.root.size;
  let pixel = -1;
  for (const kid of tree.kids(node)) {
    const wide = kid.size / all * scale >= LEAST;
    const at = Math.floor((x - from) * scale);
    if (!wide && !tree.inOrder) return;
    if (wide || at !== pixel) yield [kid, x];
    pixel = at;
    x += kid.size / all;
  }
}

/* One level after the other. */
function* levels(tree, [from, to], width) {
  const all = tree.root.size, scale = width / (to - from);
  let row = all ? [[tree.root, 0]] : [];
  while (row.length) {
    const level = [], next = [];
    for (const [node, x] of row) {
      const left = Math.max(0, (x - from) * scale);
      const right = Math.min(width, (x + node.size / all - from) * scale);
      if (right - left < (tree.inOrder ? 1e-9 : LEAST)) continue;
      level.push({ node, left, right: Math.max(right, left + LEAST) });
      for (const kid of kidsAt(tree, node, x, from, scale)) next.push(kid);
    }
    if (level.length) yield level;
    row = next;
  }
}
const layout = (tree, window, width) => [...levels(tree, window, width)];

/* The box of a level at a pixel, or undefined. */
const boxAt = (level, x) => level?.find((b) => x >= b.left && x < b.right);

/* A label of that many characters: the end of a name gives way, not the number
** of a line behind it. */
function fit(text, room) {
  const [line] = /:\d+$/.exec(text) || [""], keep = room - line.length - 1;
  if (text.length <= room) return text;
  return line && keep > 2 ? text.slice(0, keep) + "…" + line :
    text.slice(0, Math.max(1, room - 1)) + "…";
}

mp.layout = { levels, layout, place, boxAt, fit };
