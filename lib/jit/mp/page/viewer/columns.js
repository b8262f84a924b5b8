/*
** Columns of the table: their titles, and the value of an item.
*/
const { DIFF, VIEWS } = mp.profile;
const { state } = mp;
const { stats, empty } = mp.sums;

/* Of one view: its own part, and that with what it calls. */
function plain(view, what) {
  const a = stats(0, view)[what];
  return [{ id: what, view, what, title: what === "self" ? "Self" : "Total",
    value: (k) => a[k], kind: "plain" }];
}

/* The chosen view has both amounts, the others the change alone. */
function compared(view, what) {
  const a = stats(0, view), b = stats(1, view), out = [];
  const Name = what === "self" ? "Self" : "Total", { share } = state.now;
  const chosen = view === state.now.view;
  const ratio = (s, k) => s.sum > 0 ? s[what][k] / s.sum : 0;
  const part = (id, title, value, kind) => out.push({ id: what + id, view,
    what, title, value, kind, after: a[what], before: b[what] });
  if (chosen) {
    part(" before", Name + " before", (k) => b[what][k], "before");
    part("", "after", (k) => a[what][k], "plain");
  } else if (what === "total") return out;
  part(" change", chosen ? "change" : Name + " change", share ?
    (k) => ratio(a, k) - ratio(b, k) : (k) => a[what][k] - b[what][k],
    "change");
  return out;
}

/* { id, view, what: self or total, title, value(item), kind: plain, before or
** change; of a change the columns after and before }. */
const columns = () => VIEWS.filter((view) => !empty(view)).flatMap((view) =>
  ["self", "total"].flatMap((what) =>
    (DIFF ? compared : plain)(view, what)));

mp.columns = { columns };
