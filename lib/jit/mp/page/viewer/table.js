// SPDX-License-Identifier: MIT
/*
** The table of functions or lines: every view side by side.
*/
const { $, el, color } = mp.dom;
const { LUA, GROUP, item } = mp.items;
const { A, DIFF, VIEWS, TITLE, WORDS } = mp.profile;
const { percent, signed, points, count } = mp.numbers;
const { state } = mp;
const { timed } = mp.counts;
const { stats, empty } = mp.sums;
const { search } = mp.matches;
const { columns } = mp.columns;
const { amount, withDoubt, isRough, inNoise } = mp.words;
const graph = mp.graph, source = mp.source;

const MORE = 100;	/* Rows for a click. */
const MANY_VIEWS = 4;	/* More have no room for amounts, */
const CROWDED = 5;	/* and more than these none for totals. */

/* -- Rows ----------------------------------------------------------------- */

/* Items that have a part of a view. A line that is not known is of interest for
** its own part only, not for its callees'. */
function rows(cols) {
  const { active, hit } = search(), keep = [];
  for (let k = 0; k < item.name.length; k++) {
    if (active && !hit[k]) continue;
    const unknown = state.now.unit === "lines" && item.line[k] === -1 &&
      item.kind[k] === LUA;
    const counts = cols.some((c) =>
      c.value(k) && (!unknown || c.what === "self"));
    if (counts) keep.push(k);
  }
  return keep;
}

function byName(a, b) {
  const x = item.name[a], y = item.name[b];
  return x < y ? -1 : x > y ? 1 : a - b;
}
/* The values of rows that go by a column; changes go by their size. */
function valuesOf(keep, { kind, value: of }) {
  const size = kind === "change" ? Math.abs : Number;
  const value = new Float64Array(item.name.length);
  for (const k of keep) value[k] = size(of(k));
  return value;
}
/* Rows that are alike in a column go by the total of its view. */
function sortRows(keep, by, cols) {
  const { sort, dir } = state.now;
  if (sort === "name") return keep.sort((a, b) => -dir * byName(a, b));
  if (!by) return keep;
  const value = valuesOf(keep, by);
  const total = valuesOf(keep, cols.find((c) => c.view === by.view &&
    c.what === "total" && c.kind === by.kind) || by);
  return keep.sort((a, b) => dir * (value[a] - value[b] ||
    total[a] - total[b]) || byName(a, b));
}

/* The columns, the one that the rows go by, and the rows of a state: it is
** another object after each change. */
let ordered = { state: null, cols: [], by: null, all: [] };
function* growOrder() {
  const now = state.now, cols = columns();
  if (ordered.state === now) return;
  const by = cols.find((c) => c.id === now.sort && c.view === sortView()) ||
    cols.find((c) => c.view === now.view) || cols[0];
  const keep = rows(cols);
  yield;
  ordered = { state: now, cols, by, all: sortRows(keep, by, cols) };
  yield;
}

/* -- Cells ---------------------------------------------------------------- */

const other = (view) => view === state.now.view ? "" : " other";
/* Columns that small windows leave out: totals of views that are not chosen,
** or in a comparison those that the change is the difference of. */
const isSpare = (c) => c.what === "total" &&
  (DIFF ? c.kind !== "change" : c.view !== state.now.view);
const isAfter = (c) => DIFF && c.kind === "plain";
const classOf = (c) => other(c.view) + (isSpare(c) ? " spare" : "") +
  (isAfter(c) ? " after" : "");

function changeCell(c, k) {
  const v = c.value(k), text = state.now.share ? points(v) :
    signed(v, amount(c.view, Math.abs(v)));
  if (!v) return el("td", { class: classOf(c) });
  const noise = inNoise(c.view, c.after(k), c.before(k));
  const tone = noise || !/[1-9]/.test(text) ? "mute" : v > 0 ? "up" : "down";
  return el("td", { class: tone + classOf(c), title: noise ?
    "Within the noise: sampling alone may explain such a change" : null },
    text);
}
function cell(c, k) {
  if (c.kind === "change") return changeCell(c, k);
  const v = c.value(k), i = c.kind === "before" ? 1 : 0;
  if (!v) return el("td", { class: classOf(c) });
  const share = v / stats(i, c.view).sum;
  return el("td", { class: "num" + classOf(c), "--c": color(c.view),
    "--w": share.toFixed(4), title: withDoubt(i, c.view, v, c.chance(k)) },
    el("span", {}, percent(share)), el("span",
      { class: isRough(v, c.chance(k)) && "rough" }, amount(c.view, v)));
}
function nameCell(k) {
  const title = item.path[k] || item.name[k], name = item.name[k];
  const out = [item.kind[k] < GROUP ? el("button", { type: "button",
    class: "link fn", title, onclick: () => graph.sandwich(k) }, name) :
    el("span", { class: "fn" }, name)];
  if (item.at[k]) {
    out.push(source.has(k) ? el("button", { type: "button", class: "link at",
      title: "Source of " + title, onclick: () => source.go(k) },
      item.at[k]) : el("span", { class: "at", title }, item.at[k]));
  }
  return el("td", {}, el("div", {}, out));
}

/* -- Head ----------------------------------------------------------------- */

function sorter(id, view, text, label) {
  const { sort, dir } = state.now, of = id + (view ? " " + view : "");
  const again = sort === id && (id === "name" || view === sortView());
  return el("button", { type: "button", "data-sort": of, "aria-label": label,
    onclick: () => {
      state.set({ sort: id, dir: again ? -dir : -1,
        sortView: view === state.now.view ? "" : view });
      $("table").querySelector(`[data-sort="${of}"]`)?.focus();
    } }, text);
}
const sortView = () => state.now.sortView || state.now.view;
const direction = (dir) => dir < 0 ? "descending" : "ascending";

function head(cols, by) {
  const { sort, dir, unit } = state.now, byNames = sort === "name";
  const views = [...new Set(cols.map((c) => c.view))];
  /* few: without columns that small windows leave out. */
  const groups = (few) => el("tr", { class: few ? "few" : "full" }, el("td"),
    views.map((v) => el("th", { class: "group" + other(v), scope: "colgroup",
      colspan: cols.filter((c) => c.view === v &&
	!(few && isSpare(c))).length, "--c": color(v) },
    el("span", {}, TITLE[v]))));
  const titles = cols.map((c) => el("th", { scope: "col",
    class: classOf(c), "aria-sort": !byNames && c === by ?
      direction(dir) : null },
    sorter(c.id, c.view, c.title, `${TITLE[c.view]}, ${c.title}`)));
  const name = el("th", { scope: "col", "aria-sort": byNames ?
    direction(-dir) : null },
    sorter("name", "", unit === "func" ? "Function" : "Line"));
  return el("thead", {}, groups(false),
    (DIFF || views.length > CROWDED) && groups(true),
    el("tr", {}, name, titles));
}

/* -- The table ------------------------------------------------------------ */

function note(cols, n) {
  const { range } = state.now, { active } = search();
  const told = [cols.length ? `${count(n)} ${active ? "found" : "in all"}` :
    "nothing to show"];
  for (const v of VIEWS.filter(empty)) {
    told.push(state.filtered() ? `nothing of ${WORDS[v]} is chosen` :
      A.info.empty[v]);
  }
  const whole = VIEWS.filter((v) => range && !timed(v)).map((v) => WORDS[v]);
  if (whole.length) told.push(whole.join(" and ") + ": of the whole run");
  return told.join("; ");
}

/* The table shown: items in their order, columns, and the body. */
let table = { all: [], cols: [], body: null };

/* Rows without a number in the columns that small windows show: none, those of
** the chosen view; bare, these and others' own parts. */
function unseen(cols, k) {
  if (search().active) return "";
  const isEmpty = (some) => !cols.some((c) => some(c) && c.value(k));
  const isChosen = (c) => c.view === state.now.view;
  return (isEmpty(isChosen) ? " none" : "") +
    (isEmpty((c) => isChosen(c) || c.what === "self") ? " bare" : "");
}

/* Rows that are there stay: few new ones are laid out at a time. */
function addRows() {
  const { all, cols, body } = table, { shown, sel } = state.now;
  if (body) {
    body.append(...all.slice(body.rows.length, shown).map((k) =>
      el("tr", { class: (k === sel ? "on" : "") + unseen(cols, k) },
        nameCell(k), cols.map((c) => cell(c, k)))));
  }
  const more = $("more"), rest = all.length - shown;
  more.hidden = rest <= 0;
  more.textContent = rest > MORE ? `Show ${MORE} of ${count(rest)} more` :
    `Show ${rest} more`;
}

function showTable() {
  state.finish(growOrder());
  const { unit } = state.now, { cols, by, all } = ordered;
  const body = el("tbody", {});
  table = { all, cols, body };
  addRows();
  const views = VIEWS.filter((v) => !empty(v)).length;
  $("table").classList.toggle("many", views > MANY_VIEWS);
  $("table").classList.toggle("crowded", views > CROWDED);
  $("table").classList.toggle("compared", DIFF);
  $("table").replaceChildren(...cols.length ? [head(cols, by), body] : []);
  $("functions-title").textContent = unit === "func" ? "Functions" : "Lines";
  $("functions-note").replaceChildren(note(cols, all.length) +
    (body.querySelector(".rough") ? "; ≈ few samples" : ""),
  el("span", {}, body.querySelector(".none") ?
    "; those with a part of this view are shown" : ""));
}

function listen() {
  $("more").addEventListener("click", () =>
    state.set({ shown: state.now.shown + MORE }));
}

mp.table = { listen, growOrder, showTable, addRows };
