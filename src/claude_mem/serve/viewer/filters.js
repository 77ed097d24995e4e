// The controls of the filters in filter_list.js: a select where the choices are known, otherwise a text field.

import { h, labelled, put } from "./dom.js";
import { get } from "./api.js";
import { projectOptions } from "./choices.js";
import { FILTERS } from "./filter_list.js";
import { kindOf } from "./row.js";
import { brief } from "./words.js";

const LABELS = { wrong: "Marked wrong", raw: "Tool events" };
const HINTS = { file: "src/login.py", since: "last week", until: "yesterday" };
const FIRST = ["project", "kind", "type", "since"]; // the others are behind "More"
const FACETS = { type: "types", concept: "concepts", branch: "branches", client: "clients", author: "authors" }; // in /api/facets
// All kinds but raw tool uses.
const UNDERSTOOD = "observation,summary,prompt";
const ALL = `${UNDERSTOOD},evidence`;

// The kinds, if none is specified: a search covers all of them, a list has observations.
export const usual = ({ q }) => (q?.trim() ? ALL : "observation");

export function filters(asked, change, signal) {
  const selects = {};
  const choice = (name, label, options) => {
    selects[name] = h(
      "select",
      { id: `by-${name}`, onchange: (event) => change({ [name]: event.target.value }) },
      options,
    );
    return labelled(label, selects[name]);
  };
  const typed = (name, label, hint) => {
    let soon = 0;
    const onInput = (event) => {
      clearTimeout(soon);
      const { value } = event.target;
      soon = setTimeout(() => change({ [name]: value.trim() }), 250);
    };
    signal.addEventListener("abort", () => clearTimeout(soon));
    selects[name] = h("input", {
      id: `by-${name}`,
      placeholder: hint,
      oninput: onInput,
      autocomplete: "off",
      spellcheck: "false",
    });
    return labelled(label, selects[name]);
  };
  const any = (label) => [h("option", { value: "" }, label)];
  const option = (value, label = value) => h("option", { value }, label);
  function control({ name, kind, choices }) {
    const label = LABELS[name] || name[0].toUpperCase() + name.slice(1);
    if (name === "kind")
      return choice(name, label, [
        option(ALL, "all"),
        option(UNDERSTOOD, "all except tool events"),
        ...choices.map((each) => option(each, kindOf({ kind: each }))),
      ]);
    if (name === "raw") return choice(name, label, [any("folded"), option("true", "shown")]);
    if (kind === "flag") return choice(name, label, [any("all"), option("true", "only these")]);
    if (kind === "switch")
      return choice(name, label, [
        any(name === "wrong" ? "in lists only" : "all"),
        option("true", "only these"),
        option("false", "excluded"),
      ]);
    return name in FACETS || name === "project" ? choice(name, label, any("all")) : typed(name, label, HINTS[name]);
  }
  const shown = FILTERS.filter(({ name }) => name !== "session");
  const more = h("button", { type: "button", onclick: () => unfold(more.ariaExpanded !== "true") }, "More");
  const rest = shown.filter(({ name }) => !FIRST.includes(name)).map(control);
  const element = h(
    "form",
    { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
    shown.filter(({ name }) => FIRST.includes(name)).map(control),
    more,
    rest,
  );
  function unfold(open) {
    more.ariaExpanded = String(open);
    more.textContent = open ? "Fewer" : "More";
    for (const each of rest) each.hidden = !open || isUseless(each);
  }
  unfold(shown.some(({ name }) => !FIRST.includes(name) && asked()[name]));
  // The author filter is useful only if there are several authors.
  function isUseless(control) {
    return control.contains(selects.author) && selects.author.options.length < 2;
  }
  const session = h("span", { class: "chips" });
  element.append(session);
  function fill() {
    const one = asked().session;
    put(
      session,
      one && h("button", { type: "button", onclick: () => change({ session: "" }) }, `Only session ${brief(one)} ✕`),
    );
    for (const [name, input] of Object.entries(selects)) {
      const value = asked()[name] || (name === "kind" ? usual(asked()) : "");
      if (document.activeElement === input && input.tagName === "INPUT") continue;
      if (input.tagName === "SELECT" && value && ![...input.options].some((option) => option.value === value))
        input.append(h("option", { value }, value));
      input.value = value;
    }
    learn();
  }
  // Each project has its own choices.
  let known = null;
  function learn() {
    const project = asked().project || "";
    if (known === project) return;
    known = project;
    Promise.all([get("/api/facets", { project }, signal), get("/api/projects", { limit: 100 }, signal)])
      .then(([found, { items }]) => {
        if (known !== project) return;
        put(selects.project, any("all"), projectOptions(items, project));
        for (const [name, facet] of Object.entries(FACETS))
          put(
            selects[name],
            any("all"),
            name === "author" && found[facet].length > 0 && option("me", "me"),
            found[facet].map((value) => option(value)),
          );
        fill();
        unfold(more.ariaExpanded === "true");
      })
      .catch(() => {
        known = null;
      });
  }
  fill();
  return { element, fill };
}
