// SPDX-License-Identifier: MIT
/*
** The controls above the graph: views, units, modes, and filters.
*/
const { $, el, color, narrow } = mp.dom;
const { item } = mp.items;
const { PROFILES, DIFF, TIMES, VIEWS, TITLE, A, LABELS, zoneName, labelNames,
  stateName, typeName } = mp.profile;
const { seconds, isTime } = mp.numbers;
const { state } = mp, { UNITS } = state;
const { timed } = mp.counts;
const { whole } = mp.sums;
const { segment, choice, toggle, check, checkGroup } = mp.widgets;
const { amount } = mp.words;

/* Items of one unit mean nothing in the other. */
const ANEW = { zoom: "", sel: -1, focus: -1, hidden: [] };

function names(of) {
  const set = new Set();
  for (const P of PROFILES) {
    for (let r = 0; r < P.rows; r++) {
      for (const name of [of(P, r)].flat()) set.add(name);
    }
  }
  return [...set].sort().map((x) => [x, x]);
}

function addModes(box) {
  box.append(
    segment("Graph", "mode", [["top", "Flame graph"], ["bottom", "Inverted"],
      ["sandwich", "Sandwich"], ["calls", "Call tree"],
      ...TIMES && !DIFF ? [["time", "In order"]] : []], { zoom: "" }),
    ...(UNITS.length > 1 ? [segment("Unit", "unit",
      [["func", "Functions"], ["lines", "Lines"]], ANEW)] : []),
    segment("Count", "objects", [[false, "Bytes"], [true, "Objects"]]));
  if (DIFF) {
    box.append(segment("Compare", "share",
      [[true, "Shares"], [false, "Amounts"]]), segment("Widths of frames",
      "width", [["after", "After"], ["before", "Before"]]));
  }
}

/* Lists to choose from, for properties of which the profile has several. */
function addFilters(box) {
  const lists = [["zone", "Zone", names((P, r) =>
    zoneName(P, P.raw.rows.zone[r]))], ["label", "Label", names((P, r) =>
    labelNames(P, P.raw.rows.zone[r]))], ["state", "State", names(stateName)],
    ["type", "Type", names(typeName)]].filter(([, , all]) => all.length > 1);
  const by = { zone: "zone", label: "labels", state: "VM state",
    type: "object type" };
  const groups = [["", "nothing"], ...lists.map(([name]) => [name, by[name]]),
    ...LABELS.map((name) => [`label:${name}`, `label ${name}`])];
  if (groups.length > 1) box.append(choice("Group by", "group", groups));
  if (!groups.some(([name]) => name === state.now.group)) {
    state.set({ group: "" });
  }
  for (const [name, label, all] of lists) {
    box.append(choice(label, name, [["", "all"], ...all]));
  }
  box.append(toggle("Collapse recursion", "collapse",
    "A function that calls itself is one frame"), toggle("Fold chains",
    "chains", "Frames that only call the next one are one frame with it"));
}

function addViews(box) {
  box.classList.toggle("pairs", DIFF);
  box.classList.toggle("many", VIEWS.length > 6);
  box.append(...VIEWS.map((v, i) => el("button", { type: "button",
    role: "radio", "data-v": v, "--c": color(v), "aria-keyshortcuts": i + 1,
    onclick: () => state.set({ view: v }) })));
}

function create() {
  addViews($("views"));
  addModes($("controls"));
  addFilters($("filters"));
  const fold = () => { $("fold").open = !narrow.matches; };
  fold();
  narrow.addEventListener("change", fold);
  $("held").append(segment("In use", "held",
    [["end", "In use at its end"], ["new", "Allocated in it, still held"]]));
}

function viewTitle(v) {
  const { objects, range, held } = state.now;
  if (v === "inuse" && timed(v)) {
    return held === "new" ? "Still held" :
      `${TITLE[v]} at ${seconds(A.time[range[1]])}`;
  }
  return TITLE[v] + (objects && !isTime(v) ? ", objects" : "");
}
function showView(b) {
  const v = b.dataset.v, sum = whole(0, v);
  const value = DIFF ? `${amount(v, whole(1, v))} → ${amount(v, sum)}` :
    sum > 0 ? amount(v, sum) : "–";
  b.replaceChildren(el("i"), el("span", {}, viewTitle(v)), el("b", {}, value));
}

/* Focus and hidden frames came by a click, and go by another. */
function showChips() {
  const { focus, hidden, view } = state.now;
  const chip = (text, change) => el("button", { type: "button", class: "chip",
    "aria-label": `${text}: take back`, onclick: () => state.set(change) },
    text, el("span", { "aria-hidden": "true" }, " ×"));
  const all = hidden.map((k) => chip(`Hidden: ${item.label[k]}`,
    { hidden: hidden.filter((x) => x !== k) }));
  if (focus >= 0) all.unshift(chip(`Focus: ${item.label[focus]}`,
    { focus: -1 }));
  $("chips").replaceChildren(...all);
  $("held").hidden = !(view === "inuse" && timed(view));
}

function show() {
  for (const b of $("views").children) showView(b);
  checkGroup($("views"), state.now.view);
  showChips();
  check($("graph"));
}

mp.controls = { create, show, ANEW };
