// SPDX-License-Identifier: MIT
/*
** The call tree as a table: a row for each frame, whose callees are shown
** when it is opened.
*/
const { $, el, color } = mp.dom;
const { item } = mp.items;
const { DIFF, VIEWS, TITLE } = mp.profile;
const { percent } = mp.numbers;
const { state } = mp;
const { stats, chance, empty } = mp.sums;
const { tree, path, labels } = mp.tree;
const { amount, withDoubt, isRough, chanceOf, change, wholeOf } = mp.words;
const { search, within } = mp.matches;

const KIDS = 100, HALF = 0.5, DEEP = 60;
const open = new Set();		/* Paths of the rows that are open. */
let shown = [], at = "", opened = false;

const name = (node) => path(node).join(".") || "all";

/* At first the path of the largest nodes is open. */
function openHotPath(calls) {
  opened = true;
  for (let n = calls.root; n && n.depth < DEEP; ) {
    open.add(name(n));
    const kid = calls.kids(n)[0];
    n = kid && kid.size >= n.size * HALF ? kid : null;
  }
}

function rowsOf(calls) {
  const out = [], todo = [calls.root];
  while (todo.length) {
    const node = todo.pop();
    out.push(node);
    if (node.more || !open.has(name(node))) continue;
    const kids = calls.kids(node), rest = kids.length - KIDS;
    if (rest > 0) todo.push({ more: rest, depth: node.depth + 1 });
    todo.push(...kids.slice(0, KIDS).reverse());
  }
  return out;
}

/* -- Cells ---------------------------------------------------------------- */

/* On a small screen there is only the chosen view, of the later run. */
const other = (view, i) => view === state.now.view && !i ? "" : " other";

function amountCell(view, i, v, variance) {
  if (!v) return el("td", { role: "gridcell", class: other(view, i) });
  const share = v / (stats(i, view).sum || 1);
  return el("td", { role: "gridcell", class: "num" + other(view, i),
    "--c": color(view), "--w": share.toFixed(4),
    title: withDoubt(i, view, v, variance) }, el("span", {}, percent(share)),
    el("span", { class: isRough(v, variance) && "rough" }, amount(view, v)));
}
/* The sum over the stacks of a node, also in a view that the tree was not made
** for. */
const over = (node, sums) =>
  node.parts[0].reduce((sum, [s]) => sum + sums[s], 0);

function cells(node) {
  const { view } = state.now, others = VIEWS.filter((v) =>
    v !== view && !empty(v));
  const own = [amountCell(view, 0, node.total, chanceOf(node, 0))];
  if (DIFF) {
    own.push(amountCell(view, 1, node.before, chanceOf(node, 1)),
      el("td", { role: "gridcell" }, change(node)));
    return own;
  }
  own.push(amountCell(view, 0, node.self, over(node, chance(0, view).own)));
  return [...own, ...others.map((v) => amountCell(v, 0,
    over(node, stats(0, v).sub), over(node, chance(0, v).sub)))];
}

function head() {
  const { view } = state.now, of = (v, text, i) => el("th", { scope: "col",
    role: "columnheader", class: other(v, i) }, text);
  const own = DIFF ? [of(view, "after"), of(view, "before", 1),
    of(view, "change")] : [of(view, TITLE[view]), of(view, "Self")];
  const others = DIFF ? [] : VIEWS.filter((v) => v !== view && !empty(v));
  return el("thead", { role: "rowgroup" }, el("tr", { role: "row" },
    el("th", { scope: "col", role: "columnheader" }, "Call"), own,
    others.map((v) => of(v, TITLE[v]))));
}

function row(calls, node) {
  const indent = { "--d": Math.min(node.depth, 40) };
  if (node.more) {
    return el("tr", { role: "row", "aria-level": node.depth + 1 },
      el("td", { role: "gridcell", class: "mute", ...indent },
        `${node.more} smaller ones`));
  }
  const id = name(node), kids = calls.kids(node).length > 0;
  const k = node.key;
  return el("tr", { role: "row", "aria-level": node.depth + 1,
    "data-path": id, tabindex: id === at ? "0" : "-1",
    class: search().active && within(node) ? "found" : null,
    "aria-expanded": kids ? String(open.has(id)) : null,
    onclick: () => toggle(id) },
    el("td", { role: "gridcell", ...indent }, el("span", { class: "fn" },
      el("i", { class: kids ? "fold" : "", "aria-hidden": "true" }),
      labels(node).join(" › "), el("span", { class: "at" }, item.at[k]))),
    cells(node));
}

/* -- Keys ----------------------------------------------------------------- */

function toggle(id) {
  if (!open.delete(id)) open.add(id);
  at = id;
  showCalls();
  focusRow();
}
function focusRow() {
  [...$("calls").querySelectorAll("tr")].find((e) => e.dataset.path === at)
    ?.focus();
}

function key(e) {
  const rows = shown.filter((n) => !n.more), i = rows.findIndex((n) =>
    name(n) === at);
  const node = rows[i];
  if (!node || e.ctrlKey || e.metaKey || e.altKey) return;
  const isOpen = open.has(at), go = (n) => { if (n) at = name(n); };
  const act = { ArrowDown: () => go(rows[i + 1]),
    ArrowUp: () => go(rows[i - 1]), Home: () => go(rows[0]),
    End: () => go(rows[rows.length - 1]),
    ArrowRight: () => isOpen ? go(rows[i + 1]) : open.add(at),
    ArrowLeft: () => isOpen ? open.delete(at) : go(node.up),
    Enter: () => isOpen ? open.delete(at) : open.add(at) }[e.key];
  if (!act) return;
  e.preventDefault();
  act();
  showCalls();
  focusRow();
}

function showCalls() {
  const box = $("calls");
  box.hidden = state.now.mode !== "calls" || !wholeOf(0);
  if (box.hidden) { box.replaceChildren(); return; }
  const calls = tree("calls");
  if (!opened) openHotPath(calls);
  shown = rowsOf(calls);
  if (!shown.some((n) => !n.more && name(n) === at)) at = name(calls.root);
  box.replaceChildren(el("table", { role: "treegrid", "aria-label":
    "Call tree", onkeydown: key }, head(), el("tbody", { role: "rowgroup" },
    shown.map((n) => row(calls, n)))));
}

mp.calls = { showCalls };
