// SPDX-License-Identifier: MIT
/*
** Columns of the table: their titles, and the value of an item.
*/
const { DIFF, VIEWS } = mp.profile;
const { state } = mp;
const { stats, chance, empty } = mp.sums;

/* Of one view: an item's own part, and that with its callees'. */
function plain(view, what) {
  const a = stats(0, view)[what], c = chance(0, view)[what];
  return [{ id: what, view, what, title: what === "self" ? "Self" : "Total",
    value: (k) => a[k], chance: (k) => c[k], kind: "plain" }];
}

/* The chosen view has both amounts, the others the change alone. */
function compared(view, what) {
  const a = stats(0, view), b = stats(1, view), out = [];
  const c = chance(0, view), d = chance(1, view);
  const Name = what === "self" ? "Self" : "Total", { share } = state.now;
  const chosen = view === state.now.view;
  const ratio = (s, k) => s.sum > 0 ? s[what][k] / s.sum : 0;
  const part = (id, title, value, kind) => out.push({ id: what + id, view,
    what, title, value, kind,
    chance: (k) => (kind === "before" ? d : c)[what][k],
    after: (k) => [a[what][k], c[what][k]],
    before: (k) => [b[what][k], d[what][k]] });
  if (chosen) {
    part(" before", Name + " before", (k) => b[what][k], "before");
    part("", "after", (k) => a[what][k], "plain");
  } else if (what === "total") return out;
  part(" change", chosen && what === "self" ? "change" : Name + " change",
    share ?
    (k) => ratio(a, k) - ratio(b, k) : (k) => a[what][k] - b[what][k],
    "change");
  return out;
}

/* { id, view, what: self or total, title, kind: plain, before or change,
** value(item), chance(item): its variance; of a change after(item) and
** before(item), both with their variances }. */
const columns = () => VIEWS.filter((view) => !empty(view)).flatMap((view) =>
  ["self", "total"].flatMap((what) =>
    (DIFF ? compared : plain)(view, what)));

mp.columns = { columns };
