// SPDX-License-Identifier: MIT
/*
** Numbers for people: three digits and a unit, as in the text report.
*/
const kib = mp.data.start.kib;
const BYTES = kib ? ["B", "KiB", "MiB", "GiB", "TiB"] :
  ["B", "kB", "MB", "GB", "TB"];

/* Halves go up, everywhere. */
const fixed = (x, digits) =>
  (Math.floor(x * 10 ** digits + 0.5) / 10 ** digits).toFixed(digits);
const three = (x) => fixed(x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0);

function scaled(x, units, base) {
  let i = 0;
  while (x >= base - 0.5 && i < units.length - 1) { x /= base; i++; }
  return ((i ? three(x) : fixed(x, 0)) + " " + units[i]).trim();
}
const bytes = (n) => scaled(n, BYTES, kib ? 1024 : 1000);
const count = (n) => scaled(n, ["", "k", "M", "G", "T"], 1000);
const seconds = (s) =>
  s < 0.9995 ? fixed(s * 1000, 0) + " ms" : three(s) + " s";

/* Views of wall time, and of any. */
const WALL = mp.data.views.filter((v) => v.wall).map((v) => v.name);
const isTime = (view) => view === "cpu" || WALL.includes(view);

/* Seconds; objects or bytes of the other views. */
function amount(view, v, objects) {
  return isTime(view) ? seconds(v) : objects ? count(v) : bytes(v);
}

function percent(share) {
  const n = share * 100;
  if (n > 0 && n < 0.95) return n < 0.05 ? "<0.1%" : fixed(n, 1) + "%";
  return fixed(n, 0) + "%";
}
/* A change that is rounded to nothing has no sign. */
const signed = (v, text) =>
  (!/[1-9]/.test(text) ? "" : v > 0 ? "+" : "−") + text;
/* A difference of two shares, in percentage points. */
const points = (d) => Math.abs(d) < 0.0005 ? "0.0 pp" :
  signed(d, fixed(Math.abs(d) * 100, 1)) + " pp";

mp.numbers = { WALL, isTime, fixed, bytes, count, seconds, amount, percent,
  signed, points };
