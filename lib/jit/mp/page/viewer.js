/*
** The page's script: everything shown is computed here from the profile.
**
** An item is what a number can be counted for: a function, a line, a group.
** A stack is a number, from 1 on; its caller's is smaller. A tree is made of
** stacks by joining those with the same items; the flame graph shows one.
** Names are text of unknown origin: they are only ever put into text nodes.
*/
(function () {
"use strict";

/* -- Small things ------------------------------------------------------- */

const $ = (id) => document.getElementById(id);
const D = JSON.parse($("profile").textContent);
const VIEWS = ["cpu", "alloc", "inuse", "peak"];
const TITLE = { cpu: "CPU", alloc: "Allocated", inuse: "In use", peak: "Peak" };
const WORDS = { cpu: "CPU", alloc: "allocated", inuse: "in use", peak: "the peak" };
const narrow = matchMedia("(max-width: 720px)");
const still = matchMedia("(prefers-reduced-motion: reduce)");

function fill(e, props, kids) {
  for (const k in props) {
    const v = props[k];
    if (v == null || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k.startsWith("--")) e.style.setProperty(k, v);
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...kids.flat().filter((x) => x != null && x !== false));
  return e;
}
const el = (tag, props, ...kids) => fill(document.createElement(tag), props, kids);
const svg = (tag, props, ...kids) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, kids);
const color = (v) => `var(--${v})`;
const say = (text) => { $("say").textContent = text; };

/* -- Numbers, as in the text report ------------------------------------- */

const fixed = (x, d) => (Math.floor(x * 10 ** d + 0.5) / 10 ** d).toFixed(d);
const three = (x) => fixed(x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0);
function scaled(x, units, base = 1000) {
  let i = 0;
  while (x >= base - 0.5 && i < units.length - 1) { x /= base; i++; }
  return ((i ? three(x) : fixed(x, 0)) + " " + units[i]).trim();
}
const bytes = (n) => D.start.kib ? scaled(n, ["B", "KiB", "MiB", "GiB", "TiB"], 1024) :
  scaled(n, ["B", "kB", "MB", "GB", "TB"]);
const count = (n) => scaled(n, ["", "k", "M", "G", "T"]);
const seconds = (s) => s < 0.9995 ? fixed(s * 1000, 0) + " ms" : three(s) + " s";
const amount = (view, v) => view === "cpu" ? seconds(v) : S.objects ? count(v) : bytes(v);
function percent(share) {
  const n = share * 100;
  if (n > 0 && n < 0.95) return n < 0.05 ? "<0.1 %" : fixed(n, 1) + " %";
  return fixed(n, 0) + " %";
}
const sign = (v, text) => (v > 0 ? "+" : v < 0 ? "−" : "±") + text;
const points = (d) => Math.abs(d) < 0.0005 ? "0.0 pp" : sign(d, fixed(Math.abs(d) * 100, 1)) + " pp";

/* -- Items -------------------------------------------------------------- */

const F = D.functions, STR = D.strings, NF = F.name.length;
const LUA = 0, PSEUDO = 3;
const item = { name: [], at: [], path: [], kind: [], source: [], line: [] };
const index = new Map();

function addItem(id, name, at, path, kind, source, line) {
  const n = item.name.push(name) - 1;
  if (id != null) index.set(id, n);
  item.at.push(at); item.path.push(path); item.kind.push(kind);
  item.source.push(source); item.line.push(line);
  return n;
}
for (let i = 0; i < NF; i++) {
  const lua = F.kind[i] === LUA, line = F.line[i];
  const place = (s) => s < 0 ? "" : STR[s] + (lua && line >= 0 ? ":" + line : "");
  addItem(null, STR[F.name[i]], place(F.module[i]), place(F.source[i]), F.kind[i],
    F.source[i], line);
}
function lineItem(func, line) {
  const id = "l" + F.source[func] + ":" + line;
  if (index.has(id)) return index.get(id);
  const at = ":" + (line < 0 ? "?" : line);
  return addItem(id, STR[F.module[func]] + at, STR[F.name[func]],
    STR[F.source[func]] + at, LUA, F.source[func], line);
}
function groupItem(name) {
  const id = "g" + name;
  return index.has(id) ? index.get(id) : addItem(id, name, "", "", 4, -1, -1);
}
const ALL = groupItem("all");

/* -- Profiles ----------------------------------------------------------- */

/* What is known of each stack: the items of its top frame, in both units;
** and the stack that a line counts for: builtins and C functions count for
** the Lua line that called them. */
function prepare(raw) {
  const n = raw.stacks.parent.length, R = raw.rows, size = n + 2;
  const P = { raw, n: n + 1, rows: R.stack.length, info: raw.info,
    parent: new Int32Array(size), func: new Int32Array(size),
    lines: new Int32Array(size), eff: new Int32Array(size) };
  for (let s = 1; s <= n; s++) {
    const f = raw.stacks.frame[s - 1] - 1, fn = raw.frames.func[f];
    P.parent[s] = raw.stacks.parent[s - 1];
    P.func[s] = P.lines[s] = fn;
    P.eff[s] = s;
    if (F.kind[fn] === LUA) P.lines[s] = lineItem(fn, raw.frames.line[f]);
    else if (F.kind[fn] !== PSEUDO && P.parent[s]) {
      const e = P.eff[P.parent[s]];
      if (F.kind[P.func[e]] === LUA) P.eff[s] = e;
    }
  }
  P.func[n + 1] = P.lines[n + 1] = groupItem("(no stack)");
  P.eff[n + 1] = n + 1;
  P.stack = R.stack.map((s) => s || n + 1);
  P.same = P.eff.map((e, s) => s);
  const samples = R.cpu.reduce((a, b) => a + b, 0);
  P.tick = samples > 0 ? P.info.cpu / samples : 0;
  P.zone = [[]];
  raw.zones.name.forEach((name, i) => {
    P.zone.push([...P.zone[raw.zones.parent[i]], name]);
  });
  /* Time: point 0 is the start. */
  P.time = [0, ...raw.course.wall];
  P.from = new Int32Array(P.time.length + 1);
  for (const k of raw.timeline.point) P.from[k + 1]++;
  for (let i = 1; i < P.from.length; i++) P.from[i] += P.from[i - 1];
  return P;
}
const PROFILES = D.profiles.map(prepare);
const [A, B] = PROFILES, DIFF = B != null;
const TIMES = A.raw.timeline.point.length > 0;
const column = (P, view) => P.raw.rows[view === "cpu" ? view :
  view + (S.objects ? "_objects" : "_bytes")];

/* -- State of the page -------------------------------------------------- */

const S = { view: D.start.view, objects: D.start.objects, unit: D.start.lines ? "lines" : "func",
  mode: "top", group: D.start.group, zone: "", state: "", type: "", range: null,
  search: "", regex: null, sort: DIFF ? "self change" : "self", dir: -1, sortView: null, sel: -1, shown: 100,
  width: "after", file: -1, whole: false,
  share: DIFF && Math.abs(A.info.wall - B.info.wall) > 0.1 * Math.max(A.info.wall, B.info.wall) };

const zoneName = (P, z) => z ? P.zone[z].join(" › ") : "(no zone)";
const stateName = (P, r) => P.raw.rows.states[P.raw.rows.state[r]];
function typeName(P, r) {
  const t = P.raw.rows.type[r];
  return t < 0 ? "other" : P.raw.rows.types[t];
}

/* Rows that the filters let pass. Types are those of objects: CPU has none. */
function passes(P, view) {
  const R = P.raw.rows;
  const zone = P.zone.map((z, i) => !S.zone || zoneName(P, i) === S.zone ||
    zoneName(P, i).startsWith(S.zone + " › "));
  return (r) => zone[R.zone[r]] && (!S.state || stateName(P, r) === S.state) &&
    (!S.type || view === "cpu" || typeName(P, r) === S.type);
}

/* Amount of every row in a view: of the chosen time, if the view has times. */
const timed = (view) => S.range && TIMES && (view === "cpu" || view === "alloc");
function amounts(P, view) {
  const out = new Float64Array(P.rows), pass = passes(P, view);
  const f = view === "cpu" ? P.tick : 1;
  if (P === A && timed(view)) {
    const T = P.raw.timeline, col = T[view === "cpu" ? view :
      view + (S.objects ? "_objects" : "_bytes")];
    for (let i = P.from[S.range[0] + 1]; i < P.from[S.range[1] + 1]; i++) {
      const r = T.row[i] - 1;
      if (col[i] && pass(r)) out[r] += col[i] * f;
    }
    return out;
  }
  const col = column(P, view);
  if (col) for (let r = 0; r < P.rows; r++) if (col[r] && pass(r)) out[r] = col[r] * f;
  return out;
}

/* -- Sums by item ------------------------------------------------------- */

/* A stack is outermost if no caller has its item: recursion counts once. */
function outermost(P, unit) {
  const name = "outer" + unit;
  if (P[name]) return P[name];
  const key = P[unit], out = P[name] = new Uint8Array(P.n + 1);
  const kids = Array.from({ length: P.n + 1 }, () => null);
  for (let s = P.n; s > 0; s--) (kids[P.parent[s]] ||= []).push(s);
  const on = new Int32Array(item.name.length), todo = [...(kids[0] || [])];
  while (todo.length) {
    const s = todo.pop();
    if (s < 0) { on[key[-s]]--; continue; }
    if (!on[key[s]]++) out[s] = 1;
    todo.push(-s);
    if (kids[s]) for (const c of kids[s]) todo.push(c);
  }
  return out;
}

function sums(P, unit, w) {
  const n = item.name.length, key = P[unit], outer = outermost(P, unit);
  const self = new Float64Array(n), total = new Float64Array(n);
  const sub = new Float64Array(P.n + 1), to = unit === "lines" ? P.eff : P.same;
  let sum = 0;
  for (let r = 0; r < P.rows; r++) {
    if (!w[r]) continue;
    const s = to[P.stack[r]];
    sub[s] += w[r]; self[key[s]] += w[r]; sum += w[r];
  }
  for (let s = P.n; s > 0; s--) {
    if (outer[s]) total[key[s]] += sub[s];
    sub[P.parent[s]] += sub[s];
  }
  return { self, total, sub, sum };
}

/* By profile, unit and view; computed when asked for, until something changes. */
let cache = new Map();
function cached(name, make) {
  if (!cache.has(name)) cache.set(name, make());
  return cache.get(name);
}
const weights = (i, view) => cached(`w${i}${view}`, () => amounts(PROFILES[i], view));
const stats = (i, view, unit = S.unit) => cached(`s${i}${view}${unit}`,
  () => sums(PROFILES[i], unit, weights(i, view)));
const empty = (view) => !PROFILES.some((P, i) => stats(i, view).sum > 0);

/* Share of the view whose stacks have an item that the search found. */
function found(i, view) {
  const P = PROFILES[i], { sub, sum } = stats(i, view), key = P[S.unit];
  const hit = new Uint8Array(P.n + 1);
  let n = 0;
  for (let s = 1; s <= P.n; s++) {
    const above = hit[P.parent[s]];
    if (above || matches(key[s])) hit[s] = 1;
    if (hit[s] && !above) n += sub[s];
  }
  return sum > 0 ? n / sum : 0;
}
let matched = [];
function matches(k) {
  if (matched[k] === undefined) {
    matched[k] = S.regex !== null && item.kind[k] < 4 &&
      (S.regex.test(item.name[k]) || S.regex.test(item.path[k]));
  }
  return matched[k];
}

/* -- Trees -------------------------------------------------------------- */

class Tree {
  constructor(key) {
    this.parent = [-1]; this.key = [key];
    this.mask = 1023; this.table = new Int32Array(1024);
  }
  slot(n, k) {
    return (Math.imul(n, 0x9E3779B1) ^ Math.imul(k + 1, 0x85EBCA6B)) >>> 7;
  }
  child(n, k) {
    const { table, mask } = this;
    for (let i = this.slot(n, k) & mask; ; i = i + 1 & mask) {
      const c = table[i];
      if (c === 0) {
        const at = this.parent.push(n) - 1;
        this.key.push(k);
        table[i] = at;
        if (at * 2 > mask) this.grow();
        return at;
      }
      if (this.parent[c] === n && this.key[c] === k) return c;
    }
  }
  grow() {
    const mask = this.mask = this.mask * 2 + 1, table = this.table = new Int32Array(mask + 1);
    for (let c = 1; c < this.parent.length; c++) {
      let i = this.slot(this.parent[c], this.key[c]) & mask;
      while (table[i]) i = i + 1 & mask;
      table[i] = c;
    }
  }
  /* The children of all nodes, one after the other. */
  finish() {
    const n = this.parent.length, first = this.first = new Int32Array(n + 1);
    this.kids = new Int32Array(n);
    for (let c = 1; c < n; c++) first[this.parent[c] + 1]++;
    for (let i = 1; i <= n; i++) first[i] += first[i - 1];
    const at = first.slice();
    for (let c = 1; c < n; c++) this.kids[at[this.parent[c]]++] = c;
    this.table = null;
    return this;
  }
}

/* Items of the levels above the stack: by zone, VM state or type. */
function groupPath(P, r) {
  if (S.group === "state") return [groupItem(stateName(P, r))];
  if (S.group === "type") return [groupItem(typeName(P, r))];
  const z = P.zone[P.raw.rows.zone[r]];
  return z.length ? z.map(groupItem) : [groupItem("(no zone)")];
}

/* A tree, and for each profile the node of every row; -1: it is not in it.
** mode: "top" callers first, "bottom" leaves first, "callers" and "callees"
** of the chosen item: from its outermost place in a stack. */
function makeTree(mode) {
  const unit = S.unit, partial = mode === "callers" || mode === "callees";
  const T = new Tree(partial ? S.sel : ALL);
  T.nodes = PROFILES.map((P) => {
    const key = P[unit], to = unit === "lines" ? P.eff : P.same, memos = new Map();
    const anchor = partial && new Int32Array(P.n + 1);
    if (partial) for (let s = 1; s <= P.n; s++) {
      anchor[s] = anchor[P.parent[s]] || (key[s] === S.sel ? s : 0);
    }
    const up = (node, s) => {
      for (; s; s = P.parent[s]) node = T.child(node, key[s]);
      return node;
    };
    const down = (root, s, stop, memo) => {
      const path = [];
      let node = root;
      for (; s && s !== stop; s = P.parent[s]) {
        if (memo[s]) { node = memo[s]; break; }
        path.push(s);
      }
      while (path.length) {
        const t = path.pop();
        node = memo[t] = T.child(node, key[t]);
      }
      return node;
    };
    const out = new Int32Array(P.rows);
    for (let r = 0; r < P.rows; r++) {
      const s = to[P.stack[r]];
      const root = S.group && !partial ? groupPath(P, r).reduce((n, k) => T.child(n, k), 0) : 0;
      if (partial && !anchor[s]) { out[r] = -1; continue; }
      if (!memos.has(root)) memos.set(root, new Int32Array(P.n + 1));
      const memo = memos.get(root);
      if (mode === "top") out[r] = down(root, s, 0, memo);
      else if (mode === "callees") out[r] = down(0, s, anchor[s], memo);
      else {
        const from = mode === "callers" ? P.parent[anchor[s]] : s;
        out[r] = memo[from] ||= up(root, from);
      }
    }
    return out;
  });
  return T.finish();
}
const trees = new Map();
function tree(mode) {
  const name = [mode, S.unit, mode[0] === "c" ? S.sel : S.group].join();
  if (!trees.has(name)) {
    if (trees.size > 5) trees.delete(trees.keys().next().value);
    trees.set(name, makeTree(mode));
  }
  return trees.get(name);
}
function nodeSums(T, i) {
  const w = weights(i, S.view), to = T.nodes[i], total = new Float64Array(T.parent.length);
  for (let r = 0; r < w.length; r++) if (w[r] && to[r] >= 0) total[to[r]] += w[r];
  const self = total.slice();
  for (let n = total.length - 1; n > 0; n--) total[T.parent[n]] += total[n];
  return { total, self };
}

/* -- Colours of frames -------------------------------------------------- */

const HUE = { cpu: 65, alloc: 250, inuse: 165, peak: 310 };
const dark = () => document.documentElement.dataset.theme === "dark";
function hash(text) {
  let h = 7;
  for (let i = 0; i < text.length; i++) h = Math.imul(h, 31) + text.charCodeAt(i) | 0;
  return (h ^ h >>> 15) >>> 0;
}
/* The view gives the hue; a module turns it a little, a function shades it. */
let shades = new Map();
function shade(k) {
  let c = shades.get(k);
  if (c) return c;
  const h = hash(item.name[k]), m = item.source[k] < 0 ? 0 : hash(STR[item.source[k]]) % 41 - 20;
  const step = h % 7 * 0.01, plain = item.kind[k] !== LUA, hue = HUE[S.view] + m + (h >>> 9) % 25 - 12;
  c = dark() ? `oklch(${0.38 + step} ${plain ? 0.016 : 0.078} ${hue})` :
    `oklch(${0.91 - step} ${plain ? 0.01 : 0.068} ${hue})`;
  shades.set(k, c);
  return c;
}
function diffShade(a, b) {
  const max = Math.max(a, b), d = max > 0 ? (a - b) / max : 0, x = Math.abs(d);
  if (x < 0.02) return dark() ? "oklch(0.37 0.01 265)" : "oklch(0.93 0.005 265)";
  return dark() ? `oklch(${0.38 + 0.08 * x} ${0.02 + 0.11 * x} ${d > 0 ? 35 : 245})` :
    `oklch(${0.93 - 0.14 * x} ${0.015 + 0.105 * x} ${d > 0 ? 35 : 245})`;
}

/* -- The flame graph ---------------------------------------------------- */

const ROW = 22;
let serial = 0;

class Flame {
  constructor(label, flip) {
    this.flip = flip;
    this.id = "f" + serial++;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.layer = el("div", { class: "layer", role: "none" });
    this.inner = el("div", { role: "none" }, this.canvas, this.layer);
    this.box = el("div", { class: "flame", role: "tree", tabindex: "0", "aria-label": label },
      this.inner);
    this.zoom = this.active = 0;
    this.win = [0, 1];
    const at = (e) => this.hit(e.clientX, e.clientY);
    this.box.addEventListener("pointermove", (e) => {
      if (e.pointerType !== "touch") this.hover(at(e), e.clientX, e.clientY);
    });
    this.box.addEventListener("pointerleave", () => this.hover(-1));
    this.box.addEventListener("click", (e) => {
      const n = e.clientX || e.clientY ? at(e) : +(e.target.dataset.n ?? -1);
      if (n >= 0) this.zoomTo(n);
    });
    this.box.addEventListener("keydown", (e) => this.key(e));
    this.box.addEventListener("focus", () => { flame = this; showStatus(); });
    this.box.addEventListener("scroll", () => this.draw());
  }

  set(T) {
    const same = this.T === T;
    this.T = T;
    this.after = nodeSums(T, 0);
    this.before = DIFF ? nodeSums(T, 1) : null;
    this.W = (DIFF && S.width === "before" ? this.before : this.after).total;
    this.sum = stats(0, S.view).sum;
    this.sumBefore = DIFF ? stats(1, S.view).sum : 0;
    this.sorted = new Map();
    if (!same || !this.W[this.zoom]) this.zoom = 0;
    if (!same || !this.W[this.active]) this.active = this.zoom;
    this.win = this.place(this.zoom);
    this.box.hidden = !this.W[0];
    this.render();
  }

  /* Children, the largest first. */
  kids(n) {
    let list = this.sorted.get(n);
    if (!list) {
      const { T, W } = this, names = item.name;
      list = Array.from(T.kids.subarray(T.first[n], T.first[n + 1])).filter((c) => W[c] > 0);
      list.sort((a, b) => W[b] - W[a] || (names[T.key[a]] < names[T.key[b]] ? -1 : 1));
      this.sorted.set(n, list);
    }
    return list;
  }

  /* Where a node lies: [from, to], the whole being [0, 1]. */
  place(n) {
    let x = 0;
    for (let c = n; c > 0; c = this.T.parent[c]) {
      for (const k of this.kids(this.T.parent[c])) {
        if (k === c) break;
        x += this.W[k];
      }
    }
    return [x / this.W[0], (x + this.W[n]) / this.W[0]];
  }

  /* What is to be seen: by level, node, left and right end in pixels. */
  layout() {
    const { W, win } = this, rows = this.rows = [], all = W[0];
    const scale = this.width / (win[1] - win[0]), todo = [0, 0, 0];
    if (!all) return;
    while (todo.length) {
      const d = todo.pop(), x = todo.pop(), n = todo.pop(), size = W[n] / all;
      const a = Math.max(0, (x - win[0]) * scale);
      const b = Math.min(this.width, (x + size - win[0]) * scale);
      if (b - a < 0.5) continue;
      (rows[d] ||= []).push(n, a, b);
      if (size * scale < 0.5) continue;
      const kids = this.kids(n), at = todo.length;
      let cx = x;
      for (const c of kids) {
        if (W[c] / all * scale < 0.5) break;
        todo.push(c, cx, d + 1);
        cx += W[c] / all;
      }
      /* The first is to be taken first, so that levels are in order. */
      for (let i = at, j = todo.length - 3; i < j; i += 3, j -= 3) {
        for (let k = 0; k < 3; k++) {
          const t = todo[i + k]; todo[i + k] = todo[j + k]; todo[j + k] = t;
        }
      }
    }
  }

  y(d) { return (this.flip ? this.rows.length - 1 - d : d) * ROW; }
  depth(n) { let d = 0; while ((n = this.T.parent[n]) >= 0) d++; return d; }

  render() {
    this.width = this.box.clientWidth;
    if (!this.T || !this.width) return;
    this.layout();
    this.inner.style.height = this.rows.length * ROW + "px";
    /* A scroll bar takes its part. */
    if (this.box.clientWidth !== this.width) {
      this.width = this.box.clientWidth;
      this.layout();
    }
    this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.label(), 40);
  }

  draw() {
    const { canvas, box } = this, c = canvas.getContext("2d"), px = devicePixelRatio || 1;
    if (!this.rows) return;
    const h = Math.min(box.clientHeight, this.rows.length * ROW), top = box.scrollTop;
    canvas.width = this.width * px; canvas.height = h * px;
    canvas.style.width = this.width + "px"; canvas.style.height = h + "px";
    c.scale(px, px);
    c.font = "12.5px " + getComputedStyle(document.documentElement).getPropertyValue("--code");
    c.textBaseline = "middle";
    const em = c.measureText("m").width, ink = dark() ? "#f3f3f6" : "#22242c";
    const quiet = dark() ? "oklch(0.28 0.008 265)" : "oklch(0.945 0.004 265)";
    const bright = dark() ? "oklch(0.55 0.13 350)" : "oklch(0.84 0.11 350)";
    const faint = dark() ? "#9a9eaa" : "#666a75";
    const { key } = this.T;
    for (let d = 0; d < this.rows.length; d++) {
      const y = this.y(d) - top;
      if (y + ROW < 0 || y > h) continue;
      const row = this.rows[d];
      for (let i = 0; i < row.length; i += 3) {
        const n = row[i], x = row[i + 1], w = row[i + 2] - x, k = key[n];
        const hit = S.regex && matches(k);
        c.fillStyle = hit ? bright : S.regex ? quiet : DIFF ? this.diffColor(n) : shade(k);
        c.fillRect(x, y, w > 3 ? w - 1 : w * 0.8, ROW - 1);
        if (w < em * 3 + 10) continue;
        const room = Math.floor((w - 12) / em), name = n ? item.name[k] : this.rootName();
        c.fillStyle = S.regex && !hit ? faint : ink;
        c.fillText(name.length > room ? name.slice(0, room - 1) + "…" : name, x + 6, y + ROW / 2,
          w - 10);
      }
    }
  }

  rootName() {
    const k = this.T.key[0];
    return `${item.name[k]}: ${amount(S.view, this.W[0])}`;
  }
  diffColor(n) {
    const a = this.after.total[n], b = this.before.total[n];
    return S.share ? diffShade(a / (this.sum || 1), b / (this.sumBefore || 1)) : diffShade(a, b);
  }

  /* The frames to people who do not see them: those wide enough to be read
  ** or pointed at, and the active one. */
  label() {
    const list = [], { T } = this;
    let active = null;
    for (let d = 0; d < this.rows.length; d++) {
      const row = this.rows[d];
      for (let i = 0; i < row.length; i += 3) {
        const n = row[i], on = n === this.active;
        if (!on && (row[i + 2] - row[i + 1] < 12 || list.length > 400)) continue;
        const e = el("div", { role: "treeitem", id: `${this.id}-${n}`, "data-n": n,
          "aria-level": d + 1, "aria-label": this.describe(n), class: on && "on",
          "aria-selected": on ? "true" : "false",
          "aria-expanded": T.first[n] < T.first[n + 1] ? "true" : null });
        const w = Math.max(3, row[i + 2] - row[i + 1] - 1);
        e.style.cssText = `left:${row[i + 1]}px;top:${this.y(d)}px;width:${w}px`;
        if (on) active = e;
        list.push(e);
      }
    }
    this.layer.replaceChildren(...list);
    if (active) this.box.setAttribute("aria-activedescendant", active.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  describe(n) {
    const v = this.after.total[n], name = n ? item.name[this.T.key[n]] : item.name[this.T.key[0]];
    let text = `${name}, ${percent(v / (this.sum || 1))} of ${WORDS[S.view]}, ${amount(S.view, v)}`;
    if (DIFF) text += `, before ${amount(S.view, this.before.total[n])}, ${this.change(n)}`;
    return text;
  }
  change(n) {
    const a = this.after.total[n], b = this.before.total[n];
    return S.share ? points(a / (this.sum || 1) - b / (this.sumBefore || 1)) :
      sign(a - b, amount(S.view, Math.abs(a - b)));
  }

  hit(cx, cy) {
    if (!this.rows) return -1;
    const r = this.box.getBoundingClientRect();
    const line = Math.floor((cy - r.top + this.box.scrollTop) / ROW), x = cx - r.left;
    const row = this.rows[this.flip ? this.rows.length - 1 - line : line] || [];
    for (let i = 0; i < row.length; i += 3) if (x >= row[i + 1] && x < row[i + 2]) return row[i];
    return -1;
  }

  hover(n, x, y) {
    const tip = $("tip");
    if (n < 0) { tip.hidden = true; return; }
    if (this.over !== n || tip.hidden) {
      this.over = n;
      tip.replaceChildren(...details(this, n));
      tip.hidden = false;
    }
    const w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = Math.max(6, Math.min(x + 16, innerWidth - w - 8)) + "px";
    tip.style.top = (y + 22 + h > innerHeight ? Math.max(6, y - h - 14) : y + 22) + "px";
  }

  zoomTo(n) {
    flame = this;
    this.zoom = this.active = n;
    $("tip").hidden = true;
    const from = this.win, to = this.place(n), start = performance.now();
    showStatus();
    say((n ? "Zoomed: " : "Whole graph: ") + this.describe(n));
    if (still.matches) { this.win = to; this.render(); this.reveal(); return; }
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - start) / 180)), e = t * (2 - t);
      if (this.zoom !== n) return;
      this.win = [from[0] + (to[0] - from[0]) * e, from[1] + (to[1] - from[1]) * e];
      if (t === 1) this.win = to;
      this.render();
      if (t < 1) requestAnimationFrame(step); else this.reveal();
    };
    step(start);
  }

  reveal() {
    const y = this.y(this.depth(this.active)), b = this.box;
    if (y < b.scrollTop) b.scrollTop = y;
    else if (y + ROW > b.scrollTop + b.clientHeight) b.scrollTop = y + ROW - b.clientHeight;
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const n = this.active, d = this.depth(n), row = this.rows[d] || [];
    const at = row.findIndex((x, i) => i % 3 === 0 && x === n);
    const deeper = this.flip ? "ArrowUp" : "ArrowDown", back = this.flip ? "ArrowDown" : "ArrowUp";
    const below = (x, i) => i % 3 === 0 && this.T.parent[x] === n;
    let to = -1;
    if (e.key === deeper) to = (this.rows[d + 1] || []).find(below) ?? -1;
    else if (e.key === back) to = this.T.parent[n];
    else if (e.key === "ArrowRight") to = row[at + 3] ?? -1;
    else if (e.key === "ArrowLeft") to = at >= 3 ? row[at - 3] : -1;
    else if (e.key === "Home") to = row[0];
    else if (e.key === "End") to = row[row.length - 3];
    else if (e.key === "Enter" || e.key === " ") { e.preventDefault(); this.zoomTo(n); return; }
    else return;
    e.preventDefault();
    if (to >= 0) {
      this.active = to;
      this.label();
      this.reveal();
      showStatus();
    }
  }
}

/* All that is known of a frame. */
function details(f, n) {
  const k = f.T.key[n], v = f.after.total[n], out = [el("b", {}, item.name[k])];
  if (item.kind[k] === LUA) {
    out.push(el("div", { class: "mute" }, (S.unit === "lines" ? item.at[k] + ", " : "") + item.path[k]));
  }
  const line = (name, x, sum) => [el("dt", {}, name), el("dd", {}, percent(x / (sum || 1))),
    el("dd", {}, amount(S.view, x))];
  const rows = [line(DIFF ? "after" : TITLE[S.view], v, f.sum)];
  if (DIFF) {
    rows.push(line("before", f.before.total[n], f.sumBefore));
    rows.push([el("dt", {}, "change"), el("dd", {}, f.change(n)), el("dd", {})]);
  } else if (S.mode === "top" && n) rows.push(line("self", f.after.self[n], f.sum));
  out.push(el("dl", {}, rows.flat()));
  return out;
}

/* -- Course ------------------------------------------------------------- */

const C = A.raw.course, NP = C.wall.length;

/* Amount by interval, and its rate. */
function rates() {
  const ticks = new Float64Array(NP), T = A.raw.timeline;
  if (TIMES) T.point.forEach((k, i) => { ticks[k - 1] += T.cpu[i]; });
  const out = { cpu: [], alloc: [], cycles: [] };
  for (let i = 0; i < NP; i++) {
    const dt = Math.max(1e-9, A.time[i + 1] - A.time[i]);
    out.cpu.push((TIMES ? ticks[i] : C.cpu[i] - (i ? C.cpu[i - 1] : 0)) / dt);
    out.alloc.push(Math.max(0, C.allocated[i] - (i ? C.allocated[i - 1] : 0)) / dt);
    out.cycles.push(i ? Math.max(0, C.cycles[i] - C.cycles[i - 1]) : 0);
  }
  return out;
}
const RATE = rates();
const DENSE = RATE.cycles.filter((n) => n > 0).length > 80;
const cpuRate = (v) => TIMES ? count(v) + " samples/s" : fixed(v * 100, 0) + " % of a CPU";
const STRIPS = [
  { name: TIMES ? "CPU samples" : "CPU time", h: 58, color: "cpu", step: RATE.cpu, text: cpuRate },
  { name: "Allocated", h: 58, color: "alloc", step: RATE.alloc, text: (v) => bytes(v) + "/s" },
  { name: "Memory", h: 108, color: "inuse", area: C.inuse, line: C.rss, text: bytes }
];
const GAP = 34, PHASES = { pause: 0, mark: 0.75, sweep: 0.45, finalize: 0.25, atomic: 1 };
let chart = null;

function drawCourse() {
  const box = $("chart"), W = box.clientWidth;
  if (!NP || !W) return;
  const end = A.time[NP] || 1, X = (t) => t / end * W;
  const root = svg("svg", { role: "img", "aria-label": courseWords() });
  const labels = svg("g", {});
  const label = (x, y, text, props) => labels.append(svg("text", { x, y, ...props }, text));
  const legend = (x, y, text, stroke, dash) => {
    labels.append(svg("line", { x1: x, x2: x + 20, y1: y - 4, y2: y - 4, stroke, "stroke-width": 2,
      "stroke-dasharray": dash }));
    label(x + 27, y, text);
  };
  let y = 0;
  for (const s of STRIPS) {
    const data = s.step || s.area, rss = s.line && Math.max(...s.line) > 0;
    const max = Math.max(1e-9, ...data, ...(rss ? s.line : []));
    const y0 = y + GAP, Y = (v) => y0 + s.h - v / max * s.h;
    let path = `M0,${y0 + s.h}`;
    data.forEach((v, i) => {
      path += s.step ? `V${Y(v).toFixed(1)}H${X(A.time[i + 1]).toFixed(1)}` :
        `${i ? "" : `V${Y(v).toFixed(1)}`}L${X(A.time[i + 1]).toFixed(1)},${Y(v).toFixed(1)}`;
    });
    path += `V${y0 + s.h}Z`;
    root.append(svg("line", { class: "grid", x1: 0, x2: W, y1: y0, y2: y0 }),
      svg("line", { class: "grid", x1: 0, x2: W, y1: y0 + s.h, y2: y0 + s.h }),
      svg("path", { d: path, fill: color(s.color), "fill-opacity": s.step ? 0.75 : 0.3 }));
    if (!s.step) {
      const top = data.map((v, i) => `${X(A.time[i + 1]).toFixed(1)},${Y(v).toFixed(1)}`).join(" ");
      root.append(svg("polyline", { points: top, fill: "none", stroke: color(s.color),
        "stroke-width": 1.75 }));
    }
    if (rss) {
      const top = s.line.map((v, i) => `${X(A.time[i + 1]).toFixed(1)},${Y(v).toFixed(1)}`).join(" ");
      root.append(svg("polyline", { points: top, fill: "none", stroke: "var(--mute)", "stroke-width": 1.5,
        "stroke-dasharray": "5 3" }));
    }
    label(0, y + 26, s.name, { class: "name" });
    label(W, y + 26, "up to " + s.text(max), { "text-anchor": "end" });
    if (!s.step) {
      const [heap, at, all] = narrow.matches ? ["in use", 142, "RSS"] :
        ["in use in the Lua heap", 240, "resident (RSS)"];
      legend(68, y + 26, heap, color(s.color));
      if (rss) legend(at, y + 26, all, "var(--mute)", "5 3");
    }
    y = y0 + s.h;
  }
  /* Collections: where the collector was at each point, a mark at each end
  ** of a cycle; through all the strips, unless there are too many. */
  const gy = y + GAP;
  label(0, gy - 9, "Garbage collector", { class: "name" });
  label(W, gy - 9, gcWords(), { "text-anchor": "end" });
  for (let i = 0; i < NP; i++) {
    const x = X(A.time[i]), w = X(A.time[i + 1]) - x, phase = C.phases[C.phase[i]];
    root.append(svg("rect", { x, width: Math.max(0.5, w), y: gy, height: 10, fill: "var(--mute)",
      "fill-opacity": PHASES[phase] ?? 0.5 }));
    if (RATE.cycles[i]) {
      root.append(svg("line", { class: "gc", x1: x + w, x2: x + w, y1: DENSE ? gy : GAP, y2: gy + 10,
        "stroke-width": Math.min(3, 0.8 + RATE.cycles[i] * 0.2) }));
    }
  }
  y = gy + 10;
  const raw = end / Math.max(2, W / 130), mag = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * mag).find((m) => m >= raw);
  for (let t = 0; t <= end * 1.0001; t += step) {
    const anchor = t === 0 ? "start" : X(t) > W - 30 ? "end" : "middle";
    root.append(svg("text", { x: X(t), y: y + 18, "text-anchor": anchor },
      t === 0 ? "0" : step < 0.001 ? fixed(t * 1000, 2) + " ms" : seconds(t)));
  }
  const H = y + 24;
  root.setAttribute("viewBox", `0 0 ${W} ${H}`);
  root.setAttribute("height", H);
  const off = [0, 1].map(() => svg("rect", { class: "off", y: GAP - 4, height: y - GAP + 4 }));
  const cross = svg("line", { class: "cross", y1: GAP - 6, y2: y, visibility: "hidden" });
  root.append(...off, labels, cross);
  const handles = TIMES ? chart?.handles || [0, 1].map(handle) : [];
  for (const h of handles) { h.style.top = GAP - 4 + "px"; h.style.height = y - GAP + 4 + "px"; }
  const held = handles.indexOf(document.activeElement);
  box.replaceChildren(root, ...handles);
  if (held >= 0) handles[held].focus();
  chart = { W, X, off, cross, handles, end };
  drawRange();
}
function gcWords() {
  const n = A.raw.course.cycles[NP - 1] - C.cycles[0];
  if (!n) return "no cycle ended";
  return `${n} ${n === 1 ? "cycle" : "cycles"}` + (narrow.matches ? "" :
    (DENSE ? "" : ", a line at the end of each") + "; dark: marking, light: sweeping");
}
function courseWords() {
  return `Over ${seconds(A.time[NP])}: in use up to ${bytes(Math.max(...C.inuse))}, at the end ` +
    `${bytes(C.inuse[NP - 1])}; allocated ${bytes(C.allocated[NP - 1])}; ${gcWords()}`;
}

/* One end of the chosen time: a slider over the points. */
function handle(which) {
  const h = el("div", { class: "handle", role: "slider", tabindex: "0",
    "aria-label": which ? "End of the time shown" : "Start of the time shown",
    "aria-orientation": "horizontal" });
  h.addEventListener("keydown", (e) => {
    const r = S.range || [0, NP], page = Math.max(2, Math.round(NP / 10));
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page,
      PageUp: page, Home: -NP, End: NP }[e.key];
    if (!by) return;
    e.preventDefault();
    e.stopPropagation();
    const to = r.slice();
    to[which] = which ? Math.max(r[0] + 1, Math.min(NP, r[1] + by)) :
      Math.max(0, Math.min(r[1] - 1, r[0] + by));
    setRange(to);
  });
  return h;
}

function drawRange() {
  if (!chart) return;
  const r = S.range || [0, NP], x = r.map((k) => chart.X(A.time[k]));
  const set = (e, a, b) => { e.setAttribute("x", a); e.setAttribute("width", Math.max(0, b - a)); };
  set(chart.off[0], 0, x[0]);
  set(chart.off[1], x[1], chart.W);
  chart.handles.forEach((h, i) => {
    h.style.left = x[i] + "px";
    h.classList.toggle("set", S.range !== null);
    h.setAttribute("aria-valuemin", 0);
    h.setAttribute("aria-valuemax", NP);
    h.setAttribute("aria-valuenow", r[i]);
    h.setAttribute("aria-valuetext", seconds(A.time[r[i]]));
  });
  $("whole").hidden = !S.range;
  $("course-note").textContent = S.range ?
    `${seconds(A.time[r[0]])} to ${seconds(A.time[r[1]])} chosen` :
    (TIMES ? "Drag over it to choose a time." : "This profile has no samples by time.") +
    (DIFF ? " It is the run after." : "");
}

function setRange(r) {
  if (r && r[0] === 0 && r[1] === NP) r = null;
  if (String(r) === String(S.range)) return;
  S.range = r;
  cache = new Map();
  drawRange();
  later();
}

function brush() {
  const box = $("chart");
  if (!NP) {
    box.replaceChildren(el("p", { class: "empty" }, "This profile does not have the course over time."));
    $("readout").hidden = true;
    return;
  }
  const time = (e) => (e.clientX - box.getBoundingClientRect().left) / chart.W * chart.end;
  /* The interval that a time lies in. */
  const point = (t) => {
    let i = A.time.findIndex((x) => x >= t);
    return i < 0 ? NP : Math.max(1, i);
  };
  const read = (t) => {
    const i = point(t) - 1;
    $("readout").textContent = `${seconds(A.time[i + 1])}: ${cpuRate(RATE.cpu[i])}, allocating ` +
      `${bytes(RATE.alloc[i])}/s, in use ${bytes(C.inuse[i])}` +
      (C.rss[i] ? `, RSS ${bytes(C.rss[i])}` : "") + `, GC cycle ${C.cycles[i]}` +
      (C.phases[C.phase[i]] ? ` (${C.phases[C.phase[i]]})` : "");
  };
  let drag = null;
  box.addEventListener("pointerdown", (e) => {
    if (!TIMES || e.button) return;
    const which = chart.handles.indexOf(e.target);
    const r = S.range || [0, NP];
    drag = which >= 0 ? { fix: A.time[r[1 - which]] } : { fix: time(e), x: e.clientX };
    box.setPointerCapture(e.pointerId);
    if (which < 0) e.preventDefault();
  });
  box.addEventListener("pointermove", (e) => {
    const t = Math.max(0, Math.min(chart.end, time(e)));
    read(t);
    chart.cross.setAttribute("visibility", "visible");
    chart.cross.setAttribute("x1", chart.X(t));
    chart.cross.setAttribute("x2", chart.X(t));
    if (!drag || drag.x != null && Math.abs(e.clientX - drag.x) < 4) return;
    drag.x = null;
    const a = Math.min(t, drag.fix), b = Math.max(t, drag.fix), from = point(a) - 1;
    setRange([Math.min(from, NP - 1), Math.max(from + 1, point(b))]);
  });
  const stop = () => {
    if (drag && drag.x != null) setRange(null);
    drag = null;
  };
  box.addEventListener("pointerup", stop);
  box.addEventListener("pointercancel", () => { drag = null; });
  box.addEventListener("pointerleave", () => {
    chart.cross.setAttribute("visibility", "hidden");
    $("readout").textContent = "";
  });
  $("whole").addEventListener("click", () => { setRange(null); chart.handles[0]?.focus(); });
}

/* -- Controls ----------------------------------------------------------- */

/* A choice of one, of few: a radio group with arrow keys. */
function segment(label, name, choices, change) {
  const pick = (v) => { if (S[name] !== v) { S[name] = v; change(); } };
  return el("div", { class: "seg", role: "radiogroup", "aria-label": label, "data-of": name },
    choices.map(([v, text]) => el("button", { type: "button", role: "radio", "data-v": String(v),
      onclick: () => pick(v) }, text)));
}
function choice(label, name, values, change) {
  const s = el("select", { onchange: (e) => { S[name] = e.target.value; change(); } },
    values.map(([v, text]) => el("option", { value: v }, text)));
  s.value = S[name];
  return el("label", { class: "field" }, label, s);
}
/* Arrow keys in radio groups. */
document.addEventListener("keydown", (e) => {
  if (e.target.getAttribute?.("role") !== "radio") return;
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
  if (!by) return;
  const all = [...e.target.parentNode.children];
  const next = all[(all.indexOf(e.target) + by + all.length) % all.length];
  e.preventDefault();
  next.click();
  next.focus();
});
function check(group, v) {
  for (const b of group.children) {
    const on = b.dataset.v === String(v);
    b.setAttribute("aria-checked", on ? "true" : "false");
    b.tabIndex = on ? 0 : -1;
  }
}

function names(of) {
  const set = new Set();
  for (const P of PROFILES) for (let r = 0; r < P.rows; r++) set.add(of(P, r));
  return [...set].sort().map((x) => [x, x]);
}
function controls() {
  const zones = names((P, r) => zoneName(P, P.raw.rows.zone[r]));
  const states = names(stateName), types = names(typeName);
  const box = $("controls"), filters = $("filters"), rest = () => { cache = new Map(); refresh(); };
  box.append(
    segment("Direction", "mode", [["top", "Callers first"], ["bottom", "Leaves first"],
      ["sandwich", "One function"]], refresh),
    segment("Unit", "unit", [["func", "Functions"], ["lines", "Lines"]],
      () => { S.sel = -1; rest(); }),
    segment("Count", "objects", [[false, "Bytes"], [true, "Objects"]], rest));
  if (DIFF) {
    box.append(segment("Compare", "share", [[true, "Shares"], [false, "Amounts"]], refresh),
      segment("Widths of frames", "width", [["after", "After"], ["before", "Before"]], refresh));
  }
  const by = [["", "nothing"]];
  if (zones.length > 1) by.push(["zone", "zone"]);
  if (states.length > 1) by.push(["state", "VM state"]);
  if (types.length > 1) by.push(["type", "object type"]);
  if (by.length > 1) filters.append(choice("Group by", "group", by, refresh));
  if (!by.some(([v]) => v === S.group)) S.group = "";
  const filter = (label, name, list) => {
    if (list.length > 1) filters.append(choice(label, name, [["", "all"], ...list], rest));
  };
  filter("Zone", "zone", zones);
  filter("State", "state", states);
  filter("Type", "type", types);
  $("views").append(...VIEWS.map((v, i) => el("button", { type: "button", role: "radio", "data-v": v,
    "--c": color(v), onclick: () => setView(v), "aria-keyshortcuts": i + 1 })));
}
function setView(v) {
  if (S.view === v) return;
  S.view = v;
  shades = new Map();
  refresh();
}
function showControls() {
  for (const b of $("views").children) {
    const v = b.dataset.v, { sum } = stats(0, v);
    let value = sum > 0 ? amount(v, sum) : "–";
    if (DIFF) value = `${amount(v, stats(1, v).sum)} → ${amount(v, sum)}`;
    b.replaceChildren(el("i"), TITLE[v] + (S.objects && v !== "cpu" ? ", objects" : ""),
      el("b", {}, value));
  }
  check($("views"), S.view);
  for (const g of $("controls").querySelectorAll("[data-of]")) {
    check(g, S[g.dataset.of]);
  }
}

/* -- The flame graph's place -------------------------------------------- */

const flames = {};
let flame = null;
const getFlame = (name, label, flip) => flames[name] ||= new Flame(label, flip);

function showGraph() {
  const box = $("flame"), sum = stats(0, S.view).sum + (DIFF ? stats(1, S.view).sum : 0);
  const why = $("why"), hints = [];
  if (S.range && !timed(S.view)) {
    hints.push(`${TITLE[S.view]} has no times: it is what was there at one moment. The whole run is shown.`);
  }
  if (S.range && DIFF) hints.push("The chosen time is of the run after; before is whole.");
  if (S.type && S.view === "cpu") {
    hints.push("CPU samples have no object type: that filter does not count here.");
  }
  $("hint").textContent = hints.join(" ");
  why.hidden = sum > 0;
  why.textContent = sum > 0 ? "" : S.range && timed(S.view) || S.zone || S.state || S.type ?
    "Nothing here: the chosen time or the filters leave nothing of this view." : A.info.empty[S.view];
  $("status").hidden = !sum;
  $("reset").disabled = true;
  if (!sum) { box.replaceChildren(); flame = null; $("tip").hidden = true; return; }
  if (S.mode === "sandwich") {
    if (S.sel < 0 || !stats(0, S.view).total[S.sel] && !(DIFF && stats(1, S.view).total[S.sel])) {
      S.sel = largest();
    }
    const up = getFlame("callers", "Callers", true), down = getFlame("callees", "Callees");
    const name = () => el("b", {}, item.name[S.sel]);
    const part = () => el("p", { class: "part" });
    if (box.children[1] !== up.box) box.replaceChildren(part(), up.box, part(), down.box);
    box.children[0].replaceChildren("Callers of ", name());
    box.children[2].replaceChildren("What ", name(), " calls");
    up.box.hidden = down.box.hidden = false;
    up.set(tree("callers"));
    down.set(tree("callees"));
    up.box.scrollTop = up.box.scrollHeight;
    if (flame !== up) flame = down;
  } else {
    flame = S.mode === "top" ? getFlame("top", "Flame graph, callers first") :
      getFlame("bottom", "Flame graph, leaves first");
    if (box.firstChild !== flame.box) box.replaceChildren(flame.box);
    flame.set(tree(S.mode));
  }
  showStatus();
}
function largest() {
  const { self } = stats(DIFF && !stats(0, S.view).sum ? 1 : 0, S.view);
  let best = 0;
  for (let k = 1; k < self.length; k++) if (self[k] > self[best]) best = k;
  return best;
}

/* Below the graph: the active frame, and where to go from it. */
function showStatus() {
  const f = flame, out = $("status");
  if (!f || !f.T || !f.W[0]) { out.replaceChildren(); return; }
  const n = f.active, k = f.T.key[n], v = f.after.total[n];
  const kids = [el("b", {}, item.name[k]), el("span", { class: "mute" }, item.at[k]),
    el("span", {}, `${percent(v / (f.sum || 1))} of ${WORDS[S.view]}, ${amount(S.view, v)}`)];
  if (DIFF) {
    kids.push(el("span", {}, `before ${amount(S.view, f.before.total[n])}, ${f.change(n)}`));
    kids.push(el("span", { class: "scale" }, "less", el("i"), "more"));
  } else if (S.mode === "top" && n) {
    kids.push(el("span", { class: "mute" }, `self ${amount(S.view, f.after.self[n])}`));
  }
  const go = el("span", { class: "go" });
  if (item.kind[k] < 4 && S.mode !== "sandwich") {
    go.append(el("button", { type: "button", class: "quiet", onclick: () => sandwich(k) },
      "Callers and callees"));
  }
  if (hasSource(k)) {
    go.append(el("button", { type: "button", class: "quiet", onclick: () => goSource(k) }, "Source"));
  }
  out.replaceChildren(...kids, go);
  $("reset").disabled = !Object.values(flames).some((g) => g.zoom);
}
function sandwich(k) {
  S.sel = k;
  S.mode = "sandwich";
  refresh();
  $("graph").scrollIntoView({ block: "start", behavior: still.matches ? "auto" : "smooth" });
  flame?.box.focus({ preventScroll: true });
}
function reset() {
  for (const f of Object.values(flames)) {
    if (f.box.isConnected && f.zoom && f.W[0]) f.zoomTo(0);
    else f.zoom = 0;
  }
  showStatus();
}

/* -- Search ------------------------------------------------------------- */

function search() {
  const text = $("search").value, out = $("found");
  S.search = text;
  matched = [];
  S.regex = null;
  let bad = "";
  if (text) {
    try { S.regex = new RegExp(text, /\p{Lu}/u.test(text) ? "" : "i"); } catch (e) { bad = e.message; }
  }
  $("search").setAttribute("aria-invalid", bad ? "true" : "false");
  out.classList.toggle("bad", bad !== "");
  S.shown = 100;
  if (bad) out.textContent = bad;
  for (const f of Object.values(flames)) if (f.box.isConnected) f.draw();
  showFound();
  showTable();
}
function showFound() {
  if (S.regex) {
    const share = found(0, S.view);
    $("found").textContent = DIFF ?
      `matches ${percent(share)} of ${WORDS[S.view]}, before ${percent(found(1, S.view))}` :
      `matches ${percent(share)} of ${WORDS[S.view]}, ${amount(S.view, share * stats(0, S.view).sum)}`;
  } else if (!S.search) $("found").textContent = "";
}

/* -- Table -------------------------------------------------------------- */

/* Columns: what they are called, and the value of an item. */
function columns() {
  const out = [];
  for (const view of VIEWS) {
    if (empty(view)) continue;
    const a = stats(0, view), b = DIFF ? stats(1, view) : null;
    for (const what of ["self", "total"]) {
      const part = (id, title, value, kind) => out.push({ id: what + id, view, what, title, value, kind });
      if (!DIFF) {
        part("", what === "self" ? "Self" : "Total", (k) => a[what][k], "plain");
        continue;
      }
      const ratio = (s, k) => s.sum > 0 ? s[what][k] / s.sum : 0;
      const Name = what === "self" ? "Self" : "Total";
      if (view === S.view) {
        part(" before", Name + " before", (k) => b[what][k], "before");
        part("", "after", (k) => a[what][k], "plain");
      } else if (what === "total") continue;
      part(" change", view === S.view ? "change" : Name + " change", S.share ?
        (k) => ratio(a, k) - ratio(b, k) : (k) => a[what][k] - b[what][k], "change");
    }
  }
  return out;
}
function cell(c, k) {
  const v = c.value(k), other = c.view !== S.view ? " other" : "";
  if (c.kind === "change") {
    const text = S.share ? points(v) : sign(v, amount(c.view, Math.abs(v)));
    if (!v) return el("td", { class: other });
    return el("td", { class: (/[1-9]/.test(text) ? v > 0 ? "up" : "down" : "mute") + other }, text);
  }
  const { sum } = stats(c.kind === "before" ? 1 : 0, c.view);
  if (!v) return el("td", { class: other });
  return el("td", { class: "num" + other, "--c": color(c.view), "--w": (v / sum).toFixed(4) },
    el("span", {}, percent(v / sum)), el("span", {}, amount(c.view, v)));
}

function showTable() {
  const cols = columns(), n = item.name.length, keep = [];
  for (let k = 0; k < n; k++) {
    if (S.regex && !matches(k)) continue;
    let any = false;
    for (const c of cols) if (c.value(k)) { any = true; break; }
    if (any && (S.unit === "func" || item.line[k] !== -1 || item.kind[k] !== LUA ||
        cols.some((c) => c.what === "self" && c.value(k)))) keep.push(k);
  }
  const by = cols.find((c) => c.id === S.sort && c.view === (S.sortView || S.view)) ||
    cols.find((c) => c.view === S.view) || cols[0];
  const name = (a, b) => item.name[a] < item.name[b] ? -1 : item.name[a] > item.name[b] ? 1 : a - b;
  if (S.sort === "name") keep.sort((a, b) => -S.dir * name(a, b));
  else if (by) {
    /* Changes by their size. */
    const size = by.kind === "change" ? Math.abs : Number;
    const value = new Map(keep.map((k) => [k, size(by.value(k))]));
    keep.sort((a, b) => S.dir * (value.get(a) - value.get(b)) || name(a, b));
  }
  const sorter = (id, view, text, label) => {
    const of = id + (view ? " " + view : "");
    return el("button", { type: "button", "data-sort": of, "aria-label": label, onclick: () => {
      const again = S.sort === id && (id === "name" || by.view === view);
      S.dir = again ? -S.dir : -1;
      S.sort = id;
      S.sortView = view === S.view ? null : view;
      showTable();
      $("table").querySelector(`[data-sort="${of}"]`)?.focus();
    } }, text);
  };
  const sorted = (on, dir) => on ? dir < 0 ? "descending" : "ascending" : null;
  const groups = [];
  for (const c of cols) {
    const last = groups[groups.length - 1];
    if (last && last.view === c.view) last.n++;
    else groups.push({ view: c.view, n: 1 });
  }
  const what = S.unit === "func" ? "Function" : "Line";
  const head = el("thead", {},
    el("tr", {}, el("td"), groups.map((g) => el("th", { class: "group" + (g.view === S.view ? "" : " other"),
      scope: "colgroup", colspan: g.n, "--c": color(g.view) }, el("span", {}, TITLE[g.view])))),
    el("tr", {}, el("th", { scope: "col", "aria-sort": sorted(S.sort === "name", -S.dir) },
      sorter("name", "", what)),
      cols.map((c) => el("th", { scope: "col", class: c.view === S.view ? null : "other",
        "aria-sort": sorted(S.sort !== "name" && c === by, S.dir) },
        sorter(c.id, c.view, c.title, `${TITLE[c.view]}, ${c.title}`)))));
  const body = el("tbody", {}, keep.slice(0, S.shown).map((k) => el("tr", { class: k === S.sel && "on" },
    el("td", {}, nameCell(k)), cols.map((c) => cell(c, k)))));
  $("table").replaceChildren(...cols.length ? [head, body] : []);
  $("functions-title").textContent = S.unit === "func" ? "Functions" : "Lines";
  const told = VIEWS.filter(empty).map((v) => S.range || S.zone || S.state || S.type ?
    `nothing of ${WORDS[v]} is chosen` : A.info.empty[v]);
  if (S.range) told.push("in use and peak are of the whole run");
  told.unshift(cols.length ? `${count(keep.length)} ${S.regex ? "found" : "in all"}` : "nothing to show");
  $("functions-note").textContent = told.join("; ");
  const more = $("more");
  more.hidden = keep.length <= S.shown;
  more.textContent = `Show ${Math.min(400, keep.length - S.shown)} more of ${count(keep.length - S.shown)}`;
}
function nameCell(k) {
  const title = item.path[k] || item.name[k], out = [item.kind[k] < 4 ?
    el("button", { type: "button", class: "link fn", title, onclick: () => sandwich(k) }, item.name[k]) :
    el("span", { class: "fn" }, item.name[k])];
  if (item.at[k]) {
    out.push(hasSource(k) ? el("button", { type: "button", class: "link at", title: "Source of " + title,
      onclick: () => goSource(k) }, item.at[k]) : el("span", { class: "at", title }, item.at[k]));
  }
  return out;
}

/* -- Source ------------------------------------------------------------- */

const fileOf = new Map(D.files.map((f, i) => [f.source, i]));
const hasSource = (k) => item.kind[k] === LUA && fileOf.has(item.source[k]) && item.line[k] >= 0;
let mark = -1;

function goSource(k) {
  S.file = fileOf.get(item.source[k]);
  mark = Math.max(1, item.line[k]);
  showSource();
  $("source").scrollIntoView({ block: "start", behavior: still.matches ? "auto" : "smooth" });
  const row = $("lines").querySelector("tr.on");
  row?.scrollIntoView({ block: "center", behavior: still.matches ? "auto" : "smooth" });
  $("lines").parentNode.focus({ preventScroll: true });
}

/* Files by what counts in them, the largest first. */
function fileSums() {
  const out = D.files.map(() => 0), { self } = stats(0, S.view, "lines");
  for (let k = NF; k < self.length; k++) {
    const f = fileOf.get(item.source[k]);
    if (f !== undefined) out[f] += self[k];
  }
  return out;
}

const AROUND = 3;
function showSource() {
  const box = $("lines"), files = $("files");
  if (!D.files.length) {
    files.replaceChildren();
    box.replaceChildren(el("p", { class: "empty" }, "No sample has a line of a source file."));
    return;
  }
  const weight = fileSums(), order = D.files.map((f, i) => i).sort((a, b) => weight[b] - weight[a] || a - b);
  if (S.file < 0) S.file = order[0];
  const file = D.files[S.file], views = VIEWS.filter((v) => !empty(v));
  const total = stats(0, S.view, "lines").sum;
  const pick = el("select", { "aria-label": "File", onchange: (e) => {
    S.file = +e.target.value; mark = -1; showSource(); $("files").querySelector("select").focus(); } },
    order.map((i) => el("option", { value: i, title: STR[D.files[i].source] },
      D.files[i].name + (total > 0 && weight[i] ? `  ${percent(weight[i] / total)}` : ""))));
  pick.value = S.file;
  const whole = segment("Lines shown", "whole", [[false, "Lines that count"], [true, "Whole file"]],
    showSource);
  check(whole, S.whole);
  const held = files.contains(document.activeElement) && document.activeElement.dataset.v;
  const path = STR[file.source];
  files.replaceChildren(path === file.name ? "" : el("span", { class: "mute" }, path), pick, whole);
  if (held) whole.querySelector("[aria-checked=true]").focus();
  if (file.text == null) {
    box.replaceChildren(el("p", { class: "empty" }, `The source cannot be shown: ${file.error}`));
    return;
  }
  const text = file.text.split(/\r?\n/), data = views.map((v) => stats(0, v, "lines"));
  if (text[text.length - 1] === "") text.pop();
  const line = (n) => index.get("l" + file.source + ":" + n);
  const share = (i, what, n) => {
    const k = line(n);
    return k === undefined || !data[i].sum ? 0 : data[i][what][k] / data[i].sum;
  };
  const counts = (n) => views.some((v, i) => share(i, "self", n) > 0 || share(i, "total", n) > 0);
  const show = new Set();
  for (let n = 1; n <= text.length; n++) {
    if (!S.whole && !counts(n) && n !== mark) continue;
    for (let m = Math.max(1, n - AROUND); m <= Math.min(text.length, n + AROUND); m++) show.add(m);
  }
  const rows = [];
  let last = 0;
  const gap = (from, to) => {
    if (to >= from) {
      rows.push(el("tr", { class: "gap" }, el("td", { colspan: views.length + 2 },
        `⋯ ${to - from + 1} ${to === from ? "line" : "lines"}`)));
    }
  };
  for (let n = 1; n <= text.length; n++) {
    if (!show.has(n)) continue;
    gap(last + 1, n - 1);
    last = n;
    const hot = views.some((v, i) => share(i, "self", n) > 0.03);
    rows.push(el("tr", { class: [hot && "hot", n === mark && "on"].filter(Boolean).join(" ") },
      views.map((v, i) => {
        const self = share(i, "self", n), all = share(i, "total", n);
        const c = v === S.view ? "w" : "w other";
        if (!all && !self) return el("td", { class: c });
        return el("td", { class: c, "--c": color(v),
          "--c2": `color-mix(in oklch, ${color(v)} 28%, transparent)`,
          "--w": self.toFixed(4), "--v": all.toFixed(4),
          title: `${TITLE[v]}: self ${percent(self)}, ${amount(v, self * data[i].sum)}; ` +
            `with what it calls ${percent(all)}, ${amount(v, all * data[i].sum)}` },
          self ? percent(self) : "");
      }),
      el("td", { class: "n" }, String(n)), el("td", {}, el("code", {}, text[n - 1]))));
  }
  gap(last + 1, text.length);
  const past = [...index].some(([id, k]) => id.startsWith("l" + file.source + ":") &&
    item.line[k] > text.length && data.some((d) => d.total[k]));
  box.replaceChildren(past ? el("p", { class: "mute" },
    "This file has changed since: the profile has lines beyond its end.") : "",
    el("table", {}, el("thead", {}, el("tr", {},
      views.map((v) => el("th", { scope: "col", class: v !== S.view && "other" }, TITLE[v])),
      el("th", { scope: "col" }, "Line"), el("th", { scope: "col" }, "Source"))), el("tbody", {}, rows)));
}

/* -- Header, help, theme ------------------------------------------------ */

function header() {
  const i = A.info;
  /* What was different before. */
  const was = (n) => {
    const f = DIFF && B.info.facts[n];
    return f && f[1] !== i.facts[n][1] ? el("div", {}, `before: ${f[1]}`) : null;
  };
  $("script").textContent = DIFF ? `${i.script}, before and after` : i.script;
  $("about").append(...[i.command && el("code", {}, i.command), ...i.about].filter(Boolean)
    .flatMap((x, n) => n ? [" · ", x] : [x]));
  $("facts").append(...i.facts.map(([name, value, more], n) => el("div", {}, el("dt", {}, name),
    el("dd", {}, value), el("dd", {}, more, was(n)))));
  const notes = [...i.notes, ...(DIFF ? B.info.notes.map((x) => "before: " + x) : [])];
  $("notes").append(...notes.map((x) => el("li", {}, x)));
  $("notes").hidden = !notes.length;
}

const KEYS = [
  [["/"], "search"], [["1"], ["2"], ["3"], ["4"], "CPU, allocated, in use, peak"],
  [["←"], ["→"], ["↑"], ["↓"], "in the flame graph: to the next frame, caller, callee"],
  [["Enter"], "zoom to the frame"],
  [["Esc"], "reset: the zoom, then the search, then the time"],
  [["c"], "callers and callees of the frame"], [["s"], "source of the frame"],
  [["i"], "invert: callers first or leaves first"], [["l"], "functions or lines"],
  [["o"], "bytes or objects"], [["g"], "go to the flame graph"],
  [["t"], "light or dark"], [["?"], "these keys"]
];
function help() {
  const d = $("help");
  d.replaceChildren(el("h2", { id: "help-title" }, "Keys"),
    el("dl", {}, KEYS.flatMap((k) => [
      el("dt", {}, k.slice(0, -1).flatMap((x, i) => i ? [" ", el("kbd", {}, x)] : [el("kbd", {}, x)])),
      el("dd", {}, k[k.length - 1])])),
    el("p", { class: "mute" }, "In the course, Tab to an end of the chosen time and move it with " +
      "the arrow keys. Search ignores case unless the expression has a capital letter."),
    el("p", {}, el("button", { type: "button", class: "quiet", onclick: () => d.close() }, "Close")));
  d.showModal();
}

const scheme = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
function setTheme() {
  document.documentElement.dataset.theme = chosen || (scheme.matches ? "dark" : "light");
  $("theme").textContent = dark() ? "Light" : "Dark";
  $("theme").setAttribute("aria-label", dark() ? "Use light colours" : "Use dark colours");
  shades = new Map();
  for (const f of Object.values(flames)) if (f.box.isConnected) f.draw();
}
function switchTheme() {
  chosen = dark() ? "light" : "dark";
  try { localStorage.setItem("luajit-mp-theme", chosen); } catch (e) { /* Only for this time then. */ }
  setTheme();
}

function keydown(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || $("help").open) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
  if (e.key === "Escape") {
    if (Object.values(flames).some((f) => f.zoom && f.box.isConnected)) reset();
    else if (S.search) { $("search").value = ""; search(); }
    else if (S.range) setRange(null);
    if (typing) e.target.blur();
    $("tip").hidden = true;
    return;
  }
  if (typing) return;
  const k = flame && flame.T ? flame.T.key[flame.active] : -1;
  const on = (name, a, b) => { S[name] = S[name] === a ? b : a; cache = new Map(); refresh(); };
  const act = {
    "/": () => $("search").focus(), "?": help, t: switchTheme,
    1: () => setView("cpu"), 2: () => setView("alloc"), 3: () => setView("inuse"), 4: () => setView("peak"),
    i: () => on("mode", "top", "bottom"), o: () => on("objects", true, false),
    l: () => { S.sel = -1; on("unit", "func", "lines"); },
    c: () => { if (k >= 0 && item.kind[k] < 4) sandwich(k); },
    s: () => { if (k >= 0 && hasSource(k)) goSource(k); },
    g: () => { flame?.box.scrollIntoView({ block: "nearest" }); flame?.box.focus(); }
  }[e.key];
  if (act) { e.preventDefault(); act(); }
}

/* -- All together ------------------------------------------------------- */

function refresh() {
  showControls();
  showGraph();
  showFound();
  showTable();
  showSource();
}
/* While the time is being chosen: the graph at once, the rest when it rests. */
let frame = 0, rest = 0;
function later() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => { showControls(); showGraph(); showFound(); });
  clearTimeout(rest);
  rest = setTimeout(() => { showTable(); showSource(); }, 120);
}

function start() {
  try { chosen = localStorage.getItem("luajit-mp-theme"); } catch (e) { /* Then none is kept. */ }
  header();
  setTheme();
  controls();
  brush();
  drawCourse();
  refresh();
  $("theme").addEventListener("click", switchTheme);
  scheme.addEventListener("change", setTheme);
  $("keys").addEventListener("click", help);
  $("reset").addEventListener("click", reset);
  $("search").addEventListener("input", search);
  $("more").addEventListener("click", () => { S.shown += 400; showTable(); });
  document.addEventListener("keydown", keydown);
  let width = innerWidth;
  new ResizeObserver(() => {
    if (width === document.body.clientWidth) return;
    width = document.body.clientWidth;
    drawCourse();
    for (const f of Object.values(flames)) if (f.box.isConnected) f.render();
  }).observe(document.body);
}
start();
})();
