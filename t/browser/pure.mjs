// SPDX-License-Identifier: MIT
// The parts of the script that need no document, in node: their sums are those
// of the Lua modules for the same profile.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { is, ok, pages } from "./harness.mjs";

const PARTS = "numbers items profile state counts sums matches tree layout";

// Parts of a page's script, with a document for those that need one.
function load(name, parts, document) {
  const page = readFileSync(join(pages, name + ".html"), "utf8");
  const data = JSON.parse(/id="profile">(.*?)<\/script>/s.exec(page)[1]);
  const script = /<script>\n(.*)<\/script>/s.exec(page)[1];
  const blocks = new Map();
  for (const text of script.split(/^(?=\{\n\/\/ SPDX)/m).slice(1)) {
    blocks.set(/^mp\.(\w+) =/m.exec(text)?.[1], text);
  }
  const wanted = parts.split(" ").map((part) => blocks.get(part)).join("\n");
  return new Function(
    "mp",
    "document",
    '"use strict";\n' + wanted + "\nreturn mp;"
  )({ data }, document);
}

// By name: self and cumulative sums of each view.
function sums(mp) {
  const out = new Map(),
    { item } = mp.items;
  mp.profile.VIEWS.forEach((view, i) => {
    const { self, total } = mp.sums.stats(0, view);
    for (let k = 0; k < item.name.length; k++) {
      if (!total[k]) continue;
      if (!out.has(item.name[k])) out.set(item.name[k], new Float64Array(8));
      out.get(item.name[k])[i] += self[k];
      out.get(item.name[k])[4 + i] += total[k];
    }
  });
  return out;
}

function compare(mp, file) {
  const got = sums(mp),
    wrong = [];
  const lines = readFileSync(join(pages, file), "utf8").trim().split("\n");
  for (const line of lines) {
    const [name, ...want] = line.split("\t");
    const have = got.get(name) || [];
    want.forEach((v, i) => {
      const near = Math.abs(have[i] - v) <= (i % 4 ? 30 : 1e-6);
      if (!near) wrong.push(`${name}, sum ${i}: ${have[i]} for ${v}`);
    });
    got.delete(name);
  }
  is(wrong.join("\n"), "", `as in Lua: ${file}`);
  is([...got.keys()].join(), "", "nothing else");
  ok(lines.length > 8, "and that is something", lines.length);
}

const near = (got, want, by, name) =>
  ok(Math.abs(got - want) <= by, name, `${got} for ${want}`);

// The trees have the same whole, whichever way they grow.
function wholes(mp) {
  for (const which of ["top", "bottom", "calls"]) {
    const tree = mp.tree.tree(which),
      { root } = tree;
    const sum = (node) => {
      const kids = tree.kids(node).reduce((a, kid) => a + sum(kid), 0);
      return which === "bottom" && node.up ? node.total : node.self + kids;
    };
    ok(
      Math.abs(sum(root) - root.total) < 1e-6,
      `the parts of ${which} add up`,
      sum(root)
    );
  }
}

function labels(mp) {
  const { fit } = mp.layout;
  is(fit("encode_string", 8), "encode_…", "the end of a name gives way");
  is(fit("encode_string:120", 10), "encod…:120", "the line stays");
  is(fit("f:120", 5), "f:120", "what fits stays");
  is(fit("encode:120", 5), "enco…", "unless there is no room");
}

function found(mp) {
  const search = (text) => {
    mp.state.set({ search: text });
    return mp.matches.search();
  };
  is(search("encode_string").where, "names", "a name is found");
  is(search("server.lua:15").where, "files", "a file where no name matches");
  is(search("no such thing").where, "", "or nothing");
  ok(search("(").error !== "", "an expression that is none says so");
  mp.state.set({ search: "" });
}

// In use at a point is what was counted there, as at the end of the run.
function overTime(mp) {
  const { A, NP } = mp.profile, sum = (w) => w.reduce((a, b) => a + b, 0);
  const at = (to, held) => {
    mp.state.set({ range: [0, to], held });
    return mp.counts.weights(0, "inuse");
  };
  for (const to of [40, 120, NP - 1]) {
    const counted = A.raw.timeline.inuse[to - 1];
    near(sum(at(to, "end")), counted, 1, `counted at point ${to}`);
  }
  ok(sum(at(40, "new")) <= sum(at(40, "end")), "what came is a part of it");
  mp.state.set({ range: [40, 41], held: "new" });
  const few = sum(mp.counts.weights(0, "inuse"));
  ok(few >= 0 && few < sum(at(41, "end")) / 4, "in a short time little", few);
  mp.state.set({ range: null, held: "end" });
}

// New work takes the place of the work that begins it.
async function inTheirPlace() {
  const busy = [],
    done = [];
  const { steps } = load("normal", "steps", {
    querySelector: () => ({ setAttribute: (_, value) => busy.push(value) })
  });
  function* next() {
    yield;
    done.push("next");
  }
  function* first(goesOn) {
    steps.run("page", next());
    if (goesOn) yield;
    if (goesOn) done.push("first");
  }
  for (const goesOn of [true, false]) {
    steps.run("page", first(goesOn));
    await new Promise((ready) => setTimeout(ready, 100));
  }
  is(done.join(), "next,next", "work that begins other work is over");
  is(busy.at(-1), "false", "and the page is at rest when that is done");
}

export async function pure() {
  await inTheirPlace();
  const mp = load("normal", PARTS);
  compare(mp, "normal.sums.f");
  wholes(mp);
  for (const group of ["zone", "type", "state"]) {
    mp.state.set({ group });
    wholes(mp);
  }
  found(mp);
  labels(mp);
  overTime(mp);
  mp.state.set({ group: "", unit: "lines" });
  compare(mp, "normal.sums.l");
  const { total } = mp.sums.stats(0, "cpu");
  mp.state.set({ collapse: true });
  is(
    mp.sums.stats(0, "cpu").total.join(),
    total.join(),
    "joined frames change no total"
  );
}
