// SPDX-License-Identifier: MIT
/*
** Colours of frames.
**
** The view gives the hue; a module turns it, a function's name shades it, so
** that a function has the same colour wherever it stands. Canvas knows no
** custom properties: these are the values of the style.
*/
const { PSEUDO, item, STR } = mp.items;
const { dark } = mp.dom;
const { state } = mp;

const HUE = { cpu: 62, alloc: 250, inuse: 165, peak: 310, native: 20,
  native_inuse: 110, temp: 340, waiting: 200, blocked: 35, event_loop: 285 };

function hash(text) {
  let h = 7;
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h, 31) + text.charCodeAt(i) | 0;
  }
  h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
  return (h ^ h >>> 12) >>> 0;
}

const shades = new Map();
function shade(k) {
  const name = `${state.now.view} ${dark()} ${k}`, known = shades.get(name);
  if (known) return known;
  const h = hash(item.label[k]), file = item.source[k];
  const turn = (file < 0 ? 0 : hash(STR[file]) % 37 - 18) + (h >>> 8) % 25 - 12;
  const step = h % 7, plain = file < 0 && item.kind[k] >= PSEUDO;
  const light = dark() ? 0.38 + step * 0.02 : 0.8 + step * 0.018;
  const chroma = plain ? 0.015 : dark() ? 0.07 + step * 0.006 :
    0.115 - step * 0.011;
  const c = `oklch(${light} ${chroma} ${HUE[state.now.view] + turn})`;
  shades.set(name, c);
  return c;
}

/* Of objects, by their type; "" has no hue. */
const TYPES = { table: 195, string: 145, function: 60, upvalue: 90, thread: 255,
  userdata: 25, cdata: 290, proto: 225, trace: 345 };
function typeShade(type) {
  const hue = TYPES[type] ?? hash(type) % 360;
  return `oklch(${dark() ? 0.42 : 0.86} ${type ? 0.07 : 0.005} ${hue})`;
}

/* A comparison: from blue (less) over grey to red (more), by how much of the
** larger one has come or gone. */
function changeShade(after, before) {
  const max = Math.max(after, before);
  const t = max > 0 ? (after - before) / max : 0, s = Math.sqrt(Math.abs(t));
  const hue = t > 0 ? 38 : 245;
  return dark() ? `oklch(${0.34 + 0.16 * s} ${0.005 + 0.13 * s} ${hue})` :
    `oklch(${0.92 - 0.12 * s} ${0.006 + 0.13 * s} ${hue})`;
}

/* Of the graph apart from frames. */
const inks = () => dark() ?
  { ink: "#f3f3f6", faint: "#9a9eaa", quiet: "oklch(0.28 0.008 265)",
    found: "oklch(0.55 0.13 350)" } :
  { ink: "#22242c", faint: "#666a75", quiet: "oklch(0.945 0.004 265)",
    found: "oklch(0.84 0.11 350)" };

mp.colors = { shade, typeShade, changeShade, inks };
