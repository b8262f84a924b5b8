// SPDX-License-Identifier: MIT
/*
** The search: what is typed, what it found, and the way to it.
*/
const { $ } = mp.dom;
const { DIFF, WORDS } = mp.profile;
const { percent } = mp.numbers;
const { state } = mp;
const { stats } = mp.sums;
const matches = mp.matches;
const { tree } = mp.tree;
const { amount } = mp.words;
const graph = mp.graph;

const LEAST = 1 / 5000, MOST = 2000;	/* Of the whole; frames. */

function showFound() {
  const { view, search } = state.now, out = $("found");
  const { active, error, where } = matches.search();
  $("search").setAttribute("aria-invalid", error ? "true" : "false");
  if ($("search").value !== search) $("search").value = search;
  out.classList.toggle("bad", error !== "");
  $("next").hidden = $("previous").hidden = !active || !where ||
    state.now.mode === "calls";
  if (!active) { out.textContent = error; return; }
  const share = matches.share(0, view);
  const more = DIFF ? `before ${percent(matches.share(1, view))}` :
    amount(view, share * stats(0, view).sum);
  out.textContent = `matches ${percent(share)} of ${WORDS[view]}, ${more}` +
    (where === "files" ? " (by file: no name matches)" :
      where === "paths" ? " (by path: no name matches)" : "");
}

/* Frames that match, the largest first; of those within one another the
** outermost. What is too small to be seen is left out. */
function found() {
  const shown = tree(graph.flame.id), out = [];
  const least = shown.root.size * LEAST, todo = [shown.root];
  while (todo.length && out.length < MOST) {
    const node = todo.pop();
    if (matches.within(node)) out.push(node);
    else todo.push(...shown.kids(node).filter((kid) => kid.size >= least));
  }
  return out.sort((a, b) => b.size - a.size || a.id - b.id);
}

function go(by) {
  if (!graph.flame || !matches.search().active) return;
  const all = found(), at = all.indexOf(graph.flame.active);
  if (!all.length) return;
  const next = at < 0 ? by > 0 ? 0 : all.length - 1 :
    (at + by + all.length) % all.length;
  graph.show(all[next]);
  $("found").textContent = `${next + 1} of ${all.length} frames`;
}

function listen() {
  $("search").addEventListener("input", (e) =>
    state.set({ search: e.target.value, shown: state.first.shown }));
  $("search").addEventListener("keydown", (e) => {
    if (e.key === "Enter") { e.preventDefault(); go(e.shiftKey ? -1 : 1); }
  });
  $("next").addEventListener("click", () => go(1));
  $("previous").addEventListener("click", () => go(-1));
}

mp.search = { listen, showFound, go };
