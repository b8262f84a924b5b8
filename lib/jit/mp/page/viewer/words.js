// SPDX-License-Identifier: MIT
/*
** A node of a tree in words: its amount, share and doubt, and how it changed.
*/
const { el } = mp.dom;
const { LUA, item } = mp.items;
const { DIFF, TITLE, WORDS } = mp.profile;
const { percent, signed, points } = mp.numbers;
const { state } = mp;
const { stats, chance, whole } = mp.sums;

const amount = (view, v) => mp.numbers.amount(view, v, state.now.objects);
const wholeOf = (i) => whole(i, state.now.view) || 1;
const shareOf = (node) => node.total / wholeOf(0);

/* Half of the interval in which an amount lies in 95 of 100 runs. The whole
** of a view is counted: only the part that belongs here is left to chance. */
function doubt(i, view, v, variance) {
  const share = Math.min(1, v / (whole(i, view) || 1));
  return 1.96 * Math.sqrt(variance * (1 - share));
}
function withDoubt(i, view, v, variance) {
  const by = doubt(i, view, v, variance);
  return amount(view, v) + (by > v * 0.001 ? ` ± ${amount(view, by)}` : "");
}

/* Whether an amount may be off by a third or more. */
const isRough = (v, variance) => v > 0 && v * v < 9 * variance;

/* Whether chance alone can make a change, of amounts or of shares, in 95 of
** 100 pairs of runs. */
function inNoise(view, [after, chanceAfter], [before, chanceBefore]) {
  const [x, y] = state.now.share ? [0, 1].map((i) => whole(i, view) || 1) :
    [1, 1];
  const by = Math.hypot(doubt(0, view, after, chanceAfter) / x,
    doubt(1, view, before, chanceBefore) / y);
  return by > 0 && Math.abs(after / x - before / y) <= by;
}

/* The variance of a node: of the part of its stacks that it has. */
function chanceOf(node, i) {
  const { view } = state.now, { sub } = stats(i, view), c = chance(i, view).sub;
  return node.parts[i].reduce((sum, [s, v]) =>
    sum + (sub[s] > 0 ? v * c[s] / sub[s] : 0), 0);
}
const nodeDoubt = (node, i) =>
  withDoubt(i, state.now.view, i ? node.before : node.total, chanceOf(node, i));

function change(node) {
  const { view, share } = state.now, { total, before } = node;
  const text = share ? points(total / wholeOf(0) - before / wholeOf(1)) :
    signed(total - before, amount(view, Math.abs(total - before)));
  return text + (total !== before && inNoise(view,
    [total, chanceOf(node, 0)], [before, chanceOf(node, 1)]) ?
    " (within the noise)" : "");
}

/* To a screen reader. */
function words(node) {
  const { view } = state.now;
  let text = `${item.label[node.key]}, ${percent(shareOf(node))} of ` +
    `${WORDS[view]}, ${amount(view, node.total)}`;
  if (DIFF) text += `, before ${amount(view, node.before)}, ${change(node)}`;
  return text;
}

const fact = (name, share, text) => [el("dt", {}, name),
  el("dd", {}, share), el("dd", {}, text)];

function facts(node) {
  const { view, mode } = state.now, part = (name, i, v) =>
    fact(name, percent(v / wholeOf(i)), nodeDoubt(node, i));
  const out = part(DIFF ? "after" : TITLE[view], 0, node.total);
  if (DIFF) {
    out.push(...part("before", 1, node.before));
    out.push(...fact("change", change(node), ""));
  } else if (/^(top|time|calls)$/.test(mode) && node.up) {
    out.push(...fact("self", percent(node.self / wholeOf(0)),
      amount(view, node.self)));
  }
  return el("dl", {}, out);
}

/* For a pointer. */
function details(node) {
  const k = node.key, place = item.kind[k] === LUA &&
    el("div", { class: "mute" }, item.name[k] === item.label[k] ? "" :
      item.at[k] + ", ", item.path[k]);
  const calls = node.chain.length > 0 && el("div", { class: "mute" },
    `called by ${node.chain.slice(-8).reverse().map((c) =>
      item.label[c]).join(", by ")}`);
  return [el("b", {}, item.label[k]), place || "", calls || "", facts(node)];
}

mp.words = { amount, withDoubt, nodeDoubt, isRough, inNoise, chanceOf, change,
  words, details, shareOf, wholeOf };
