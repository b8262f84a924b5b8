// SPDX-License-Identifier: MIT
/*
** The search for items. An expression is looked for in the names of functions
** first, then in those of files, then in the paths: "work" does not mean
** everything in a folder of that name.
*/
const { item, GROUP } = mp.items;
const { PROFILES } = mp.profile;
const { state } = mp;
const { shape, stats } = mp.sums;

const KINDS = [
  ["names", (k) => item.label[k]],
  ["files", (k) => item.name[k] + "\n" + item.at[k]],
  ["paths", (k) => item.path[k]]
];

function compile(text) {
  if (!text) return { regex: null, error: "" };
  try {
    const flags = /\p{Lu}/u.test(text) ? "m" : "im";
    return { regex: new RegExp(text, flags), error: "" };
  } catch (e) {
    return { regex: null, error: e.message };
  }
}

/* Items that occur in the stacks: others do not decide what is looked at. */
function occurring() {
  const on = new Uint8Array(item.name.length);
  PROFILES.forEach((P, i) => {
    for (let s = 1; s <= P.n; s++) on[P[state.now.unit][s]] = 1;
  });
  return on;
}

function look() {
  const { regex, error } = compile(state.now.search);
  if (!regex) return { active: false, error, hit: null, where: "" };
  const on = occurring(), hit = new Uint8Array(item.name.length);
  for (const [where, text] of KINDS) {
    let any = false;
    for (let k = 0; k < hit.length; k++) {
      if (!on[k] || item.kind[k] >= GROUP || !regex.test(text(k))) continue;
      hit[k] = 1;
      any = true;
    }
    if (any) return { active: true, error, hit, where };
  }
  return { active: true, error, hit, where: "" };
}

/* active: whether there is a valid search; hit: by item; where: what was
** looked at; error: what is wrong with the expression. */
const search = () => state.kept("search", "found", look);

/* Whether a node, or a frame that is folded into it, was found. */
function within({ key, chain }) {
  const { hit } = search();
  return hit[key] === 1 || chain.some((k) => hit[k]);
}

/* Share of a view whose stacks have an item that was found. */
function share(i, view) {
  const { hit } = search(), { n, at, up, key } = shape(i);
  const { sub, sum } = stats(i, view), within = new Uint8Array(n + 1);
  let found = 0;
  for (let s = 1; s <= n; s++) {
    if (at[s] !== s) continue;
    const above = within[up[s]];
    within[s] = above || hit[key[s]];
    if (within[s] && !above) found += sub[s];
  }
  return sum > 0 ? found / sum : 0;
}

mp.matches = { search, within, share };
