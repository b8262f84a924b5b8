// SPDX-License-Identifier: MIT
/*
** The state in the address: after the # stand the fields that differ from the
** state in which the page opens, so that a link shows the same.
**
** Anybody may type an address: values that do not fit the page are left out.
*/
const { item } = mp.items;
const { VIEWS, NP, TIMES, DIFF, PROFILES, LABELS, zoneName, labelNames,
  stateName, typeName } = mp.profile;
const { state } = mp, { UNITS } = state;

const DELAY = 250;	/* Browsers limit how often an address changes. */

const text = { write: String, read: (s) => s };
const flag = { write: (v) => v ? "1" : "0",
  read: (s) => s === "1" ? true : s === "0" ? false : undefined };
const oneOf = (...list) => ({ write: String,
  read: (s) => list.includes(s) ? s : undefined });
/* A row must have it, or nothing is left. */
const known = (of) => ({ write: String, read: (s) => s === "" ||
  PROFILES.some((P) => {
    for (let r = 0; r < P.rows; r++) {
      if ([of(P, r)].flat().includes(s)) return true;
    }
    return false;
  }) ? s : undefined });
function whole(s, least, most) {
  const n = /^-?\d{1,9}$/.test(s) ? Number(s) : NaN;
  return n >= least && n <= most ? n : undefined;
}
const number = (least, most) => ({ write: String,
  read: (s) => whole(s, least, most) });
const items = { write: (list) => list.join("."), read: (s) => {
  const list = s ? s.split(".").map((x) => whole(x, 0, item.name.length - 1)) :
    [];
  return list.includes(undefined) ? undefined : list;
} };
const range = { write: (r) => r ? r.join("-") : "", read: (s) => {
  const [, a, b] = /^(\d{1,6})-(\d{1,6})$/.exec(s) || [];
  return TIMES && Number(a) < Number(b) && Number(b) <= NP ?
    [Number(a), Number(b)] : undefined;
} };
const anItem = number(-1, item.name.length - 1);

const FIELDS = {
  view: oneOf(...VIEWS), objects: flag, unit: oneOf(...UNITS),
  mode: oneOf("top", "bottom", "sandwich", "calls",
    ...TIMES && !DIFF ? ["time"] : []),
  group: oneOf("", "zone", "label", ...LABELS.map((name) => `label:${name}`),
    "state", "type"),
  zone: known((P, r) => zoneName(P, P.raw.rows.zone[r])),
  label: known((P, r) => labelNames(P, P.raw.rows.zone[r])),
  state: known(stateName), type: known(typeName), range,
  chart: oneOf("curves", "heat"),
  held: oneOf("end", "new"), hidden: items, focus: anItem, collapse: flag,
  chains: flag,
  search: text, sel: anItem, zoom: { write: String,
    read: (s) => items.read(s) && s },
  sort: oneOf("name", "self", "total", ...DIFF ? ["self before",
    "total before", "self change", "total change"] : []),
  sortView: oneOf("", ...VIEWS), dir: number(-1, 1), width:
    oneOf("after", "before"), share: flag,
  heap: number(0, mp.heaptree.N + 1),
  file: number(-1, mp.data.files.length - 1), mark: number(-1, 1e8),
  whole: flag
};

function write() {
  const out = new URLSearchParams();
  for (const k in FIELDS) {
    const v = FIELDS[k].write(state.now[k]);
    if (v !== FIELDS[k].write(state.first[k])) out.set(k, v);
  }
  return String(out);
}

/* The state that an address stands for. */
function read(hash) {
  const out = { ...state.first }, given = new URLSearchParams(hash);
  for (const [k, s] of given) {
    const v = Object.hasOwn(FIELDS, k) ? FIELDS[k].read(s) : undefined;
    if (v !== undefined) out[k] = v;
  }
  return out;
}

let timer = 0;
function changed() {
  clearTimeout(timer);
  timer = setTimeout(flush, DELAY);
}
function flush() {
  clearTimeout(timer);
  const hash = "#" + write();
  if (hash === (location.hash || "#")) return;
  try {
    history.replaceState(null, "", hash);
  } catch (e) { /* Not allowed here: then there is no link. */ }
}
function follow() {
  const hash = location.hash.slice(1);
  if (hash.includes("=")) state.set(read(hash));
}

mp.address = { changed, flush, follow };
