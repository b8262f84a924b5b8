// SPDX-License-Identifier: MIT
/*
** A stack as text, and the graph as folded stacks or SVG, to copy or save.
*/
const { $, svg, say } = mp.dom;
const { A, WORDS } = mp.profile;
const { isTime } = mp.numbers;
const { item } = mp.items;
const { state } = mp;
const { tree, labels } = mp.tree;
const { layout, fit } = mp.layout;
const { shade, changeShade } = mp.colors;
const { DIFF } = mp.profile;
const { words, wholeOf } = mp.words;
const graph = mp.graph;

const WIDTH = 1200, ROW = 18, EM = 7.2, STEP = 500;

/* The frames to a node, from the root on, without the root. */
function frames(node) {
  const out = [];
  for (let n = node; n.up; n = n.up) out.unshift(...labels(n));
  return out;
}
const downwards = () => state.now.mode !== "bottom" &&
  graph.flame?.id !== "callers";

/* Whether the root is a function, not the whole. */
const isAround = () => /^call(er|ee)s$/.test(graph.flame?.id);

/* The innermost frame first, as in a traceback. */
function stackText(node) {
  const lines = frames(node);
  if (isAround()) {
    lines.unshift(item.label[graph.flame.tree.root.key]);
  }
  if (downwards()) lines.reverse();
  return lines.join("\n");
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    told(`${what} copied`);
  } catch (e) {
    told(`${what} cannot be copied: ${e.message}`);
  }
}
function told(text) {
  say(text);
  $("told").textContent = text;
}

/* Folded stacks: "a;b;c 12", in microseconds, bytes or objects. Many are made
** step by step: each step gives some of them. */
function* folded() {
  const { view } = state.now, unit = isTime(view) ? 1e6 : 1;
  const clean = (s) => s.replace(/[;\n]/g, ":"), top = tree("top");
  const walk = [[top.root, ""]];
  let lines = [];
  while (walk.length) {
    const [node, above] = walk.pop();
    const here = node.up ? above + (above && ";") +
      labels(node).map(clean).join(";") : "";
    const v = Math.round(node.self * unit);
    if (v > 0) lines.push(`${here || "all"} ${v}\n`);
    for (const kid of top.kids(node)) walk.push([kid, here]);
    if (lines.length === STEP) { yield lines; lines = []; }
  }
  yield lines;
}
function* saveFolded() {
  const parts = [];
  for (const lines of folded()) {
    parts.push(new Blob([lines.join("")]));
    yield;
  }
  save(parts, "text/plain", "folded");
}

function color(node) {
  if (!DIFF) return shade(node.key);
  return changeShade(node.total / wholeOf(0), node.before / wholeOf(1));
}
function drawing() {
  const { mode } = state.now;
  const which = /^(bottom|time)$/.test(mode) ? mode : "top";
  const levels = layout(tree(which), [0, 1], WIDTH), style = "font:12px " +
    "monospace;background:" + getComputedStyle(document.body).backgroundColor;
  const ink = getComputedStyle(document.body).color;
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", style,
    viewBox: `0 0 ${WIDTH} ${levels.length * ROW}`, width: WIDTH });
  levels.forEach((level, d) => level.forEach(({ node, left, right }) => {
    const w = right - left, room = Math.floor((w - 8) / EM);
    root.append(svg("g", {}, svg("title", {}, words(node)), svg("rect",
      { x: left.toFixed(2), y: d * ROW, width: Math.max(0.4, w - 1).toFixed(2),
        height: ROW - 1, fill: color(node) }), room > 2 ? svg("text",
      { x: (left + 4).toFixed(2), y: d * ROW + 13, fill: ink },
      fit(labels(node).join(" › "), room)) : ""));
  }));
  return new XMLSerializer().serializeToString(root);
}

function save(texts, type, suffix) {
  const url = URL.createObjectURL(new Blob(texts, { type }));
  const base = A.info.script.replace(/[^\w.-]+/g, "_");
  const a = document.createElement("a");
  a.href = url;
  a.download = `${base}.${state.now.view}.${suffix}`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  told(`${a.download} saved: ${WORDS[state.now.view]}`);
}

function listen() {
  graph.ACTIONS.push(["Copy stack", (node) => node.up || isAround(),
    (node) => copy(stackText(node), "Stack"),
    "The frames down to this one, as text"]);
  $("link").addEventListener("click", () =>
    copy(location.href, "Link to this state"));
  $("folded").addEventListener("click", () =>
    mp.steps.run("folded", saveFolded()));
  $("svg").addEventListener("click", () =>
    save([drawing()], "image/svg+xml", "svg"));
}

mp.save = { listen };
