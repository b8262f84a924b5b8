// SPDX-License-Identifier: MIT
/*
** Items, to which numbers belong. An item is a function, a line, or a group (a
** zone, a label, a VM state, a type of objects, or all).
**
** An item is a number; its properties are columns. The first items are the
** functions of the profile, in its order.
*/
const LUA = 0, PSEUDO = 3, GROUP = 4;
const F = mp.data.functions, STR = mp.data.strings, NF = F.name.length;

/* Sources are kept as they are, to be told apart; shown they have no control
** characters, as in other reports. */
const shown = (s) => s.replace(/[\0-\x1f\x7f]/g, (c) =>
  "\\" + String(c.charCodeAt(0)).padStart(3, "0"));

const item = {
  name: [],	/* As in a table of the text report. */
  label: [],	/* For a frame: what tells it from others comes first. */
  at: [],	/* The file and line of a function, the function of a line. */
  path: [],	/* The whole name of the file, and the line. */
  kind: [],
  source: [],	/* The string that names the file, or -1. */
  line: []	/* -1: unknown. */
};

function add(values) {
  for (const column in item) item[column].push(values[column]);
  return item.name.length - 1;
}

for (let i = 0; i < NF; i++) {
  const lua = F.kind[i] === LUA, line = F.line[i], name = STR[F.name[i]];
  const place = (s) =>
    s < 0 ? "" : shown(STR[s]) + (lua && line > 0 ? ":" + line : "");
  add({ name, label: name, at: place(F.module[i]), path: place(F.source[i]),
    kind: F.kind[i], source: F.source[i], line });
}

const lines = new Map(), groups = new Map(), MAX_LINE = 2 ** 26;
const lineKey = (source, line) => (source + 1) * MAX_LINE + line + 1;

/* The line of a Lua function. A function without a name has that of its file
** and line instead, which says nothing new here. */
function lineItem(func, line) {
  const key = lineKey(F.source[func], line), known = lines.get(key);
  if (known !== undefined) return known;
  const file = STR[F.module[func]], at = ":" + (line < 0 ? "?" : line);
  const name = item.name[func], named = !name.startsWith(file + ":");
  const k = add({ name: file + at, label: (named ? name : file) + at,
    at: name, path: shown(STR[F.source[func]]) + at, kind: LUA,
    source: F.source[func], line });
  lines.set(key, k);
  return k;
}
/* The item of a line that has samples; undefined: it has none. */
const lineOf = (source, line) => lines.get(lineKey(source, line));
const linesOf = (source) => [...lines.values()].filter((k) =>
  item.source[k] === source);

function groupItem(name) {
  if (!groups.has(name)) {
    groups.set(name, add({ name, label: name, at: "", path: "", kind: GROUP,
      source: -1, line: -1 }));
  }
  return groups.get(name);
}
const ALL = groupItem("all");

mp.items = { LUA, PSEUDO, GROUP, ALL, F, STR, NF, item, lineItem, lineOf,
  linesOf, groupItem };
