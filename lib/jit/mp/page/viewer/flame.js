// SPDX-License-Identifier: MIT
/*
** A flame graph: frames on a canvas, and above it a layer of elements with
** their words, for those who do not see the canvas.
*/
const { el, still } = mp.dom;
const { path } = mp.tree;
const { layout, place, boxAt, fit } = mp.layout;

const ROW = 24, LABELS = 400;

class Flame {
  /* flip: the root is at the bottom. open: the root is not drawn, as another
  ** graph above it shows it. on: active(flame), zoom(flame, node),
  ** hover(flame, node, x, y); color and ink of a node, label(node),
  ** place(node), words(node), rootName(tree). */
  constructor(id, label, flip, on, open = false) {
    Object.assign(this, { id, flip, on, open, tree: null, levels: [],
      win: [0, 1] });
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.layer = el("div", { class: "layer", role: "none" });
    this.inner = el("div", { role: "none" }, this.canvas, this.layer);
    this.box = el("div", { class: "flame", role: "tree", tabindex: "0",
      "aria-label": label }, this.inner);
    this.listen();
  }

  listen() {
    const { box, on } = this, at = (e) => this.nodeAt(e.clientX, e.clientY);
    box.addEventListener("pointermove", (e) => {
      if (e.pointerType !== "touch") {
        on.hover(this, at(e), e.clientX, e.clientY);
      }
    });
    box.addEventListener("pointerleave", () => on.hover(this, null));
    /* A screen reader's click is at the element, and nowhere else. */
    box.addEventListener("click", (e) => {
      const node = e.clientX || e.clientY ? at(e) :
        this.tree.nodes[e.target.dataset.n];
      if (node) this.zoomTo(node);
    });
    box.addEventListener("keydown", (e) => this.key(e));
    box.addEventListener("focus", () => on.active(this));
    box.addEventListener("scroll", () => this.draw());
  }

  /* Shows a tree; the frames that were zoomed to and active stay so, if they
  ** are in it. */
  set(tree, zoom) {
    const active = this.active ? path(this.active) : zoom;
    this.tree = tree;
    this.zoom = tree.find(zoom);
    if (!this.zoom.size) this.zoom = tree.root;
    this.active = tree.find(active);
    if (!this.active.size) this.active = this.zoom;
    this.win = place(tree, this.zoom);
    this.box.hidden = !tree.root.size || this.open && !tree.kids(tree.root)[0];
    this.render();
  }

  render() {
    const { box } = this;
    this.width = box.clientWidth;
    if (!this.tree || !this.width) return;
    this.levels = layout(this.tree, this.win, this.width);
    this.inner.style.height = this.rows() * ROW + "px";
    if (box.clientWidth !== this.width) {  /* A scroll bar has come. */
      this.width = box.clientWidth;
      this.levels = layout(this.tree, this.win, this.width);
    }
    this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.label(), 40);
  }

  /* Levels are rows, the root's too unless it is not drawn. */
  rows() { return this.levels.length - (this.open ? 1 : 0); }
  turned(n) {
    return this.flip ? this.levels.length - 1 - n : n - (this.open ? 1 : 0);
  }
  y(depth) { return this.turned(depth) * ROW; }

  /* The canvas is as large as the visible part of the graph. */
  context(height) {
    const { canvas, width } = this, c = canvas.getContext("2d");
    const px = devicePixelRatio || 1;
    canvas.width = width * px;
    canvas.height = height * px;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    c.scale(px, px);
    c.font = "12.5px " + getComputedStyle(document.documentElement)
      .getPropertyValue("--code");
    c.textBaseline = "middle";
    return c;
  }

  draw() {
    const { box, levels } = this, top = box.scrollTop;
    if (!this.width) return;
    const height = Math.min(box.clientHeight, this.rows() * ROW);
    const c = this.context(height), em = c.measureText("m").width;
    levels.forEach((level, d) => {
      const y = this.y(d) - top;
      if (y + ROW < 0 || y > height) return;
      for (const b of level) this.drawFrame(c, em, b, y);
    });
  }

  drawFrame(c, em, { node, left, right }, y) {
    const w = right - left;
    c.fillStyle = this.on.color(node);
    c.fillRect(left, y, w > 3 ? w - 1 : w * 0.8, ROW - 1);
    if (w < em * 3 + 10) return;
    const room = Math.floor((w - 12) / em);
    const text = node.up ? this.on.label(node) : this.on.rootName(this.tree);
    c.fillStyle = this.on.ink(node);
    c.fillText(fit(text, room), left + 6, y + ROW / 2, w - 10);
    this.drawPlace(c, em, this.on.place(node), text, left + 6, right, y);
  }

  /* The place follows in a fainter ink, where there is room for it. */
  drawPlace(c, em, at, text, x, right, y) {
    const from = x + (text.length + 2) * em, room = (right - 8 - from) / em;
    if (!at || room < at.length || at === text) return;
    c.globalAlpha = 0.62;
    c.fillText(at, from, y + ROW / 2);
    c.globalAlpha = 1;
  }

  /* Frames wide enough to be read or pointed at, and the active one. */
  label() {
    const list = [];
    let active = null;
    this.levels.forEach((level, d) => {
      for (const { node, left, right } of level) {
        const on = node === this.active;
        if (this.y(d) < 0) continue;
        if (!on && (right - left < 12 || list.length > LABELS)) continue;
        const e = this.labelOf(node, d, on);
        e.style.cssText = `left:${left}px;top:${this.y(d)}px;` +
          `width:${Math.max(3, right - left - 1)}px`;
        if (on) active = e;
        list.push(e);
      }
    });
    this.layer.replaceChildren(...list);
    if (active) this.box.setAttribute("aria-activedescendant", active.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  labelOf(node, d, on) {
    return el("div", { role: "treeitem", id: `${this.id}-${node.id}`,
      "data-n": node.id, "aria-level": d + 1,
      "aria-label": this.on.words(node), class: on && "on",
      "aria-selected": on ? "true" : "false",
      "aria-expanded": this.tree.kids(node).length ? "true" : null });
  }

  nodeAt(x, y) {
    const r = this.box.getBoundingClientRect();
    const line = Math.floor((y - r.top + this.box.scrollTop) / ROW);
    const d = this.flip ? this.levels.length - 1 - line :
      line + (this.open ? 1 : 0);
    return boxAt(this.levels[d], x - r.left)?.node || null;
  }

  zoomTo(node) {
    this.active = node;
    this.moveTo(node);
    this.on.zoom(this, node);
  }

  /* The window glides to a node, unless motion is not wanted. */
  moveTo(node) {
    const from = this.win, to = place(this.tree, node);
    const start = performance.now(), { tree } = this;
    this.zoom = node;
    const step = (now) => {
      const t = still.matches ? 1 : Math.min(1, Math.max(0, now - start) / 180);
      const e = t * (2 - t);
      if (this.zoom !== node || this.tree !== tree) return;
      this.win = t === 1 ? to : from.map((x, i) => x + (to[i] - x) * e);
      this.render();
      if (t < 1) requestAnimationFrame(step);
      else this.reveal();
    };
    step(start);
  }

  activate(node) {
    this.active = node;
    this.label();
    this.reveal();
    this.on.active(this);
  }

  reveal() {
    const y = this.y(this.active.depth), b = this.box;
    if (y < b.scrollTop) b.scrollTop = y;
    else if (y + ROW > b.scrollTop + b.clientHeight) {
      b.scrollTop = y + ROW - b.clientHeight;
    }
  }

  /* The frame that a key leads to; null: none; undefined: not ours. */
  target(key) {
    const { active, levels } = this, level = levels[active.depth] || [];
    const at = level.findIndex((b) => b.node === active);
    const keys = { ArrowRight: () => level[at + 1]?.node,
      ArrowLeft: () => level[at - 1]?.node, Home: () => level[0]?.node,
      End: () => level[level.length - 1]?.node,
      ArrowDown: () => (levels[active.depth + 1] || []).find((b) =>
        b.node.up === active)?.node, ArrowUp: () => active.up };
    const turned = { ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" };
    const move = keys[this.flip && turned[key] || key];
    return move && (move() || null);
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      this.zoomTo(this.active);
      return;
    }
    const node = this.target(e.key);
    if (node !== undefined) e.preventDefault();
    if (node) this.activate(node);
  }
}

mp.flame = { Flame };
