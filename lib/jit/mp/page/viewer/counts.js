// SPDX-License-Identifier: MIT
/*
** The amount of each row in a view, and its variance.
*/
const { A, PROFILES, TIMES, zoneName, labelNames, stateName, typeName } =
  mp.profile;
const { WALL, isTime } = mp.numbers;
const { state } = mp;

/* The part of the rows' columns that a view's numbers are in. */
const field = (view) => isTime(view) ? view :
  view + (state.now.objects ? "_objects" : "_bytes");

/* Rows that the filters let pass. Types are those of objects: times have
** none. */
function passes(P, view) {
  const S = state.now, R = P.raw.rows;
  const zone = P.zone.map((z, i) => (!S.zone || zoneName(P, i) === S.zone ||
    zoneName(P, i).startsWith(S.zone + " › ")) &&
    (!S.label || labelNames(P, i).includes(S.label)));
  return (r) => zone[R.zone[r]] &&
    (!S.state || stateName(P, r) === S.state) &&
    (!S.type || isTime(view) || typeName(P, r) === S.type);
}

/* Whether the chosen time counts in a view. Of memory in use the bytes are
** known over time, not the objects; the peak is one moment, and of temporary
** objects and wall times only the whole run is known. */
function timed(view) {
  const S = state.now;
  if (!S.range || !TIMES || view === "peak" || view === "temp" ||
    WALL.includes(view) || view.startsWith("native")) return false;
  return view !== "inuse" || !S.objects;
}

function addInterval(P, column, out) {
  const { row } = P.raw.changes, [from, to] = state.now.range;
  for (let i = P.from[from + 1]; i < P.from[to + 1]; i++) {
    out[row[i] - 1] += column[i];
  }
}

/* Bytes that each row had in use at a point, as sampled. */
function inuseAt(P, point) {
  const out = new Float64Array(P.rows), { row, inuse_bytes } = P.raw.changes;
  for (let i = 0; i < P.from[point + 1]; i++) out[row[i] - 1] = inuse_bytes[i];
  return out;
}

/* Scales the bytes in use at a point to the counted total, as the rows are
** scaled at the end of the run: the memory from before the profile is between
** nothing and all of it, and the remainder is scaled. */
function calibrated(P, point, values) {
  const start = P.info.inuse_start, counted = P.raw.timeline.inuse[point - 1];
  const all = values.reduce((a, b) => a + b, 0);
  if (start === null || !(all > 0)) return values;
  const held = Math.max(Math.min(all, counted), counted - start, 0);
  const out = values.map((v) => v * held / all);
  if (P.info.before) out[P.info.before - 1] = counted - held;
  return out;
}

/* In use at the end of the chosen time; or the growth since its start, which is
** a lower limit of the memory that was allocated in that time and is still held
** at its end. */
function inuseInterval(P) {
  const [from, to] = state.now.range, values = inuseAt(P, to);
  const end = calibrated(P, to, values);
  if (state.now.held === "end") return end;
  const before = inuseAt(P, from);
  return end.map((v, r) => values[r] > before[r] ?
    v * (values[r] - before[r]) / values[r] : 0);
}

function inTime(P, view) {
  if (view === "inuse") return inuseInterval(P);
  const out = new Float64Array(P.rows);
  addInterval(P, P.raw.changes[field(view)], out);
  return out;
}

function amounts(P, view) {
  const pass = passes(P, view), unit = view === "cpu" ? P.tick : 1;
  const column = P === A && timed(view) ? inTime(P, view) :
    P.raw.rows[field(view)] || [];
  const out = new Float64Array(P.rows);
  for (let r = 0; r < column.length; r++) {
    if (column[r] > 0 && pass(r)) out[r] = column[r] * unit;
  }
  return out;
}
const weights = (i, view) => state.kept("counts", `weights ${i} ${view}`,
  () => amounts(PROFILES[i], view));

/* Variance of each row for each unit of its amount. Samples of blocks of s
** bytes, one every N bytes, stand for 1/p blocks each, p = 1-exp(-s/N): their
** sum has the variance (1-p)/p for each block. CPU samples are counted as they
** come, or the profile has their variances, as it has those of wall times. */
function varianceEach(P, view) {
  const out = new Float64Array(P.rows), period = P.info.periods[view];
  if (view === "cpu") {
    const { cpu, cpu_variance: known } = P.raw.rows;
    return known ? out.map((v, r) =>
      cpu[r] > 0 ? P.tick * known[r] / cpu[r] : 0) : out.fill(P.tick);
  }
  if (WALL.includes(view)) {
    const { [view]: n = [], [view + "_variance"]: known } = P.raw.rows;
    return out.map((v, r) => n[r] > 0 ? known[r] / n[r] : 0);
  }
  const bytes = P.raw.rows[view + "_bytes"] || [];
  const blocks = P.raw.rows[view + "_objects"] || [];
  for (let r = 0; r < bytes.length && period > 1; r++) {
    if (!(bytes[r] > 0 && blocks[r] > 0)) continue;
    const size = bytes[r] / blocks[r], p = 1 - Math.exp(-size / period);
    out[r] = (1 - p) / p * (state.now.objects ? 1 : size);
  }
  return out;
}
const variances = (i, view) => state.kept("counts", `variances ${i} ${view}`,
  () => {
    const each = varianceEach(PROFILES[i], view);
    return weights(i, view).map((v, r) => v * each[r]);
  });

mp.counts = { timed, weights, variances };
