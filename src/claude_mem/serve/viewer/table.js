// A table with a name. If it is wider than its place it scrolls by itself, with the keyboard as well; one of many
// columns shows, in a narrow window, each row's other cells below the first, with their names.

import { h } from "./dom.js";

const FITS = 4; // columns, in a narrow window

// A column of numbers.
export const n = (name) => ({ name, class: "n" });

// columns: names, or n(name); rows: one cell for each.
export function table(label, columns, rows) {
  const all = columns.map((each) => (typeof each === "string" ? { name: each } : each));
  return h(
    "div",
    { class: all.length > FITS ? "wide stacks" : "wide", tabindex: 0, role: "group", "aria-label": label },
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          all.map((each) => h("th", { scope: "col", class: each.class }, each.name)),
        ),
      ),
      h(
        "tbody",
        null,
        rows.map((cells) =>
          h(
            "tr",
            null,
            cells.map((cell, at) => h("td", { class: all[at].class, "data-name": all[at].name }, cell)),
          ),
        ),
      ),
    ),
  );
}
