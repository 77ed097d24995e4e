// The fields that narrow a search; each is a choice where the choices are known.

import { h, labelled, put } from "./dom.js";
import { get } from "./api.js";
import { projectOptions } from "./choices.js";
import { kindOf } from "./row.js";
import { brief } from "./words.js";

// All kinds but raw tool uses.
const UNDERSTOOD = "observation,summary,prompt";
const ALL = `${UNDERSTOOD},evidence`;

// Of which kinds it is if none is named: a search is over all, a list without one is of observations.
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
    const tell = (event) => {
      clearTimeout(soon);
      const { value } = event.target;
      soon = setTimeout(() => change({ [name]: value.trim() }), 250);
    };
    signal.addEventListener("abort", () => clearTimeout(soon));
    selects[name] = h("input", {
      id: `by-${name}`,
      placeholder: hint,
      oninput: tell,
      autocomplete: "off",
      spellcheck: "false",
    });
    return labelled(label, selects[name]);
  };
  const any = (label) => [h("option", { value: "" }, label)];
  const element = h(
    "form",
    { class: "filters", "aria-label": "Narrow", onsubmit: (event) => event.preventDefault() },
    choice("project", "Project", any("all")),
    choice("kind", "Kind", [
      h("option", { value: ALL }, "all"),
      h("option", { value: UNDERSTOOD }, "all but raw"),
      ...["observation", "summary", "prompt", "evidence"].map((kind) => h("option", { value: kind }, kindOf({ kind }))),
    ]),
    choice("type", "Type", any("all")),
    typed("file", "File", "src/login.py"),
    choice("branch", "Branch", any("all")),
    choice("client", "Client", any("all")),
    typed("since", "Since", "last week"),
    typed("until", "Until", "yesterday"),
    choice("wrong", "Marked wrong", [
      h("option", { value: "" }, "in lists of one kind"),
      h("option", { value: "true" }, "only those"),
      h("option", { value: "false" }, "left out"),
    ]),
  );
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
  // What there is to choose from is another list in another project.
  let known = null;
  function learn() {
    const project = asked().project || "";
    if (known === project) return;
    known = project;
    Promise.all([get("/api/facets", { project }, signal), get("/api/projects", { limit: 100 }, signal)])
      .then(([found, { items }]) => {
        if (known !== project) return;
        put(selects.project, any("all"), projectOptions(items, project));
        for (const [name, list] of [
          ["type", found.types],
          ["branch", found.branches],
          ["client", found.clients],
        ])
          put(
            selects[name],
            any("all"),
            list.map((value) => h("option", { value }, value)),
          );
        fill();
      })
      .catch(() => {
        known = null;
      });
  }
  fill();
  return { element, fill };
}
