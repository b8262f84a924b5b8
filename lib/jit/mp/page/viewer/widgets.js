// SPDX-License-Identifier: MIT
/*
** Controls: a choice of one of few, a choice from a list, a switch.
*/
const { el, $ } = mp.dom;
const { state } = mp;

/* Buttons side by side, of which one is on: a radio group. It shows and
** changes a field of the state. more: other fields that change with it. */
function segment(label, name, choices, more) {
  return el("div", { class: "seg", role: "radiogroup", "aria-label": label,
    "data-of": name }, choices.map(([v, text]) => el("button",
    { type: "button", role: "radio", "data-v": String(v),
      onclick: () => state.set({ [name]: v, ...more }) }, text)));
}

function choice(label, name, values) {
  return el("label", { class: "field" }, label, el("select",
    { "data-of": name, onchange: (e) => state.set({ [name]: e.target.value }) },
    values.map(([v, text]) => el("option", { value: v }, text))));
}

const toggle = (text, name, title) => el("button", { type: "button",
  class: "quiet", "data-of": name, title,
  onclick: () => state.set({ [name]: !state.now[name] }) }, text);

function checkGroup(group, v) {
  for (const b of group.children) {
    const on = b.dataset.v === String(v);
    b.setAttribute("aria-checked", on ? "true" : "false");
    b.tabIndex = on ? 0 : -1;
  }
}

/* Shows the state in all controls within an element. */
function check(box) {
  for (const e of box.querySelectorAll("[data-of]")) {
    const v = state.now[e.dataset.of];
    if (e.tagName === "SELECT") e.value = v;
    else if (e.tagName === "BUTTON") {
      e.setAttribute("aria-pressed", v ? "true" : "false");
    } else checkGroup(e, v);
  }
}

/* Arrow keys in a radio group. */
function radioKey(e) {
  if (e.target.getAttribute?.("role") !== "radio") return;
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
  if (!by) return;
  const all = [...e.target.parentNode.children];
  const at = all.indexOf(e.target) + by + all.length;
  const { v } = all[at % all.length].dataset, group = e.target.parentNode.id ||
    e.target.parentNode.dataset.of;
  e.preventDefault();
  all[at % all.length].click();
  /* The group may have been made anew. */
  const again = $(group) || document.querySelector(`[data-of="${group}"]`);
  again.querySelector(`[data-v="${v}"]`).focus();
}

mp.widgets = { segment, choice, toggle, check, checkGroup, radioKey };
