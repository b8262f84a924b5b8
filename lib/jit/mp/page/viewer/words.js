/*
** What is said of a node of a tree: its amount, its share, its doubt, what
** has changed.
*/
const { el } = mp.dom;
const { LUA, item } = mp.items;
const { DIFF, TITLE, WORDS } = mp.profile;
const { percent, signed, points } = mp.numbers;
const { state } = mp;
const { doubt } = mp.counts;
const { stats } = mp.sums;

const amount = (view, v) => mp.numbers.amount(view, v, state.now.objects);
const wholeOf = (i) => stats(i, state.now.view).sum || 1;
const shareOf = (node) => node.total / wholeOf(0);

/* An amount with the interval that it lies in, where it is an estimate. */
function withDoubt(i, view, v) {
  const by = doubt(i, view, v);
  return amount(view, v) + (by ? ` ± ${amount(view, by)}` : "");
}

/* A difference that samples alone can make, in 95 of 100 pairs of runs. */
function noise(view, after, before) {
  const a = doubt(0, view, after), b = doubt(1, view, before);
  return a === null || b === null ? 0 : Math.hypot(a, b);
}
const inNoise = (view, after, before) =>
  Math.abs(after - before) <= noise(view, after, before);

function change(node) {
  const { view, share } = state.now, { total, before } = node;
  const text = share ? points(total / wholeOf(0) - before / wholeOf(1)) :
    signed(total - before, amount(view, Math.abs(total - before)));
  return text + (!share && inNoise(view, total, before) ?
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
    fact(name, percent(v / wholeOf(i)), withDoubt(i, view, v));
  const out = part(DIFF ? "after" : TITLE[view], 0, node.total);
  if (DIFF) {
    out.push(...part("before", 1, node.before));
    out.push(...fact("change", change(node), ""));
  } else if ((mode === "top" || mode === "calls") && node.up) {
    out.push(...part("self", 0, node.self));
  }
  return el("dl", {}, out);
}

/* For a pointer. */
function details(node) {
  const k = node.key, place = item.kind[k] === LUA &&
    el("div", { class: "mute" }, item.name[k] === item.label[k] ? "" :
      item.at[k] + ", ", item.path[k]);
  return [el("b", {}, item.label[k]), place || "", facts(node)];
}

mp.words = { amount, withDoubt, inNoise, change, words, details, shareOf,
  wholeOf };
