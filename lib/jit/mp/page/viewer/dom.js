// SPDX-License-Identifier: MIT
/*
** Elements of the document.
**
** Names in a profile are text of unknown origin: elements are built here and
** nowhere from markup, and names only ever become text nodes or attributes.
*/
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

/* Properties of an element: on... are listeners, --... custom properties of
** its style, all others attributes. */
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
const el = (tag, props, ...kids) =>
  fill(document.createElement(tag), props, kids);
const svg = (tag, props, ...kids) =>
  fill(document.createElementNS(SVG, tag), props, kids);

const quiet = (text, onclick, more) =>
  el("button", { type: "button", class: "quiet", onclick, ...more }, text);

/* The colour of a view: the style has them, once for each theme. */
const color = (view) => `var(--${view})`;

/* To a screen reader. */
const say = (text) => { $("say").textContent = text; };

const narrow = matchMedia("(max-width: 720px)");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const dark = () => document.documentElement.dataset.theme === "dark";

function scrollTo(e, block) {
  e.scrollIntoView({ block, behavior: still.matches ? "auto" : "smooth" });
}

mp.dom = { $, el, svg, quiet, color, say, narrow, still, dark, scrollTo };
